//! Which hooks have ever fired.

use std::collections::HashSet;

use pintle_agent::StoreError;

use crate::store::SqliteStore;

impl SqliteStore {
    /// Point and name of every handler that the recorded runs have called, the oldest run too.
    pub async fn fired_hooks(&self) -> Result<HashSet<(String, String)>, StoreError> {
        self.worker()
            .read("looking for hooks that have fired", |conn| {
                let mut statement = conn.prepare_cached(
                    "SELECT DISTINCT json_extract(e.json, '$.point'), json_extract(h.value, '$.name')
                     FROM run_events e, json_each(e.json, '$.handlers') h
                     WHERE e.type = 'hook.fired' AND json_valid(e.json)
                       AND json_extract(h.value, '$.outcome') IS NOT 'removed'",
                )?;
                let rows = statement.query_map([], |row| {
                    Ok((row.get::<_, Option<String>>(0)?, row.get::<_, Option<String>>(1)?))
                })?;
                let mut fired = HashSet::new();
                for row in rows {
                    if let (Some(point), Some(name)) = row? {
                        fired.insert((point, name));
                    }
                }
                Ok(fired)
            })
            .await
    }
}
