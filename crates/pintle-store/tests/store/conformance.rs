//! What every store promises, of this one.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt};
use pintle_agent::testing::{QueuesPlace, StorePlace};
use pintle_agent::{Store, store::Queues};
use pintle_store::{Options, SqliteStore};

use crate::support::Place;

impl StorePlace for Place {
    fn fresh() -> Self {
        Place::new()
    }

    fn open(&self) -> BoxFuture<'_, Arc<dyn Store>> {
        let claim_timeout = Duration::from_millis(100);
        let options = Options { claim_timeout, ..Options::default() };
        async move {
            let store = SqliteStore::open_with(self.db(), options).await.unwrap();
            Arc::new(store) as Arc<dyn Store>
        }
        .boxed()
    }
}

impl QueuesPlace for Place {
    fn fresh() -> Self {
        Place::new()
    }

    fn open(&self) -> BoxFuture<'_, Arc<dyn Queues>> {
        async move { Arc::new(Place::open(self).await) as Arc<dyn Queues> }.boxed()
    }
}

pintle_agent::store_conformance!(Place);
pintle_agent::queues_conformance!(Place);
