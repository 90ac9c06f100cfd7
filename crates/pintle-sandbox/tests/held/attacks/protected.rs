//! Writing what is protected inside the workspace: the agent's rules, and what git, shells and editors run by themselves.
//!
//! The floor cannot take a path out of a writable tree: there, the sweep afterwards puts things right.

use pintle_sandbox::{Rights, Settings, Tier};

use super::{ATTACK, Attack, Ground, attempt, changes_protected, withstand};
use crate::world::World;

#[test]
fn what_is_protected_stays_as_it_is() {
    let test = "attacks::protected::what_is_protected_stays_as_it_is";
    withstand(test, |_| {}, &[RULES, GIT, OTHERS]);
}

const PROTECTED: Attack = Attack { witness: changes_protected, ..ATTACK };

const RULES: &[Attack] = &[
    PROTECTED.with("the agent's rules", "echo '{}' > agent.json"),
    PROTECTED.with("removing them", "rm -f agent.json"),
    PROTECTED.with("renaming over them", "echo '{}' > x && mv -f x agent.json"),
    PROTECTED.with("renaming them", "mv agent.json old.json"),
    PROTECTED.with("a hard link to them", "ln agent.json x && echo '{}' > x"),
    PROTECTED.with("a symlink in their place", "cp agent.json x && ln -sf x agent.json"),
    PROTECTED.with("a hard link in their place", "cp agent.json x && ln -f x agent.json"),
    PROTECTED.with("exchanging names", r#"echo > x; "$TOOL" exchange x agent.json"#),
    PROTECTED.with("their mode", "chmod 666 agent.json"),
    PROTECTED.with("cutting them", "truncate -s 1 agent.json"),
    PROTECTED.with(
        "a descriptor opened again",
        "exec 3< agent.json; echo '{}' > /proc/self/fd/3",
    ),
    PROTECTED.with("a hook", "echo exit 0 > hooks/gate.sh"),
    PROTECTED.with("a hook that cannot run", "chmod 000 hooks/gate.sh"),
    PROTECTED.with("a new hook", "echo > hooks/new.sh"),
    PROTECTED.with("a new folder of hooks", "mkdir -p hooks/a/b && echo > hooks/a/b/c"),
    PROTECTED.with(
        "another folder of hooks",
        "mv hooks old && mkdir hooks && echo exit 0 > hooks/gate.sh",
    ),
    PROTECTED.with(
        "a symlink for the folder",
        "mkdir evil && echo exit 0 > evil/gate.sh && mv hooks old && ln -s evil hooks",
    ),
    PROTECTED.with("removing the folder", "rm -rf hooks"),
    PROTECTED.with(
        "a mount over the folder",
        "mkdir evil && unshare --user --map-root-user --mount sh -c 'mount --bind evil hooks; echo > hooks/../hooks2'; umount -l hooks agent.json; echo exit 0 > hooks/gate.sh",
    ),
    PROTECTED.with(
        "the whole workspace replaced",
        "cp -r . ../copy && echo '{}' > ../copy/agent.json && cd .. && mv project old && mv copy project",
    ),
];

const GIT: &[Attack] = &[
    PROTECTED.with("a git hook", "echo evil > .git/hooks/pre-commit"),
    PROTECTED.with("a new git hook", "echo evil > .git/hooks/post-checkout"),
    PROTECTED.with("git's settings", "echo evil >> .git/config"),
    PROTECTED.with(
        "git's settings, by git",
        "git -c safe.directory=* config core.hooksPath evil",
    ),
    PROTECTED.with(
        "git's settings, by a rename as git does it",
        "cp .git/config .git/config.lock && echo evil >> .git/config.lock && mv .git/config.lock .git/config",
    ),
    PROTECTED.with("filters", "echo '* filter=evil' > .git/info/attributes"),
    PROTECTED.with(
        "another git folder",
        "mv .git old && cp -r old .git && echo evil > .git/hooks/pre-commit",
    ),
    PROTECTED.with(
        "a new repository",
        "rm -rf .git && mkdir -p .git/hooks && echo evil > .git/hooks/pre-commit",
    ),
    PROTECTED.with(
        "a file that leads to another git folder",
        "cp -r .git evil; mv .git old && echo gitdir: evil > .git",
    ),
    PROTECTED.with(
        "a symlink to another git folder",
        "cp -r .git evil; mv .git old && ln -s evil .git",
    ),
    PROTECTED.with(
        "settings taken from elsewhere",
        "cp -r .git evil && echo evil >> evil/config && echo ../evil > .git/commondir",
    ),
    PROTECTED.with("settings of a worktree", "echo evil > .git/config.worktree"),
    PROTECTED.with(
        "another worktree led elsewhere",
        "mkdir evil && echo ../../../evil > .git/worktrees/other/commondir",
    ),
    PROTECTED.with(
        "settings of another worktree",
        "echo evil > .git/worktrees/other/config.worktree",
    ),
    PROTECTED.with(
        "a hook of a submodule",
        "echo evil > .git/modules/libs/part/hooks/post-checkout",
    ),
    PROTECTED.with("settings of a submodule", "echo evil >> .git/modules/libs/part/config"),
    PROTECTED.with(
        "a submodule replaced",
        "cd .git/modules && mv libs old && cp -r old libs && echo evil >> libs/part/config",
    ),
];

const OTHERS: &[Attack] = &[
    PROTECTED.with("what direnv runs", "echo evil > .envrc"),
    PROTECTED.with("what an editor runs", "echo evil > .vscode/tasks.json"),
    PROTECTED.with("what an editor runs, anew", "echo evil > .vscode/launch.json"),
    PROTECTED.with("what other agents run", "echo evil > .mcp.json"),
    Attack {
        rights: Rights::Safe,
        ..PROTECTED.with(
            "safe rights write nothing at all",
            "echo evil > agent.json; echo evil > README; rm -rf hooks",
        )
    },
];

/// The workspace is a folder of a larger repository.
fn inside_a_repository(world: &World) -> Settings {
    Settings { workspace: world.workspace().join("inner"), ..world.settings() }
}

// The repository around a workspace is git's to write, but not its rules.
#[test]
fn the_rules_of_the_repository_around_a_workspace_stay_as_they_are() {
    for tier in [Tier::Full, Tier::View] {
        for attack in GIT {
            let attack = Attack { settings: inside_a_repository, ..*attack };
            let script = format!("cd ..; {}", attack.script);
            attempt(&attack, &script, Ground::Held(tier)).unwrap();
        }
    }
}
