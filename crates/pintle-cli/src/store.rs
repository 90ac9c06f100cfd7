//! The program's store. Only this file names an implementation; all other files hold a `dyn Store`.

use std::{path::PathBuf, sync::Arc};

use pintle_agent::{Store, store::Queues, testing::MemoryStore};
use pintle_store::SqliteStore;

use crate::{environment::Environment, problem::Problem};

/// The store of the data folder.
pub(crate) async fn open(environment: &Environment) -> Result<Arc<dyn Store>, Problem> {
    open_at(environment.database()?).await
}

/// The store of the data folder, and the gateway's queues in it.
pub(crate) async fn open_with_queues(
    environment: &Environment,
) -> Result<(Arc<dyn Store>, Arc<dyn Queues>), Problem> {
    let store = SqliteStore::open(environment.database()?).await?;
    Ok((Arc::new(store.clone()), Arc::new(store)))
}

/// An empty store for a command that keeps nothing.
pub(crate) fn in_memory() -> Arc<dyn Store> {
    Arc::new(MemoryStore::default())
}

/// The store in this file.
pub(crate) async fn open_at(path: PathBuf) -> Result<Arc<dyn Store>, Problem> {
    Ok(Arc::new(SqliteStore::open(path).await?))
}
