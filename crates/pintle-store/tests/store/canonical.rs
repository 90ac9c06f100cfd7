use pintle_agent::{args_hash, canonical_json};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e9..1e9_f64).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 48, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..6)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

/// The same value, spelled with its keys in the opposite order and with white space everywhere.
fn spelled_backwards(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let mut pairs: Vec<String> = map
                .iter()
                .map(|(k, v)| format!("{} : {}", Value::from(k.as_str()), spelled_backwards(v)))
                .collect();
            pairs.sort();
            pairs.reverse();
            format!("{{ {} }}", pairs.join(" ,\n"))
        }
        Value::Array(items) => {
            format!("[ {} ]", items.iter().map(spelled_backwards).collect::<Vec<_>>().join(" , "))
        }
        leaf => leaf.to_string(),
    }
}

/// The same value, its objects filled in the opposite order.
fn built_backwards(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let pairs: Vec<_> = map.iter().map(|(k, v)| (k.clone(), built_backwards(v))).collect();
            Value::Object(pairs.into_iter().rev().collect::<Map<_, _>>())
        }
        Value::Array(items) => items.iter().map(built_backwards).collect(),
        leaf => leaf.clone(),
    }
}

proptest! {
    #![proptest_config(crate::random::cases(256))]

    // R11.4
    #[test]
    fn the_hash_does_not_depend_on_key_order_or_white_space(value in any_json()) {
        let again: Value = serde_json::from_str(&spelled_backwards(&value)).unwrap();
        prop_assert_eq!(args_hash(&value), args_hash(&again));
        prop_assert_eq!(args_hash(&value), args_hash(&built_backwards(&value)));
    }

    #[test]
    fn the_canonical_text_means_the_same_value(value in any_json()) {
        let text = canonical_json(&value);
        prop_assert_eq!(&serde_json::from_str::<Value>(&text).unwrap(), &value);
    }

    // P3
    #[test]
    fn different_arguments_have_different_hashes(a in any_json(), b in any_json()) {
        prop_assert_eq!(a == b, args_hash(&a) == args_hash(&b));
    }
}

#[test]
fn the_canonical_text_has_sorted_keys_at_every_depth_and_no_white_space() {
    let value = json!({"b": {"z": [ {"y": 1, "x": "a b\n"} ], "a": null}, "a": 1.5});
    assert_eq!(canonical_json(&value), r#"{"a":1.5,"b":{"a":null,"z":[{"x":"a b\n","y":1}]}}"#);
}

#[test]
fn the_hash_is_the_sha256_of_the_canonical_text() {
    // printf '{"a":1,"b":2}' | sha256sum
    let hash = "43258cff783fe7036d8a43033f830adfc60ec037382473548ac742b888292777";
    assert_eq!(args_hash(&json!({"b": 2, "a": 1})), hash);
}
