//! The first lines of a conversation: the model, the folder, the profile and the sandbox in force, and what is resumed.

use pintle_agent::Session;
use pintle_profile::SandboxMode;
use pintle_sandbox::Tier;

use super::{now_ms, run_view::with_tilde, short};
use crate::{
    args::Chat,
    assembly::Assembled,
    environment::Environment,
    out::tell,
    shown::{Shown, bold, dim, text, yellow},
    term::{Glyph, ago, fit, plural, width},
};

/// A narrower terminal gets the short texts.
const NARROW: usize = 60;

pub(super) fn print(
    environment: &Environment,
    chat: &Chat,
    assembled: &Assembled,
    session: Option<&Session>,
) {
    let is_narrow = width() < NARROW;
    let folder = with_tilde(&assembled.asked_about.workspace, environment.home());
    let version = env!("CARGO_PKG_VERSION");
    let model = &assembled.model;
    match is_narrow {
        true => {
            tell!("{} {} · {}", bold("pintle"), version, folder);
            row("model", text!("{}", model));
        }
        false => tell!("{} {} · {} · {}", bold("pintle"), version, model, folder),
    }
    profile(chat, assembled, is_narrow);
    sandbox(assembled, is_narrow);
    match (session, is_narrow) {
        (None, true) => row("session", text!("new · /resume · /help")),
        (None, false) => row("session", text!("new · /resume continues an earlier one · /help")),
        (Some(session), _) => {
            let when = ago(session.updated_at, now_ms());
            let count = plural(session.message_count, "message");
            let id = short(&session.id);
            let resumed = text!("{}, resumed · {}, last one {}", id, count, when);
            match is_narrow {
                true => row("session", resumed),
                false => row("session", text!("{} · /clear starts over", resumed)),
            }
        }
    }
}

fn profile(chat: &Chat, assembled: &Assembled, is_narrow: bool) {
    let how = chat.who.found.words();
    let Some(profile) = &assembled.profile else {
        return row("profile", text!("none · {}", how));
    };
    if !assembled.bound.untrusted.is_empty() {
        let hooks = assembled.bound.untrusted.join(", ");
        return warn(
            "profile",
            text!("{} is not trusted as it is now: {} · pintle trust", profile.name, hooks),
        );
    }
    let hooks = plural(profile.hooks.len() as u64, "hook");
    let guards = plural(profile.guards.len() as u64, "guard");
    match is_narrow {
        true => row("profile", text!("{} · {}, {}", profile.name, hooks, guards)),
        false => {
            row("profile", text!("{} · agent.json, {} · {}, {}", profile.name, how, hooks, guards))
        }
    }
}

fn sandbox(assembled: &Assembled, is_narrow: bool) {
    let tier = assembled.held.sandbox.tier();
    match (assembled.operator.sandbox.mode, tier) {
        (SandboxMode::Off, _) => {
            warn("sandbox", text!("off, in pintle.toml · nothing holds a command"))
        }
        (_, Tier::None) => warn("sandbox", text!("none here · every command is asked about")),
        (_, Tier::Floor) => warn("sandbox", text!("floor · holds less here · pintle doctor")),
        _ if is_narrow => {
            row("sandbox", text!("{} · writes this folder · no network", tier.name()))
        }
        _ => row(
            "sandbox",
            text!(
                "{} · may write this folder and caches · no network unless you agree",
                tier.name()
            ),
        ),
    }
}

fn row(name: &'static str, words: Shown) {
    tell!("{}", fit(&text!("{}  {}", dim(text!("{:<7}", name)), words), width()));
}

fn warn(name: &'static str, words: Shown) {
    tell!("{}", fit(&text!("{} {}  {}", Glyph::Warning, yellow(name), words), width()));
}
