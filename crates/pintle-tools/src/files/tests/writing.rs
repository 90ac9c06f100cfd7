use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use pintle_agent::ToolError;
use serde_json::json;
use tempfile::tempdir;

use super::{edit_file, message, names, run, write_file};
use crate::{
    files::{FileTool, Target, replace, turn},
    nofollow::Place,
    testing::cx,
};

#[tokio::test]
async fn a_new_file_is_written_with_the_folders_it_needs() {
    let dir = tempdir().unwrap();
    let said =
        write_file(dir.path(), json!({"path": "a/b/c.txt", "content": "héllo"})).await.unwrap();
    assert_eq!(said, "wrote 6 bytes to the new file `a/b/c.txt`");
    assert_eq!(fs::read_to_string(dir.path().join("a/b/c.txt")).unwrap(), "héllo");
    assert_eq!(names(&dir.path().join("a/b")), ["c.txt"]);
}

#[tokio::test]
async fn an_existing_file_is_replaced_and_keeps_its_permissions() {
    let dir = tempdir().unwrap();
    let file = dir.path().join("run.sh");
    fs::write(&file, "old").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o750)).unwrap();
    let said = write_file(dir.path(), json!({"path": "run.sh", "content": "new"})).await.unwrap();
    assert_eq!(said, "wrote 3 bytes to `run.sh`, replacing what was there");
    assert_eq!(fs::read_to_string(&file).unwrap(), "new");
    assert_eq!(fs::metadata(&file).unwrap().mode() & 0o7777, 0o750);
    assert_eq!(names(dir.path()), ["run.sh"]);
}

#[tokio::test]
async fn writing_through_a_symlink_replaces_its_target_and_keeps_the_link() {
    let dir = tempdir().unwrap();
    fs::create_dir(dir.path().join("real")).unwrap();
    fs::write(dir.path().join("real/a.txt"), "old").unwrap();
    symlink("real/a.txt", dir.path().join("link.txt")).unwrap();
    write_file(dir.path(), json!({"path": "link.txt", "content": "new"})).await.unwrap();
    assert!(dir.path().join("link.txt").is_symlink());
    assert_eq!(fs::read_to_string(dir.path().join("real/a.txt")).unwrap(), "new");
}

#[tokio::test]
async fn writing_through_a_symlink_to_nothing_makes_its_target() {
    let dir = tempdir().unwrap();
    symlink("real/a.txt", dir.path().join("dangling")).unwrap();
    write_file(dir.path(), json!({"path": "dangling", "content": "new"})).await.unwrap();
    assert!(dir.path().join("dangling").is_symlink());
    assert_eq!(fs::read_to_string(dir.path().join("real/a.txt")).unwrap(), "new");
}

#[tokio::test]
async fn what_cannot_be_written_says_why_and_changes_nothing() {
    let dir = tempdir().unwrap();
    fs::create_dir(dir.path().join("folder")).unwrap();
    fs::write(dir.path().join("file"), "old").unwrap();
    let write = |path: &str| write_file(dir.path(), json!({"path": path, "content": "new"}));
    assert_eq!(message(write("folder").await), "write_file: `folder` is a folder");
    assert_eq!(message(write("").await), "write_file: `` is a folder");
    assert_eq!(
        message(write("file/x").await),
        "write_file: `file/x` goes through something that is not a folder"
    );
    assert_eq!(
        message(write("/dev/null").await),
        "write_file: `/dev/null` could not be used: it is not a regular file"
    );
    assert_eq!(
        message(write_file(dir.path(), json!({"path": "file", "content": 3})).await),
        "write_file: the argument `content` must be a string, not a number"
    );
    assert_eq!(names(dir.path()), ["file", "folder"]);
    assert_eq!(fs::read_to_string(dir.path().join("file")).unwrap(), "old");
}

/// Runs itself again under a limit on the size of files, so that the write fails after some of it was written.
#[test]
fn a_write_that_fails_half_way_keeps_the_old_content_and_leaves_nothing_behind() {
    const FOLDER: &str = "PINTLE_TEST_LIMITED_FOLDER";
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    if let Some(folder) = std::env::var_os(FOLDER) {
        let content = "x".repeat(1_000_000);
        for result in [
            runtime.block_on(write_file(
                folder.as_ref(),
                json!({"path": "a.txt", "content": content}),
            )),
            runtime.block_on(edit_file(
                folder.as_ref(),
                json!({"path": "a.txt", "old": "old", "new": content}),
            )),
        ] {
            let message = message(result);
            assert!(
                message.contains("_file: `a.txt` could not be used: File too large"),
                "{message}"
            );
        }
        return;
    }
    let dir = tempdir().unwrap();
    fs::write(dir.path().join("a.txt"), "old").unwrap();
    let name = "files::tests::writing::a_write_that_fails_half_way_keeps_the_old_content_and_leaves_nothing_behind";
    let inner = Command::new("/bin/sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 64; exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(FOLDER, dir.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&inner.stdout);
    assert!(
        inner.status.success() && said.contains("1 passed"),
        "{said}{}",
        String::from_utf8_lossy(&inner.stderr)
    );
    assert_eq!(fs::read_to_string(dir.path().join("a.txt")).unwrap(), "old");
    assert_eq!(names(dir.path()), ["a.txt"]);
}

#[tokio::test]
async fn a_reader_never_sees_half_a_file() {
    let dir = tempdir().unwrap();
    let file = dir.path().join("a.txt");
    let contents = ["a".repeat(300_000), "b".repeat(200_000)];
    fs::write(&file, &contents[0]).unwrap();
    let over = Arc::new(AtomicBool::new(false));
    let reader = std::thread::spawn({
        let (over, contents) = (over.clone(), contents.clone());
        move || {
            while !over.load(Ordering::Relaxed) {
                let seen = fs::read_to_string(&file).unwrap();
                assert!(contents.contains(&seen), "half a file of {} bytes", seen.len());
            }
        }
    });
    for round in 0..30 {
        write_file(dir.path(), json!({"path": "a.txt", "content": contents[round % 2]}))
            .await
            .unwrap();
    }
    over.store(true, Ordering::Relaxed);
    reader.join().unwrap();
}

#[test]
fn a_write_whose_caller_has_gone_changes_nothing() {
    let dir = tempdir().unwrap();
    fs::write(dir.path().join("a.txt"), "old").unwrap();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let cx = cx(dir.path());
    let turn = runtime.block_on(turn(&cx.workspace.join("a.txt")));
    let call =
        runtime.spawn(run(FileTool::write(), json!({"path": "a.txt", "content": "new"}), cx));
    call.abort();
    runtime.block_on(call).unwrap_err();
    drop(turn);
    // Waits for the thread that was writing.
    drop(runtime);
    assert_eq!(fs::read_to_string(dir.path().join("a.txt")).unwrap(), "old");
    assert_eq!(names(dir.path()), ["a.txt"]);
}

#[tokio::test]
async fn a_cancelled_run_writes_nothing() {
    let dir = tempdir().unwrap();
    let cx = cx(dir.path());
    cx.cancel.cancel();
    let result = run(FileTool::write(), json!({"path": "sub/a.txt", "content": "new"}), cx).await;
    assert!(matches!(result, Err(ToolError::Cancelled(_))), "{result:?}");
    assert!(names(dir.path()).is_empty());
}

#[tokio::test]
async fn an_edit_replaces_the_one_occurrence_and_nothing_else() {
    let dir = tempdir().unwrap();
    let file = dir.path().join("a.txt");
    fs::write(&file, b"one\r\ntwo \xff\nthree\n").unwrap();
    let said = edit_file(dir.path(), json!({"path": "a.txt", "old": "three", "new": "drei\nvier"}))
        .await
        .unwrap();
    assert_eq!(said, "edited `a.txt` at line 3");
    assert_eq!(fs::read(&file).unwrap(), b"one\r\ntwo \xff\ndrei\nvier\n");
    edit_file(dir.path(), json!({"path": "a.txt", "old": "one\r\n", "new": ""})).await.unwrap();
    assert_eq!(fs::read(&file).unwrap(), b"two \xff\ndrei\nvier\n");
}

#[tokio::test]
async fn an_edit_that_is_not_exact_says_how_often_it_matched() {
    let dir = tempdir().unwrap();
    fs::write(dir.path().join("a.txt"), "banana\n").unwrap();
    fs::write(dir.path().join("many"), "x".repeat(200)).unwrap();
    let edit = |path: &str, old: &str| {
        edit_file(dir.path(), json!({"path": path, "old": old, "new": "?"}))
    };
    assert_eq!(
        message(edit("a.txt", "kiwi").await),
        "edit_file: `old` does not occur in `a.txt`; it must match exactly, spaces and line ends too"
    );
    // Overlapping ones are two places as well: which one was meant?
    assert_eq!(
        message(edit("a.txt", "ana").await),
        "edit_file: `old` occurs 2 times in `a.txt`; include more of the lines around it"
    );
    assert_eq!(
        message(edit("many", "x").await),
        "edit_file: `old` occurs at least 100 times in `many`; it must occur once"
    );
    assert_eq!(
        message(edit("a.txt", "").await),
        "edit_file: the argument `old` is empty; name the text to replace"
    );
    assert_eq!(
        message(edit("a.txt", "?").await),
        "edit_file: `old` and `new` are the same; there is nothing to change"
    );
    assert_eq!(message(edit("nothing", "x").await), "edit_file: `nothing` does not exist");
    assert_eq!(message(edit(".", "x").await), "edit_file: `.` is a folder");
    assert_eq!(fs::read_to_string(dir.path().join("a.txt")).unwrap(), "banana\n");
}

#[tokio::test]
async fn a_file_too_large_to_edit_is_refused() {
    let dir = tempdir().unwrap();
    let file = fs::File::create(dir.path().join("large")).unwrap();
    file.set_len(crate::files::edit::CAP + 1).unwrap();
    let message =
        message(edit_file(dir.path(), json!({"path": "large", "old": "a", "new": "b"})).await);
    assert_eq!(message, "edit_file: `large` is larger than 16 MiB");
}

#[tokio::test]
async fn edits_of_one_file_at_the_same_time_are_all_made() {
    let dir = tempdir().unwrap();
    let before: String = (0..20).map(|number| format!("<{number}>\n")).collect();
    let after: String = (0..20).map(|number| format!("done {number}\n")).collect();
    fs::write(dir.path().join("a.txt"), before).unwrap();
    let edits = (0..20).map(|number| {
        let args =
            json!({"path": "a.txt", "old": format!("<{number}>"), "new": format!("done {number}")});
        edit_file(dir.path(), args)
    });
    for result in futures_util::future::join_all(edits).await {
        result.unwrap();
    }
    assert_eq!(fs::read_to_string(dir.path().join("a.txt")).unwrap(), after);
}

#[tokio::test]
async fn a_file_that_changed_since_it_was_read_is_left_alone() {
    let dir = tempdir().unwrap();
    fs::write(dir.path().join("a.txt"), "old").unwrap();
    let real = dir.path().canonicalize().unwrap().join("a.txt");
    let place = Place::existing(&real).unwrap();
    let target = Target { tool: "edit_file", path: "a.txt".into(), real };
    let version = replace::Version::of(&place.stat().unwrap().unwrap());
    fs::write(dir.path().join("a.txt"), "someone else's").unwrap();
    let stop = cx(dir.path()).cancel;
    let Err(ToolError::Failed(message)) =
        replace::replace(&target, &place, b"mine", Some(&version), &stop)
    else {
        panic!("it should have been refused")
    };
    assert_eq!(
        message,
        "edit_file: `a.txt` was changed by something else meanwhile; read it again"
    );
    assert_eq!(fs::read_to_string(dir.path().join("a.txt")).unwrap(), "someone else's");
    assert_eq!(names(dir.path()), ["a.txt"]);
}
