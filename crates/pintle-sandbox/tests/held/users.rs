//! Tests that run themselves again as a plain user: what the kernel lets pass differs from what it lets root.

use std::{
    env, fs,
    os::unix::{fs::PermissionsExt, process::CommandExt},
    panic::{self, AssertUnwindSafe},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use rustix::process::geteuid;

/// Nobody, by number: some systems have no name for it.
const USER: u32 = 65534;

/// In the environment of a test that runs again: the launcher to use, and a folder that root has prepared.
const LAUNCHER: &str = "PINTLE_TEST_LAUNCHER";
const PREPARED: &str = "PINTLE_TEST_PREPARED";

/// The launcher that belongs to this test program.
pub(crate) fn launcher() -> PathBuf {
    env::var_os(LAUNCHER)
        .map_or_else(|| env!("CARGO_BIN_EXE_pintle-sandbox-launcher").into(), Into::into)
}

pub(crate) fn is_root() -> bool {
    geteuid().is_root()
}

/// The file that root has prepared for a plain user under this name.
pub(crate) fn prepared(name: &str) -> PathBuf {
    PathBuf::from(env::var_os(PREPARED).expect("root prepares a folder")).join(name)
}

/// Whether this test was started again as a plain user, after `prepare` ran as root.
pub(crate) fn is_prepared() -> bool {
    env::var_os(PREPARED).is_some()
}

/// Runs the body of this test, and where that is root, a second time as a plain user.
pub(crate) fn as_each_user(test: &str, prepare: impl FnOnce(&Path), body: impl FnOnce()) {
    if !is_root() {
        return body();
    }
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    prepare(folder.path());
    // The build folder may lie where only root can go.
    let bring = |program: &Path, name: &str| {
        let copy = folder.path().join(name);
        fs::hard_link(program, &copy).or_else(|_| fs::copy(program, &copy).map(drop)).unwrap();
        copy
    };
    let program = bring(&env::current_exe().unwrap(), "test");
    let launcher = bring(&launcher(), "launcher");
    let said = fs::File::create(folder.path().join("said")).unwrap();
    let mut user = Command::new(program)
        .args(["--exact", test, "--nocapture"])
        .env(LAUNCHER, launcher)
        .env(PREPARED, folder.path())
        .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(said.try_clone().unwrap())
        .stderr(said)
        .uid(USER)
        .gid(USER)
        .spawn()
        .unwrap();
    let as_root = panic::catch_unwind(AssertUnwindSafe(body));
    let status = user.wait().unwrap();
    let said = fs::read_to_string(folder.path().join("said")).unwrap();
    let as_user = status.success() && said.contains("1 passed");
    if as_root.is_err() || !as_user {
        panic!(
            "`{test}` {} as root, and as a plain user: {said}",
            match as_root {
                Ok(()) => "passes",
                Err(_) => "fails",
            }
        );
    }
}
