//! Runs a command that can write one folder and reach nothing: `confined FOLDER COMMAND`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that a person runs")]

use std::{env, path::PathBuf, time::Duration};

use pintle_sandbox::{
    Command, Confinement, Folder, Network, Output, Policy, Process, Sandbox, Stdin,
};
use tokio::io::AsyncReadExt;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let launcher = pintle_sandbox::init();
    let sandbox = Sandbox::probe(&launcher, Duration::from_secs(5));
    eprintln!("sandbox: {sandbox}");
    let mut args = env::args().skip(1);
    let (Some(folder), Some(line)) = (args.next().map(PathBuf::from), args.next()) else {
        return Err("usage: confined FOLDER COMMAND".into());
    };
    let held = sandbox.hold(Policy {
        read: ["/usr", "/bin", "/lib", "/lib64", "/etc"].map(PathBuf::from).to_vec(),
        write: vec![folder.clone()],
        network: Network::Loopback,
        ..Policy::default()
    })?;
    tokio::runtime::Runtime::new()?.block_on(async {
        let command = Command {
            program: "/bin/sh".into(),
            args: vec!["-c".into(), line.into()],
            env: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
            folder: Folder::Path(folder.canonicalize()?),
            stdin: Stdin::Null,
            output: Output::Merged,
        };
        let (mut process, mut streams) = Process::start(&command, &Confinement::Held(held))?;
        let mut said = String::new();
        streams.stdout.read_to_string(&mut said).await?;
        print!("{said}");
        eprintln!("{} {:?}", process.wait().await?, process.report());
        Ok(())
    })
}
