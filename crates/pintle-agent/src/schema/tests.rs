#![allow(clippy::unwrap_used, clippy::panic)]

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::random;

use super::{
    Schema,
    keywords::{KEYWORDS, Shape, TYPES},
};

fn fits(schema: &Value, value: &Value) -> bool {
    Schema::new(schema).unwrap().problems(value).is_empty()
}

/// Each keyword that is checked: a schema, a value that fits and one that does not.
fn cases() -> Vec<(&'static str, Value, Value, Value)> {
    let text = || json!({ "type": "string" });
    vec![
        ("$ref", json!({ "$defs": { "t": text() }, "$ref": "#/$defs/t" }), json!("a"), json!(1)),
        ("$defs", json!({ "$defs": { "t": text() }, "$ref": "#/$defs/t" }), json!("a"), json!(1)),
        (
            "definitions",
            json!({ "definitions": { "t": text() }, "$ref": "#/definitions/t" }),
            json!("a"),
            json!(1),
        ),
        (
            "additionalItems",
            json!({ "items": [text()], "additionalItems": false }),
            json!(["a"]),
            json!(["a", 1]),
        ),
        (
            "additionalProperties",
            json!({ "properties": { "a": true }, "additionalProperties": false }),
            json!({ "a": 1 }),
            json!({ "b": 1 }),
        ),
        ("allOf", json!({ "allOf": [text(), { "minLength": 2 }] }), json!("ab"), json!("a")),
        ("anyOf", json!({ "anyOf": [text(), { "type": "null" }] }), json!(null), json!(1)),
        ("const", json!({ "const": 1 }), json!(1.0), json!(2)),
        ("contains", json!({ "contains": text() }), json!([1, "a"]), json!([1])),
        (
            "dependentRequired",
            json!({ "dependentRequired": { "a": ["b"] } }),
            json!({ "b": 1 }),
            json!({ "a": 1 }),
        ),
        (
            "dependentSchemas",
            json!({ "dependentSchemas": { "a": { "required": ["b"] } } }),
            json!({ "b": 1 }),
            json!({ "a": 1 }),
        ),
        ("else", json!({ "if": text(), "else": { "minimum": 2 } }), json!(2), json!(1)),
        ("enum", json!({ "enum": ["a", ["b"]] }), json!(["b"]), json!("b")),
        ("exclusiveMaximum", json!({ "exclusiveMaximum": 2 }), json!(1.9), json!(2)),
        ("exclusiveMinimum", json!({ "exclusiveMinimum": 2 }), json!(2.1), json!(2)),
        ("if", json!({ "if": text(), "then": { "minLength": 2 } }), json!(1), json!("a")),
        ("items", json!({ "items": text() }), json!(["a"]), json!(["a", 1])),
        (
            "maxContains",
            json!({ "contains": text(), "maxContains": 1 }),
            json!(["a"]),
            json!(["a", "b"]),
        ),
        ("maxItems", json!({ "maxItems": 1 }), json!([1]), json!([1, 2])),
        ("maxLength", json!({ "maxLength": 1 }), json!("ä"), json!("ab")),
        (
            "maxProperties",
            json!({ "maxProperties": 1 }),
            json!({ "a": 1 }),
            json!({ "a": 1, "b": 2 }),
        ),
        (
            "maximum",
            json!({ "maximum": 9007199254740993_u64 }),
            json!(9007199254740993_u64),
            json!(9007199254740994_u64),
        ),
        (
            "minContains",
            json!({ "contains": text(), "minContains": 2 }),
            json!(["a", "b"]),
            json!(["a"]),
        ),
        ("minItems", json!({ "minItems": 1 }), json!([1]), json!([])),
        ("minLength", json!({ "minLength": 2 }), json!("ab"), json!("ä")),
        ("minProperties", json!({ "minProperties": 1 }), json!({ "a": 1 }), json!({})),
        ("minimum", json!({ "minimum": -1.5 }), json!(-1.5), json!(-2)),
        ("multipleOf", json!({ "multipleOf": 0.1 }), json!(0.3), json!(0.35)),
        ("not", json!({ "not": text() }), json!(1), json!("a")),
        ("oneOf", json!({ "oneOf": [text(), { "maxLength": 1 }] }), json!("ab"), json!("a")),
        ("pattern", json!({ "pattern": "^\\d+$" }), json!("12"), json!("١")),
        (
            "patternProperties",
            json!({ "patternProperties": { "^a": text() } }),
            json!({ "b": 1 }),
            json!({ "ab": 1 }),
        ),
        (
            "prefixItems",
            json!({ "prefixItems": [text()], "items": false }),
            json!(["a"]),
            json!(["a", 1]),
        ),
        (
            "properties",
            json!({ "properties": { "a": text() } }),
            json!({ "a": "b" }),
            json!({ "a": 1 }),
        ),
        (
            "propertyNames",
            json!({ "propertyNames": { "maxLength": 1 } }),
            json!({ "a": 1 }),
            json!({ "ab": 1 }),
        ),
        ("required", json!({ "required": ["a"] }), json!({ "a": null }), json!({})),
        ("then", json!({ "if": text(), "then": { "minLength": 2 } }), json!("ab"), json!("a")),
        ("type", json!({ "type": ["integer", "null"] }), json!(1.0), json!(1.5)),
        (
            "uniqueItems",
            json!({ "uniqueItems": true }),
            json!([1, "1", [1]]),
            json!([{ "a": 1 }, { "a": 1.0 }]),
        ),
    ]
}

#[test]
fn every_keyword_that_does_not_only_describe_refuses_what_breaks_it() {
    let cases = cases();
    for (keyword, schema, good, bad) in &cases {
        assert!(fits(schema, good), "{keyword}: {good} fits {schema}");
        assert!(!fits(schema, bad), "{keyword}: {bad} does not fit {schema}");
    }
    for (keyword, shape) in KEYWORDS {
        let is_tried = cases.iter().any(|(tried, ..)| tried == keyword);
        assert!(is_tried != matches!(shape, Shape::Note), "{keyword}");
    }
}

#[test]
fn a_schema_that_cannot_be_checked_in_full_is_refused() {
    for schema in [
        json!({ "unevaluatedProperties": false }),
        json!({ "properties": { "a": { "dependencies": {} } } }),
        json!({ "$ref": "https://example.com/schema.json" }),
        json!({ "$ref": "file:///etc/passwd" }),
        json!({ "$ref": "#/nowhere" }),
        // What a reference leads to is read as a schema, even where it only describes.
        json!({ "default": { "typo": 1 }, "$ref": "#/default" }),
        json!({ "properties": { "a": { "$id": "other", "$ref": "#" } } }),
        json!({ "type": "text" }),
        json!({ "type": [] }),
        json!({ "required": "a" }),
        json!({ "properties": [] }),
        json!({ "anyOf": {} }),
        json!({ "minimum": "1" }),
        json!({ "exclusiveMinimum": true }),
        json!({ "multipleOf": 0 }),
        json!({ "maxLength": -1 }),
        json!({ "pattern": "(?=a)b" }),
        json!({ "pattern": "[]a]" }),
        json!({ "pattern": "a{,3}" }),
        json!({ "pattern": "[a-z&&b]" }),
        json!({ "patternProperties": { "(": true } }),
        json!("object"),
    ] {
        assert!(Schema::new(&schema).is_err(), "{schema}");
    }
}

#[test]
fn a_schema_without_an_end_refuses_the_arguments() {
    let circle = json!({ "$ref": "#" });
    assert!(!fits(&circle, &json!({})));
    // A `not` around it would turn "not checked" into "fits".
    assert!(!fits(&json!({ "not": { "$ref": "#" } }), &json!({})));
    let mut many = json!({ "$defs": { "s0": true }, "$ref": "#/$defs/s40" });
    for n in 1..=40 {
        let below = json!({ "$ref": format!("#/$defs/s{}", n - 1) });
        many["$defs"][format!("s{n}")] = json!({ "oneOf": [below, below] });
    }
    assert!(!fits(&many, &json!({})));
}

#[test]
fn a_problem_says_what_and_where() {
    let schema = json!({
        "type": "object",
        "properties": { "path": { "type": "string" }, "tags": { "items": { "enum": ["a"] } } },
        "required": ["path", "text"],
        "additionalProperties": false,
    });
    let mut problems =
        Schema::new(&schema).unwrap().problems(&json!({ "path": 7, "tags": ["b"], "x": 1 }));
    problems.sort();
    assert_eq!(
        problems,
        [
            "\"b\" is not one of [\"a\"] (at /tags/0)",
            "7 is not of type string (at /path)",
            "`text` is missing",
            "`x` is not allowed",
        ]
    );
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        (-3_i64..4).prop_map(Value::from),
        prop_oneof![Just(0.5), Just(1.0), Just(-2.5)].prop_map(Value::from),
        "[ab1é]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[ab]{1,2}", inner, 0..4).prop_map(|map| json!(map)),
        ]
    })
}

fn schema() -> impl Strategy<Value = Value> {
    let count = 0_u64..4;
    let text = "[ab]{1,2}";
    let pattern = prop_oneof![
        Just("^a"),
        Just("\\d$"),
        Just("\\w{2}"),
        Just("^[ab]+$"),
        Just("."),
        Just("\\bb")
    ];
    let names = prop::collection::btree_set(text, 0..3).prop_map(|names| json!(names));
    let types = prop::sample::subsequence(TYPES.to_vec(), 1..4).prop_map(|t| json!(t));
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        types.prop_map(|types| json!({ "type": types })),
        value().prop_map(|value| json!({ "const": value })),
        prop::collection::vec(value(), 1..3).prop_map(|values| json!({ "enum": values })),
        (
            prop::sample::select(vec![
                "minimum",
                "maximum",
                "exclusiveMinimum",
                "exclusiveMaximum"
            ]),
            -2_i64..3
        )
            .prop_map(|(keyword, limit)| json!({ keyword: limit })),
        prop_oneof![Just(json!(2)), Just(json!(0.5))]
            .prop_map(|divisor| json!({ "multipleOf": divisor })),
        (
            prop::sample::select(vec![
                "minLength",
                "maxLength",
                "minItems",
                "maxItems",
                "minProperties",
                "maxProperties",
            ]),
            count.clone()
        )
            .prop_map(|(keyword, limit)| json!({ keyword: limit })),
        pattern.clone().prop_map(|pattern| json!({ "pattern": pattern })),
        any::<bool>().prop_map(|unique| json!({ "uniqueItems": unique })),
        names.clone().prop_map(|names| json!({ "required": names })),
        (text, names).prop_map(|(name, names)| json!({ "dependentRequired": { name: names } })),
        Just(json!({ "$ref": "#/$defs/shared" })),
    ];
    leaf.prop_recursive(3, 24, 3, move |inner| {
        let list = prop::collection::vec(inner.clone(), 1..4);
        let one = prop::sample::select(vec!["not", "items", "additionalProperties", "propertyNames", "contains"]);
        prop_oneof![
            (prop::sample::select(vec!["allOf", "anyOf", "oneOf", "prefixItems"]), list)
                .prop_map(|(keyword, list)| json!({ keyword: list })),
            (one, inner.clone()).prop_map(|(keyword, one)| json!({ keyword: one })),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(a, b, c)| json!({ "if": a, "then": b, "else": c })),
            (inner.clone(), 0_u64..3, 0_u64..3).prop_map(
                |(one, least, most)| json!({ "contains": one, "minContains": least, "maxContains": most })
            ),
            (text, inner.clone(), pattern.clone(), inner.clone(), inner.clone()).prop_map(
                |(name, a, pattern, b, c)| json!({
                    "properties": { name: a },
                    "patternProperties": { pattern: b },
                    "additionalProperties": c,
                })
            ),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| json!({ "prefixItems": [a], "items": b })),
            (text, inner).prop_map(|(name, one)| json!({ "dependentSchemas": { name: one } })),
        ]
    })
}

proptest! {
    #![proptest_config(random::cases(500))]
    #[test]
    fn a_full_validator_comes_to_the_same_verdict(
        schema in schema(),
        shared in prop_oneof![Just(json!({ "type": "string" })), Just(json!({ "required": ["a"] }))],
        value in value(),
    ) {
        let schema = json!({ "$defs": { "shared": shared }, "allOf": [schema] });
        let expected = jsonschema::draft202012::new(&schema).unwrap().is_valid(&value);
        prop_assert_eq!(fits(&schema, &value), expected, "{} against {}", value, schema);
    }
}
