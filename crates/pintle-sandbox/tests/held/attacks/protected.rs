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
    Attack { name: "the agent's rules", script: "echo '{}' > agent.json", ..PROTECTED },
    Attack { name: "removing them", script: "rm -f agent.json", ..PROTECTED },
    Attack {
        name: "renaming over them",
        script: "echo '{}' > x && mv -f x agent.json",
        ..PROTECTED
    },
    Attack { name: "renaming them", script: "mv agent.json old.json", ..PROTECTED },
    Attack { name: "a hard link to them", script: "ln agent.json x && echo '{}' > x", ..PROTECTED },
    Attack {
        name: "a symlink in their place",
        script: "cp agent.json x && ln -sf x agent.json",
        ..PROTECTED
    },
    Attack {
        name: "a hard link in their place",
        script: "cp agent.json x && ln -f x agent.json",
        ..PROTECTED
    },
    Attack {
        name: "exchanging names",
        script: r#"echo > x; "$TOOL" exchange x agent.json"#,
        ..PROTECTED
    },
    Attack { name: "their mode", script: "chmod 666 agent.json", ..PROTECTED },
    Attack { name: "cutting them", script: "truncate -s 1 agent.json", ..PROTECTED },
    Attack {
        name: "a descriptor opened again",
        script: "exec 3< agent.json; echo '{}' > /proc/self/fd/3",
        ..PROTECTED
    },
    Attack { name: "a hook", script: "echo exit 0 > hooks/gate.sh", ..PROTECTED },
    Attack { name: "a hook that cannot run", script: "chmod 000 hooks/gate.sh", ..PROTECTED },
    Attack { name: "a new hook", script: "echo > hooks/new.sh", ..PROTECTED },
    Attack {
        name: "a new folder of hooks",
        script: "mkdir -p hooks/a/b && echo > hooks/a/b/c",
        ..PROTECTED
    },
    Attack {
        name: "another folder of hooks",
        script: "mv hooks old && mkdir hooks && echo exit 0 > hooks/gate.sh",
        ..PROTECTED
    },
    Attack {
        name: "a symlink for the folder",
        script: "mkdir evil && echo exit 0 > evil/gate.sh && mv hooks old && ln -s evil hooks",
        ..PROTECTED
    },
    Attack { name: "removing the folder", script: "rm -rf hooks", ..PROTECTED },
    Attack {
        name: "a mount over the folder",
        script: "mkdir evil && unshare --user --map-root-user --mount sh -c 'mount --bind evil hooks; echo > hooks/../hooks2'; umount -l hooks agent.json; echo exit 0 > hooks/gate.sh",
        ..PROTECTED
    },
    Attack {
        name: "the whole workspace replaced",
        script: "cp -r . ../copy && echo '{}' > ../copy/agent.json && cd .. && mv project old && mv copy project",
        ..PROTECTED
    },
];

const GIT: &[Attack] = &[
    Attack { name: "a git hook", script: "echo evil > .git/hooks/pre-commit", ..PROTECTED },
    Attack { name: "a new git hook", script: "echo evil > .git/hooks/post-checkout", ..PROTECTED },
    Attack { name: "git's settings", script: "echo evil >> .git/config", ..PROTECTED },
    Attack {
        name: "git's settings, by git",
        script: "git -c safe.directory=* config core.hooksPath evil",
        ..PROTECTED
    },
    Attack {
        name: "git's settings, by a rename as git does it",
        script: "cp .git/config .git/config.lock && echo evil >> .git/config.lock && mv .git/config.lock .git/config",
        ..PROTECTED
    },
    Attack { name: "filters", script: "echo '* filter=evil' > .git/info/attributes", ..PROTECTED },
    Attack {
        name: "another git folder",
        script: "mv .git old && cp -r old .git && echo evil > .git/hooks/pre-commit",
        ..PROTECTED
    },
    Attack {
        name: "a new repository",
        script: "rm -rf .git && mkdir -p .git/hooks && echo evil > .git/hooks/pre-commit",
        ..PROTECTED
    },
    Attack {
        name: "a file that leads to another git folder",
        script: "cp -r .git evil; mv .git old && echo gitdir: evil > .git",
        ..PROTECTED
    },
    Attack {
        name: "a symlink to another git folder",
        script: "cp -r .git evil; mv .git old && ln -s evil .git",
        ..PROTECTED
    },
    Attack {
        name: "settings taken from elsewhere",
        script: "cp -r .git evil && echo evil >> evil/config && echo ../evil > .git/commondir",
        ..PROTECTED
    },
    Attack {
        name: "settings of a worktree",
        script: "echo evil > .git/config.worktree",
        ..PROTECTED
    },
    Attack {
        name: "another worktree led elsewhere",
        script: "mkdir evil && echo ../../../evil > .git/worktrees/other/commondir",
        ..PROTECTED
    },
    Attack {
        name: "settings of another worktree",
        script: "echo evil > .git/worktrees/other/config.worktree",
        ..PROTECTED
    },
    Attack {
        name: "a hook of a submodule",
        script: "echo evil > .git/modules/libs/part/hooks/post-checkout",
        ..PROTECTED
    },
    Attack {
        name: "settings of a submodule",
        script: "echo evil >> .git/modules/libs/part/config",
        ..PROTECTED
    },
    Attack {
        name: "a submodule replaced",
        script: "cd .git/modules && mv libs old && cp -r old libs && echo evil >> libs/part/config",
        ..PROTECTED
    },
];

const OTHERS: &[Attack] = &[
    Attack { name: "what direnv runs", script: "echo evil > .envrc", ..PROTECTED },
    Attack { name: "what an editor runs", script: "echo evil > .vscode/tasks.json", ..PROTECTED },
    Attack {
        name: "what an editor runs, anew",
        script: "echo evil > .vscode/launch.json",
        ..PROTECTED
    },
    Attack { name: "what other agents run", script: "echo evil > .mcp.json", ..PROTECTED },
    Attack {
        name: "safe rights write nothing at all",
        script: "echo evil > agent.json; echo evil > README; rm -rf hooks",
        rights: Rights::Safe,
        ..PROTECTED
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
