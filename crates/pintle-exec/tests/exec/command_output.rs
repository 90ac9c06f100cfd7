//! What a command writes, and what is made of it.

use pintle::FailureKind::{BadOutput, Exit, TooMuchOutput};

use crate::support::{Judged, Profile};

/// Writes exactly these bytes and exits with 0.
async fn says(bytes: &[u8]) -> Judged {
    let profile = Profile::new();
    std::fs::write(profile.path().join("says"), bytes).unwrap();
    profile.judge(profile.argv(["/bin/cat", "says"])).await
}

#[tokio::test]
async fn a_json_object_can_tighten_an_exit_0() {
    let judged =
        says(br#"{"continue": false, "reason": "no", "additionalContext": "ask ops"}"#).await;
    assert_eq!(judged.reason(), "no"); // R8.2
    assert_eq!(judged.kind(), None, "a decision, not a failure");
    assert_eq!(judged.block.unwrap().additional_context.as_deref(), Some("ask ops"));
    assert!(!judged.tool_ran);
}

#[tokio::test]
async fn a_json_object_cannot_loosen_another_exit() {
    let profile = Profile::new();
    let line = r#"echo '{"continue": true}'; exit 1"#;
    profile.judge(profile.shell(line)).await.failed(Exit(1)); // R8.2
}

#[tokio::test]
async fn other_text_is_output() {
    assert_eq!(says(b"3 files checked\n").await.allowed().output(), Some("3 files checked"));
    assert_eq!(says(b"[1, 2]").await.allowed().output(), Some("[1, 2]"));
    assert_eq!(says(b"\"quoted\"").await.allowed().output(), Some("\"quoted\""));
}

#[tokio::test]
async fn empty_output_says_nothing() {
    for nothing in [&b""[..], b"\n\n", b" \r\n\t", b"\xef\xbb\xbf\n"] {
        assert!(says(nothing).await.allowed().notes.is_empty());
    }
}

#[tokio::test]
async fn a_byte_order_mark_and_carriage_returns_are_tolerated() {
    let judged =
        says(b"\xef\xbb\xbf{\r\n  \"continue\": false,\r\n  \"reason\": \"no\"\r\n}\r\n").await;
    assert_eq!((judged.reason(), judged.kind()), ("no", None));
    assert_eq!(says(b"\xef\xbb\xbffine\r\n").await.allowed().output(), Some("fine"));
}

#[tokio::test]
async fn invalid_utf_8_is_replaced_in_text_and_refused_in_json() {
    assert_eq!(says(b"caf\xe9\n").await.allowed().output(), Some("caf\u{fffd}"));
    says(b"{\"output\": \"caf\xe9\"}").await.failed(BadOutput);
}

#[tokio::test]
async fn utf_16_is_refused_since_a_verdict_could_hide_in_it() {
    let utf16: Vec<u8> =
        "\u{feff}{\"continue\":false}".encode_utf16().flat_map(u16::to_le_bytes).collect();
    says(&utf16).await.failed(BadOutput);
}

#[tokio::test]
async fn json_that_is_not_exactly_one_object_blocks() {
    for bad in [
        r#"{"continue": true} and so on"#,
        r#"{"continue": true}{"continue": false}"#,
        "{\"continue\": true}\n{\"continue\": false}\n",
        r#"{"continue": true"#,
        r#"{continue: true}"#,
        r#"{'continue': true}"#,
        "{",
        "{}}",
    ] {
        says(bad.as_bytes()).await.failed(BadOutput);
    }
}

#[tokio::test]
async fn a_known_field_of_the_wrong_type_blocks() {
    for bad in [
        r#"{"continue": "yes"}"#,
        r#"{"continue": 1}"#,
        r#"{"continue": null}"#,
        r#"{"reason": 7}"#,
        r#"{"output": ["a"]}"#,
        r#"{"additionalContext": {}}"#,
    ] {
        says(bad.as_bytes()).await.failed(BadOutput); // R8.2
    }
}

#[tokio::test]
async fn a_key_that_is_there_twice_blocks() {
    for bad in [
        r#"{"continue": false, "continue": true}"#,
        r#"{"continue": true, "\u0063ontinue": false}"#,
        r#"{"extra": {"a": 1, "a": 2}}"#,
    ] {
        let judged = says(bad.as_bytes()).await.failed(BadOutput);
        assert!(judged.reason().contains("twice"), "{judged:?}");
    }
}

#[tokio::test]
async fn deeply_nested_json_blocks_and_overflows_nothing() {
    let deep = format!("{{\"a\": {}1{}}}", "[".repeat(20_000), "]".repeat(20_000));
    says(deep.as_bytes()).await.failed(BadOutput);
}

#[tokio::test]
async fn a_verdict_among_other_text_blocks_whatever_it_says() {
    let judged = says(b"checking...\n  {\"continue\": false}\n").await.failed(BadOutput);
    assert!(judged.reason().contains("among other text"), "{judged:?}");
    for hidden in [
        "checking...\n{\n  \"continue\": false\n}\nchecked\n",
        "checking\n{\"continue\": false,}\n",
        "verdict: {\"continue\": false}",
        "checking\r{\"continue\" :\tfalse}",
        "[{\"continue\": false}]",
        "\0{\"continue\": false}",
        "\u{1b}[0m{\"continue\": false}",
        "\u{1b}[1;39m{\n  \u{1b}[34;1m\"continue\"\u{1b}[0m\u{1b}[1;39m:\u{1b}[0m false}",
        "\u{a0}{\"continue\": false}",
        "\0{\0\"\0c\0o\0n\0t\0i\0n\0u\0e\0\"\0:\0f\0a\0l\0s\0e\0}",
    ] {
        says(hidden.as_bytes()).await.failed(BadOutput); // P2
    }
    for plain in
        ["the field \"continue\" is fine\n{not json}\n", "continue: yes", "\u{1b}[32mok\u{1b}[0m"]
    {
        assert_eq!(says(plain.as_bytes()).await.allowed().output(), Some(plain.trim())); // R8.2
    }
}

#[tokio::test]
async fn a_verdict_behind_more_text_than_is_kept_blocks_too() {
    for length in [65_500, 65_530, 65_536, 65_540, 100_000, 1_000_000] {
        let text = format!("{}\n{{\"continue\": false}}\n", "x".repeat(length));
        says(text.as_bytes()).await.failed(BadOutput); // P2, R8.5
    }
}

#[tokio::test]
async fn unknown_fields_are_ignored_and_noted() {
    let judged = says(br#"{"continue": true, "mood": "good"}"#).await.allowed();
    assert_eq!(judged.record_notes, ["ignored unknown field `mood`"]); // R8.2
}

#[tokio::test]
async fn json_cut_off_by_the_cap_blocks() {
    let long = format!("{{\"continue\": true, \"output\": \"{}\"}}", "x".repeat(64 * 1024));
    let judged = says(long.as_bytes()).await.failed(BadOutput); // R8.2, R8.5
    assert!(judged.reason().contains("cut off"), "{judged:?}");
}

#[tokio::test]
async fn text_is_cut_at_the_cap_and_says_so() {
    let judged = says("x".repeat(100 * 1024).as_bytes()).await.allowed(); // R8.5
    let output = judged.output().unwrap();
    assert!(output.ends_with("[cut off after 64 KiB]"));
    assert!(output.len() < 65 * 1024);
}

#[tokio::test]
async fn a_long_complaint_is_cut_at_the_cap_and_still_blocks() {
    let profile = Profile::new();
    let line = "head -c 300000 /dev/zero | tr '\\0' x >&2; exit 1";
    let judged = profile.judge(profile.shell(line)).await.failed(Exit(1));
    assert!(judged.reason().ends_with("[cut off after 64 KiB]"));
}

#[tokio::test]
async fn a_gibibyte_on_stdout_blocks_and_is_never_held() {
    let profile = Profile::new();
    let spec = profile.argv(["head", "-c", "1073741824", "/dev/zero"]);
    let judged = profile.judge(spec).await.failed(TooMuchOutput); // P5, R8.5
    assert!(judged.reason().contains("stdout"), "{judged:?}");
}

#[tokio::test]
async fn a_gibibyte_on_stderr_blocks_and_is_never_held() {
    let profile = Profile::new();
    let spec = profile.shell("head -c 1073741824 /dev/zero >&2");
    let judged = profile.judge(spec).await.failed(TooMuchOutput); // P5, R8.5
    assert!(judged.reason().contains("stderr"), "{judged:?}");
}
