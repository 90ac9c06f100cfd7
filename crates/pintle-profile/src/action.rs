//! What a profile's reader knows of an action: its name, its fields, and the rules about them. Who binds it to the engine
//! brings the list.

use crate::document::Node;
use crate::hook_commands::{self, Run};
use crate::report::Problem;
use crate::{Bounds, Bucket};
use pintle_policy::Zone;
use schemars::{Schema, SchemaGenerator};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;

/// One kind of action in agent.json (R10.2).
#[derive(Debug, Clone, Copy)]
pub struct ActionKind {
    /// Its name.
    pub name: &'static str,
    /// What other programs call it, in lower case.
    pub also_called: &'static [&'static str],
    /// Whether it only observes: the operator can switch observers off (R10.8).
    pub observes: bool,
    /// Where alone it has a meaning.
    pub only_in: Option<OnlyIn>,
    /// The schema of its own fields; `name` and `tools` belong to every action.
    pub schema: fn(&mut SchemaGenerator) -> Schema,
    /// Adds what no schema can say, and what the action uses.
    pub check: fn(&Node, &mut ActionCheck<'_>),
    /// Whether its own fields can be read.
    pub read: fn(Value) -> Result<(), serde_json::Error>,
}

/// The one moment at which an action has a meaning.
#[derive(Debug, Clone, Copy)]
pub struct OnlyIn {
    /// The moment's name in agent.json.
    pub bucket: &'static str,
    /// What other moments lack.
    pub label: &'static str,
    /// Why it has to be this one.
    pub why: &'static str,
}

/// A value of agent.json and where it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written<T> {
    /// The value.
    pub value: T,
    pub(crate) span: Range<usize>,
}

impl<T> Written<T> {
    /// A value that was read from this place.
    pub fn new(node: &Node, value: T) -> Self {
        Self { value, span: node.span.clone() }
    }
}

/// What an action needs beyond the process. It has to be allowed, trusted or present before the action can run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Uses {
    /// The program that it starts.
    pub program: Option<Written<Run>>,
    /// What that program is held to, if the profile says so.
    pub zone: Option<Written<Zone>>,
    /// Where it sends events.
    pub url: Option<Written<String>>,
    /// The environment variable that holds its key.
    pub variable: Option<Written<String>>,
}

/// The surroundings of an action that is checked, and what is found.
#[derive(Debug)]
pub struct ActionCheck<'a> {
    /// The profile's folder.
    pub folder: &'a Path,
    /// Where the program keeps its records: no action may write there.
    pub data: Option<&'a Path>,
    /// The files of the profile that hooks and MCP servers run, by their paths in its folder.
    pub scripts: &'a BTreeSet<String>,
    /// What the action uses.
    pub uses: Uses,
    /// What is wrong with it.
    pub problems: Vec<Problem>,
}

impl ActionCheck<'_> {
    /// Reports what is wrong at a place, what was expected there, and how to fix it.
    pub fn say(
        &mut self,
        span: &Range<usize>,
        message: impl Into<String>,
        label: &str,
        help: &str,
    ) {
        self.problems.push(Problem::at(span.clone(), message, label, help));
    }
}

/// Each action that stands in the file, with its moment.
pub(crate) fn actions(file: &Node) -> impl Iterator<Item = (&'static Bucket, &Node)> {
    let buckets = file.table("hooks").iter();
    let known = buckets.filter_map(|field| Some((Bucket::named(&field.key)?, &field.value)));
    known.flat_map(|(bucket, list)| list.items().iter().map(move |action| (bucket, action)))
}

/// What the actions of a file use, by where each begins.
pub(crate) type AllUses = BTreeMap<usize, Uses>;

/// Checks each action of the file by the rules of its kind.
pub(crate) fn check(file: &Node, folder: &Path, bounds: &Bounds<'_>) -> (Vec<Problem>, AllUses) {
    let all = |scripts: &BTreeSet<String>| {
        let (mut problems, mut uses) = (Vec::new(), AllUses::new());
        for (_, action) in actions(file) {
            let name = action.str("action");
            let Some(kind) = bounds.actions.iter().find(|kind| Some(kind.name) == name) else {
                continue;
            };
            let mut check = ActionCheck {
                folder,
                data: bounds.data,
                scripts,
                uses: Uses::default(),
                problems: Vec::new(),
            };
            (kind.check)(action, &mut check);
            problems.extend(check.problems);
            uses.insert(action.span.start, check.uses);
        }
        (problems, uses)
    };
    // Which files are scripts shows only when every action has said what it runs.
    let (_, uses) = all(&BTreeSet::new());
    let words = hook_commands::words(file, uses.values());
    all(&words.iter().filter_map(|word| hook_commands::path_in(folder, word)).collect())
}
