//! Errors for people: what failed, why, and how to fix it.

use std::fmt;

use pintle_profile::{ProfileError, ProfileErrors};
use serde_json::{Value, json};

use crate::{
    shown::{Show, Shown, bold, cyan, drawn, paragraph, red, text, yellow},
    term::{width_of_messages, wrap},
};

/// Why a command failed: `error: what`, `cause: why`, `fix: what to type`.
#[derive(Debug)]
pub(crate) struct Problem {
    code: &'static str,
    what: String,
    cause: Option<String>,
    fixes: Vec<String>,
    /// Errors of a file, shown in their lines.
    errors: Option<Box<ProfileErrors>>,
    /// Warnings about a file that does not load.
    warnings: Vec<String>,
}

/// The exit code of wrong usage.
pub(crate) const WRONG_USAGE: u8 = 2;

impl Problem {
    /// It may quote untrusted text: control characters are escaped when it is printed.
    pub(crate) fn new(what: impl fmt::Display) -> Self {
        let (fixes, warnings) = (Vec::new(), Vec::new());
        let what = without_numbers(&what.to_string());
        Self { code: "failed", what, cause: None, fixes, errors: None, warnings }
    }

    /// The command line itself is wrong.
    pub(crate) fn usage(what: impl fmt::Display) -> Self {
        Self { code: "usage", ..Self::new(what) }
    }

    /// Nothing has that name or id.
    pub(crate) fn not_found(what: impl fmt::Display) -> Self {
        Self { code: "not_found", ..Self::new(what) }
    }

    pub(crate) fn warnings(mut self, warnings: impl IntoIterator<Item = String>) -> Self {
        self.warnings.extend(warnings);
        self
    }

    /// The cause, if it adds to the message.
    pub(crate) fn cause(mut self, cause: impl fmt::Display) -> Self {
        self.cause = Some(without_numbers(&cause.to_string()));
        self
    }

    /// An operation that the system refused.
    pub(crate) fn io(what: impl fmt::Display, error: &std::io::Error) -> Self {
        Self::new(what).cause(without_number(error))
    }

    /// A way to fix it.
    pub(crate) fn fix(mut self, fix: impl fmt::Display) -> Self {
        self.fixes.push(fix.to_string());
        self
    }

    /// Shows these in their lines.
    pub(crate) fn drawn(mut self, errors: &ProfileErrors) -> Self {
        self.errors = Some(Box::new(errors.clone()));
        Self { code: "invalid_file", ..self }
    }

    /// The error, its cause and its fixes.
    pub(crate) fn parts(&self) -> (&str, Option<String>, &[String]) {
        let one = |ProfileError { file, line, column, message, .. }: &ProfileError| {
            format!("{file}:{line}:{column}: {message}")
        };
        let all =
            |errors: &ProfileErrors| errors.errors().iter().map(one).collect::<Vec<_>>().join("; ");
        let cause = self.cause.clone().or_else(|| self.errors.as_deref().map(all));
        (&self.what, cause, &self.fixes)
    }

    pub(crate) fn exit_code(&self) -> u8 {
        if self.code == "usage" { WRONG_USAGE } else { 1 }
    }

    pub(crate) fn to_json(&self) -> Value {
        let fix = (!self.fixes.is_empty()).then(|| self.fixes.join("\n"));
        let mut error = json!({
            "code": self.code, "message": self.what, "cause": self.cause, "fix": fix
        });
        if let (Some(error), Some(errors)) = (error.as_object_mut(), &self.errors) {
            error.insert("errors".into(), errors.errors().iter().map(facts).collect());
            error.insert("warnings".into(), json!(self.warnings));
        }
        json!({ "error": error })
    }
}

/// An error of the system in words alone: `no such file or directory`.
pub(crate) fn without_number(error: &std::io::Error) -> String {
    let words = without_numbers(&error.to_string());
    let mut chars = words.chars();
    let first = chars.next().map(char::to_lowercase);
    first.into_iter().flatten().chain(chars).collect()
}

/// Without the system's numbers: `Permission denied (os error 13)` is `Permission denied`.
fn without_numbers(text: &str) -> String {
    let mut pieces = text.split(" (os error ");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |text, piece| text + piece.split_once(')').map_or("", |(_, rest)| rest))
}

/// One error of a file, for machines.
pub(crate) fn facts(error: &ProfileError) -> Value {
    let ProfileError { file, line, column, message, label, helps, .. } = error;
    let mut facts =
        json!({ "file": file, "line": line, "column": column, "message": message, "help": helps });
    if let Some(facts) = facts.as_object_mut().filter(|_| !label.is_empty()) {
        facts.insert("label".into(), label.as_str().into());
    }
    facts
}

/// The text over several lines, indented, so none of them looks like a line of this program.
impl Show for Problem {
    fn shown(&self) -> Shown {
        let fit = |line: Shown, indent| wrap(&line, width_of_messages(), indent);
        let mut shown = fit(text!("{}: {}", bold(red("error")), paragraph(&self.what, 2)), 2);
        if let Some(errors) = &self.errors {
            // Where there are to be no colours, they are taken away when this is printed.
            shown = text!("{}\n{}", shown, drawn(&errors.render(true)));
        }
        for warning in &self.warnings {
            let line = text!("{}: {}", yellow("warning"), paragraph(warning, 2));
            shown = text!("{}\n{}", shown, fit(line, 2));
        }
        let cause = self.cause.iter().map(|cause| ("cause", cause));
        for (name, said) in cause.chain(self.fixes.iter().map(|fix| ("fix", fix))) {
            let line = text!("  {}: {}", cyan(name), paragraph(said, 4));
            shown = text!("{}\n{}", shown, fit(line, 4));
        }
        shown
    }
}

impl From<pintle_agent::StoreError> for Problem {
    fn from(error: pintle_agent::StoreError) -> Self {
        let corrupt = matches!(error, pintle_agent::StoreError::Corrupt { .. });
        let problem = Self::new(error);
        if corrupt {
            return problem.fix("`sqlite3 FILE .recover` may rescue what is in it");
        }
        problem
    }
}

impl From<pintle_llm::OpenError> for Problem {
    fn from(error: pintle_llm::OpenError) -> Self {
        let fix = match &error {
            pintle_llm::OpenError::NoKey { .. } | pintle_llm::OpenError::Client { .. } => {
                "`--model offline` needs no key and no network"
            }
            pintle_llm::OpenError::Script(_) => {
                "`--model scripted:FILE` reads a JSON array with one element for each request"
            }
            // These errors say what to write.
            _ => return Self::new(error),
        };
        Self::new(error).fix(fix)
    }
}

impl From<pintle_agent::UnknownPersonality> for Problem {
    fn from(error: pintle_agent::UnknownPersonality) -> Self {
        let pintle_agent::UnknownPersonality { asked, nearest, known } = error;
        let problem = Self::not_found(format!("no personality `{asked}`"));
        let problem = nearest
            .into_iter()
            .fold(problem, |problem, near| problem.fix(format!("did you mean `{near}`?")));
        problem.fix(format!("choose one of: {}", known.join(", ")))
    }
}

impl Problem {
    /// A run that did not end by itself, from its last text.
    pub(crate) fn of_run(text: &str) -> Self {
        match text.strip_prefix("The run was stopped").map(|why| why.trim_matches([':', ' ', '.']))
        {
            Some("") => Self::new("the run was stopped"),
            Some(why) => {
                Self::new("the run was stopped").cause(why.replace(". The last", "; the last"))
            }
            None => Self::new(text),
        }
    }

    /// The same for the room that binds hooks.
    pub(crate) fn into_bind_error(self) -> pintle_actions::BindError {
        let error = pintle_actions::BindError::new(self.what);
        self.fixes.into_iter().fold(error, pintle_actions::BindError::hint)
    }
}

impl From<pintle_actions::BindError> for Problem {
    fn from(mut error: pintle_actions::BindError) -> Self {
        let hints = std::mem::take(&mut error.hints);
        hints.into_iter().fold(Self::new(error), Self::fix)
    }
}

impl From<std::io::Error> for Problem {
    fn from(error: std::io::Error) -> Self {
        Self::new(without_number(&error))
    }
}
