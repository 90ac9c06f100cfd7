//! What went wrong, for a person: what, and what to do about it.

use std::fmt;

use anstyle::{AnsiColor, Style};
use pintle_profile::{ProfileError, ProfileErrors};
use serde_json::{Value, json};

use crate::shown::{Show, Shown, cyan, drawn, paragraph, red, text, yellow};

/// A failure of a command, with hints.
#[derive(Debug)]
pub(crate) struct Problem {
    what: String,
    /// Where in a file, as a library has drawn it.
    drawing: Option<String>,
    hints: Vec<String>,
    /// Each error that is drawn, for machines.
    errors: Vec<Value>,
    /// What else there is to know of what does not load.
    warnings: Vec<String>,
}

impl Problem {
    /// What it quotes may be a stranger's: nothing in it reaches the terminal as a command to it.
    pub(crate) fn new(what: impl fmt::Display) -> Self {
        let (hints, errors, warnings) = (Vec::new(), Vec::new(), Vec::new());
        Self { what: what.to_string(), drawing: None, hints, errors, warnings }
    }

    pub(crate) fn warnings(mut self, warnings: impl IntoIterator<Item = String>) -> Self {
        self.warnings.extend(warnings);
        self
    }

    pub(crate) fn hint(mut self, hint: impl fmt::Display) -> Self {
        self.hints.push(hint.to_string());
        self
    }

    /// Shows these in their lines.
    pub(crate) fn drawn(mut self, errors: &ProfileErrors, colour: bool) -> Self {
        self.drawing = Some(errors.render(colour));
        self.errors = errors.errors().iter().map(facts).collect();
        self
    }

    pub(crate) fn to_json(&self) -> Value {
        let drawing = self.drawing.as_ref().map(|drawing| format!("\n{drawing}"));
        let error = format!("{}{}", self.what, drawing.unwrap_or_default());
        match self.errors.as_slice() {
            [] => json!({ "error": error, "hints": self.hints }),
            errors => {
                json!({ "error": error, "hints": self.hints, "errors": errors, "warnings": self.warnings })
            }
        }
    }
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

pub(crate) const RED: Style = AnsiColor::Red.on_default().bold();
pub(crate) const CYAN: Style = AnsiColor::Cyan.on_default();
pub(crate) const GREEN: Style = AnsiColor::Green.on_default();
pub(crate) const YELLOW: Style = AnsiColor::Yellow.on_default();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const BOLD: Style = Style::new().bold();

/// Over several lines, and none of them passes for a line of ours.
impl Show for Problem {
    fn shown(&self) -> Shown {
        let mut shown = text!("{}: {}", red("error"), paragraph(&self.what, 2));
        if let Some(drawing) = &self.drawing {
            shown = text!("{}\n{}", shown, drawn(drawing));
        }
        for warning in &self.warnings {
            shown = text!("{}\n{}: {}", shown, yellow("warning"), paragraph(warning, 2));
        }
        for hint in &self.hints {
            shown = text!("{}\n  {}: {}", shown, cyan("hint"), paragraph(hint, 4));
        }
        shown
    }
}

impl From<pintle_agent::StoreError> for Problem {
    fn from(error: pintle_agent::StoreError) -> Self {
        let corrupt = matches!(error, pintle_agent::StoreError::Corrupt { .. });
        let problem = Self::new(error);
        if corrupt {
            return problem.hint("`sqlite3 FILE .recover` may rescue what is in it");
        }
        problem
    }
}

impl From<pintle_llm::OpenError> for Problem {
    fn from(error: pintle_llm::OpenError) -> Self {
        Self::new(error).hint("`--model offline` needs no key and no network")
    }
}

impl From<pintle_agent::UnknownPersonality> for Problem {
    fn from(error: pintle_agent::UnknownPersonality) -> Self {
        Self::new(error)
    }
}

impl From<std::io::Error> for Problem {
    fn from(error: std::io::Error) -> Self {
        Self::new(error)
    }
}
