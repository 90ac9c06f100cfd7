//! Commands that the terminal guard denies, or asks a person about at every level.
//!
//! One table over the parsed command. It is a courtesy that gives a good reason early; the sandbox is what holds, so no
//! spelling is chased here.

use super::options::may_be_long;
use super::wrappers::is_shell;
use super::{SimpleCommand, Word, read};
use crate::paths::normal;
use std::path::Path;

/// What the terminal guard has to say against a command, in words for the model and the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Objection {
    /// It must not run.
    Deny(String),
    /// A person decides, whatever the level.
    Ask(String),
}

/// A row of the table: for which programs, in which case, and what is said then.
type Row = (&'static str, fn(&Line<'_>) -> bool, Says);

enum Says {
    Deny(&'static str),
    Ask(&'static str),
}
use Says::{Ask, Deny};

#[rustfmt::skip]
const TABLE: &[Row] = &[
    ("*", |it| it.redirects_to(names_disk), Deny(OVERWRITES)),
    ("*", |it| it.redirects_to(names_vital_file), Deny(REPLACES)),
    ("rm", |it| it.recursive("rR") && it.names(names_vital), Deny(DELETES)),
    ("rm", |it| it.recursive("rR") && it.any(Line::is_above_workspace), Deny(DELETES_ABOVE)),
    ("rm", |it| it.has_long("no-preserve-root"), Deny("asks to delete the root folder")),
    ("find", |it| it.deletes_found() && it.starts(names_vital), Deny(DELETES)),
    ("find", |it| it.deletes_found() && !it.has(SELECTS) && it.args.first().is_some_and(|first| it.is_above_workspace(first)), Deny(DELETES_ABOVE)),
    ("mv", |it| it.names(names_vital), Deny("moves away a folder the system or its user lives in")),
    ("chmod chown chgrp", |it| it.recursive("R") && it.names(names_vital), Deny("changes the rights of a folder the system or its user lives in")),
    ("dd", |it| it.names(|text| text.strip_prefix("of=").is_some_and(names_disk)), Deny(OVERWRITES)),
    ("cp tee shred truncate wipefs blkdiscard badblocks install", |it| it.names(names_disk), Deny(OVERWRITES)),
    ("tee mv rm truncate shred", |it| it.names(names_vital_file), Deny(REPLACES)),
    // Copying such a file away is only reading it.
    ("cp install ln", |it| it.args.last().is_some_and(|last| may_be(last, names_vital_file)), Deny(REPLACES)),
    ("mkfs mkfs.* mke2fs", |_| true, Deny("formats a disk")),
    ("mkswap fdisk sfdisk gdisk sgdisk cfdisk parted", |it| !it.has("-l --list -h --help -V --version print -d --dump"), Deny("rewrites a disk's layout")),
    ("cryptsetup", |it| it.subcommand("luksFormat erase"), Deny("erases a disk")),
    ("lvremove vgremove pvremove", |_| true, Deny("removes a disk volume")),
    ("zpool zfs", |it| it.subcommand("destroy"), Deny("destroys a file system")),
    ("shutdown reboot halt poweroff telinit", |_| true, Deny(STOPS)),
    ("init", |it| it.has("0 6"), Deny(STOPS)),
    ("systemctl loginctl", |it| it.has("poweroff reboot halt kexec rescue emergency suspend hibernate"), Deny(STOPS)),
    ("kill", |it| it.kills_everything(), Deny("ends every process")),
    ("killall5", |_| true, Deny("ends every process")),
    ("chmod", |it| it.sets_user_id(), Deny("lets every user run a program with the rights of its owner (setuid)")),
    ("setcap", |it| !it.has("-r -v -h"), Deny("gives a program rights of the system's administrator")),
    ("git", |it| it.pushes_by_force(), Ask("overwrites what others have pushed")),
    ("ssh scp sftp mosh", |it| !it.has("-V"), Ask("works on another machine, which no sandbox here holds")),
];

const OVERWRITES: &str = "writes over a disk device";
const STOPS: &str = "stops the machine";
const DELETES: &str = "deletes a folder the system or its user lives in";
const DELETES_ABOVE: &str = "deletes a folder above the workspace";
const REPLACES: &str = "replaces a file the system needs to start or to log in";

/// What there is to say against `command`, started in `cwd`; the first row that fits says it, and a denial goes before a
/// question.
///
/// Looks at the parsed command, so quoting, wrappers and nesting hide nothing. Of a command that cannot be parsed nothing is
/// said here: the sandbox holds it.
#[must_use]
pub fn objection(command: &str, workspace: &Path, cwd: &Path) -> Option<Objection> {
    let script = read(command).ok()?;
    if script.multiplies {
        let bomb =
            "a function that starts itself again and again exhausts the machine (a fork bomb)";
        return Some(Objection::Deny(bomb.into()));
    }
    if let Some(shell) = runs_a_download(&script.commands) {
        let why = "runs what it downloads, unseen; download it to a file and read it first";
        return Some(Objection::Deny(format!("`{}` {why}", shell.summary())));
    }
    let mut question = None;
    for command in &script.commands {
        let program = command.program().unwrap_or_default();
        let line =
            Line { args: &command.args, command, workspace, cwd: cwd.to_string_lossy().into() };
        let says = |(programs, applies, says): &'static Row| {
            (names_program(programs, program) && applies(&line)).then_some(says)
        };
        for says in TABLE.iter().filter_map(says) {
            let objects = |reason: &str| format!("`{}` {reason}", command.summary());
            match says {
                Deny(reason) => return Some(Objection::Deny(objects(reason))),
                Ask(reason) => {
                    question.get_or_insert_with(|| Objection::Ask(objects(reason)));
                }
            }
        }
    }
    question
}

fn names_program(programs: &str, program: &str) -> bool {
    programs.split_whitespace().any(|name| match name.strip_suffix('*') {
        Some(start) => program.starts_with(start),
        None => name == program,
    })
}

/// `curl … | sh`, `sh -c "$(curl …)"`, `sh <(curl …)`: the shell that runs what a program before it downloads.
fn runs_a_download(commands: &[SimpleCommand]) -> Option<&SimpleCommand> {
    let downloads = |it: &SimpleCommand| matches!(it.program(), Some("curl" | "wget"));
    let first = commands.iter().position(downloads)?;
    commands.iter().enumerate().find_map(|(at, command)| {
        let is_runner =
            command.program().is_some_and(|it| is_shell(it) || it == "eval" || it == "source");
        let inlines = |word: &Word| {
            let starts = ["$(curl ", "$(wget ", "<(curl ", "<(wget ", "`curl ", "`wget "];
            word.is_dynamic() && starts.iter().any(|start| word.text().contains(start))
        };
        let reads_pipe = at > first
            && command.program().is_some_and(is_shell)
            && command.documents.is_empty()
            && command.redirects.iter().all(|it| it.writes())
            && !command.args.iter().any(|it| is_one_of(it.text(), "--version --help -c"))
            && match command.args.iter().find(|it| !it.text().starts_with(['-', '+'])) {
                None => true,
                Some(_) => command.args.first().is_some_and(|it| is_one_of(it.text(), "-s -")),
            };
        (is_runner && (reads_pipe || command.args.iter().any(inlines))).then_some(command)
    })
}

/// One simple command, and where it would run.
struct Line<'a> {
    args: &'a [Word],
    command: &'a SimpleCommand,
    workspace: &'a Path,
    cwd: String,
}

impl Line<'_> {
    fn any(&self, is: impl Fn(&Self, &Word) -> bool) -> bool {
        self.args.iter().any(|word| is(self, word))
    }

    fn has(&self, words: &str) -> bool {
        self.any(|_, word| is_one_of(word.text(), words))
    }

    fn has_long(&self, option: &str) -> bool {
        self.any(|_, word| may_be_long(word.text(), option))
    }

    /// Whether the first operand is one of these.
    fn subcommand(&self, words: &str) -> bool {
        self.operands().next().is_some_and(|it| is_one_of(it, words))
    }

    fn operands(&self) -> impl Iterator<Item = &str> {
        self.args.iter().map(Word::text).filter(|text| !text.starts_with(['-', '+']))
    }

    fn recursive(&self, letters: &str) -> bool {
        let is_short = |t: &str| t.starts_with('-') && !t.starts_with("--");
        self.has_long("recursive")
            || self.any(|_, it| is_short(it.text()) && it.text().contains(|c| letters.contains(c)))
    }

    fn names(&self, is: fn(&str) -> bool) -> bool {
        self.any(|_, word| may_be(word, is))
    }

    fn redirects_to(&self, is: fn(&str) -> bool) -> bool {
        self.command.redirects.iter().any(|it| it.writes() && may_be(&it.target, is))
    }

    fn deletes_found(&self) -> bool {
        let words: Vec<&str> = self.args.iter().map(Word::text).collect();
        let runs = |pair: &[&str]| matches!(pair, [run, program] if run.starts_with("-exec") && is_one_of(file_name(program), "rm shred unlink"));
        words.contains(&"-delete") || words.windows(2).any(runs)
    }

    /// Whether `find` begins at such a folder.
    fn starts(&self, is: fn(&str) -> bool) -> bool {
        let starts = self.args.iter().take_while(|it| !it.text().starts_with('-'));
        starts.into_iter().any(|word| may_be(word, is))
    }

    fn kills_everything(&self) -> bool {
        // `-1` as the first word is a signal; as a later one (or after `--`) it means every process.
        let words: Vec<&str> = self.args.iter().map(Word::text).collect();
        match words.as_slice() {
            ["-1"] => true,
            [_, rest @ ..] => rest.contains(&"-1"),
            [] => false,
        }
    }

    /// `u+s`, `+s`, `4755`; the group's bit alone is what shared folders have.
    fn sets_user_id(&self) -> bool {
        let mode = self.args.iter().map(Word::text).find(|text| !text.starts_with('-'));
        mode.is_some_and(|mode| {
            let digits = mode.trim_start_matches('0');
            let octal = digits.len() == 4 && digits.starts_with(['4', '5', '6', '7']);
            let symbolic = |part: &str| {
                part.split_once(['+', '=']).is_some_and(|(who, what)| {
                    what.contains('s') && (who.is_empty() || who.contains(['u', 'a']))
                })
            };
            octal && digits.bytes().all(|it| it.is_ascii_digit()) || mode.split(',').any(symbolic)
        })
    }

    fn pushes_by_force(&self) -> bool {
        let pushes = self.operands().take(2).any(|it| it == "push");
        let forced = |text: &str| {
            ["--force", "--mirror"].iter().any(|it| text.starts_with(it))
                || (text.starts_with('-') && !text.starts_with("--") && text.contains('f'))
                || (text.starts_with('+') && text.len() > 1)
        };
        pushes && self.any(|_, it| forced(it.text()))
    }

    fn is_above_workspace(&self, word: &Word) -> bool {
        may_be(word, |text| {
            let text = text.trim_end_matches('*');
            let path = match text.chars().next() {
                None | Some('~' | '$' | '-') => return false,
                Some('/') => normal(text),
                Some(_) => normal(&format!("{}/{text}", self.cwd)),
            };
            self.workspace != Path::new(&path) && self.workspace.starts_with(&path)
        })
    }
}

/// Tests of `find` that choose some files: `find .. -name '*.pyc' -delete` leaves the folder.
const SELECTS: &str = "-name -iname -path -ipath -regex -mtime -mmin -size -newer -empty";
fn is_one_of(text: &str, words: &str) -> bool {
    words.split_whitespace().any(|word| word == text)
}

/// Whether the word is such a text; one that is decided at run time is taken as written, without its quotes: `"${HOME}"/*`.
fn may_be(word: &Word, is: impl Fn(&str) -> bool) -> bool {
    match word {
        Word::Literal(text) => is(text),
        Word::Dynamic(raw) => is(&raw.replace(['"', '\''], "").replace("${HOME}", "$HOME")),
    }
}

/// A folder without which the machine or the account is lost: by its written name, wherever it leads.
fn names_vital(text: &str) -> bool {
    let home = ["$HOME", "~root", "~"].iter().find_map(|h| text.strip_prefix(h));
    if let Some(rest) = home {
        return matches!(rest.trim_matches('/'), "" | "*" | "." | ".*");
    }
    if !text.starts_with('/') {
        return false;
    }
    let path = normal(text);
    let path = path.trim_end_matches("/*").trim_end_matches("/.*").trim_end_matches('/');
    const VITAL: &str = "/* /bin /boot /dev /etc /home /lib /lib64 /opt /proc /root /run /sbin /srv /sys /usr /usr/bin /usr/lib \
        /usr/local /usr/sbin /var /var/lib /var/log /Applications /Library /System /Users /Volumes";
    let of_a_user = ["/home/", "/Users/"].iter().find_map(|homes| path.strip_prefix(homes));
    path.is_empty()
        || path.starts_with("/?")
        || is_one_of(path, VITAL)
        || of_a_user.is_some_and(|user| !user.contains('/'))
}

fn names_disk(text: &str) -> bool {
    const DISKS: &str = "/dev/sd /dev/hd /dev/vd /dev/xvd /dev/nvme /dev/mmcblk /dev/disk /dev/rdisk /dev/mapper/ /dev/dm- \
        /dev/md /dev/loop /dev/mem /dev/kmem /dev/port /dev/nbd";
    let path = normal(text);
    DISKS.split_whitespace().any(|disk| path.starts_with(disk))
}

fn names_vital_file(text: &str) -> bool {
    const FILES: &str = "/etc/passwd /etc/shadow /etc/group /etc/gshadow /etc/sudoers /etc/fstab /proc/sysrq-trigger";
    const FOLDERS: [&str; 3] = ["/etc/sudoers.d/", "/etc/pam.d/", "/boot/"];
    let path = normal(text);
    is_one_of(&path, FILES) || FOLDERS.iter().any(|folder| path.starts_with(folder))
}

fn file_name(text: &str) -> &str {
    text.rsplit('/').next().unwrap_or(text)
}
