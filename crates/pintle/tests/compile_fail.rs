//! Wrong uses do not compile, and the compiler says what to do instead (R3.1, R4.3, R4.4, R5.1).
//!
//! `TRYBUILD=overwrite cargo nextest run -p pintle --test compile_fail` writes the messages anew; they are explained in
//! `docs/why-does-my-handler-not-compile.md`.
#![allow(clippy::unwrap_used, missing_docs)]

use std::{fs, path::Path};

#[test]
fn wrong_uses_do_not_compile_and_the_message_says_what_to_do() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}

/// The cases that bind or fire under a wrong model, and the method each message has to name.
const RIGHT_METHOD: [(&str, &str); 5] = [
    ("a_void_handler_on_a_modifying_point", "register_modifying"),
    ("a_modifying_handler_on_a_gate", "register_gate"),
    ("a_claiming_handler_on_a_void_point", "register_void"),
    ("a_gate_handler_on_a_claiming_point", "register_claiming"),
    ("a_fire_under_another_model", "fire_gate"),
];

fn cases() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compile_fail")
}

// R3.1
#[test]
fn under_a_wrong_model_the_message_names_the_right_method() {
    for (case, method) in RIGHT_METHOD {
        let message = fs::read_to_string(cases().join(case).with_extension("stderr")).unwrap();
        assert!(
            message.contains(&format!("`{method}`")),
            "{case} should name `{method}`:\n{message}"
        );
    }
}

#[test]
fn no_message_holds_a_path_of_a_machine_and_each_is_explained() {
    let page =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/why-does-my-handler-not-compile.md");
    let page = fs::read_to_string(page).unwrap();
    for file in fs::read_dir(cases()).unwrap() {
        let file = file.unwrap().path();
        let text = fs::read_to_string(&file).unwrap();
        if file.extension().is_some_and(|extension| extension == "stderr") {
            let words = text.split(|c: char| c.is_whitespace() || "\"'`@(".contains(c));
            let absolute = words.into_iter().find(|word| {
                word.strip_prefix('/').is_some_and(|rest| rest.starts_with(char::is_alphabetic))
            });
            assert_eq!(absolute, None, "{} holds a path of a machine", file.display());
            let headline = text.lines().next().unwrap();
            assert!(
                page.contains(headline),
                "the page should explain `{headline}` of {}",
                file.display()
            );
        }
    }
}
