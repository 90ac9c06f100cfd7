use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use pintle_agent::StoreError;
use pintle_agent::store::Sessions;
use pintle_store::{Options, SqliteStore};

use crate::child::{Other, role, tell};
use crate::support::{Place, claimed, key, said, session};

async fn refused(path: &Path) -> StoreError {
    SqliteStore::open(path).await.expect_err("this file should be refused")
}

#[tokio::test]
async fn a_file_that_is_no_database_is_named_and_kept() {
    let place = Place::new();
    let text = "dear diary, ".repeat(1000);
    fs::write(place.db(), &text).unwrap();
    let error = refused(&place.db()).await;
    assert!(
        matches!(&error, StoreError::Corrupt { path, .. } if *path == place.db().display().to_string())
    );
    assert!(error.to_string().contains("move it away"), "{error}");
    assert_eq!(fs::read_to_string(place.db()).unwrap(), text);
    assert_eq!(fs::read_dir(place.folder.path()).unwrap().count(), 1, "nothing was left beside it");
}

#[tokio::test]
async fn a_damaged_database_is_named_and_kept() {
    let place = Place::new();
    let store = place.open().await;
    let claim = claimed(&store).await;
    let id = claim.session_id().to_owned();
    for _ in 0..20 {
        store.append(&claim, vec![said(&"long ".repeat(2000))]).await.unwrap();
    }
    drop((claim, store));
    // The first page says what the file is; everything behind it is overwritten.
    let mut bytes = fs::read(place.db()).unwrap();
    bytes[4096..].fill(0xA5);
    fs::write(place.db(), &bytes).unwrap();

    let error = match SqliteStore::open(place.db()).await {
        Err(error) => error,
        Ok(store) => store.history(&id).await.unwrap_err(),
    };
    assert!(matches!(&error, StoreError::Corrupt { .. }), "{error}");
    assert_eq!(fs::read(place.db()).unwrap(), bytes);
}

#[tokio::test]
async fn a_truncated_database_is_named_and_kept() {
    let place = Place::new();
    let store = place.open().await;
    let claim = claimed(&store).await;
    let id = claim.session_id().to_owned();
    store.append(&claim, vec![said(&"long ".repeat(20_000))]).await.unwrap();
    drop((claim, store));
    let mut bytes = fs::read(place.db()).unwrap();
    bytes.truncate(4096 + 100);
    fs::write(place.db(), &bytes).unwrap();
    let error = match SqliteStore::open(place.db()).await {
        Err(error) => error,
        Ok(store) => store.history(&id).await.unwrap_err(),
    };
    assert!(matches!(&error, StoreError::Corrupt { .. }), "{error}");
    assert_eq!(fs::read(place.db()).unwrap(), bytes);
}

#[tokio::test]
async fn an_empty_file_becomes_a_database() {
    let place = Place::new();
    fs::write(place.db(), "").unwrap();
    place.open().await;
}

#[tokio::test]
async fn a_folder_is_not_a_database() {
    let place = Place::new();
    let error = refused(place.folder.path()).await;
    assert!(error.to_string().contains("is a folder"), "{error}");
}

#[tokio::test]
async fn a_path_through_a_file_is_refused() {
    let place = Place::new();
    fs::write(place.folder.path().join("file"), "x").unwrap();
    let error = refused(&place.folder.path().join("file/pintle.db")).await;
    assert!(error.to_string().contains("the folder"), "{error}");
}

#[tokio::test]
async fn missing_folders_are_made_and_the_file_is_private() {
    let place = Place::new();
    let db = place.folder.path().join("a/b/pintle.db");
    let store = SqliteStore::open(&db).await.unwrap();
    session(&store).await;
    for name in ["pintle.db", "pintle.db-wal", "pintle.db-shm"] {
        let mode = fs::metadata(db.with_file_name(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[tokio::test]
async fn a_locked_database_says_so_and_works_again_later() {
    let place = Place::new();
    let options = Options { busy_timeout: Duration::from_millis(50), ..Default::default() };
    let store = SqliteStore::open_with(place.db(), options).await.unwrap();
    let claim = claimed(&store).await;
    let other = place.raw();
    other.execute_batch("BEGIN IMMEDIATE; UPDATE sessions SET key = 'other'").unwrap();

    let error = store.append(&claim, vec![said("a")]).await.unwrap_err();
    assert!(error.to_string().contains("locked by another program"), "{error}");
    // Reading does not wait for a writer, and sees the state before it.
    assert_eq!(store.sessions().await.unwrap()[0].key, "cli:default");

    other.execute_batch("ROLLBACK").unwrap();
    store.append(&claim, vec![said("a")]).await.unwrap();
}

#[tokio::test]
async fn a_database_locked_for_good_cannot_be_opened() {
    let place = Place::new();
    drop(place.open().await);
    let other = place.raw();
    other.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE").unwrap();
    let options = Options { busy_timeout: Duration::from_millis(50), ..Default::default() };
    let error = SqliteStore::open_with(place.db(), options).await.unwrap_err();
    assert!(error.to_string().contains("locked by another program"), "{error}");
}

/// Opens as somebody without rights: the superuser may read and write everything, so it becomes nobody.
fn open_as_nobody(test: &str, place: &Place, db: &Path) -> String {
    permit(place.folder.path(), 0o755);
    let program = place.folder.path().join("test-program");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let mut command = Command::new(program);
    if fs::metadata(place.folder.path()).unwrap().uid() == 0 {
        command.uid(65534).gid(65534);
    }
    Other::spawn(command, test, db).finish().join("\n")
}

async fn tell_how_opening_goes(db: &Path) {
    match SqliteStore::open(db).await {
        Ok(store) => tell(&format!("opened, sessions: {}", store.open(key("k")).await.is_ok())),
        Err(error) => tell(&error.to_string()),
    }
}

fn permit(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[tokio::test]
async fn a_read_only_database_is_refused_and_kept() {
    if let Some(db) = role() {
        return tell_how_opening_goes(&db).await;
    }
    let place = Place::new();
    drop(place.open().await);
    let before = fs::read(place.db()).unwrap();
    permit(&place.db(), 0o444);
    let told =
        open_as_nobody("opening::a_read_only_database_is_refused_and_kept", &place, &place.db());
    assert!(told.contains("read-only") && told.contains("chmod"), "{told}");
    assert_eq!(fs::read(place.db()).unwrap(), before);
}

#[tokio::test]
async fn a_database_nobody_may_read_is_refused() {
    if let Some(db) = role() {
        return tell_how_opening_goes(&db).await;
    }
    let place = Place::new();
    drop(place.open().await);
    permit(&place.db(), 0o000);
    let told =
        open_as_nobody("opening::a_database_nobody_may_read_is_refused", &place, &place.db());
    assert!(told.contains("cannot be opened"), "{told}");
}

#[tokio::test]
async fn a_folder_nobody_may_write_is_refused() {
    if let Some(db) = role() {
        return tell_how_opening_goes(&db).await;
    }
    let place = Place::new();
    let locked = place.folder.path().join("locked");
    fs::create_dir(&locked).unwrap();
    permit(&locked, 0o555);
    let told = open_as_nobody(
        "opening::a_folder_nobody_may_write_is_refused",
        &place,
        &locked.join("pintle.db"),
    );
    assert!(told.contains("permissions of its folder"), "{told}");
    let told = open_as_nobody(
        "opening::a_folder_nobody_may_write_is_refused",
        &place,
        &locked.join("a/pintle.db"),
    );
    assert!(told.contains("choose another data folder"), "{told}");
}
