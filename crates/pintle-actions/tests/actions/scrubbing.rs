//! Secrets do not leave, whatever they are dressed as (R10.7).

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use pintle_actions::{SCRUBBED, Scrubber};
use proptest::prelude::{prop_assert, proptest};
use serde_json::json;

const SECRET: &str = "p\"ss w/rd+é=1";

// R10.7
#[test]
fn each_form_of_a_secret_is_scrubbed() {
    let scrubber = Scrubber::new([SECRET]);
    let forms = [
        SECRET.to_owned(),
        serde_json::to_string(SECRET).unwrap().trim_matches('"').to_owned(),
        "p\\\"ss w/rd+\\u00e9=1".to_owned(),
        "p\\\"ss w\\/rd+é=1".to_owned(),
        "p%22ss%20w/rd+%C3%A9=1".to_owned(),
        "p%22ss%20w%2Frd%2B%C3%A9%3D1".to_owned(),
        "p%22ss%20w%2frd%2b%c3%a9%3d1".to_owned(),
        "p%22ss+w%2Frd%2B%C3%A9%3D1".to_owned(),
        SECRET.bytes().map(|b| format!("%{b:02X}")).collect(),
        SECRET.bytes().map(|b| format!("%{b:02x}")).collect(),
        SECRET.bytes().map(|b| format!("{b:02x}")).collect(),
        SECRET.bytes().map(|b| format!("{b:02X}")).collect(),
    ];
    for form in forms {
        let clean = scrubber.scrub(&form);
        assert!(clean.contains(SCRUBBED), "{form}");
        assert!(!clean.contains("rd"), "{form} -> {clean}");
    }
}

// R10.7: all three alignments, both alphabets
#[test]
fn base64_hides_a_secret_at_no_alignment() {
    let secret = "ghp_1234567890abcdef";
    let scrubber = Scrubber::new([secret]);
    for prefix in ["", "a", "ab", "abc", "abcd", "abcde"] {
        for suffix in ["", "z", "zz"] {
            let text = format!("{prefix}{secret}{suffix}");
            for encoded in [BASE64_STANDARD.encode(&text), BASE64_URL_SAFE_NO_PAD.encode(&text)] {
                let clean = scrubber.scrub(&encoded).into_owned();
                assert!(clean.contains(SCRUBBED), "{text}");
                assert!(clean.len() < SCRUBBED.len() + 14, "{text}: too much is left: {clean}");
            }
        }
    }
}

#[test]
fn secrets_that_overlap_leave_no_rest() {
    let scrubber = Scrubber::new(["abcdef", "efghij", "cd%20"]);
    assert_eq!(scrubber.scrub("xabcdefghijy"), "x[secret]y");
    assert_eq!(scrubber.scrub("xabcdefghijyabcdefz"), "x[secret]y[secret]z");
}

#[test]
fn json_is_scrubbed_in_values_keys_and_numbers() {
    let scrubber = Scrubber::new(["hunter2", "123456"]);
    let mut value =
        json!({ "a": ["x hunter2 y", 1, 123_456], "hunter2": { "b": "hunter2" }, "n": null });
    scrubber.scrub_json(&mut value);
    let expected =
        json!({ "a": ["x [secret] y", 1, "[secret]"], "[secret]": { "b": "[secret]" }, "n": null });
    assert_eq!(value, expected);
}

#[test]
fn short_values_and_ordinary_text_are_left_alone() {
    let scrubber = Scrubber::new(["", "a", "abc", "\n"]);
    assert_eq!(scrubber.scrub("abc a b c"), "abc a b c");
    assert_eq!(Scrubber::new(["hunter2"]).scrub("nothing here"), "nothing here");
}

#[test]
fn a_secret_of_several_lines_is_found_line_by_line_and_the_longer_secret_first() {
    let key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG\n-----END KEY-----\n";
    let scrubber = Scrubber::new([key]);
    assert!(!scrubber.scrub("got MIIEvQIBADANBgkqhkiG here").contains("MIIE"));
    let both = Scrubber::new(["token", "token-long"]);
    assert_eq!(both.scrub("token-long token"), "[secret] [secret]");
    assert!(!format!("{both:?}").contains("token"));
}

proptest! {
    #![proptest_config(crate::random::cases(200))]

    #[test]
    fn no_secret_survives_in_any_of_the_forms(secret in "[!-~]{6,24}") {
        let scrubber = Scrubber::new([&secret]);
        let json = serde_json::to_string(&secret).unwrap();
        let forms = [
            json[1..json.len() - 1].to_owned(),
            url::form_urlencoded::byte_serialize(secret.as_bytes()).collect(),
            secret.bytes().map(|b| format!("{b:02x}")).collect(),
            BASE64_STANDARD.encode(&secret),
        ];
        for form in forms {
            prop_assert!(scrubber.scrub(&form).starts_with(SCRUBBED), "{}", form);
        }
    }

    #[test]
    fn no_secret_survives_in_the_clear(secret in "[!-~]{6,24}", before in "\\PC{0,12}", after in "\\PC{0,12}") {
        let scrubber = Scrubber::new([&secret]);
        let text = format!("{before}{secret}{after}");
        // The replacement itself may spell a secret such as "[secret]".
        if !SCRUBBED.contains(secret.as_str()) {
            prop_assert!(!scrubber.scrub(&text).contains(&secret));
        }
    }
}
