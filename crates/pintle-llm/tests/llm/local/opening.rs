//! From a model's name to the model.

use std::{fs, process::Command};

use pintle_llm::{ProviderConfig, Settings, has_price, key_variable, open, providers};

fn with(provider: &str, base_url: Option<&str>, api_key: Option<&str>) -> Settings {
    let config =
        ProviderConfig { base_url: base_url.map(Into::into), api_key: api_key.map(Into::into) };
    Settings { providers: [(provider.to_owned(), config)].into(), ..Settings::default() }
}

fn error(model: &str, settings: &Settings) -> String {
    match open(model, settings) {
        Ok(llm) => panic!("{} was opened", llm.name()),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_model_keeps_the_name_it_was_opened_by() {
    for (model, provider) in [
        ("offline", ""),
        ("anthropic/claude-sonnet-4-5", "anthropic"),
        ("open_router/openai/gpt-4.1", "open_router"),
        ("ollama/qwen3:8b", ""),
    ] {
        assert_eq!(open(model, &with(provider, None, Some("key"))).unwrap().name(), model);
    }
}

#[test]
fn a_price_is_known_only_of_a_listed_model_at_its_own_address() {
    let here = |provider: &str, url| with(provider, url, Some("key"));
    for (model, url, known) in [
        ("offline", None, true),
        ("scripted:some/file.json", None, true),
        ("ollama/qwen3:8b", Some("http://localhost:1"), true),
        ("openai/gpt-4o-2024-08-06", None, true),
        ("openai/gpt-4o", Some(" "), true),
        ("openai/gpt-4o", Some("http://localhost:1"), false),
        ("openai/some-new-model", None, false),
        ("open_router/openai/gpt-4.1", None, false),
        ("nobody/gpt-4o", None, false),
    ] {
        let provider = model.split('/').next().unwrap();
        assert_eq!(has_price(model, &here(provider, url)), known, "{model} at {url:?}");
    }
}

#[test]
fn messages_name_what_is_wrong_and_how_to_mend_it() {
    let none = Settings::default();
    let messages = [
        error("ofline", &none),
        error("gpt-4o", &none),
        error("ollama", &none),
        error("", &none),
        error("antropic/claude-sonnet-4-5", &none),
        error("nobody/knows", &none),
        error("anthropic/", &none),
        error("anthropic/claude-sonnet-4-5", &none),
        error("openai/gpt-4o", &with("openai", None, Some("  "))),
        error("vertex/gemini-2.5-flash", &with("vertex", None, Some("key"))),
        error("openai/gpt-4o", &with("openai", Some("localhost:8000"), Some("key"))),
        error("scripted:no/such/file.json", &none),
    ];
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn every_provider_that_needs_a_key_says_so_by_its_variable() {
    for provider in providers().filter(|provider| !["ollama", "omlx"].contains(provider)) {
        let variable =
            key_variable(provider).unwrap_or_else(|| panic!("{provider} has no variable"));
        let message = error(&format!("{provider}/some-model"), &Settings::default());
        assert!(message.contains(variable), "{provider}: {message}");
    }
    assert_eq!(key_variable("ollama"), None);
    assert_eq!(key_variable("nobody"), None);
}

/// Runs the test above again in an environment in which every key is set.
#[test]
fn keys_in_the_environment_are_not_looked_up() {
    let keys =
        providers().filter_map(key_variable).map(|variable| (variable, "sk-from-the-environment"));
    let run = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "local::opening::every_provider_that_needs_a_key_says_so_by_its_variable",
        ])
        .envs(keys)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
fn a_key_is_never_shown() {
    let settings = with("anthropic", Some("https://gateway.example"), Some("sk-secret"));
    let shown = format!("{settings:?}");
    assert!(!shown.contains("sk-secret") && shown.contains("[key]"), "{shown}");
}

#[test]
fn a_script_is_read_from_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("script.json");
    fs::write(&file, r#"[{"text": "Hello!"}]"#).unwrap();
    let model = format!("scripted:{}", file.display());
    assert_eq!(open(&model, &Settings::default()).unwrap().name(), model);

    fs::write(&file, r#"[{"text": "Hello!"}, {"text": 2}]"#).unwrap();
    let message = error(&model, &Settings::default());
    assert_eq!(message, format!("{}: element 1: text: must be a string, not `2`", file.display()));

    fs::write(&file, b"[\"\xff\"]").unwrap();
    assert!(error(&model, &Settings::default()).contains("script.json"));
}
