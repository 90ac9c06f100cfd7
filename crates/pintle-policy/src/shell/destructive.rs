//! Commands that destroy the machine or the account: the terminal guard denies them.

use super::options::may_be_long;
use super::{SimpleCommand, Word, read};
use crate::paths::normal;

/// Why `command` must never run, in words for the model and the person, or `None`.
///
/// Looks at the parsed command, so quoting, wrappers and nesting hide nothing. Of a command that cannot be parsed nothing is
/// said here: the sandbox holds it.
#[must_use]
pub fn destructive(command: &str) -> Option<String> {
    let script = read(command).ok()?;
    if script.multiplies {
        let bomb =
            "a function that starts itself again and again exhausts the machine (a fork bomb)";
        return Some(bomb.into());
    }
    script.commands.iter().find_map(|command| {
        let reason = by_redirect(command).or_else(|| by_program(command))?;
        Some(format!("`{}` {reason}", command.summary()))
    })
}

fn by_redirect(command: &SimpleCommand) -> Option<&'static str> {
    command.redirects.iter().filter(|r| r.writes()).find_map(|r| {
        let device = is_device(&r.target).then_some("writes over a disk device");
        device.or_else(|| {
            is_vital_file(&r.target)
                .then_some("overwrites a file the system needs to start or to log in")
        })
    })
}

fn by_program(command: &SimpleCommand) -> Option<&'static str> {
    let program = command.program()?;
    let args = &command.args;
    match program {
        "rm" if recursive(args, "rR") && args.iter().any(is_vital) => {
            Some("deletes a folder the system or its user lives in")
        }
        "rm" if args.iter().any(|a| may_be_long(a.text(), "no-preserve-root")) => {
            Some("asks to delete the root folder")
        }
        "find"
            if deletes_found(args)
                && args.iter().take_while(|a| !a.text().starts_with('-')).any(is_vital) =>
        {
            Some("deletes a folder the system or its user lives in")
        }
        "mv" if args.iter().any(is_vital) => {
            Some("moves away a folder the system or its user lives in")
        }
        "chmod" | "chown" | "chgrp" if recursive(args, "R") && args.iter().any(is_vital) => {
            Some("changes the rights of a folder the system or its user lives in")
        }
        "dd" if args.iter().any(|a| {
            may_be(a, |text| text.strip_prefix("of=").is_some_and(|of| names_device(&normal(of))))
        }) =>
        {
            Some("writes over a disk device")
        }
        "cp" | "tee" | "shred" | "truncate" | "wipefs" | "blkdiscard" | "badblocks" | "install"
            if args.iter().any(is_device) =>
        {
            Some("writes over a disk device")
        }
        "tee" | "cp" | "mv" | "rm" | "truncate" | "shred" | "install" | "ln"
            if writes_vital_file(program, args) =>
        {
            Some("replaces a file the system needs to start or to log in")
        }
        _ if program == "mkfs" || program.starts_with("mkfs.") || program == "mke2fs" => {
            Some("formats a disk")
        }
        "mkswap" | "fdisk" | "sfdisk" | "gdisk" | "sgdisk" | "cfdisk" | "parted"
            if !lists_only(args) =>
        {
            Some("rewrites a disk's layout")
        }
        "cryptsetup" if first_operand(args).is_some_and(|a| a == "luksFormat" || a == "erase") => {
            Some("erases a disk")
        }
        "lvremove" | "vgremove" | "pvremove" => Some("removes a disk volume"),
        "zpool" | "zfs" if first_operand(args) == Some("destroy") => Some("destroys a file system"),
        "shutdown" | "reboot" | "halt" | "poweroff" | "telinit" => Some("stops the machine"),
        "init" if args.iter().any(|a| matches!(a.text(), "0" | "6")) => Some("stops the machine"),
        "systemctl" | "loginctl" if args.iter().any(|a| is_one_of(a.text(), STOPS)) => {
            Some("stops the machine")
        }
        "kill" if kills_everything(args) => Some("ends every process"),
        "killall5" => Some("ends every process"),
        _ => None,
    }
}

fn recursive(args: &[Word], letters: &str) -> bool {
    args.iter().map(Word::text).any(|t| {
        may_be_long(t, "recursive")
            || (t.starts_with('-') && !t.starts_with("--") && t.contains(|c| letters.contains(c)))
    })
}

fn deletes_found(args: &[Word]) -> bool {
    let words: Vec<&str> = args.iter().map(Word::text).collect();
    words.contains(&"-delete")
        || words.windows(2).any(|pair| {
            matches!(pair, [run, program]
                if run.starts_with("-exec") && matches!(program.rsplit('/').next(), Some("rm" | "shred" | "unlink")))
        })
}

fn first_operand(args: &[Word]) -> Option<&str> {
    args.iter().map(Word::text).find(|t| !t.starts_with('-'))
}

/// What makes a service manager stop the machine.
const STOPS: &str = "poweroff reboot halt kexec rescue emergency suspend hibernate";

fn is_one_of(text: &str, words: &str) -> bool {
    words.split_whitespace().any(|word| word == text)
}

fn lists_only(args: &[Word]) -> bool {
    args.iter().any(|a| is_one_of(a.text(), "-l --list -h --help -V --version print -d --dump"))
}

fn kills_everything(args: &[Word]) -> bool {
    // `-1` as the first word is a signal; as a later one (or after `--`) it means every process.
    let words: Vec<&str> = args.iter().map(Word::text).collect();
    match words.as_slice() {
        ["-1"] => true,
        [_, rest @ ..] => rest.contains(&"-1"),
        [] => false,
    }
}

/// A folder without which the machine or the account is lost: by its written name, wherever it leads.
fn is_vital(word: &Word) -> bool {
    may_be(word, names_vital)
}

/// Whether the word is such a text; one that is decided at run time is taken as written, without its quotes: `"${HOME}"/*`.
fn may_be(word: &Word, is: impl Fn(&str) -> bool) -> bool {
    match word {
        Word::Literal(text) => is(text),
        Word::Dynamic(raw) => is(&raw.replace(['"', '\''], "").replace("${HOME}", "$HOME")),
    }
}

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
    path.is_empty() || path.starts_with("/?") || is_one_of(path, VITAL)
}

fn is_device(word: &Word) -> bool {
    may_be(word, |text| names_device(&normal(text)))
}

fn names_device(path: &str) -> bool {
    const DISKS: &str = "/dev/sd /dev/hd /dev/vd /dev/xvd /dev/nvme /dev/mmcblk /dev/disk /dev/rdisk /dev/mapper/ /dev/dm- \
        /dev/md /dev/loop /dev/mem /dev/kmem /dev/port /dev/nbd";
    DISKS.split_whitespace().any(|disk| path.starts_with(disk))
}

fn is_vital_file(word: &Word) -> bool {
    may_be(word, |text| names_vital_file(&normal(text)))
}

fn names_vital_file(path: &str) -> bool {
    const FILES: &str = "/etc/passwd /etc/shadow /etc/group /etc/gshadow /etc/sudoers /etc/fstab /proc/sysrq-trigger";
    const FOLDERS: [&str; 3] = ["/etc/sudoers.d/", "/etc/pam.d/", "/boot/"];
    is_one_of(path, FILES) || FOLDERS.iter().any(|folder| path.starts_with(folder))
}

fn writes_vital_file(program: &str, args: &[Word]) -> bool {
    match program {
        // Copying such a file away is only reading it.
        "cp" | "install" | "ln" => args.last().is_some_and(is_vital_file),
        _ => args.iter().any(is_vital_file),
    }
}
