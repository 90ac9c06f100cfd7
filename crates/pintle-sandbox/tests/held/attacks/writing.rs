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
    OUTSIDE.with("a shell's start file", "echo changed >> ~/.bashrc"),
    OUTSIDE.with("a new start file", "echo changed > ~/.profile"),
    OUTSIDE.with("a new folder", "mkdir -p ~/.config/autostart"),
    OUTSIDE.with("sed in place", "sed -i s/before/after/ ~/letters/note"),
    OUTSIDE.with("tee", "echo changed | tee -a ~/letters/note"),
    OUTSIDE.with(
        "an archive with names that lead out",
        "mkdir d && echo x > d/f && tar cf a.tar --transform 's,^,../../letters/,' -P d && tar xPf a.tar",
    ),
    OUTSIDE.with("up and over", "echo changed > ../letters/new"),
    OUTSIDE.with("through a symlink", "ln -s ~/letters/note here && echo changed > here"),
    OUTSIDE.with(
        "through a symlink to a folder",
        "ln -s ~/letters here && echo changed > here/new",
    ),
    OUTSIDE.with("through a hard link", "ln ~/letters/note here && echo changed >> here"),
    OUTSIDE.with(
        "a descriptor opened again for writing",
        "exec 3< ~/letters/note; echo changed > /proc/self/fd/3",
    ),
    OUTSIDE.with("truncate", "truncate -s 0 ~/letters/note"),
    OUTSIDE.with("cutting by opening", ": > ~/letters/note"),
    OUTSIDE.with(
        "memory that is a file",
        r#"python3 -IS -c '
import mmap, os
f = open(os.environ["LETTERS"] + "/note", "r+b")
m = mmap.mmap(f.fileno(), 6)
m[:] = b"change"
m.flush()'"#,
    ),
    OUTSIDE.with("io_uring", r#""$TOOL" uring-write "$LETTERS/note" changed"#),
    OUTSIDE.with("a file left open", "bash -c 'echo changed >&$LEFT_WRITABLE'"),
    OUTSIDE.with("a folder left open", "echo changed > /proc/self/fd/$LEFT_FOLDER/new"),
    OUTSIDE.with("the data folder", r#"echo changed >> "$DATA/token""#),
    OUTSIDE.with(
        "settings of a build tool",
        "echo 'rustc-wrapper = \"evil\"' >> ~/.cargo/config.toml",
    ),
    OUTSIDE.with(
        "a program of a build tool",
        "mkdir -p ~/.cargo/bin && echo evil > ~/.cargo/bin/cargo",
    ),
    Attack {
        witness: writes_to_the_host,
        ..OUTSIDE.with("the host's /tmp", r#"echo changed > "$HOST_TMP""#)
    },
    Attack {
        witness: writes_to_the_host,
        ..OUTSIDE.with("the host's shared memory folder", r#"echo changed > "$HOST_SHM""#)
    },
    OUTSIDE.with(
        "a namespace and a mount that is writable again",
        r#"unshare --user --map-root-user --mount sh -c 'mount -o remount,rw,bind / ; mount -o remount,rw,bind ~/letters; echo changed > ~/letters/note'"#,
    ),
    OUTSIDE.with(
        "a mount that is writable again",
        "mount -o remount,rw /; mount -o remount,rw,bind /; echo changed > ~/letters/note",
    ),
];

const NAMES: &[Attack] = &[
    OUTSIDE.with("moving a file out", "mv README ~/letters/README"),
    OUTSIDE.with("moving a file over another", "mv README ~/letters/note"),
    OUTSIDE.with("moving a folder out", "mv inner ~/letters/inner"),
    OUTSIDE.with("renaming", "mv ~/letters/note ~/letters/other"),
    OUTSIDE.with("moving a file in", "mv ~/letters/note ."),
    OUTSIDE.with("exchanging names", r#""$TOOL" exchange README "$LETTERS/note""#),
    OUTSIDE.with("a hard link outside", "ln README ~/letters/README"),
    OUTSIDE.with("a symlink outside", "ln -s evil ~/letters/link"),
    OUTSIDE.with("a pipe outside", "mkfifo ~/letters/pipe"),
    OUTSIDE.with(
        "a socket outside",
        r#"python3 -I -c '
import os, socket
socket.socket(socket.AF_UNIX).bind(os.environ["LETTERS"] + "/socket")'"#,
    ),
    OUTSIDE.with("removing a file", "rm -f ~/letters/note"),
    OUTSIDE.with("removing a folder", "rm -rf ~/letters"),
    OUTSIDE.with("moving the workspace", "cd .. && mv project elsewhere"),
    OUTSIDE.with("moving the home folder", r#"cd / && mv "$HOME" "$HOME.old""#),
];

const METADATA: &[Attack] = &[
    Attack { open_at_floor: METADATA_IS_OPEN, ..OUTSIDE.with("mode", "chmod 777 ~/letters/note") },
    Attack {
        open_at_floor: METADATA_IS_OPEN,
        ..OUTSIDE.with(
            "mode, by descriptor",
            r#"python3 -IS -c '
import os
os.fchmod(os.open(os.environ["HOME"] + "/.cargo/config.toml", os.O_RDONLY), 0o777)'"#,
        )
    },
    Attack {
        open_at_floor: METADATA_IS_OPEN,
        ..OUTSIDE.with("times", "touch -d 2001-01-01 ~/letters/note")
    },
    Attack {
        open_at_floor: METADATA_IS_OPEN,
        ..OUTSIDE.with(
            "attributes",
            r#"python3 -IS -c '
import os
os.setxattr(os.environ["LETTERS"] + "/note", "user.evil", b"x")'"#,
        )
    },
    Attack {
        open_at_floor: METADATA_IS_OPEN,
        ..OUTSIDE.with(
            "an access list",
            r#"python3 -IS -c '
import os, struct
entry = lambda tag, rights, who: struct.pack("<HHI", tag, rights, who)
no = 0xffffffff
acl = struct.pack("<I", 2) + entry(1, 7, no) + entry(2, 7, 1) + entry(4, 7, no) + entry(16, 7, no) + entry(32, 7, no)
os.setxattr(os.environ["LETTERS"] + "/note", "system.posix_acl_access", acl)'"#,
        )
    },
    OUTSIDE.with("flags", "chattr +d ~/letters/note"),
    Attack {
        open_at_floor: METADATA_IS_OPEN,
        ..OUTSIDE.with("flags of a file that can be read", "chattr +d ~/.cargo/config.toml")
    },
    Attack { by: By::Root, ..OUTSIDE.with("owner", "chown 12345:12345 ~/letters/note") },
    Attack {
        witness: changes_mode_of_device,
        by: By::Root,
        open_at_floor: METADATA_IS_OPEN,
        ..OUTSIDE.with("mode of a device", "chmod 600 /dev/full")
    },
    Attack {
        witness: changes_times_of_device,
        by: By::Root,
        open_at_floor: METADATA_IS_OPEN,
        ..OUTSIDE.with("times of a device", "touch -d @0 /dev/zero")
    },
    Attack {
        witness: changes_times_of_stdin,
        by: By::Root,
        open_at_floor: METADATA_IS_OPEN,
        ..OUTSIDE.with("times of a device that the host has opened", "touch -d @0 /dev/stdin")
    },
    Attack {
        witness: says_token,
        by: By::Root,
        ..OUTSIDE.with(
            "a device of one's own",
            r#"mknod "$WS/device" c 1 5 && head -c 1 device > copy && [ -s copy ] && echo "$TOKEN""#,
        )
    },
];

const SET: Attack = Attack { witness: leaves_set_user_id, ..ATTACK };

const SET_USER_ID: &[Attack] = &[
    SET.with("chmod u+s", "cp /bin/true made && chmod u+s made"),
    SET.with("install", "install -m 4755 /bin/true made"),
    SET.with("fchmod", r#": > made && "$TOOL" suid-fchmod made"#),
    SET.with("fchmodat2", r#": > made && "$TOOL" suid-fchmodat2 made"#),
    SET.with("creat", r#""$TOOL" suid-creat made"#),
    SET.with("openat2", r#""$TOOL" suid-openat2 made"#),
    SET.with("mknod", r#""$TOOL" suid-mknod made"#),
    SET.with(
        "an archive that keeps modes",
        "python3 -I -c '
import io, tarfile
t = tarfile.open(\"a.tar\", \"w\")
i = tarfile.TarInfo(\"made\")
i.mode = 0o4755
t.addfile(i, io.BytesIO())
t.close()' && tar xpf a.tar",
    ),
    Attack {
        witness: leaves_capabilities,
        by: By::Root,
        ..SET.with("capabilities of a file", "cp /bin/true made && setcap cap_sys_admin+ep made")
    },
];
