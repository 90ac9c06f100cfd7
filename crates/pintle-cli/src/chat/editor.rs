//! The line editor: several lines, Tab, and Ctrl-C as in a shell.

use std::{
    fs,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use rustyline::{
    Cmd, CompletionType, ConditionalEventHandler, Config, Context, Event, EventContext,
    EventHandler, Helper, KeyCode, KeyEvent, Modifiers, Movement, RepeatCount,
    completion::{Completer, Pair},
    highlight::Highlighter,
    hint::Hinter,
    history::FileHistory,
    validate::{ValidationContext, ValidationResult, Validator},
};

/// The most files that Tab offers.
const MOST_FILES: usize = 50;

pub(super) type Editor = rustyline::Editor<Completion, FileHistory>;

/// What Tab completes, besides files after an `@`.
#[derive(Default)]
pub(crate) struct Words {
    /// Each command, with what it does.
    pub(crate) commands: Vec<(String, String)>,
    /// The words that may follow a command.
    pub(crate) arguments: Vec<(&'static str, Vec<String>)>,
}

pub(super) fn open(words: Arc<Mutex<Words>>) -> rustyline::Result<Editor> {
    let config = Config::builder().completion_type(CompletionType::List).build();
    let mut editor = Editor::with_config(config)?;
    editor.set_helper(Some(Completion(words)));
    for newline in [KeyEvent::ctrl('J'), KeyEvent(KeyCode::Enter, Modifiers::ALT)] {
        editor.bind_sequence(newline, EventHandler::Simple(Cmd::Newline));
    }
    let clear = EventHandler::Conditional(Box::new(ClearLine));
    editor.bind_sequence(KeyEvent::ctrl('C'), clear);
    Ok(editor)
}

/// Ctrl-C clears a line that has text. In an empty line it interrupts as usual.
struct ClearLine;

impl ConditionalEventHandler for ClearLine {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, ctx: &EventContext<'_>) -> Option<Cmd> {
        (!ctx.line().is_empty()).then_some(Cmd::Kill(Movement::WholeBuffer))
    }
}

pub(super) struct Completion(Arc<Mutex<Words>>);

impl Completer for Completion {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        pos: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let typed = line.get(..pos).unwrap_or(line);
        let words = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let start = typed.rfind(char::is_whitespace).map_or(0, |at| at + 1);
        let word = typed.get(start..).unwrap_or_default();
        let plain = |text: &String| Pair { display: text.clone(), replacement: text.clone() };
        let found = match (start, word.strip_prefix('@')) {
            (_, Some(path)) => files(path).iter().map(|file| plain(&format!("@{file}"))).collect(),
            (0, None) if word.starts_with('/') => {
                let fits = words.commands.iter().filter(|(name, _)| name.starts_with(word));
                let pair = |(name, does): &(String, String)| Pair {
                    display: format!("{name:<13} {does}"),
                    replacement: format!("{name} "),
                };
                fits.map(pair).collect()
            }
            _ => {
                let command = typed.split_whitespace().next().unwrap_or_default();
                let known = words.arguments.iter().find(|(name, _)| *name == command);
                let fits = known.into_iter().flat_map(|(_, known)| known);
                fits.filter(|it| it.starts_with(word)).map(plain).collect()
            }
        };
        Ok((start, found))
    }
}

/// The files and folders that complete a path.
fn files(path: &str) -> Vec<String> {
    let (folder, name) = path.rsplit_once('/').map_or(("", path), |(folder, name)| (folder, name));
    let base = if path.starts_with('/') {
        Path::new("/").join(folder)
    } else {
        Path::new(".").join(folder)
    };
    let mut found: Vec<String> = fs::read_dir(base)
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let found = entry.file_name().into_string().ok()?;
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let fits =
                found.starts_with(name) && (name.starts_with('.') || !found.starts_with('.'));
            let before = if folder.is_empty() && !path.starts_with('/') {
                String::new()
            } else {
                format!("{folder}/")
            };
            fits.then(|| format!("{before}{found}{}", if is_folder { "/" } else { "" }))
        })
        .collect();
    found.sort();
    found.truncate(MOST_FILES);
    found
}

/// A line that ends in `\` continues on the next line.
impl Validator for Completion {
    fn validate(&self, ctx: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(match ctx.input().ends_with('\\') {
            true => ValidationResult::Incomplete,
            false => ValidationResult::Valid(None),
        })
    }
}

impl Hinter for Completion {
    type Hint = String;
}
impl Highlighter for Completion {}
impl Helper for Completion {}
