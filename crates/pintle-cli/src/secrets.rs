//! Which values must not leave the process (R10.7).

use pintle_actions::Scrubber;
use pintle_profile::{Hook, Operator, Profile, variable_of};

use crate::environment::Environment;

/// Words in a variable's name by which people mark a secret.
const MARKS: [&str; 9] = [
    "KEY",
    "APIKEY",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "CREDENTIALS",
];
/// A variable whose name ends in one of these, with or without a `_` before, holds a secret.
const SURE: [&str; 5] = ["PASSWORD", "PASSWD", "PASSPHRASE", "SECRET", "TOKEN"];
/// Variables from which programs read a password, without a telling name.
const CALLED_OTHERWISE: [&str; 3] = ["MYSQL_PWD", "SSHPASS", "REDISCLI_AUTH"];
/// A shorter value under a name that only has such a word is rarely a secret, and would shred ordinary text.
const SHORTEST_GUESS: usize = 8;
/// A number of fewer digits is a port, a size or a count somewhere in any text.
const SHORTEST_NUMBER: usize = 6;
/// Words too common to be secrets.
const PLAIN: [&str; 30] = [
    "admin",
    "auto",
    "basic",
    "bearer",
    "default",
    "demo",
    "disabled",
    "docker",
    "dummy",
    "empty",
    "enabled",
    "example",
    "false",
    "guest",
    "local",
    "localhost",
    "mysql",
    "none",
    "null",
    "password",
    "postgres",
    "redis",
    "required",
    "root",
    "secret",
    "test",
    "testing",
    "token",
    "true",
    "user",
];

/// Takes out of a text what no screen shows.
pub(crate) fn scrubber(
    environment: &Environment,
    operator: &Operator,
    profile: Option<&Profile>,
) -> Scrubber {
    Scrubber::new(known(environment, operator, profile))
}

/// The providers' keys, the secrets that the operator names, the profile's signing keys, and variables with a secret's name.
pub(crate) fn known(
    environment: &Environment,
    operator: &Operator,
    profile: Option<&Profile>,
) -> Vec<String> {
    let mut secrets = environment.secrets(operator);
    let signed = |hook: &Hook| Some(hook.uses.variable.as_ref()?.value.clone());
    let of_servers = |profile: &Profile| -> Vec<String> {
        let values = profile.mcp_servers.values().flat_map(|server| server.env.values());
        values.filter_map(|value| variable_of(value).map(str::to_owned)).collect()
    };
    let mut named: Vec<String> = profile.map(of_servers).unwrap_or_default();
    named.extend(profile.iter().flat_map(|profile| &profile.hooks).filter_map(signed));
    for (name, value) in environment.variables() {
        let (Ok(name), Ok(value)) = (name.into_string(), value.into_string()) else { continue };
        match named.contains(&name) {
            true => secrets.push(value),
            false => secrets.extend(guessed(&name, &value)),
        }
    }
    secrets
}

/// The values that are secret by the name of their variable, or as a password in an address.
fn guessed(name: &str, value: &str) -> Vec<String> {
    let name = name.to_ascii_uppercase();
    let sure = SURE.iter().any(|end| name.ends_with(end)) || CALLED_OTHERWISE.contains(&&*name);
    let called = name.split('_').any(|word| MARKS.contains(&word));
    let mut secrets = in_addresses(value);
    if sure || (called && value.len() >= SHORTEST_GUESS) {
        secrets.push(value.to_owned());
    }
    secrets.retain(|secret| !is_plain(secret.trim()));
    secrets
}

fn is_plain(value: &str) -> bool {
    let is_number = value.bytes().all(|byte| byte.is_ascii_digit());
    PLAIN.contains(&&*value.to_ascii_lowercase()) || (is_number && value.len() < SHORTEST_NUMBER)
}

/// The passwords in all addresses like `postgres://user:PASSWORD@host`, both as written and percent-decoded.
fn in_addresses(value: &str) -> Vec<String> {
    let authority = |rest: &str| rest.split(['/', '?', '#', ' ', '"']).next().map(str::to_owned);
    let addresses = value.split("://").skip(1).filter_map(authority);
    let password = |authority: String| {
        let (user, _) = authority.rsplit_once('@')?;
        Some(user.split_once(':')?.1.to_owned())
    };
    let written = addresses.filter_map(password);
    written.flat_map(|written| [meant(&written), Some(written)]).flatten().collect()
}

/// Percent-decodes a text.
fn meant(written: &str) -> Option<String> {
    let mut parts = written.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(part.get(..2)?, 16).ok()?);
        bytes.extend_from_slice(part.get(2..)?.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_password_is_one_and_a_plain_word_is_none() {
        for (name, value) in [
            ("DB_PASSWORD", "hunter2"),
            ("DB_PASSWORD", "abcd"),
            ("PGPASSWORD", "s3cr"),
            ("MYSQL_PWD", "hush"),
            ("npm_token", "t0k3n"),
            ("CLIENT_SECRET", "123456"),
            ("API_KEY", "12345678"),
            ("TOKEN_OF_THE_DAY", "wednesday"),
        ] {
            assert_eq!(guessed(name, value), [value], "{name}");
        }
        for (name, value) in [
            ("DB_PASSWORD", "test"),
            ("DB_PASSWORD", "Password"),
            ("DB_PASSWORD", ""),
            ("MAX_TOKEN", "4096"),
            ("USE_TOKEN", "true"),
            ("COLOUR_KEY", "model"),
            ("SECRET_NAME", "app"),
            ("PWD", "/home/somebody"),
            ("MONKEY", "a-long-value"),
        ] {
            assert!(guessed(name, value).is_empty(), "{name}={value}");
        }
    }

    #[test]
    fn the_password_in_an_address_is_known_whatever_the_variable_is_called() {
        let found = |value: &str| guessed("DATABASE_URL", value);
        assert_eq!(found("postgres://me:hush1@db:5432/x"), ["hush1", "hush1"]);
        assert_eq!(found("redis://:hush1@db"), ["hush1", "hush1"]);
        assert_eq!(found("amqp://a:p%40ss@h1,amqp://b:%zz12@h2"), ["p@ss", "p%40ss", "%zz12"]);
        assert_eq!(guessed("https_proxy", "http://me:hush1@proxy:3128"), ["hush1", "hush1"]);
        for none in [
            "https://example.com/a:b@c",
            "https://me@example.com",
            "postgres://postgres:postgres@localhost/x",
            "http://h:80/?q=a@b",
        ] {
            assert!(found(none).is_empty(), "{none}");
        }
    }
}
