//! Secrets leave by none of the ways out, whatever they are dressed as (R10.7).

use serde_json::json;

use crate::{support::World, webhooks::Endpoint};

/// Marked as a secret by its variable's name alone.
const NAMED: &str = "p\"ss w/rd+Zy1Xw";
/// A value the operator names in pintle.toml.
const CONFIGURED: &str = "c0nf1gured-value";
/// What the profile's webhook is signed with.
const SIGNING: &str = "s1gn1ng-value-77";

/// The secret as it could look on its way out, and a piece that must not be left of it.
fn forms(secret: &str) -> Vec<(&'static str, String)> {
    let escaped = json!(secret).to_string();
    let url: String = secret
        .bytes()
        .map(|b| match b.is_ascii_alphanumeric() {
            true => char::from(b).to_string(),
            false => format!("%{b:02X}"),
        })
        .collect();
    vec![
        ("raw", secret.to_owned()),
        ("json", escaped.trim_matches('"').to_owned()),
        ("hex", secret.bytes().map(|b| format!("{b:02x}")).collect()),
        ("url", url),
        ("base64", base64(secret.as_bytes())),
        ("base64, moved", base64(format!("x{secret}").as_bytes())),
    ]
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let bits = group.iter().fold(0_u32, |bits, b| bits << 8 | u32::from(*b))
            << (8 * (3 - group.len()));
        for at in 0..=group.len() {
            text.push(char::from(LETTERS[(bits >> (18 - 6 * at) & 63) as usize]));
        }
    }
    text
}

const WORKER: &str = r#"#!/bin/sh
while IFS= read -r line; do
  printf '%s\n' "$line" >> worker.out
  id=$(printf '%s' "$line" | sed 's/^{"id":\([0-9]*\).*/\1/')
  printf '{"id":%s,"result":null}\n' "$id"
done
"#;

#[test]
fn no_form_of_a_secret_leaves_by_any_way_out() {
    let endpoint = Endpoint::open();
    let world = World::new(&json!({ "hooks": { "onComplete": [
        { "action": "log", "name": "line", "level": "info" },
        { "action": "save_json", "path": "saved.jsonl" },
        { "action": "webhook", "url": endpoint.url("/in"), "secretEnv": "HOOK_SIGN" },
        { "action": "command", "argv": ["hooks/keep.sh"] },
        { "action": "command", "argv": ["hooks/worker.sh"], "worker": true },
    ] } }))
    .allowing_programs()
    .operator("MY_ACCESS_TOKEN", NAMED)
    .operator("PLAIN_NAME", CONFIGURED)
    .operator("HOOK_SIGN", SIGNING);
    std::fs::write(world.data("pintle.toml"), "secrets = [\"PLAIN_NAME\"]\n").unwrap();
    world.script("profile/hooks/keep.sh", "#!/bin/sh\ncat >> command.out\n");
    world.script("profile/hooks/worker.sh", WORKER);
    world.trust();

    let secrets = [NAMED, CONFIGURED, SIGNING];
    let told: Vec<String> = secrets.iter().flat_map(|s| forms(s)).map(|(_, form)| form).collect();
    // `reason` is what a log line shows.
    world.write("end.json", &json!({ "reason": told.join(" | ") }).to_string());
    let fired = world.run(&[
        "hooks",
        "fire",
        "session.end",
        "--payload",
        "end.json",
        "--profile",
        "profile",
    ]);
    assert!(fired.ok, "{fired:?}");
    let body = endpoint.body();

    let ways_out = [
        ("log", fired.err),
        ("save_json", world.read("profile/saved.jsonl")),
        ("webhook", body),
        ("command", world.read("profile/command.out")),
        ("worker", world.read("profile/worker.out")),
    ];
    for (way, text) in ways_out {
        assert!(text.contains("[secret]"), "{way} told nothing: {text}");
        for (secret, (form, dressed)) in
            secrets.iter().flat_map(|s| forms(s).into_iter().map(move |f| (s, f)))
        {
            assert!(!text.contains(&dressed), "{way}: {form} of {secret}: {text}");
        }
        for rest in ["Zy1Xw", "c0nf1gured", "s1gn1ng", "rd%2B"] {
            assert!(!text.contains(rest), "{way}: `{rest}` is left: {text}");
        }
    }
}

#[test]
fn short_values_under_a_secrets_name_shred_nothing() {
    let world = World::new(
        &json!({ "hooks": { "onStart": [{ "action": "save_json", "path": "log.jsonl" }] } }),
    )
    .operator("COLOUR_KEY", "model");
    world.ask("list .");
    assert!(
        world.read("profile/log.jsonl").contains("\"model\":"),
        "{}",
        world.read("profile/log.jsonl")
    );
}

// R10.7: a short password is one too.
#[test]
fn a_password_by_its_name_or_in_an_address_does_not_leave_however_short_it_is() {
    let world = World::new(
        &json!({ "hooks": { "onPrompt": [{ "action": "save_json", "path": "log.jsonl" }] } }),
    )
    .operator("DB_PASSWORD", "hunter2")
    .operator("PGPASSWORD", "p9-q")
    .operator("DATABASE_URL", "postgres://me:w0rd@db/x")
    .operator("ADMIN_PASSWORD", "admin");
    world.ask("read hunter2 p9-q w0rd admin");
    let saved = world.read("profile/log.jsonl");
    for secret in ["hunter2", "p9-q", "w0rd"] {
        assert!(!saved.contains(secret), "{secret}: {saved}");
    }
    assert!(saved.contains("[secret] admin"), "{saved}");
}
