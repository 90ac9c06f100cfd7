//! Files that are made from the types and kept in the repository. `PINTLE_UPDATE=1` writes them anew.
pub(crate) mod samples;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn updating() -> bool {
    std::env::var_os("PINTLE_UPDATE").is_some_and(|value| value == "1")
}

const HINT: &str = "`PINTLE_UPDATE=1 cargo nextest run -p pintle` writes it anew";

/// The file says exactly this; or, when updating, from now on it does.
pub(crate) fn assert_fresh(path: &Path, text: &str) {
    if updating() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    match fs::read_to_string(path) {
        Err(error) => panic!("{} is missing ({error}); {HINT}", path.display()),
        Ok(there) => assert!(there == text, "{} is stale; {HINT}", path.display()),
    }
}

/// The folder holds these files and no others.
pub(crate) fn assert_folder(folder: &Path, files: &BTreeMap<String, String>) {
    for (name, text) in files {
        assert_fresh(&folder.join(name), text);
    }
    let there: BTreeSet<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    for name in there.iter().filter(|name| !files.contains_key(*name)) {
        if updating() {
            fs::remove_file(folder.join(name)).unwrap();
        } else {
            panic!("{} is superfluous; {HINT}", folder.join(name).display());
        }
    }
}

/// JSON as text, with sorted keys: whether serde_json keeps the order depends on who else is built along.
pub(crate) fn canonical(json: &Value) -> String {
    fn sorted(json: &Value) -> Value {
        match json {
            Value::Object(object) => {
                let mut keys: Vec<_> = object.iter().collect();
                keys.sort_by_key(|(key, _)| *key);
                keys.into_iter().map(|(key, value)| (key.clone(), sorted(value))).collect()
            }
            Value::Array(items) => items.iter().map(sorted).collect(),
            other => other.clone(),
        }
    }
    serde_json::to_string_pretty(&sorted(json)).unwrap() + "\n"
}
