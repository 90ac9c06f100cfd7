//! Personalities: written in agent.json, or folders with `SOUL.md` and `config.json`.

use super::document::Parsed;
use super::file::{InlinePersonality, PersonalityFile};
use super::json::parse;
use super::read::read_text;
use super::report::{Problem, ProfileErrors};
use super::schema::personality_schema;
use super::{formats, schema_check, served};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Who the agent is: its prompt, its tools, the plugins that fire for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Personality {
    /// Its part of the system prompt.
    pub prompt: String,
    /// Globs of the tools it may use; all of them if none are given.
    pub tools: Option<Vec<String>>,
    /// The plugins that fire for it; none means built-ins only (R4.3).
    pub plugins: Option<Vec<String>>,
}

impl From<InlinePersonality> for Personality {
    fn from(inline: InlinePersonality) -> Self {
        Self { prompt: inline.prompt, tools: inline.tools, plugins: inline.plugins }
    }
}

/// The personalities that have a folder, right or wrong.
pub(crate) fn folder_names(dir: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(dir.join("personalities")).into_iter().flatten();
    entries
        .filter_map(Result::ok)
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| !name.starts_with('.'))
        .collect()
}

/// Reads each of these folders under `personalities/`; what is wrong goes to `errors`.
pub(crate) fn read_folders(
    dir: &Path,
    names: &BTreeSet<String>,
    errors: &mut ProfileErrors,
) -> BTreeMap<String, Personality> {
    let read = |name: &String| Some((name.clone(), read_folder(dir, name, errors)?));
    names.iter().filter_map(read).collect()
}

fn read_folder(dir: &Path, name: &str, errors: &mut ProfileErrors) -> Option<Personality> {
    let soul = format!("personalities/{name}/SOUL.md");
    let prompt = match read(dir, &soul, errors) {
        Read::Text(text) => match formats::hidden_in_page(&text) {
            None => Some(text),
            Some(hidden) => {
                errors.add(&soul, &text, vec![hidden]);
                None
            }
        },
        Read::Wrong => None,
        Read::Missing(file) => {
            let problem = Problem::new(0..0, format!("the personality `{name}` has no `SOUL.md`"))
                .help("write its part of the system prompt there, or remove the folder");
            errors.add(&file, "", vec![problem]);
            None
        }
    };
    let config = match read(dir, &format!("personalities/{name}/config.json"), errors) {
        Read::Missing(_) => Some(PersonalityFile::default()),
        Read::Wrong => None,
        Read::Text(source) => {
            read_config(dir, &format!("personalities/{name}/config.json"), &source, errors)
        }
    };
    let (prompt, config) = (prompt?, config?);
    Some(Personality { prompt, tools: config.tools, plugins: config.plugins })
}

fn read_config(
    dir: &Path,
    file: &str,
    source: &str,
    errors: &mut ProfileErrors,
) -> Option<PersonalityFile> {
    let Parsed { document, mut problems } = parse(source);
    if let Some(document) = document {
        let mut found = schema_check::check(&document, &personality_schema(), dir);
        formats::only_one_answer(&mut problems, &mut found);
        problems.extend(found);
        problems.extend(served::plugins(&document));
        if problems.is_empty() {
            match serde_json::from_value(document.to_json()) {
                Ok(config) => return Some(config),
                Err(error) => problems.push(Problem::new(document.span, error.to_string())),
            }
        }
    }
    errors.add(file, source, problems);
    None
}

enum Read {
    Text(String),
    Missing(String),
    Wrong,
}

/// Reads a file of the profile.
fn read(dir: &Path, file: &str, errors: &mut ProfileErrors) -> Read {
    match read_text(dir, file) {
        Ok(text) => Read::Text(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Read::Missing(file.to_owned())
        }
        Err(error) => {
            let problem = Problem::new(0..0, format!("this file cannot be read: {error}")).help(
                "put the text itself here: an ordinary file in UTF-8, not a link that leads away",
            );
            errors.add(file, "", vec![problem]);
            Read::Wrong
        }
    }
}
