//! `pintle completions` and `pintle man`: written from the definitions that `--help` shows.

use std::{fs, process::ExitCode};

use clap::CommandFactory;

use crate::{
    args::{Cli, Completions, Man},
    out::{say, say_whole},
    problem::Problem,
    shown,
};

pub(crate) fn run(completions: &Completions) -> Result<ExitCode, Problem> {
    let mut script = Vec::new();
    clap_complete::generate(completions.shell, &mut Cli::command(), "pintle", &mut script);
    let script = String::from_utf8(script).map_err(Problem::new)?;
    say_whole(&shown::lines(script.trim_end()));
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn man(man: &Man) -> Result<ExitCode, Problem> {
    fs::create_dir_all(&man.dir)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), &man.dir))
        .map_err(|error| Problem::io(format!("cannot write to {}", man.dir.display()), &error))?;
    say!("wrote the man pages to {}", man.dir.display());
    Ok(ExitCode::SUCCESS)
}
