//! Personalities: written in agent.json, or folders with `SOUL.md` and `config.json`.

use super::document::Parsed;
use super::file::PersonalityFile;
use super::json::parse;
use super::read::read_text;
use super::report::{Problem, ProfileErrors};
use super::schema::personality_schema;
use super::{formats, schema_check, served};
use pintle::points::PersonalityConfig;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

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

/// Reads each of these folders under `personalities/`; what is wrong goes to `errors`. `plugins` are those that were added.
pub(crate) fn read_folders(
    dir: &Path,
    names: &BTreeSet<String>,
    plugins: Option<&[String]>,
    errors: &mut ProfileErrors,
) -> BTreeMap<String, PersonalityConfig> {
    let read = |name: &String| Some((name.clone(), read_folder(dir, name, plugins, errors)?));
    names.iter().filter_map(read).collect()
}

fn read_folder(
    dir: &Path,
    name: &str,
    plugins: Option<&[String]>,
    errors: &mut ProfileErrors,
) -> Option<PersonalityConfig> {
    let soul = format!("personalities/{name}/SOUL.md");
    let prompt = match read(dir, &soul, errors) {
        Ok(text) => {
            let hidden = formats::hidden_in_page(&text);
            let is_fine = hidden.is_none();
            errors.add(&soul, &text, hidden.into_iter().collect());
            is_fine.then_some(text)
        }
        Err(Unread::Reported) => None,
        Err(Unread::Missing) => {
            let message = format!("the personality `{name}` has no `SOUL.md`");
            let help = "write its part of the system prompt there, or remove the folder";
            errors.add(&soul, "", vec![Problem::at(0..0, message, "", help)]);
            None
        }
    };
    let file = format!("personalities/{name}/config.json");
    let config = match read(dir, &file, errors) {
        Ok(source) => read_config(dir, &file, (&source, plugins), errors),
        Err(Unread::Missing) => Some(PersonalityFile::default()),
        Err(Unread::Reported) => None,
    };
    let (prompt, config) = (prompt?, config?);
    Some(PersonalityConfig::default().prompt(prompt).tools(config.tools).plugins(config.plugins))
}

fn read_config(
    dir: &Path,
    file: &str,
    (source, plugins): (&str, Option<&[String]>),
    errors: &mut ProfileErrors,
) -> Option<PersonalityFile> {
    let Parsed { document, mut problems } = parse(source);
    if let Some(document) = document {
        let mut found = schema_check::check(&document, &personality_schema(), dir, &[]);
        formats::only_one_answer(&mut problems, &mut found);
        problems.extend(found);
        problems.extend(served::plugins(&document, plugins));
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

enum Unread {
    Missing,
    Reported,
}

/// Reads a file of the profile.
fn read(dir: &Path, file: &str, errors: &mut ProfileErrors) -> Result<String, Unread> {
    read_text(dir, file).map_err(|error| {
        if error.kind() == std::io::ErrorKind::NotFound {
            return Unread::Missing;
        }
        let message = format!("this file cannot be read: {error}");
        let help =
            "put the text itself here: an ordinary file in UTF-8, not a link that leads away";
        errors.add(file, "", vec![Problem::at(0..0, message, "", help)]);
        Unread::Reported
    })
}
