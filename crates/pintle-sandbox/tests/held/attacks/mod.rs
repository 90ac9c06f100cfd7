//! Attacks, each tried without a sandbox first, where it must succeed, and then in every tier.

mod machine;
mod network;
mod protected;
mod reading;
mod writing;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use pintle_sandbox::{Rights, Sandbox, Settings, Surroundings, Tier};

use crate::{
    confined::{Outcome, SANDBOX, TIERS, bare, confined, runtime, shell},
    host::{Host, TOKEN},
    users::{self, as_each_user},
    world::{SECRET, World},
};

/// A script that wants what the sandbox must not give.
#[derive(Clone, Copy)]
struct Attack {
    name: &'static str,
    script: &'static str,
    /// Whether it got it.
    witness: fn(&Scene<'_>) -> bool,
    by: By,
    rights: Rights,
    settings: fn(&World) -> Settings,
    /// Why the floor cannot stop it.
    open_at_floor: Option<&'static str>,
    /// Why it fails without a sandbox too.
    stopped_anyway: Option<&'static str>,
}

/// Who can mount it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Anyone,
    Root,
    /// A plain user, with what root has prepared.
    User,
}

const ATTACK: Attack = Attack {
    name: "",
    script: "",
    witness: says_secret,
    by: By::Anyone,
    rights: Rights::Build,
    settings: World::settings,
    open_at_floor: None,
    stopped_anyway: None,
};

impl Attack {
    const fn with(self, name: &'static str, script: &'static str) -> Self {
        Self { name, script, ..self }
    }
}

/// What there was before, and what came of it.
struct Scene<'a> {
    world: &'a World,
    host: &'a Host,
    outside: BTreeMap<PathBuf, String>,
    protected: BTreeMap<PathBuf, String>,
    output: String,
}

fn says_secret(scene: &Scene<'_>) -> bool {
    scene.output.contains(SECRET)
}

/// The script itself says that a call succeeded.
fn says_token(scene: &Scene<'_>) -> bool {
    scene.output.contains(TOKEN)
}

fn changes_outside(scene: &Scene<'_>) -> bool {
    scene.world.outside() != scene.outside
}

fn changes_protected(scene: &Scene<'_>) -> bool {
    scene.world.protected() != scene.protected
}

fn token_arrives(scene: &Scene<'_>) -> bool {
    scene.host.received()
}

fn changes_victim(scene: &Scene<'_>) -> bool {
    scene.host.victim.as_ref().unwrap().is_changed()
}

fn survives(scene: &Scene<'_>) -> bool {
    !scene.host.survivors().is_empty()
}

/// The first line of every script: what does not begin is not stopped.
const BEGUN: &str = "the-script-has-begun";

/// Where an attack is tried.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ground {
    Bare,
    Held(Tier),
}

impl Ground {
    fn name(self) -> &'static str {
        match self {
            Self::Bare => "bare",
            Self::Held(tier) => tier.name(),
        }
    }
}

/// Tries it, and says what is wrong about how it went.
fn attempt(attack: &Attack, script: &str, ground: Ground) -> Result<(), String> {
    let script = format!("echo {BEGUN}\n{script}");
    let world = World::new();
    let settings = (attack.settings)(&world);
    let mut host = Host::new(&world, attack.script);
    let (outside, protected) = (world.outside(), world.protected());
    let outcome = match ground {
        Ground::Bare => {
            host.serve_naive_proxy(attack.rights >= Rights::Network);
            bare(&script, &world.workspace(), &host.variables)
        }
        Ground::Held(tier) => {
            let policy = Surroundings::new(settings).policy(attack.rights);
            let held = match sandbox(tier).hold(policy) {
                Ok(held) => held,
                // Nothing runs: a person is asked instead.
                Err(_) if tier == Tier::Floor => return Ok(()),
                Err(gap) => return Err(format!("not held: {gap}")),
            };
            let command = shell(&script, &world.workspace(), &host.variables);
            runtime().block_on(confined(held, &command)).map_err(|e| e.to_string())?
        }
    };
    let Outcome { code, output, report } = outcome;
    if !output.contains(BEGUN) {
        return Err(format!("it did not begin ({code}): {report:?} {output}"));
    }
    let changes = report.changed;
    let scene = Scene { world: &world, host: &host, outside, protected, output };
    let succeeds = (attack.witness)(&scene);
    let expected = match ground {
        Ground::Bare => attack.stopped_anyway.is_none(),
        Ground::Held(tier) => tier == Tier::Floor && attack.open_at_floor.is_some(),
    };
    match succeeds == expected {
        true => Ok(()),
        false if succeeds => Err(format!("succeeds ({code}, {changes:?}): {}", scene.output)),
        false => Err(format!("is stopped ({code}, {changes:?}): {}", scene.output)),
    }
}

fn sandbox(tier: Tier) -> Sandbox {
    SANDBOX.at_most(tier)
}

/// Tries every attack of a group on every ground, as root and as a plain user.
fn withstand(test: &str, prepare: fn(&Path), attacks: &[&[Attack]]) {
    as_each_user(test, prepare, || try_all(attacks, 4));
}

fn try_all(attacks: &[&[Attack]], at_once: usize) {
    let fits = |attack: &&Attack| match attack.by {
        By::Anyone => true,
        By::Root => users::is_root(),
        By::User => users::is_prepared(),
    };
    let attacks: Vec<&Attack> = attacks.iter().copied().flatten().filter(fits).collect();
    let grounds = [Ground::Bare].into_iter().chain(TIERS.map(Ground::Held));
    let trials: Vec<(&Attack, Ground)> =
        grounds.flat_map(|ground| attacks.iter().map(move |attack| (*attack, ground))).collect();
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                while let Some((attack, ground)) = trials.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    if let Err(why) = attempt(attack, attack.script, *ground) {
                        let line = format!("{}: `{}` {why}", ground.name(), attack.name);
                        wrong.lock().unwrap().push(line);
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    println!("{} attacks on {} grounds", attacks.len(), TIERS.len() + 1);
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), trials.len(), wrong.join("\n"));
}
