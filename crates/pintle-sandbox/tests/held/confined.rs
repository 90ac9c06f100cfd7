//! Runs scripts without a sandbox and in each tier of it.

use std::{
    ffi::OsString,
    fs,
    os::unix::process::CommandExt,
    path::Path,
    process::Stdio,
    sync::LazyLock,
    thread,
    time::{Duration, Instant},
};

use pintle_sandbox::{
    Command, Confinement, Folder, Held, Launcher, Output, Process, Report, Sandbox, Stdin, Tier,
};
use tokio::io::AsyncReadExt;

use crate::users;

/// The machine is shared: what should take a moment gets this long.
pub(crate) const LAG: Duration = Duration::from_secs(30);

pub(crate) const TIERS: [Tier; 3] = [Tier::Full, Tier::View, Tier::Floor];

/// This machine, tried once.
pub(crate) static SANDBOX: LazyLock<Sandbox> = LazyLock::new(|| {
    let sandbox = Sandbox::probe(&Launcher::at(users::launcher()), LAG);
    assert_eq!(sandbox.tier(), Tier::Full, "these tests need every tier: {sandbox}");
    sandbox
});

/// How a script ended.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// The exit code, or 128 and the number of the signal.
    pub(crate) code: i32,
    pub(crate) output: String,
    pub(crate) report: Report,
}

type Variables<'a> = &'a [(&'static str, String)];

/// Runs a script with the rights of its user.
pub(crate) fn bare(script: &str, folder: &Path, variables: Variables<'_>) -> Outcome {
    // A file, because a daemon would keep a pipe open.
    let said = tempfile::NamedTempFile::new().unwrap();
    let mut shell = std::process::Command::new("/bin/sh")
        .args(["-c", script])
        .env_clear()
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(said.as_file().try_clone().unwrap())
        .stderr(said.as_file().try_clone().unwrap())
        .process_group(0)
        .spawn()
        .unwrap();
    let deadline = Instant::now() + LAG;
    let status = loop {
        match shell.try_wait().unwrap() {
            Some(status) => break status,
            None if Instant::now() > deadline => {
                shell.kill().unwrap();
                break shell.wait().unwrap();
            }
            None => thread::sleep(Duration::from_millis(2)),
        }
    };
    let output = String::from_utf8_lossy(&fs::read(said.path()).unwrap()).into_owned();
    Outcome { code: code(status), output, report: Report::default() }
}

fn code(status: std::process::ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt;

    status.code().or(status.signal().map(|signal| 128 + signal)).unwrap()
}

pub(crate) fn shell(script: &str, folder: &Path, variables: Variables<'_>) -> Command {
    let env = variables.iter().map(|(name, value)| (OsString::from(name), value.into())).collect();
    Command {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), script.into()],
        env,
        folder: Folder::Path(folder.to_owned()),
        stdin: Stdin::Null,
        output: Output::Merged,
    }
}

/// Runs a command that the kernel holds, to its end and the end of all that it left.
pub(crate) async fn confined(held: Held, command: &Command) -> std::io::Result<Outcome> {
    let (mut process, mut streams) = Process::start(command, &Confinement::Held(held))?;
    let mut output = Vec::new();
    let ended = tokio::time::timeout(LAG, async {
        // A daemon may hold the pipe: the end of the process is what counts.
        let reading = async {
            streams.stdout.read_to_end(&mut output).await.unwrap();
            std::future::pending().await
        };
        tokio::select! {
            status = process.wait() => status.unwrap(),
            () = reading => unreachable!(),
        }
    });
    let status = ended.await.expect("the process ends");
    let report = process.exited().await;
    streams.stdout.read_to_end(&mut output).await?;
    let output = String::from_utf8_lossy(&output).into_owned();
    Ok(Outcome { code: code(status), output, report })
}

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}
