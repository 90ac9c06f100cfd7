//! A place of its own for each test: a home, a data folder, a folder to work in with a profile in it.

use std::{
    io::{Read, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Output, Stdio},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use serde_json::Value;
use tempfile::TempDir;

/// Reached only when something hangs.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct World {
    folder: TempDir,
    operator: Vec<(&'static str, String)>,
}

impl World {
    pub(crate) fn new(agent: &Value) -> Self {
        let world = Self { folder: TempDir::new().unwrap(), operator: Vec::new() };
        for folder in ["profile/hooks", "elsewhere"] {
            std::fs::create_dir_all(world.path(folder)).unwrap();
        }
        std::fs::create_dir(world.data("")).unwrap();
        world.agent(agent);
        world
    }

    /// One in which every command is asked about.
    pub(crate) fn strict(agent: &Value) -> Self {
        let world = Self::new(agent);
        std::fs::write(world.data("pintle.toml"), "level = \"strict\"\n").unwrap();
        world
    }

    pub(crate) fn operator(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.operator.push((name, value.into()));
        self
    }

    /// Lets profiles run programs.
    pub(crate) fn allowing_programs(self) -> Self {
        self.operator("PINTLE_ALLOW_COMMAND_HOOKS", "1")
    }

    /// A path in the folder the program is started in.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("workspace").join(name)
    }

    pub(crate) fn data(&self, name: &str) -> PathBuf {
        self.folder.path().join("data").join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        std::fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Whole or not at all, as an editor saves it.
    pub(crate) fn agent(&self, agent: &Value) {
        self.write("profile/agent.json.new", &serde_json::to_string_pretty(agent).unwrap());
        std::fs::rename(self.path("profile/agent.json.new"), self.path("profile/agent.json"))
            .unwrap();
    }

    pub(crate) fn script(&self, name: &str, text: &str) {
        self.write(name, text);
        std::fs::set_permissions(self.path(name), std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub(crate) fn pintle_in(&self, folder: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pintle"));
        command.args(arguments).current_dir(self.path(folder)).env_clear().stdin(Stdio::null());
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", self.folder.path());
        command.env("PINTLE_DATA", self.data("")).envs(self.operator.clone());
        command
    }

    pub(crate) fn pintle(&self, arguments: &[&str]) -> Command {
        self.pintle_in("", arguments)
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Said {
        Said::from(self.pintle(arguments).output().unwrap())
    }

    /// One question under the profile.
    pub(crate) fn ask(&self, question: &str) -> Said {
        self.run(&["chat", "--profile", "profile", "-q", question])
    }

    pub(crate) fn trust(&self) {
        let said = self.run(&["trust", "profile", "--accept"]);
        assert!(said.ok, "{said:?}");
    }

    /// A conversation under the profile, line by line.
    pub(crate) fn talk(&self, more: &[&str]) -> Talk<'_> {
        let arguments: Vec<&str> =
            ["chat", "--profile", "profile"].iter().chain(more).copied().collect();
        let mut command = self.pintle(&arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (out, err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let heard = [listen(out), listen(err)];
        Talk { world: self, stdin: child.stdin.take(), child, heard }
    }

    pub(crate) fn appears(&self, name: &str) {
        until(|| self.path(name).exists(), name);
    }

    /// The question that waits for an answer.
    pub(crate) fn pending(&self) -> Value {
        let mut found = Value::Null;
        let asked = || {
            let list = self.run(&["approvals", "list", "--json"]);
            found =
                serde_json::from_str::<Vec<Value>>(&list.out).unwrap().pop().unwrap_or_default();
            !found.is_null()
        };
        until(asked, "a question");
        found
    }
}

fn listen(mut output: impl Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        output.read_to_end(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

pub(crate) fn until(mut done: impl FnMut() -> bool, what: &str) {
    let limit = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < limit, "{what} never came to be");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub(crate) fn id(approval: &Value) -> String {
    approval["id"].as_str().unwrap().to_string()
}

pub(crate) fn fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// What the program said.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) ok: bool,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self { ok: output.status.success(), out: text(&output.stdout), err: text(&output.stderr) }
    }
}

/// A conversation under way.
pub(crate) struct Talk<'w> {
    world: &'w World,
    stdin: Option<ChildStdin>,
    pub(crate) child: Child,
    /// Both of its outputs, read all the time: it never waits for a listener.
    heard: [JoinHandle<String>; 2],
}

impl Talk<'_> {
    pub(crate) fn say(&mut self, line: &str) {
        writeln!(self.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Says something that is always allowed, and waits until it was done: what was said before has had its turn.
    pub(crate) fn settle(&mut self, name: &str) {
        self.say(&format!("write {name}: x"));
        self.world.appears(name);
    }

    pub(crate) fn end(mut self) -> Said {
        drop(self.stdin.take());
        let ok = self.child.wait().unwrap().success();
        let [out, err] = self.heard.map(|heard| heard.join().unwrap());
        Said { ok, out, err }
    }
}
