//! Looking through the whole file for damage.

use pintle_agent::StoreError;

use crate::SqliteStore;
use crate::error::corrupt;

impl SqliteStore {
    /// Reads every page and looks whether they fit together. Opening a database looks at its first page only, so one that
    /// opens may still be damaged.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] with the first thing that is wrong. The file is left as it is.
    pub async fn check(&self) -> Result<(), StoreError> {
        let found: String = self
            .worker()
            .read("checking the database", |conn| {
                Ok(conn.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?)
            })
            .await?;
        match found.as_str() {
            "ok" => Ok(()),
            damage => Err(corrupt(self.path(), damage)),
        }
    }
}
