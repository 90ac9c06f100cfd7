//! The output parser, against anything.

use pintle::{FailureKind, ModelKind};
use pintle_exec::parse_answer;
use proptest::prelude::*;

use crate::answer_invariants::hold;

/// Bytes that look like answers more often than chance would have it.
fn near_answers() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(&b"{"[..]),
        Just(&b"}"[..]),
        Just(&b"\"continue\""[..]),
        Just(&b": false"[..]),
        Just(&b": true"[..]),
        Just(&b", "[..]),
        Just(&b"\"output\": \"x\""[..]),
        Just(&b"\"decision\": \"approve\""[..]),
        Just(&b"\"hookSpecificOutput\": {\"permissionDecision\": \"allow\"}"[..]),
        Just(&b"\xef\xbb\xbf"[..]),
        Just(&b"\xff\xfe"[..]),
        Just(&b"\r\n"[..]),
        Just(&b"["[..]),
        Just(&b"text"[..]),
        Just(&b"\\u0000"[..]),
        Just(&b"1e999"[..]),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(crate::random::cases(1000))]

    #[test]
    fn whatever_the_bytes_the_parser_keeps_its_invariants(
        bytes in prop_oneof![near_answers(), prop::collection::vec(any::<u8>(), 0..400)],
    ) {
        hold(&bytes);
    }

    #[test]
    fn a_block_is_never_read_as_anything_else(
        before in "[ \r\n\t]{0,4}",
        after in "[ \r\n\t]{0,4}",
        reason in ".{0,40}",
    ) {
        let block = serde_json::json!({ "continue": false, "reason": reason });
        let stdout = format!("{before}{block}{after}");
        prop_assert_eq!(parse_answer(stdout.as_bytes(), false, ModelKind::Gate).unwrap(), block);
        prop_assert!(parse_answer(stdout.as_bytes(), true, ModelKind::Gate).is_err());
    }

    #[test]
    fn text_is_kept(text in "[a-z][a-z0-9 .]{0,80}[a-z]") {
        let answer = parse_answer(text.as_bytes(), false, ModelKind::Gate).unwrap();
        prop_assert_eq!(answer, serde_json::json!({ "output": text }));
        prop_assert!(parse_answer(text.as_bytes(), false, ModelKind::Modifying).is_err());
        prop_assert!(parse_answer(text.as_bytes(), false, ModelKind::Claiming).is_err());
    }
}

proptest! {
    // Each case is a process.
    #![proptest_config(crate::random::cases(60))]

    #[test]
    fn no_stdout_loosens_an_exit_that_is_not_0(stdout in near_answers(), code in 1..=255_i32) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let profile = crate::support::Profile::new();
            std::fs::write(profile.path().join("says"), stdout).unwrap();
            let hook = pintle_exec::CommandHook::new(profile.shell(&format!("cat says; exit {code}")));
            profile.judge_with(hook).await.failed(FailureKind::Exit(code));
        });
    }
}
