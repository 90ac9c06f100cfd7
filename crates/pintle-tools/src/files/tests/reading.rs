use std::{fs, os::unix::ffi::OsStrExt};

use serde_json::json;
use tempfile::tempdir;

use super::{list_dir, message, read_file, run};
use crate::{
    files::{FileTool, list, read},
    testing::cx,
};

#[tokio::test]
async fn a_small_file_is_read_as_it_is() {
    let dir = tempdir().unwrap();
    fs::write(dir.path().join("a.txt"), "one\ntwo").unwrap();
    assert_eq!(read_file(dir.path(), json!({"path": "a.txt"})).await.unwrap(), "one\ntwo");
    let absolute = dir.path().join("a.txt").display().to_string();
    assert_eq!(read_file("/".as_ref(), json!({"path": absolute})).await.unwrap(), "one\ntwo");
    fs::write(dir.path().join("empty"), "").unwrap();
    assert_eq!(read_file(dir.path(), json!({"path": "empty"})).await.unwrap(), "");
}

#[tokio::test]
async fn offset_and_limit_count_lines_and_the_note_says_where_to_go_on() {
    let dir = tempdir().unwrap();
    let text: String = (1..=5000).map(|line| format!("line {line}\n")).collect();
    fs::write(dir.path().join("a.txt"), &text).unwrap();
    let read = |offset: u64, limit: u64| {
        read_file(dir.path(), json!({"path": "a.txt", "offset": offset, "limit": limit}))
    };
    assert_eq!(read(2, 2).await.unwrap(), "line 2\nline 3\n[more follows; go on with offset 4]");
    assert_eq!(read(4999, 2).await.unwrap(), "line 4999\nline 5000\n");
    assert_eq!(read(5000, u64::MAX).await.unwrap(), "line 5000\n");
    assert_eq!(
        message(read(5001, 1).await),
        "read_file: offset 5001 is past the end of `a.txt`, which has 5000 lines"
    );
    let all = read_file(dir.path(), json!({"path": "a.txt"})).await.unwrap();
    assert!(all.ends_with("line 2000\n[more follows; go on with offset 2001]"));

    fs::write(dir.path().join("b.txt"), "one\ntwo").unwrap();
    assert_eq!(read_file(dir.path(), json!({"path": "b.txt", "offset": 2})).await.unwrap(), "two");
    let past = message(read_file(dir.path(), json!({"path": "b.txt", "offset": 3})).await);
    assert!(past.ends_with("which has 2 lines"), "{past}");
}

#[tokio::test]
async fn reading_on_from_each_note_gives_the_whole_file() {
    let dir = tempdir().unwrap();
    let text: String = (0..3000).map(|line| format!("{line:>100}\n")).collect();
    fs::write(dir.path().join("a.txt"), &text).unwrap();
    let mut whole = String::new();
    let mut offset = 1;
    loop {
        let part = read_file(dir.path(), json!({"path": "a.txt", "offset": offset, "limit": 5000}))
            .await
            .unwrap();
        assert!(part.len() <= read::CAP + 100);
        match part.split_once("[more follows; go on with offset ") {
            Some((lines, next)) => {
                whole.push_str(lines);
                offset = next.trim_end_matches(']').parse().unwrap();
            }
            None => {
                whole.push_str(&part);
                break;
            }
        }
    }
    assert_eq!(whole, text);
}

#[tokio::test]
async fn a_line_longer_than_the_cap_is_cut_at_a_whole_character() {
    let dir = tempdir().unwrap();
    fs::write(dir.path().join("a.txt"), format!("x{}\nnext\n", "é".repeat(100_000))).unwrap();
    let text = read_file(dir.path(), json!({"path": "a.txt"})).await.unwrap();
    assert!(text.starts_with("xéé"));
    assert!(
        text.ends_with("é\n[line 1 is cut after 65535 bytes; go on with offset 2]"),
        "{}",
        &text[text.len() - 80..]
    );
    assert_eq!(
        read_file(dir.path(), json!({"path": "a.txt", "offset": 2})).await.unwrap(),
        "next\n"
    );
}

#[tokio::test]
async fn bytes_that_are_not_utf8_are_replaced_with_a_note() {
    let dir = tempdir().unwrap();
    fs::write(dir.path().join("latin1"), b"caf\xe9\n").unwrap();
    assert_eq!(
        read_file(dir.path(), json!({"path": "latin1"})).await.unwrap(),
        "caf\u{FFFD}\n[bytes that are not UTF-8 are shown as \u{FFFD}]"
    );
}

#[tokio::test]
async fn what_cannot_be_read_says_why() {
    let dir = tempdir().unwrap();
    fs::create_dir(dir.path().join("folder")).unwrap();
    fs::write(dir.path().join("binary"), b"\x7fELF\0\0").unwrap();
    let read = |path: &str| read_file(dir.path(), json!({"path": path}));
    assert_eq!(
        message(read("folder").await),
        "read_file: `folder` is a folder; list_dir lists folders"
    );
    assert_eq!(
        message(read("/").await),
        "read_file: `/` ends like the name of a folder; list_dir lists folders"
    );
    assert_eq!(message(read("binary").await), "read_file: `binary` is a binary file of 6 bytes");
    assert_eq!(message(read("nothing").await), "read_file: `nothing` does not exist");
    assert_eq!(
        message(read("binary/x").await),
        "read_file: `binary/x` goes through something that is not a folder"
    );
    assert_eq!(
        message(read_file(dir.path(), json!({"file": "a"})).await),
        "read_file: the argument `path` is missing"
    );
}

#[tokio::test]
async fn a_cancelled_run_reads_nothing() {
    let dir = tempdir().unwrap();
    fs::write(dir.path().join("a.txt"), "one").unwrap();
    let cx = cx(dir.path());
    cx.cancel.cancel();
    let result = run(FileTool::read(), json!({"path": "a.txt"}), cx).await;
    assert!(matches!(result, Err(pintle_agent::ToolError::Cancelled(_))), "{result:?}");
}

#[tokio::test]
async fn a_folder_is_listed_by_name_with_its_kinds() {
    let dir = tempdir().unwrap();
    for file in ["b.txt", "a.txt", ".hidden", "two\nlines"] {
        fs::write(dir.path().join(file), "").unwrap();
    }
    fs::write(dir.path().join(std::ffi::OsStr::from_bytes(b"latin\xe9")), "").unwrap();
    fs::create_dir(dir.path().join("sub")).unwrap();
    std::os::unix::fs::symlink("b.txt", dir.path().join("link")).unwrap();
    assert_eq!(
        list_dir(dir.path(), json!({"path": "."})).await.unwrap(),
        ".hidden\na.txt\nb.txt\nlatin\u{FFFD}\nlink -> b.txt\nsub/\ntwo\\nlines"
    );
    assert_eq!(
        list_dir(dir.path(), json!({"path": "sub"})).await.unwrap(),
        "[the folder is empty]"
    );
}

#[tokio::test]
async fn of_a_large_folder_the_first_names_are_shown_and_the_rest_counted() {
    let dir = tempdir().unwrap();
    for number in 0..list::CAP + 7 {
        fs::write(dir.path().join(format!("{number:05}")), "").unwrap();
    }
    let text = list_dir(dir.path(), json!({"path": ""})).await.unwrap();
    assert!(text.starts_with("00000\n00001\n"));
    assert!(text.ends_with("\n00999\n[7 more entries are not shown]"));
}

#[tokio::test]
async fn what_cannot_be_listed_says_why() {
    let dir = tempdir().unwrap();
    fs::write(dir.path().join("a.txt"), "").unwrap();
    assert_eq!(
        message(list_dir(dir.path(), json!({"path": "a.txt"})).await),
        "list_dir: `a.txt` is not a folder; read_file reads files"
    );
    assert_eq!(
        message(list_dir(dir.path(), json!({"path": "b"})).await),
        "list_dir: `b` does not exist"
    );
}
