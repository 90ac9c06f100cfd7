//! What went wrong, for a person: what, and what to do about it.

use std::fmt;

use anstyle::{AnsiColor, Style};
use pintle_policy::visible;
use serde_json::{Value, json};

/// A failure of a command, with hints.
#[derive(Debug)]
pub(crate) struct Problem {
    what: String,
    hints: Vec<String>,
}

impl Problem {
    /// What it quotes may be a stranger's: nothing in it reaches the terminal as a command to it.
    pub(crate) fn new(what: impl fmt::Display) -> Self {
        Self { what: visible(&what.to_string()).into_owned(), hints: Vec::new() }
    }

    /// For a text that is fit to be seen already, colours and all.
    pub(crate) fn drawn(what: String) -> Self {
        Self { what, hints: Vec::new() }
    }

    pub(crate) fn hint(mut self, hint: impl fmt::Display) -> Self {
        self.hints.push(visible(&hint.to_string()).into_owned());
        self
    }

    pub(crate) fn to_json(&self) -> Value {
        json!({ "error": self.what, "hints": self.hints })
    }
}

pub(crate) const RED: Style = AnsiColor::Red.on_default().bold();
pub(crate) const CYAN: Style = AnsiColor::Cyan.on_default();
pub(crate) const GREEN: Style = AnsiColor::Green.on_default();
pub(crate) const YELLOW: Style = AnsiColor::Yellow.on_default();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const BOLD: Style = Style::new().bold();

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{RED}error{RED:#}: {}", self.what)?;
        for hint in &self.hints {
            write!(f, "\n  {CYAN}hint{CYAN:#}: {hint}")?;
        }
        Ok(())
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
