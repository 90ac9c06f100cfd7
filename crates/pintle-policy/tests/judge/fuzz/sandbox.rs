//! A folder in which a shell can do no harm.

use std::fs;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// The only programs to be found, besides the `rm` that leaves a mark. None of them harms a file that was not named.
const PROGRAMS: &[&str] = &[
    "bash", "cat", "env", "false", "find", "head", "nice", "nohup", "seq", "sh", "tee", "timeout",
    "touch", "true", "xargs",
];

const NOBODY: u32 = 65534;

pub(crate) struct Sandbox {
    folder: tempfile::TempDir,
    /// A slip of the pen may write to any place it may: root's shells are nobody's.
    is_root: bool,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("bin");
        fs::create_dir_all(&bin).unwrap();
        for program in PROGRAMS {
            let places = ["/bin", "/usr/bin"].map(|place| Path::new(place).join(program));
            if let Some(found) = places.iter().find(|place| place.exists()) {
                std::os::unix::fs::symlink(found, bin.join(program)).unwrap();
            }
        }
        let is_root = fs::metadata(folder.path()).unwrap().uid() == 0;
        for place in [folder.path(), &bin] {
            fs::set_permissions(place, fs::Permissions::from_mode(0o755)).unwrap();
        }
        Self { folder, is_root }
    }

    /// Whether the command runs `rm` when this shell reads it.
    pub(crate) fn marks(&self, shell: &str, command: &str) -> bool {
        // Each run has a mark of its own: what an earlier one left behind cannot make it.
        let run = tempfile::tempdir_in(self.folder.path()).unwrap();
        let [own, work, mark] = ["own", "work", "mark"].map(|name| run.path().join(name));
        fs::create_dir_all(&own).unwrap();
        fs::create_dir_all(work.join("sub")).unwrap();
        fs::write(work.join("x"), "").unwrap();
        let script = format!("#!/bin/sh\necho >> '{}'\n", mark.display());
        fs::write(own.join("rm"), script).unwrap();
        for place in [run.path(), &own, &own.join("rm"), &work, &work.join("sub"), &work.join("x")]
        {
            fs::set_permissions(place, fs::Permissions::from_mode(0o777)).unwrap();
        }
        let path = format!("{}:{}", own.display(), self.folder.path().join("bin").display());
        // Descriptor 9 is the pipe that we read: it ends when everything that was started has ended.
        let mut start = Command::new("/bin/sh");
        if self.is_root {
            start.uid(NOBODY).gid(NOBODY);
        }
        let mut child = start
            .args([
                "-c",
                "ulimit -t 1; ulimit -f 64; exec 9>&1; exec \"$0\" -c \"$1\"",
                shell,
                command,
            ])
            .env_clear()
            .env("PATH", path)
            .env("HOME", &work)
            .current_dir(&work)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap();
        let mut pipe = child.stdout.take().unwrap();
        let (ended, wait) = mpsc::channel();
        std::thread::spawn(move || {
            let _ = std::io::copy(&mut pipe.by_ref().take(1 << 20), &mut std::io::sink());
            let _ = ended.send(());
        });
        if wait.recv_timeout(Duration::from_secs(4)).is_err() {
            let group = format!("kill -s KILL -- -{}", child.id());
            Command::new("/bin/sh").args(["-c", &group]).status().unwrap();
        }
        child.wait().unwrap();
        mark.exists()
    }
}
