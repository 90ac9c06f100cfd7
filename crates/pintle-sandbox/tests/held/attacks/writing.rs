//! Writing outside the workspace: files, their names, their modes, and bits that outlive the call.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
};

use super::{ATTACK, Attack, By, Scene, changes_outside, says_token, withstand};

#[test]
fn nothing_is_written_outside() {
    let test = "attacks::writing::nothing_is_written_outside";
    withstand(test, |_| {}, &[CONTENT, NAMES, METADATA, SET_USER_ID]);
}

const OUTSIDE: Attack = Attack { witness: changes_outside, ..ATTACK };

/// A right that Landlock does not know.
const METADATA_IS_OPEN: Option<&str> = Some("Landlock does not see modes, times and attributes");

fn leaves_set_user_id(scene: &Scene<'_>) -> bool {
    let entries = fs::read_dir(scene.world.workspace()).unwrap().flatten();
    entries.into_iter().any(|entry| entry.metadata().unwrap().mode() & 0o4000 != 0)
}

fn leaves_capabilities(scene: &Scene<'_>) -> bool {
    let made = scene.world.workspace().join("made");
    rustix::fs::getxattr(made, "security.capability", &mut [0_u8; 64]).is_ok()
}

/// And puts it right.
fn changes_mode_of_device(_: &Scene<'_>) -> bool {
    let changed = fs::metadata("/dev/full").unwrap().mode() & 0o777 != 0o666;
    fs::set_permissions("/dev/full", fs::Permissions::from_mode(0o666)).unwrap();
    changed
}

/// And puts it right.
fn changes_times_of_device(_: &Scene<'_>) -> bool {
    has_times_changed("/dev/zero")
}

/// And puts it right.
fn changes_times_of_stdin(_: &Scene<'_>) -> bool {
    has_times_changed("/dev/null")
}

fn has_times_changed(device: &str) -> bool {
    let changed = fs::metadata(device).unwrap().mtime() == 0;
    let now = fs::FileTimes::new().set_modified(std::time::SystemTime::now());
    fs::File::options().write(true).open(device).unwrap().set_times(now).unwrap();
    changed
}

fn writes_to_the_host(scene: &Scene<'_>) -> bool {
    let host = &scene.host.temporary;
    host.iter().any(|path| fs::read_to_string(path).is_ok_and(|text| text.contains("changed")))
}

const CONTENT: &[Attack] = &[
    Attack { name: "a shell's start file", script: "echo changed >> ~/.bashrc", ..OUTSIDE },
    Attack { name: "a new start file", script: "echo changed > ~/.profile", ..OUTSIDE },
    Attack { name: "a new folder", script: "mkdir -p ~/.config/autostart", ..OUTSIDE },
    Attack { name: "sed in place", script: "sed -i s/before/after/ ~/letters/note", ..OUTSIDE },
    Attack { name: "tee", script: "echo changed | tee -a ~/letters/note", ..OUTSIDE },
    Attack {
        name: "an archive with names that lead out",
        script: "mkdir d && echo x > d/f && tar cf a.tar --transform 's,^,../../letters/,' -P d && tar xPf a.tar",
        ..OUTSIDE
    },
    Attack { name: "up and over", script: "echo changed > ../letters/new", ..OUTSIDE },
    Attack {
        name: "through a symlink",
        script: "ln -s ~/letters/note here && echo changed > here",
        ..OUTSIDE
    },
    Attack {
        name: "through a symlink to a folder",
        script: "ln -s ~/letters here && echo changed > here/new",
        ..OUTSIDE
    },
    Attack {
        name: "through a hard link",
        script: "ln ~/letters/note here && echo changed >> here",
        ..OUTSIDE
    },
    Attack {
        name: "a descriptor opened again for writing",
        script: "exec 3< ~/letters/note; echo changed > /proc/self/fd/3",
        ..OUTSIDE
    },
    Attack { name: "truncate", script: "truncate -s 0 ~/letters/note", ..OUTSIDE },
    Attack { name: "cutting by opening", script: ": > ~/letters/note", ..OUTSIDE },
    Attack {
        name: "memory that is a file",
        script: r#"python3 -IS -c '
import mmap, os
f = open(os.environ["LETTERS"] + "/note", "r+b")
m = mmap.mmap(f.fileno(), 6)
m[:] = b"change"
m.flush()'"#,
        ..OUTSIDE
    },
    Attack {
        name: "io_uring",
        script: r#""$TOOL" uring-write "$LETTERS/note" changed"#,
        ..OUTSIDE
    },
    Attack {
        name: "a file left open",
        script: "bash -c 'echo changed >&$LEFT_WRITABLE'",
        ..OUTSIDE
    },
    Attack {
        name: "a folder left open",
        script: "echo changed > /proc/self/fd/$LEFT_FOLDER/new",
        ..OUTSIDE
    },
    Attack { name: "the data folder", script: r#"echo changed >> "$DATA/token""#, ..OUTSIDE },
    Attack {
        name: "settings of a build tool",
        script: "echo 'rustc-wrapper = \"evil\"' >> ~/.cargo/config.toml",
        ..OUTSIDE
    },
    Attack {
        name: "a program of a build tool",
        script: "mkdir -p ~/.cargo/bin && echo evil > ~/.cargo/bin/cargo",
        ..OUTSIDE
    },
    Attack {
        name: "the host's /tmp",
        script: r#"echo changed > "$HOST_TMP""#,
        witness: writes_to_the_host,
        ..OUTSIDE
    },
    Attack {
        name: "the host's shared memory folder",
        script: r#"echo changed > "$HOST_SHM""#,
        witness: writes_to_the_host,
        ..OUTSIDE
    },
    Attack {
        name: "a namespace and a mount that is writable again",
        script: r#"unshare --user --map-root-user --mount sh -c 'mount -o remount,rw,bind / ; mount -o remount,rw,bind ~/letters; echo changed > ~/letters/note'"#,
        ..OUTSIDE
    },
    Attack {
        name: "a mount that is writable again",
        script: "mount -o remount,rw /; mount -o remount,rw,bind /; echo changed > ~/letters/note",
        ..OUTSIDE
    },
];

const NAMES: &[Attack] = &[
    Attack { name: "moving a file out", script: "mv README ~/letters/README", ..OUTSIDE },
    Attack { name: "moving a file over another", script: "mv README ~/letters/note", ..OUTSIDE },
    Attack { name: "moving a folder out", script: "mv inner ~/letters/inner", ..OUTSIDE },
    Attack { name: "renaming", script: "mv ~/letters/note ~/letters/other", ..OUTSIDE },
    Attack { name: "moving a file in", script: "mv ~/letters/note .", ..OUTSIDE },
    Attack {
        name: "exchanging names",
        script: r#""$TOOL" exchange README "$LETTERS/note""#,
        ..OUTSIDE
    },
    Attack { name: "a hard link outside", script: "ln README ~/letters/README", ..OUTSIDE },
    Attack { name: "a symlink outside", script: "ln -s evil ~/letters/link", ..OUTSIDE },
    Attack { name: "a pipe outside", script: "mkfifo ~/letters/pipe", ..OUTSIDE },
    Attack {
        name: "a socket outside",
        script: r#"python3 -I -c '
import os, socket
socket.socket(socket.AF_UNIX).bind(os.environ["LETTERS"] + "/socket")'"#,
        ..OUTSIDE
    },
    Attack { name: "removing a file", script: "rm -f ~/letters/note", ..OUTSIDE },
    Attack { name: "removing a folder", script: "rm -rf ~/letters", ..OUTSIDE },
    Attack { name: "moving the workspace", script: "cd .. && mv project elsewhere", ..OUTSIDE },
    Attack {
        name: "moving the home folder",
        script: r#"cd / && mv "$HOME" "$HOME.old""#,
        ..OUTSIDE
    },
];

const METADATA: &[Attack] = &[
    Attack {
        name: "mode",
        script: "chmod 777 ~/letters/note",
        open_at_floor: METADATA_IS_OPEN,
        ..OUTSIDE
    },
    Attack {
        name: "mode, by descriptor",
        script: r#"python3 -IS -c '
import os
os.fchmod(os.open(os.environ["HOME"] + "/.cargo/config.toml", os.O_RDONLY), 0o777)'"#,
        open_at_floor: METADATA_IS_OPEN,
        ..OUTSIDE
    },
    Attack {
        name: "times",
        script: "touch -d 2001-01-01 ~/letters/note",
        open_at_floor: METADATA_IS_OPEN,
        ..OUTSIDE
    },
    Attack {
        name: "attributes",
        script: r#"python3 -IS -c '
import os
os.setxattr(os.environ["LETTERS"] + "/note", "user.evil", b"x")'"#,
        open_at_floor: METADATA_IS_OPEN,
        ..OUTSIDE
    },
    Attack {
        name: "an access list",
        script: r#"python3 -IS -c '
import os, struct
entry = lambda tag, rights, who: struct.pack("<HHI", tag, rights, who)
no = 0xffffffff
acl = struct.pack("<I", 2) + entry(1, 7, no) + entry(2, 7, 1) + entry(4, 7, no) + entry(16, 7, no) + entry(32, 7, no)
os.setxattr(os.environ["LETTERS"] + "/note", "system.posix_acl_access", acl)'"#,
        open_at_floor: METADATA_IS_OPEN,
        ..OUTSIDE
    },
    Attack { name: "flags", script: "chattr +d ~/letters/note", ..OUTSIDE },
    Attack {
        name: "flags of a file that can be read",
        script: "chattr +d ~/.cargo/config.toml",
        open_at_floor: METADATA_IS_OPEN,
        ..OUTSIDE
    },
    Attack { name: "owner", script: "chown 12345:12345 ~/letters/note", by: By::Root, ..OUTSIDE },
    Attack {
        name: "mode of a device",
        script: "chmod 600 /dev/full",
        witness: changes_mode_of_device,
        by: By::Root,
        open_at_floor: METADATA_IS_OPEN,
        ..OUTSIDE
    },
    Attack {
        name: "times of a device",
        script: "touch -d @0 /dev/zero",
        witness: changes_times_of_device,
        by: By::Root,
        open_at_floor: METADATA_IS_OPEN,
        ..OUTSIDE
    },
    Attack {
        name: "times of a device that the host has opened",
        script: "touch -d @0 /dev/stdin",
        witness: changes_times_of_stdin,
        by: By::Root,
        open_at_floor: METADATA_IS_OPEN,
        ..OUTSIDE
    },
    Attack {
        name: "a device of one's own",
        script: r#"mknod "$WS/device" c 1 5 && head -c 1 device > copy && [ -s copy ] && echo "$TOKEN""#,
        witness: says_token,
        by: By::Root,
        ..OUTSIDE
    },
];

const SET: Attack = Attack { witness: leaves_set_user_id, ..ATTACK };

const SET_USER_ID: &[Attack] = &[
    Attack { name: "chmod u+s", script: "cp /bin/true made && chmod u+s made", ..SET },
    Attack { name: "install", script: "install -m 4755 /bin/true made", ..SET },
    Attack { name: "fchmod", script: r#": > made && "$TOOL" suid-fchmod made"#, ..SET },
    Attack { name: "fchmodat2", script: r#": > made && "$TOOL" suid-fchmodat2 made"#, ..SET },
    Attack { name: "creat", script: r#""$TOOL" suid-creat made"#, ..SET },
    Attack { name: "openat2", script: r#""$TOOL" suid-openat2 made"#, ..SET },
    Attack { name: "mknod", script: r#""$TOOL" suid-mknod made"#, ..SET },
    Attack {
        name: "an archive that keeps modes",
        script: "python3 -I -c '
import io, tarfile
t = tarfile.open(\"a.tar\", \"w\")
i = tarfile.TarInfo(\"made\")
i.mode = 0o4755
t.addfile(i, io.BytesIO())
t.close()' && tar xpf a.tar",
        ..SET
    },
    Attack {
        name: "capabilities of a file",
        script: "cp /bin/true made && setcap cap_sys_admin+ep made",
        witness: leaves_capabilities,
        by: By::Root,
        ..SET
    },
];
