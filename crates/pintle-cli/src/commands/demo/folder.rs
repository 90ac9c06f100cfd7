//! The folder of the demo: a profile with its scripts, a folder to work in, and settings of its own.

use std::{
    fs::{self, Permissions},
    io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use serde_json::json;
use tempfile::TempDir;

use super::Step;
use crate::{environment::Environment, problem::Problem, profile};

const AGENT_JSON: &str = include_str!("files/agent.json");
/// Files that can be executed.
const SCRIPTS: [(&str, &str); 4] = [
    ("profile/hooks/keep-files.sh", include_str!("files/hooks/keep-files.sh")),
    ("profile/hooks/scan.sh", include_str!("files/hooks/scan.sh")),
    ("work/deploy.sh", "#!/bin/sh\necho deployed > deployed.txt\n"),
    ("work/build.sh", "#!/bin/sh\necho building\necho built > ../outside.txt\n"),
];
const FILES: [(&str, &str); 3] = [
    ("profile/agent.json", AGENT_JSON),
    ("work/reports/2025.txt", "All is well.\n"),
    ("work/config.toml", "[limits]\nusers = 5\n\nrequests = 10\n"),
];

pub(super) struct DemoFolder {
    folder: TempDir,
}

impl DemoFolder {
    pub(super) fn make(place: &Path) -> Result<Self, Problem> {
        let made = || -> io::Result<TempDir> {
            fs::create_dir_all(place)?;
            let folder = tempfile::Builder::new().prefix("pintle-demo-").tempdir_in(place)?;
            for name in ["data", "profile/hooks", "work/reports", "work/trash"] {
                fs::create_dir_all(folder.path().join(name))?;
            }
            for (name, text) in FILES.into_iter().chain(SCRIPTS) {
                fs::write(folder.path().join(name), text)?;
            }
            for (name, _) in SCRIPTS {
                fs::set_permissions(folder.path().join(name), Permissions::from_mode(0o755))?;
            }
            Ok(folder)
        };
        let folder = made().map_err(|error| {
            let place = place.display();
            Problem::new(format!("the demo cannot make its folder in {place}: {error}"))
                .fix("set TMPDIR to another place")
        })?;
        Ok(Self { folder })
    }

    fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap_or_else(|_| self.folder.path().to_owned())
    }

    pub(super) fn data(&self) -> PathBuf {
        self.root().join("data")
    }

    pub(super) fn profile(&self) -> PathBuf {
        self.root().join("profile")
    }

    pub(super) fn work(&self) -> PathBuf {
        self.root().join("work")
    }

    /// Trusts the scripts, which are our own.
    pub(super) fn trust(&self, environment: &Environment) -> Result<(), Problem> {
        let profile = profile::load(&self.profile(), environment)?;
        Ok(pintle_actions::trust::accept(&self.data(), &profile)?)
    }

    /// Writes the script of the model, and returns the name of that model.
    pub(super) fn script(&self, steps: &[Step]) -> Result<String, Problem> {
        let calls = steps.iter().flat_map(|step| &step.calls);
        let mut turns: Vec<_> = (1..)
            .zip(calls)
            .map(|(number, (tool, input))| {
                json!({ "toolCalls": [{ "id": format!("demo-{number}"), "name": tool, "input": input }] })
            })
            .collect();
        turns.push(json!({ "text": "" }));
        let file: &Path = &self.root().join("script.json");
        fs::write(file, serde_json::Value::from(turns).to_string())?;
        Ok(format!("scripted:{}", file.display()))
    }
}
