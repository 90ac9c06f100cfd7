//! Tests that run themselves again as a plain user: what the kernel lets pass differs from what it lets root.

use std::{
    env, fs,
    os::unix::{fs::PermissionsExt, process::CommandExt},
    panic::{self, AssertUnwindSafe},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use rustix::process::geteuid;
use tempfile::TempDir;

/// Nobody, by number: some systems have no name for it.
const USER: u32 = 65534;
const LONE_USER: u32 = 64_321;

/// In the environment of a test that runs again: the launcher to use, and a folder that root has prepared.
pub(crate) const LAUNCHER: &str = "PINTLE_TEST_LAUNCHER";
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
    let user = Again::new(test, USER, prepare);
    let as_root = panic::catch_unwind(AssertUnwindSafe(body));
    let as_user = user.end();
    if let (Err(_), _) | (_, Err(_)) = (&as_root, &as_user) {
        let root = if as_root.is_ok() { "passes" } else { "fails" };
        panic!("`{test}` {root} as root, and as a plain user: {as_user:?}");
    }
}

/// Runs the body of this test as a user that no other process has, where root can give it one.
pub(crate) fn as_lone_user(test: &str, body: impl FnOnce()) {
    match is_root() {
        true => Again::new(test, LONE_USER, |_| {}).end().unwrap(),
        false => body(),
    }
}

/// A test that was started again.
struct Again {
    process: Child,
    folder: TempDir,
}

impl Again {
    fn new(test: &str, user: u32, prepare: impl FnOnce(&Path)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        prepare(folder.path());
        // The build folder may lie where only root can go.
        let bring = |program: &Path, name: &str| {
            let copy = folder.path().join(name);
            fs::hard_link(program, &copy).or_else(|_| fs::copy(program, &copy).map(drop)).unwrap();
            copy
        };
        fs::create_dir(folder.path().join("programs")).unwrap();
        for name in ["tool", "preload"] {
            bring(&crate::world::program(name), &format!("programs/{name}"));
        }
        let program = bring(&env::current_exe().unwrap(), "test");
        let launcher = bring(&launcher(), "launcher");
        let said = fs::File::create(folder.path().join("said")).unwrap();
        let process = Command::new(program)
            .args(["--exact", test, "--nocapture"])
            .env(LAUNCHER, launcher)
            .env(PREPARED, folder.path())
            .env("PATH", crate::world::PATH)
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(said.try_clone().unwrap())
            .stderr(said)
            .uid(user)
            .gid(user)
            .spawn()
            .unwrap();
        Self { process, folder }
    }

    fn end(mut self) -> Result<(), String> {
        let status = self.process.wait().unwrap();
        let said = fs::read_to_string(self.folder.path().join("said")).unwrap();
        match status.success() && said.contains("1 passed") {
            true => Ok(()),
            false => Err(said),
        }
    }
}
