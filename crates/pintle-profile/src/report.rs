//! What is wrong with a profile, drawn like a compiler's.

use crate::operator::OPERATOR_FILE;
use crate::terminal_escape::on_one_line;
use crate::tools::Warning;
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet, renderer::DecorStyle};
use std::fmt;
use std::ops::Range;

/// One thing that is wrong, before it is known in which file.
#[derive(Debug, Clone)]
pub struct Problem {
    pub(crate) span: Range<usize>,
    pub(crate) message: String,
    pub(crate) label: String,
    pub(crate) helps: Vec<String>,
}

impl Problem {
    pub(crate) fn new(span: Range<usize>, message: impl Into<String>) -> Self {
        Self { span, message: message.into(), label: String::new(), helps: Vec::new() }
    }

    /// What is wrong at a place, what was expected there (or nothing), and how to fix it.
    pub fn at(
        span: Range<usize>,
        message: impl Into<String>,
        label: &str,
        help: impl Into<String>,
    ) -> Self {
        Self { span, message: message.into(), label: label.into(), helps: vec![help.into()] }
    }

    pub(crate) fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// The same with another way to fix it.
    #[must_use]
    pub fn instead(mut self, help: impl Into<String>) -> Self {
        self.helps = vec![help.into()];
        self
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.helps.push(help.into());
        self
    }
}

/// One thing that is wrong with a profile, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileError {
    /// The file, relative to the profile's folder.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What was expected at that place; may be empty.
    pub label: String,
    /// How to fix it.
    pub helps: Vec<String>,
    span: Range<usize>,
}

impl ProfileError {
    pub(crate) fn within(&self, span: &Range<usize>) -> bool {
        span.contains(&self.span.start)
    }
}

/// More are not read, and each is drawn with its line.
const MOST_DRAWN: usize = 50;

/// Everything that is wrong with a profile (R10.4). Shown whole, so that one look is enough.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProfileErrors {
    errors: Vec<ProfileError>,
    sources: Vec<(String, String)>,
    warnings: Vec<Warning>,
}

impl std::error::Error for ProfileErrors {}

impl ProfileErrors {
    /// Each error, in the order written.
    #[must_use]
    pub fn errors(&self) -> &[ProfileError] {
        &self.errors
    }

    /// What would be odd about the profile if it did load, as far as that is known.
    #[must_use]
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    pub(crate) fn with_warnings(mut self, warnings: Vec<Warning>) -> Self {
        self.warnings.extend(warnings);
        self
    }

    pub(crate) fn of(&self, file: &str) -> impl Iterator<Item = &ProfileError> {
        self.errors.iter().filter(move |error| error.file == file)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.errors.is_empty()
    }

    pub(crate) fn add(&mut self, file: &str, source: &str, mut problems: Vec<Problem>) {
        if problems.is_empty() {
            return;
        }
        problems.sort_by_key(|p| p.span.start);
        // What a stranger wrote is quoted in all of these.
        let shown = |text: String| on_one_line(&text).into_owned();
        let file = shown(file.to_owned());
        self.sources.push((file.clone(), source.to_owned()));
        // In the order written, so that the text is gone through once, however many there are.
        let (mut at, mut line, mut column) = (0_usize, 1_usize, 1_usize);
        for problem in problems {
            for c in source.get(at..problem.span.start).unwrap_or_default().chars() {
                (line, column) = match c {
                    '\n' => (line.saturating_add(1), 1),
                    _ => (line, column.saturating_add(1)),
                };
            }
            at = at.max(problem.span.start);
            let Problem { span, message, label, helps } = problem;
            // A bracket that was added at the end to read on is beyond it.
            let span = span.start.min(source.len())..span.end.min(source.len());
            self.errors.push(ProfileError {
                file: file.clone(),
                line,
                column,
                message: shown(message),
                label: shown(label),
                helps: helps.into_iter().map(shown).collect(),
                span,
            });
        }
    }

    /// All errors drawn with their source lines; `colour` adds terminal colours.
    #[must_use]
    pub fn render(&self, colour: bool) -> String {
        let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
        let renderer = renderer.decor_style(DecorStyle::Ascii).term_width(120);
        let drawn: Vec<String> =
            self.errors.iter().take(MOST_DRAWN).map(|error| self.draw(error, &renderer)).collect();
        let count = match self.errors.len() {
            1 => "1 error".to_owned(),
            n if n > MOST_DRAWN => format!("{n} errors, of which {MOST_DRAWN} are shown"),
            n => format!("{n} errors"),
        };
        let of_operator =
            |error: &ProfileError| error.file == OPERATOR_FILE || error.file.starts_with("PINTLE_");
        let so = match self.errors.iter().all(of_operator) {
            true => "the operator's settings cannot be used",
            false => "the profile was not loaded",
        };
        format!("{}\n\n{count}: {so}", drawn.join("\n\n"))
    }

    /// These, and others after them: what is wrong in several places is shown in one go.
    #[must_use]
    pub fn and(mut self, others: Self) -> Self {
        self.errors.extend(others.errors);
        self.sources.extend(others.sources);
        self.warnings.extend(others.warnings);
        self
    }

    fn draw(&self, error: &ProfileError, renderer: &Renderer) -> String {
        let source =
            self.sources.iter().find(|(file, _)| *file == error.file).map_or("", |(_, text)| text);
        let title = Level::ERROR.primary_title(error.message.as_str());
        let helps = error.helps.iter().map(|help| Level::HELP.message(help.as_str()));
        if source.is_empty() {
            let origin = annotate_snippets::Origin::path(error.file.as_str());
            return renderer.render(&[title.element(origin).elements(helps)]);
        }
        let mut mark = AnnotationKind::Primary.span(error.span.clone());
        if !error.label.is_empty() {
            mark = mark.label(error.label.as_str());
        }
        let snippet = Snippet::source(source).path(error.file.as_str()).annotation(mark);
        renderer.render(&[title.element(snippet).elements(helps)])
    }
}

impl fmt::Display for ProfileErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

/// Line and column, both from 1, of a byte.
pub(crate) fn place(source: &str, at: usize) -> (usize, usize) {
    let before = source.get(..at).unwrap_or(source);
    let line = before.matches('\n').count().saturating_add(1);
    let start = before.rfind('\n').map_or(0, |n| n.saturating_add(1));
    let column = before.get(start..).unwrap_or_default().chars().count().saturating_add(1);
    (line, column)
}
