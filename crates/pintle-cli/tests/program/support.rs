//! A place of its own for each test, and words that stay the same from run to run.

use std::{
    fmt::Write as _,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;
use tempfile::TempDir;

/// Long enough for a loaded machine; reached only when something hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A home, a data folder and a folder to work in; nothing else of the surroundings is seen.
pub(crate) struct World {
    _folder: TempDir,
    root: PathBuf,
}

impl World {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in ["home", "work"] {
            std::fs::create_dir(root.join(name)).unwrap();
        }
        Self { _folder: folder, root }
    }

    /// One in which every command is asked about.
    pub(crate) fn strict() -> Self {
        let world = Self::new();
        std::fs::create_dir(world.data()).unwrap();
        std::fs::write(world.data().join("pintle.toml"), "level = \"strict\"\n").unwrap();
        world
    }

    /// Where all of it is.
    pub(crate) fn root(&self) -> String {
        self.root.display().to_string()
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.root.join("data")
    }

    /// A path in the folder the program is started in.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.root.join("work").join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.file(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Writes a program.
    pub(crate) fn executable(&self, name: &str, text: &str) {
        use std::os::unix::fs::PermissionsExt;
        self.write(name, text);
        let may_run = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(self.file(name), may_run).unwrap();
    }

    /// Writes a script and gives the model that plays it.
    pub(crate) fn script(&self, name: &str, script: &Value) -> String {
        let file = self.root.join(name);
        std::fs::write(&file, script.to_string()).unwrap();
        format!("scripted:{}", file.display())
    }

    /// What the program sees of its environment.
    pub(crate) fn environment(&self) -> [(&'static str, String); 4] {
        [
            ("PATH", std::env::var("PATH").unwrap()),
            ("HOME", self.root.join("home").display().to_string()),
            ("COLUMNS", "80".to_string()),
            ("LC_ALL", "C.UTF-8".to_string()),
        ]
    }

    pub(crate) fn arguments(&self, arguments: &[&str]) -> Vec<String> {
        let data = self.data().display().to_string();
        ["--data", &data].into_iter().chain(arguments.iter().copied()).map(str::to_string).collect()
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pintle"));
        command
            .args(self.arguments(arguments))
            .env_clear()
            .envs(self.environment())
            .current_dir(self.root.join("work"))
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn start(&self, arguments: &[&str]) -> Child {
        let mut command = self.command(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Said {
        self.said(self.command(arguments).output().unwrap())
    }

    /// Without `--data`, and with more in the environment.
    pub(crate) fn bare(&self, arguments: &[&str], more: &[(&str, &str)]) -> Said {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pintle"));
        command.args(arguments).env_clear().envs(self.environment());
        command.envs(more.iter().copied()).current_dir(self.file("")).stdin(Stdio::null());
        self.said(command.output().unwrap())
    }

    /// A line that a person copies from what the program said into a shell.
    pub(crate) fn pasted(&self, line: &str, more: &[(&str, &str)]) -> Said {
        let program = Path::new(env!("CARGO_BIN_EXE_pintle")).parent().unwrap().display();
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", line]).env_clear().envs(self.environment()).stdin(Stdio::null());
        shell.env("PATH", format!("{program}:{}", std::env::var("PATH").unwrap()));
        shell.env("PINTLE_DATA", self.data()).envs(more.iter().copied());
        self.said(shell.current_dir(self.file("")).output().unwrap())
    }

    /// The same with something on standard input.
    pub(crate) fn piped(&self, arguments: &[&str], input: &[u8]) -> Said {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        self.said(child.wait_with_output().unwrap())
    }

    pub(crate) fn said(&self, output: Output) -> Said {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the program speaks UTF-8");
        Said {
            code: output.status.code(),
            out: text(output.stdout),
            err: text(output.stderr),
            root: self.root.display().to_string(),
        }
    }

    /// One command after another, as it would look in a terminal.
    pub(crate) fn transcript(&self, commands: &[&[&str]]) -> String {
        let mut transcript = String::new();
        for arguments in commands {
            let line: Vec<_> = arguments.iter().map(|argument| quoted(argument)).collect();
            let said = self.run(arguments).unsettled();
            write!(transcript, "$ pintle {}\n{said}\n", line.join(" ")).unwrap();
        }
        settled(&transcript, &self.root.display().to_string())
    }

    /// What `sessions export` says about the newest conversation.
    pub(crate) fn exported(&self) -> Value {
        let sessions = self.run(&["sessions", "list", "--json"]).json();
        let own = sessions.as_array().unwrap().iter().find(|session| session["parent"].is_null());
        self.run(&["sessions", "export", own.unwrap()["id"].as_str().unwrap()]).json()
    }

    /// Waits until a person is asked something: the question, as `approvals list` gives it.
    pub(crate) fn pending(&self) -> Value {
        let since = Instant::now();
        loop {
            let list = self.run(&["approvals", "list", "--json"]).json();
            if let Some(found) = list.get(0) {
                return found.clone();
            }
            assert!(since.elapsed() < PATIENCE, "nobody asked");
        }
    }

    /// Waits until a file is there: something else is about to make it.
    pub(crate) fn wait_for(&self, name: &str) {
        let asked = Instant::now();
        while !self.file(name).exists() {
            assert!(asked.elapsed() < PATIENCE, "{name} never came to be");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

fn quoted(argument: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=".contains(c);
    if !argument.is_empty() && argument.chars().all(plain) {
        argument.to_string()
    } else {
        format!("'{argument}'")
    }
}

/// What the program said, and how it ended.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
    root: String,
}

impl Said {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}\n{self}"))
    }

    /// Each line a JSON object.
    pub(crate) fn lines(&self) -> Vec<Value> {
        let parse = |line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}\n{self}"));
        self.out.lines().map(parse).collect()
    }
}

impl Said {
    fn unsettled(&self) -> String {
        let mut text = self.out.clone();
        for line in self.err.lines() {
            writeln!(text, "2> {line}").unwrap();
        }
        let end = self.code.map_or("killed".to_string(), |code| format!("exit {code}"));
        text + &format!("[{end}]\n")
    }
}

/// Standard output, then standard error, then the exit code.
impl std::fmt::Display for Said {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&settled(&self.unsettled(), &self.root))
    }
}

/// Names what differs from run to run: places, ids, times.
pub(crate) fn settled(text: &str, root: &str) -> String {
    let mut ids = Vec::new();
    let mut settled = String::new();
    for line in text.replace(root, "TEMP").lines() {
        let line = with_named_ids(line, &mut ids);
        let line = without_times(&line);
        let line = with_named_folder(&line);
        let line = with_named_demo(&line);
        let line = with_named_sandbox(&line);
        let line = with_named_short_ids(&line);
        settled.push_str(&line);
        settled.push('\n');
    }
    settled
}

/// The short ids of questions, sessions and runs: four letters and digits, no vowels among them.
fn with_named_short_ids(line: &str) -> String {
    let is_short = |word: &str| {
        word.len() == 4 && word.bytes().all(|byte| b"bcdfghjkmnpqrstvwxz23456789".contains(&byte))
    };
    let words = line.split(' ').map(|word| if is_short(word) { "IDID" } else { word });
    words.collect::<Vec<_>>().join(" ")
}

/// What holds here differs from machine to machine.
fn with_named_sandbox(line: &str) -> String {
    if let (Some(start), Some(end)) = (line.find("reads the system"), line.find("; reaches")) {
        return format!("{}reads TOOLCHAINS{}", &line[..start], &line[end..]);
    }
    let words = ["sandbox full", "sandbox   full", "sandbox view", "sandbox floor"];
    if let Some(words) = words.iter().find(|words| line.contains(&format!("{words} "))) {
        let place = words.trim_end_matches(|c: char| c.is_alphabetic());
        return line.replace(words, &format!("{place}TIER"));
    }
    let tiers = ["full: namespaces, Landlock ", "view: namespaces, seccomp", "floor: Landlock "];
    let Some(start) = tiers.iter().find_map(|tier| line.find(tier)) else { return line.into() };
    let (before, rest) = line.split_at(start);
    let end = rest.find("seccomp").map_or(rest.len(), |at| at + "seccomp".len());
    format!("{before}SANDBOX{}", &rest[end..])
}

const ID_LENGTH: usize = 36;

/// Ids are named in the order they come up.
fn with_named_ids(line: &str, known: &mut Vec<String>) -> String {
    let mut named = String::new();
    let mut rest = line;
    while let Some(next) = rest.chars().next() {
        match rest.get(..ID_LENGTH).filter(|id| is_id(id)) {
            Some(id) => {
                let place = known.iter().position(|known| known == id).unwrap_or_else(|| {
                    known.push(id.to_string());
                    known.len() - 1
                });
                write!(named, "ID-{}", place + 1).unwrap();
                rest = &rest[ID_LENGTH..];
            }
            None => {
                named.push(next);
                rest = &rest[next.len_utf8()..];
            }
        }
    }
    named
}

fn is_id(text: &str) -> bool {
    let dashes = [8, 13, 18, 23];
    text.bytes().enumerate().all(|(place, byte)| match dashes.contains(&place) {
        true => byte == b'-',
        false => byte.is_ascii_hexdigit(),
    })
}

/// The key of the current folder's conversation: `cli:work-1a2b3c` is `cli:work-HASH`.
fn with_named_folder(line: &str) -> String {
    const KEY: &str = "cli:work-";
    match line.split_once(KEY) {
        Some((before, after)) => {
            let rest = after.trim_start_matches(|c: char| c.is_ascii_hexdigit());
            format!("{before}{KEY}HASH{}", with_named_folder(rest))
        }
        None => line.to_string(),
    }
}

/// The demo's folder is gone when it is over.
fn with_named_demo(line: &str) -> String {
    const START: &str = "pintle-demo-";
    match line.split_once(START).and_then(|(before, rest)| Some((before, rest.get(6..)?))) {
        Some((before, rest)) => format!("{before}{START}XXXXXX{}", with_named_demo(rest)),
        None => line.to_string(),
    }
}

/// `12 ms` is `N ms`, `188 KiB` is `N KiB`, and `"ts":123` is `"ts":N`.
fn without_times(line: &str) -> String {
    let words: Vec<_> = line.split(' ').collect();
    let mut kept: Vec<String> = Vec::new();
    for (place, word) in words.iter().enumerate() {
        let number = !word.is_empty() && word.chars().all(|c| c.is_ascii_digit() || c == '.');
        let differs = |next: &&str| next.starts_with("ms") || next.starts_with("KiB");
        let differs = words.get(place + 1).is_some_and(differs);
        kept.push(if number && differs { "N".to_string() } else { (*word).to_string() });
    }
    let mut line = kept.join(" ");
    for field in ["\"ts\":", "\"durationMs\":", "\"createdAt\": ", "\"updatedAt\": ", "\"at\": "] {
        if let Some((before, after)) = line.split_once(field) {
            let rest = after.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
            line = format!("{before}{field}N{rest}");
        }
    }
    line
}

/// Sends a signal by its name.
pub(crate) fn signal(child: &Child, name: &str) {
    let kill = format!("kill -{name} {}", child.id());
    assert!(Command::new("/bin/sh").args(["-c", &kill]).status().unwrap().success());
}

/// Every call of the exported conversation has its result, in order, in the message after it.
pub(crate) fn assert_whole(exported: &Value) {
    let messages = exported["messages"].as_array().unwrap();
    for (place, message) in messages.iter().enumerate() {
        let ids = |list: &Value, id: &str| -> Vec<String> {
            let list = list.as_array().cloned().unwrap_or_default();
            list.iter().map(|entry| entry[id].as_str().unwrap().to_string()).collect()
        };
        let asked = ids(&message["message"]["toolCalls"], "id");
        if !asked.is_empty() {
            let answered = messages.get(place + 1).map(|next| &next["message"]["results"]);
            let answered = answered.map(|results| ids(results, "toolCallId"));
            assert_eq!(answered, Some(asked), "{exported:#}");
        }
    }
}

/// Waits until the process whose number is in this file is gone. P5: no process outlives the host.
///
/// The number is the one that the process has in its own namespace. It is told from others by the folder it works in.
pub(crate) fn is_gone(file: &Path) {
    let asked = Instant::now();
    let folder = file.parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
    // The shell makes the file before it writes to it.
    let number = loop {
        let number = std::fs::read_to_string(file).unwrap();
        if let Ok(number) = number.trim().parse::<u32>() {
            break number;
        }
        assert!(asked.elapsed() < PATIENCE, "the process never wrote its number");
        std::thread::sleep(Duration::from_millis(10));
    };
    let is_it = |process: &Path| {
        let status = std::fs::read_to_string(process.join("status")).unwrap_or_default();
        let line =
            |name| status.lines().find_map(|line: &str| line.strip_prefix(name)).unwrap_or("");
        let own = line("NSpid:").split_whitespace().last().and_then(|own| own.parse().ok());
        let works_here = std::fs::read_link(process.join("cwd"))
            .is_ok_and(|cwd| cwd.to_string_lossy().contains(&folder));
        own == Some(number) && works_here && !line("State:").trim().starts_with('Z')
    };
    let runs = || {
        let processes = std::fs::read_dir("/proc").unwrap();
        processes.flatten().any(|entry| is_it(&entry.path()))
    };
    while runs() {
        assert!(asked.elapsed() < PATIENCE, "the process is still there");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Whether a path holds exactly these bytes.
pub(crate) fn holds(path: &Path, bytes: &[u8]) -> bool {
    std::fs::read(path).unwrap() == bytes
}
