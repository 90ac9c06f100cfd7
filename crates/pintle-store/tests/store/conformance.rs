//! What every store promises, of this one.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt};
use pintle_agent::Store;
use pintle_agent::testing::StorePlace;
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

pintle_agent::store_conformance!(Place);
