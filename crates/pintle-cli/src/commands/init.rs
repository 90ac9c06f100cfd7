//! `pintle init`: a sample profile to start from.

use std::{fs, io::Write, path::Path, process::ExitCode};

use pintle_actions::{BUILT_IN, in_profiles};
use pintle_profile::typed;
use serde_json::json;

use crate::{
    args::Init,
    environment::Environment,
    in_force,
    out::{say, say_json},
    problem::Problem,
    profile,
    shown::{cyan, green, text},
};

pub(crate) fn run(environment: &Environment, init: &Init) -> Result<ExitCode, Problem> {
    let schema =
        serde_json::to_string_pretty(&pintle_profile::agent_schema(&in_profiles(&BUILT_IN)))
            .map_err(Problem::new)?;
    let files = [
        ("agent.json", include_str!("../sample/agent.json")),
        ("agent.schema.json", &schema),
        ("PROFILE.md", include_str!("../sample/PROFILE.md")),
        ("personalities/guide/SOUL.md", include_str!("../sample/SOUL.md")),
        ("personalities/guide/config.json", "{}\n"),
        ("hooks/check.sh", include_str!("../sample/check.sh")),
        ("hooks/worker.sh", include_str!("../sample/worker.sh")),
    ];
    let dir = environment.absolute(&init.dir)?;
    if let Some((taken, _)) = files.iter().find(|(name, _)| dir.join(name).exists()) {
        return Err(Problem::new(format!(
            "{} already exists; nothing was written",
            dir.join(taken).display()
        ))
        .fix("choose another folder: pintle init DIR"));
    }
    for (name, text) in files {
        let path = dir.join(name);
        let failed = |error| Problem::io(format!("cannot write {}", path.display()), &error);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        // Never overwrites a file, even one created a moment ago.
        let mut file = fs::File::create_new(&path).map_err(failed)?;
        file.write_all(text.as_bytes()).map_err(failed)?;
        if name.ends_with(".sh") {
            make_runnable(&file).map_err(failed)?;
        }
        if !environment.json {
            say!("{} {}", green("wrote"), init.dir.join(name).display());
        }
    }
    // The person who ran `init` accepts the profile. A process of an agent cannot accept one; the person is then asked later.
    if let Ok(profile) = profile::load(&dir, environment) {
        let _ = in_force::accept(environment, &profile);
    }
    if environment.json {
        say_json(&json!({ "profile": dir, "files": files.map(|(name, _)| name) }))?;
    } else {
        // The profile of this folder is found without the option.
        let profile = match init.dir == Path::new(".") {
            true => String::new(),
            false => format!(" --profile {}", typed(&init.dir)),
        };
        say!("\nnext:");
        for (command, rest) in [("chat", ""), ("chat", " -q 'run git push'"), ("hooks list", "")] {
            say!("  {}", cyan(text!("pintle {}{}{}", command, profile, rest)));
        }
        say!("\nPROFILE.md says what each part is for. In a chat, try: write hello.txt: hi");
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(unix)]
fn make_runnable(file: &fs::File) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn make_runnable(_: &fs::File) -> std::io::Result<()> {
    Ok(())
}
