//! Paths that somebody hopes will lead astray, and paths that a model gets wrong.

use std::{
    fs,
    os::unix::{ffi::OsStrExt, fs::symlink, net::UnixListener},
    path::Path,
};

use pintle_agent::Tool;
use pintle_policy::Reach;
use serde_json::{Value, json};
use tempfile::tempdir;

use super::{edit_file, list_dir, message, names, read_file, write_file};
use crate::{
    files::{FileTool, list, read},
    testing::cx,
};

/// Every tool on one path; what each of them says of it.
async fn all(workspace: &Path, path: &str) -> [Result<String, pintle_agent::ToolError>; 4] {
    [
        read_file(workspace, json!({"path": path})).await,
        write_file(workspace, json!({"path": path, "content": "new"})).await,
        edit_file(workspace, json!({"path": path, "old": "a", "new": "b"})).await,
        list_dir(workspace, json!({"path": path})).await,
    ]
}

// P3
#[tokio::test]
async fn a_symlink_put_into_a_judged_path_is_never_followed() {
    let dir = tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let work = root.join("work");
    fs::create_dir_all(work.join("inside")).unwrap();
    fs::write(work.join("inside/a.txt"), "mine").unwrap();
    fs::create_dir(root.join("secret")).unwrap();
    fs::write(root.join("secret/a.txt"), "not mine").unwrap();
    let calls = || {
        let call = |tool: FileTool, args: Value| {
            let reach = Reach::of(&tool.spec(), &args, &work);
            tool.execute(args, reach, cx(&work))
        };
        let path = "inside/a.txt";
        [
            call(FileTool::read(), json!({"path": path})),
            call(FileTool::write(), json!({"path": path, "content": "mine"})),
            call(FileTool::edit(), json!({"path": path, "old": "not", "new": "all"})),
            call(FileTool::list(), json!({"path": "inside"})),
            call(FileTool::write(), json!({"path": "inside/new/deep.txt", "content": "mine"})),
        ]
    };

    // The folder.
    let judged = calls();
    fs::rename(work.join("inside"), work.join("moved")).unwrap();
    symlink("../secret", work.join("inside")).unwrap();
    for call in judged {
        let said = message(call.await);
        assert!(said.ends_with("leads somewhere else now than when it was judged"), "{said}");
    }
    // The file, and the folder that was not there yet.
    fs::remove_file(work.join("inside")).unwrap();
    fs::rename(work.join("moved"), work.join("inside")).unwrap();
    let [read, write, edit, _, deep] = calls();
    fs::remove_file(work.join("inside/a.txt")).unwrap();
    symlink("../../secret/a.txt", work.join("inside/a.txt")).unwrap();
    symlink("../../secret", work.join("inside/new")).unwrap();
    for call in [read, write, edit, deep] {
        let said = message(call.await);
        assert!(said.ends_with("leads somewhere else now than when it was judged"), "{said}");
    }
    assert_eq!(fs::read_to_string(root.join("secret/a.txt")).unwrap(), "not mine");
    assert_eq!(names(&root.join("secret")), ["a.txt"]);
}

#[tokio::test]
async fn a_path_that_is_no_path_says_why_and_makes_nothing() {
    let dir = tempdir().unwrap();
    symlink("loop", dir.path().join("loop")).unwrap();
    for (path, why) in [
        ("a\0b", "NUL byte"),
        ("~/notes.txt", "write the whole path"),
        ("loop/x", "too many symbolic links"),
        (&"a/".repeat(3000), "it is too long"),
    ] {
        for said in all(dir.path(), path).await.map(message) {
            assert!(said.contains("cannot be resolved: ") && said.contains(why), "{said}");
        }
    }
    let long = "n".repeat(300);
    for said in all(dir.path(), &long).await.map(message) {
        assert!(said.contains("File name too long"), "{said}");
    }
    assert_eq!(names(dir.path()), ["loop"]);
}

#[tokio::test]
async fn a_path_that_ends_like_a_folder_is_not_a_file() {
    let dir = tempdir().unwrap();
    fs::write(dir.path().join("a.txt"), "a").unwrap();
    for path in ["new/", "new/.", "a.txt/", "./"] {
        let [read, write, edit, _] = all(dir.path(), path).await;
        for said in [read, write, edit].map(message) {
            assert!(said.contains("` ends like the name of a folder"), "{said}");
        }
    }
    for path in [".", "", ".."] {
        let [read, write, edit, list] = all(dir.path(), path).await;
        for said in [read, write, edit].map(message) {
            assert!(said.contains("` is a folder"), "{said}");
        }
        list.unwrap();
    }
    assert_eq!(names(dir.path()), ["a.txt"]);
    assert_eq!(fs::read_to_string(dir.path().join("a.txt")).unwrap(), "a");
}

#[tokio::test]
async fn what_is_neither_file_nor_folder_is_left_alone_at_once() {
    let dir = tempdir().unwrap();
    let made = std::process::Command::new("mkfifo").arg(dir.path().join("pipe")).status().unwrap();
    assert!(made.success());
    let _socket = UnixListener::bind(dir.path().join("socket")).unwrap();
    for path in ["pipe", "socket", "/dev/zero", "/dev/null"] {
        let [read, write, edit, list] = all(dir.path(), path).await;
        for said in [read, write, edit].map(message) {
            assert!(said.ends_with("it is not a regular file"), "{said}");
        }
        assert!(message(list).contains("is not a folder"));
    }
    assert_eq!(names(dir.path()), ["pipe", "socket"]);
}

/// What the system itself resolves on opening leads nowhere else than what was judged.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_links_of_proc_lead_where_they_say() {
    let dir = tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    fs::write(root.join("a.txt"), "mine").unwrap();
    let by_proc = format!("/proc/self/root{}", root.join("a.txt").display());
    let args = json!({"path": by_proc});
    let reach = Reach::of(&FileTool::read().spec(), &args, &root);
    assert_eq!(reach.path("path").unwrap().unwrap(), root.join("a.txt"));
    assert_eq!(read_file(&root, args).await.unwrap(), "mine");
    let held = fs::File::open(root.join("a.txt")).unwrap();
    let by_handle = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&held));
    assert_eq!(read_file(&root, json!({"path": by_handle})).await.unwrap(), "mine");
    let status = read_file(&root, json!({"path": "/proc/self/status"})).await.unwrap();
    assert!(status.starts_with("Name:"), "a file without a size is read all the same");
    for path in ["/proc/self/fd/new", "/proc/version"] {
        write_file(&root, json!({"path": path, "content": "x"})).await.unwrap_err();
    }
}

#[tokio::test]
async fn a_hard_link_keeps_what_its_other_name_held() {
    let dir = tempdir().unwrap();
    fs::write(dir.path().join("other"), "a").unwrap();
    fs::hard_link(dir.path().join("other"), dir.path().join("name")).unwrap();
    write_file(dir.path(), json!({"path": "name", "content": "new"})).await.unwrap();
    assert_eq!(fs::read_to_string(dir.path().join("name")).unwrap(), "new");
    assert_eq!(fs::read_to_string(dir.path().join("other")).unwrap(), "a");
}

#[tokio::test]
async fn a_file_with_a_hole_larger_than_any_disk_is_not_read_to_its_end() {
    let dir = tempdir().unwrap();
    let text = "line\n".repeat(2000);
    fs::write(dir.path().join("hole"), &text).unwrap();
    let file = fs::File::options().write(true).open(dir.path().join("hole")).unwrap();
    file.set_len(1 << 42).unwrap();
    let said = message(read_file(dir.path(), json!({"path": "hole", "offset": 9999})).await);
    assert_eq!(
        said,
        "read_file: offset 9999 is out of reach: the first 256 MiB of `hole` are 2001 lines"
    );
    let start = read_file(dir.path(), json!({"path": "hole", "limit": 1})).await.unwrap();
    assert_eq!(start, "line\n[more follows; go on with offset 2]");
    let within = read_file(dir.path(), json!({"path": "hole", "offset": 2000})).await.unwrap();
    assert!(within.len() <= read::CAP + 100);
}

#[tokio::test]
async fn links_to_long_names_do_not_flood_a_listing() {
    let dir = tempdir().unwrap();
    let far = "n/".repeat(2000);
    for number in 0..100 {
        symlink(&far, dir.path().join(format!("{number:03}"))).unwrap();
    }
    let text = list_dir(dir.path(), json!({"path": "."})).await.unwrap();
    assert!(text.len() <= list::TEXT_CAP + 100, "{}", text.len());
    assert!(text.starts_with("000 -> n/n/"));
    assert!(text.ends_with("[84 more entries are not shown]"), "{}", &text[text.len() - 60..]);
}

#[tokio::test]
async fn a_name_that_is_not_utf8_can_be_reached_through_a_link() {
    let dir = tempdir().unwrap();
    let strange = std::ffi::OsStr::from_bytes(b"caf\xe9");
    fs::write(dir.path().join(strange), "a").unwrap();
    symlink(strange, dir.path().join("link")).unwrap();
    edit_file(dir.path(), json!({"path": "link", "old": "a", "new": "b"})).await.unwrap();
    assert_eq!(fs::read_to_string(dir.path().join(strange)).unwrap(), "b");
}

#[tokio::test]
async fn calls_for_one_file_take_turns_in_their_order() {
    let dir = tempdir().unwrap();
    for round in 0..20 {
        let last = format!("{round}");
        let write = |content: &str| {
            write_file(dir.path(), json!({"path": "sub/a.txt", "content": content}))
        };
        let (first, second, edit, read) = tokio::join!(
            write("first"),
            write("second"),
            edit_file(
                dir.path(),
                json!({"path": "sub/../sub/a.txt", "old": "second", "new": last})
            ),
            read_file(dir.path(), json!({"path": "./sub/a.txt"})),
        );
        first.unwrap();
        second.unwrap();
        edit.unwrap();
        assert_eq!(read.unwrap(), last);
    }
    assert_eq!(names(&dir.path().join("sub")), ["a.txt"]);
}
