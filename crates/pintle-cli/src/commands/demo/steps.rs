//! The steps of the demo, each with the model's calls, the proof, and the behaviour of other systems.

use serde_json::{Value, json};

use super::folder::DemoFolder;
use crate::{
    problem::Problem,
    shown::{Shown, dim, green, text, yellow},
    term::{width, wrap},
};

/// The behaviour of other systems, by default. The versions, dates and tables are in `docs/others.md`.
const OTHERS: [&str; 5] = [
    "all of seven agents stop on exit 2 with a reason; on exit 1, six run the command.",
    "six of seven run the command, by default.",
    "seven of seven run the command, by default.",
    "two of three sandboxes are switched off for the retry. pintle asks for that one path.",
    "where no one can be asked, three of seven run the call and one hangs. This question is stored: answer it here, or with `pintle approvals`.",
];

#[derive(Clone)]
pub(super) struct Step {
    number: usize,
    pub(super) title: &'static str,
    /// The person's message.
    pub(super) prompt: &'static str,
    /// The model's answers, one tool call each.
    pub(super) calls: Vec<(&'static str, Value)>,
    /// The model request with which it begins, counted from 1.
    pub(super) turn: u32,
    proof: Proof,
    is_skipped: bool,
}

#[derive(Clone, Copy)]
enum Proof {
    /// The folder was moved, not deleted.
    Moved,
    /// This file does not exist.
    Missing(&'static str),
    Nothing,
}

pub(super) fn steps(has_sandbox: bool) -> Vec<Step> {
    let run = |command: &str| ("terminal", json!({ "command": command }));
    let edit =
        json!({ "path": "config.toml", "old": "requests = 10\n", "new": "requests = 100\n" });
    let build = if has_sandbox { vec![run("./build.sh")] } else { Vec::new() };
    let all = [
        (
            "A guard says no, and the agent finds another way",
            "clean up the reports",
            vec![run("rm -r reports"), run("mv reports trash/")],
            Proof::Moved,
        ),
        ("A guard crashes", "deploy", vec![run("./deploy.sh")], Proof::Missing("deployed.txt")),
        (
            "A guard hangs",
            "deploy again",
            vec![run("./deploy.sh --again")],
            Proof::Missing("deployed.txt"),
        ),
        (
            "A script tries to write outside the folder",
            "build it",
            build,
            Proof::Missing("../outside.txt"),
        ),
        ("A person is asked", "raise the limit", vec![("edit_file", edit)], Proof::Nothing),
        ("Nothing is hidden: pintle trace", "", Vec::new(), Proof::Nothing),
    ];
    let mut turn = 1;
    let mut steps = Vec::new();
    for (number, (title, prompt, calls, proof)) in (1..).zip(all) {
        let is_skipped = number == 4 && !has_sandbox;
        let begins = turn;
        turn += u32::try_from(calls.len()).unwrap_or_default();
        steps.push(Step { number, title, prompt, calls, turn: begins, proof, is_skipped });
    }
    steps
}

impl Step {
    /// The lines under a step that has ended. The proofs are checked here.
    ///
    /// # Errors
    /// When a proof does not hold.
    pub(super) fn proofs(&self, folder: &DemoFolder) -> Result<Vec<Shown>, Problem> {
        let work = folder.work();
        let failed = |what: &str| {
            Err(Problem::new(format!("step {} of the demo failed: {what}", self.number))
                .fix("that must not happen: please report it, with the output of `pintle doctor`"))
        };
        match self.proof {
            Proof::Moved if !work.join("trash/reports").exists() => {
                failed("reports was not moved to trash/")
            }
            Proof::Missing(file) if work.join(file).exists() => failed(&format!("{file} exists")),
            Proof::Missing(file) => {
                Ok(vec![text!("  {}", green(text!("proof: {} does not exist", file)))])
            }
            Proof::Moved | Proof::Nothing => Ok(Vec::new()),
        }
    }

    pub(super) fn others(&self) -> Vec<Shown> {
        let Some(others) = self.number.checked_sub(1).and_then(|at| OTHERS.get(at)) else {
            return Vec::new();
        };
        wrap(&text!("  {}", dim(text!("others: {}", others))), width(), 10).split_lines().collect()
    }

    pub(super) fn skipped(&self) -> Option<Shown> {
        let why = "skipped: this machine has no sandbox. Every command would be asked about. pintle doctor says what helps.";
        self.is_skipped.then(|| wrap(&text!("  {}", yellow(why)), width(), 2))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{super::folder::DemoFolder, steps};

    #[test]
    fn a_proof_that_does_not_hold_ends_the_demo_with_its_step() {
        let folder = DemoFolder::make(&std::env::temp_dir()).unwrap();
        let steps = steps(true);
        let failed = |at: usize| steps[at].proofs(&folder).err().map(|it| it.parts().0.to_owned());
        let work = folder.work();
        // Nothing has run: the reports are not moved, and no marker exists.
        let not_moved = "step 1 of the demo failed: reports was not moved to trash/";
        assert_eq!(failed(0).as_deref(), Some(not_moved));
        for (at, file) in [(1, "deployed.txt"), (2, "deployed.txt"), (3, "../outside.txt")] {
            assert_eq!(failed(at), None);
            fs::write(work.join(file), "").unwrap();
            let says = format!("step {} of the demo failed: {file} exists", at + 1);
            assert_eq!(failed(at), Some(says));
            fs::remove_file(work.join(file)).unwrap();
        }
        fs::rename(work.join("reports"), work.join("trash/reports")).unwrap();
        assert_eq!(failed(0), None);
    }
}
