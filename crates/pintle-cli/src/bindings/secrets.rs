//! Which values must not leave the process (R10.7).

use pintle_policy::{
    Operator, Profile,
    profile::{Action, Hook},
};

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
/// A shorter value under such a name is rarely one, and would shred ordinary text.
const SHORTEST_GUESS: usize = 8;

/// The providers' keys, what the operator names, what the profile signs with, and what is called a secret.
pub(super) fn known(
    environment: &Environment,
    operator: &Operator,
    profile: &Profile,
) -> Vec<String> {
    let mut secrets = environment.secrets(operator);
    let signed = |hook: &Hook| match &hook.action {
        Action::Webhook { secret_env, .. } => secret_env.clone(),
        _ => None,
    };
    let named: Vec<String> = profile
        .hooks
        .iter()
        .filter_map(signed)
        .chain(profile.channels.values().filter_map(|channel| channel.token_env.clone()))
        .collect();
    for (name, value) in environment.variables() {
        let (Ok(name), Ok(value)) = (name.into_string(), value.into_string()) else { continue };
        let called = name.to_ascii_uppercase().split('_').any(|word| MARKS.contains(&word));
        if named.contains(&name) || (called && value.len() >= SHORTEST_GUESS) {
            secrets.push(value);
        }
    }
    secrets
}
