//! The reader of JSON reads on after a slip, and lets none pass.

use pintle_profile::read_json;
use proptest::prelude::{Just, Strategy, any, prop_assert_eq, prop_oneof, proptest};
use serde_json::Value;

/// What an independent reader makes of it.
fn same_as_serde(text: &str) -> Result<(), String> {
    let ours = read_json(text).ok();
    let theirs: Option<Value> = serde_json::from_str(text).ok();
    if ours == theirs { Ok(()) } else { Err(format!("{text:?}: {ours:?}, not {theirs:?}")) }
}

fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("{".to_owned()),
        Just("}".to_owned()),
        Just("[".to_owned()),
        Just("]".to_owned()),
        Just(",".to_owned()),
        Just(":".to_owned()),
        Just(" \n".to_owned()),
        Just("\"a\"".to_owned()),
        Just("\"a\":".to_owned()),
        "(true|false|null|True|a|é|“a”|'a'|\"|;|=|\u{a0})",
        "-?[0-9]{1,3}(\\.[0-9]{0,2})?([eE][+-]?[0-9]?)?",
        "\"[ -~]{0,4}\"",
        "\"\\\\(u[0-9a-g]{3,4}|[bfnrtux\"/\\\\'])\"",
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

fn document() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::hash_map(".{0,4}", inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(crate::random::cases(4000))]

    // R10.4: to forgive is to read on, never to let pass.
    #[test]
    fn whatever_is_no_json_is_told_and_nothing_else_is(text in pieces()) {
        prop_assert_eq!(same_as_serde(&text), Ok(()));
    }

    #[test]
    fn what_is_json_is_read_as_it_is(value in document()) {
        prop_assert_eq!(same_as_serde(&value.to_string()), Ok(()));
        prop_assert_eq!(same_as_serde(&format!("{value:#}")), Ok(()));
    }
}

#[test]
fn a_parser_that_forgives_nothing_has_the_last_word() {
    assert_eq!(read_json("{} /* é\n */ // é"), Ok(serde_json::json!({})));
    for open in ["\"\\\"", "{\"a\\\"", "\"", "'\\'", "1e400", "{\"a\": -1e999}"] {
        assert!(read_json(open).is_err(), "{open}");
    }
}

#[test]
fn a_hostile_file_takes_no_longer_than_a_long_one() {
    let many = |text: &str| text.repeat(300_000 / text.len());
    let files = [
        many("["),
        many("{\"a\":["),
        format!("{}{}", many("["), many("}")),
        format!("{}{}", many("{["), many("}")),
        format!("{{\n\"{}", many("\n")),
        format!("{{\"{}", many("”,")),
        format!("{{\n{}", many("[\n")),
        format!("{{\n{}", many("“\n")),
        format!("{{{}", many(": [")),
        format!("{{\"a\":1{}", many(":1")),
        many("'\n"),
        many("\\"),
        format!("{{{}", many("a ")),
    ];
    for file in files {
        assert!(read_json(&file).is_err());
    }
}

// The brackets that are added to read on are no part of the file.
#[test]
fn an_error_about_lists_that_are_not_closed_is_drawn_inside_the_file() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("agent.json"), "{\n  \"plugins\": [[").unwrap();
    let drawn = crate::load(folder.path()).unwrap_err().render(false);
    assert!(drawn.contains("must be a string in quotes, not a list"), "{drawn}");
}
