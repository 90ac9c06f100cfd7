//! Reading what is secret: keys in the home folder, the data folder, other people's memory.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use pintle_sandbox::Settings;

use super::{ATTACK, Attack, By, Scene, says_secret, says_token, withstand};
use crate::world::{SECRET, World, program};

#[test]
fn secrets_cannot_be_read() {
    withstand("attacks::reading::secrets_cannot_be_read", prepare, &[FILES, PROCESSES, STOPPED]);
}

/// A program that is root's whoever runs it, and a file that only root can read.
fn prepare(folder: &Path) {
    fs::copy(program("tool"), folder.join("setuid")).unwrap();
    fs::set_permissions(folder.join("setuid"), fs::Permissions::from_mode(0o4755)).unwrap();
    fs::write(folder.join("roots"), SECRET).unwrap();
    fs::set_permissions(folder.join("roots"), fs::Permissions::from_mode(0o600)).unwrap();
}

fn reads_shadow(scene: &Scene<'_>) -> bool {
    scene.output.contains("root:")
}

/// The secret lies in the workspace itself.
fn secret_inside(world: &World) -> Settings {
    let mut settings = world.settings();
    settings.secrets.push(world.workspace().join("inner/keys"));
    settings
}

/// The data folder, with the caches and the temporary files, lies in the workspace.
fn data_inside(world: &World) -> Settings {
    let data = world.workspace().join("inner/keys");
    let mut settings = world.settings();
    for folder in ["caches", "tmp"] {
        fs::create_dir_all(data.join(folder)).unwrap();
    }
    settings.cache_store = Some(data.join("caches"));
    settings.tmp = Some(data.join("tmp"));
    settings.secrets.push(data);
    settings
}

/// The home folder is the workspace.
fn home_is_the_workspace(world: &World) -> Settings {
    Settings { workspace: world.home(), ..world.settings() }
}

/// The home folder is itself a repository, as those of people who keep their settings in git.
fn home_is_a_repository(world: &World) -> Settings {
    fs::create_dir_all(world.home().join(".git/objects")).unwrap();
    fs::remove_dir_all(world.workspace().join(".git")).unwrap();
    world.settings()
}

/// A program that the user may run and that runs as root.
fn with_root_helper(world: &World) -> Settings {
    let mut settings = world.settings();
    settings.read.push(crate::users::prepared(""));
    settings
}

const FILES: &[Attack] = &[
    Attack { name: "plainly", script: r#"cat "$SECRET_FILE""#, ..ATTACK },
    Attack { name: "a name from pieces", script: r#"a=.s b=sh; cat ~/$a$b/id*"#, ..ATTACK },
    Attack { name: "eval", script: r#"eval "$(printf '\143at ~/.ssh/id_key')""#, ..ATTACK },
    Attack {
        name: "base64",
        script: r#"echo Y2F0IH4vLnNzaC9pZF9rZXkK | base64 -d | sh"#,
        ..ATTACK
    },
    Attack {
        name: "python",
        script: r#"python3 -IS -c 'import os; print(open(os.environ["SECRET_FILE"]).read())'"#,
        ..ATTACK
    },
    Attack {
        name: "node",
        script: r#"node -e 'console.log(require("fs").readFileSync(process.env.SECRET_FILE, "utf8"))'"#,
        ..ATTACK
    },
    Attack {
        name: "a script in a file, run by make",
        script: "printf 'all:\\n\\tcat $(HOME)/.ssh/id_key\\n' > Makefile && make",
        ..ATTACK
    },
    Attack {
        name: "the preprocessor",
        script: r##"echo "#include \"$SECRET_FILE\"" | cc -E -x c -"##,
        ..ATTACK
    },
    Attack {
        name: "git",
        script: r#"git -c safe.directory=* diff --no-index /dev/null "$SECRET_FILE""#,
        ..ATTACK
    },
    Attack { name: "tar", script: r#"tar cf - -C ~/.ssh . 2>/dev/null | tar xOf -"#, ..ATTACK },
    Attack { name: "a symlink", script: r#"ln -s "$SECRET_FILE" here && cat here"#, ..ATTACK },
    Attack {
        name: "a symlink to a folder",
        script: r#"ln -s ~/.ssh here && cat here/id_key"#,
        ..ATTACK
    },
    Attack { name: "a hard link", script: r#"ln "$SECRET_FILE" here && cat here"#, ..ATTACK },
    Attack {
        name: "moving it into the workspace",
        script: r#"mv ~/.ssh here; cat here/id_key"#,
        ..ATTACK
    },
    Attack {
        name: "up and over",
        script: "cat ../../../../../../../../../..$SECRET_FILE",
        ..ATTACK
    },
    Attack { name: "from its folder", script: "cd ~/.ssh && cat id_key", ..ATTACK },
    Attack { name: "from the folder above", script: "cd .. && cat .ssh/id_key", ..ATTACK },
    Attack {
        name: "the root of this process",
        script: "cat /proc/self/root$SECRET_FILE",
        ..ATTACK
    },
    Attack {
        name: "the root of a thread",
        script: "cat /proc/thread-self/root$SECRET_FILE",
        ..ATTACK
    },
    Attack { name: "the root of the parent", script: "cat /proc/$PPID/root$SECRET_FILE", ..ATTACK },
    Attack { name: "a descriptor by name", script: r#"cat /dev/fd/3 3< "$SECRET_FILE""#, ..ATTACK },
    Attack { name: "the netrc file", script: "cat ~/.netrc", ..ATTACK },
    Attack { name: "credentials in a cache", script: "cat ~/.cargo/credentials.toml", ..ATTACK },
    Attack {
        name: "credentials in a cache, moved",
        script: "cd ~/.cargo && mv credentials.toml x; cat x; cp -r . \"$WS/copy\"; cat \"$WS\"/copy/*",
        ..ATTACK
    },
    Attack { name: "the data folder", script: r#"cat "$DATA/token""#, ..ATTACK },
    Attack { name: "the data folder, found", script: r#"grep -r the-secret "$DATA""#, ..ATTACK },
    Attack { name: "another folder of the home", script: "cat ~/letters/plan.txt", ..ATTACK },
    Attack { name: "another folder, by a link", script: "cat ~/mail/plan.txt", ..ATTACK },
    Attack {
        name: "names in the home folder",
        script: r#"ls ~/letters | grep -q plan && echo "$TOKEN""#,
        witness: says_token,
        ..ATTACK
    },
    Attack {
        name: "a home folder that is a repository",
        script: "cat ~/letters/plan.txt",
        settings: home_is_a_repository,
        ..ATTACK
    },
    Attack {
        name: "a home folder that is the workspace",
        script: "cat ~/.ssh/id_key ~/.netrc ~/.cargo/credentials.toml",
        settings: home_is_the_workspace,
        ..ATTACK
    },
    Attack {
        name: "a secret in the workspace",
        script: "cat inner/keys/key",
        settings: secret_inside,
        ..ATTACK
    },
    Attack {
        name: "a secret in the workspace, moved with its folder",
        script: "mv inner outer; cat outer/keys/key; cat inner/keys/key",
        settings: secret_inside,
        ..ATTACK
    },
    Attack {
        name: "a secret in the workspace, linked",
        script: "ln inner/keys/key here; ln -s inner/keys there; cat here there/key",
        settings: secret_inside,
        ..ATTACK
    },
    Attack {
        name: "a data folder in the workspace, uncovered",
        script: "umount inner/keys; rmdir inner/keys; cat inner/keys/key",
        settings: data_inside,
        ..ATTACK
    },
    Attack {
        name: "attributes of a file",
        script: r#"python3 -IS -c '
import os
print(os.getxattr(os.environ["ATTRIBUTES"], "user.secret"))'"#,
        open_at_floor: Some("Landlock does not see modes, times and attributes"),
        ..ATTACK
    },
    Attack { name: "the host's /tmp", script: r#"cat "$HOST_TMP""#, ..ATTACK },
    Attack { name: "the host's shared memory folder", script: r#"cat "$HOST_SHM""#, ..ATTACK },
    Attack {
        name: "the passwords of the system",
        script: "cat /etc/shadow",
        witness: reads_shadow,
        by: By::Root,
        ..ATTACK
    },
    Attack {
        name: "the old passwords of the system",
        script: "cat /etc/shadow- /etc/gshadow-",
        witness: reads_shadow,
        by: By::Root,
        ..ATTACK
    },
    Attack {
        name: "a file by its handle",
        script: r#""$TOOL" handle-open "$WS" "$HANDLE""#,
        by: By::Root,
        ..ATTACK
    },
    Attack { name: "io_uring", script: r#""$TOOL" uring-read "$SECRET_FILE""#, ..ATTACK },
    Attack {
        name: "a library put before a program",
        script: r#"LD_PRELOAD="$PRELOAD" /bin/true"#,
        ..ATTACK
    },
    Attack {
        name: "a program in memory",
        script: r#"python3 -IS -c '
import os
program = os.memfd_create("cat", 0)
os.write(program, open("/bin/cat", "rb").read())
os.execve(program, ["cat", os.environ["SECRET_FILE"]], os.environ)'"#,
        ..ATTACK
    },
    Attack {
        name: "a program that runs as root",
        script: r#""$SET_USER_ID" uring-read "${SET_USER_ID%setuid}roots""#,
        by: By::User,
        settings: with_root_helper,
        ..ATTACK
    },
    Attack {
        name: "a namespace of one's own",
        script: r#"unshare --user --map-root-user cat "$SECRET_FILE""#,
        ..ATTACK
    },
    Attack {
        name: "a bind mount",
        script: r#"mkdir here && unshare --user --map-root-user --mount sh -c 'mount --bind ~/.ssh here && cat here/id_key'"#,
        ..ATTACK
    },
    Attack {
        name: "an overlay",
        script: r#"mkdir here up work && unshare --user --map-root-user --mount sh -c "mount -t overlay -o lowerdir=$HOME/.ssh,upperdir=up,workdir=work,userxattr none here && cat here/id_key""#,
        ..ATTACK
    },
    Attack {
        name: "taking the cover off",
        script: r#"umount -l "$DATA" ~/.ssh ~/.netrc; cat "$SECRET_FILE""#,
        ..ATTACK
    },
];

const PROCESSES: &[Attack] = &[
    Attack { name: "a file left open", script: "bash -c 'cat <&$LEFT_FILE'", ..ATTACK },
    Attack {
        name: "a file left open, by name",
        script: ": $LEFT_FILE; for fd in /proc/self/fd/* /proc/$PPID/fd/*; do [ -f $fd ] && cat $fd; done",
        ..ATTACK
    },
    Attack {
        name: "a folder left open",
        script: r#"cat /proc/self/fd/$LEFT_FOLDER/../.ssh/id_key"#,
        ..ATTACK
    },
    Attack { name: "the environment of a process", script: "cat /proc/$VICTIM/environ", ..ATTACK },
    Attack {
        name: "the environment of every process",
        script: "cat /proc/[0-9]*/environ 2>/dev/null; : $VICTIM",
        ..ATTACK
    },
    Attack {
        name: "the command line of a process",
        script: "cat /proc/$VICTIM/cmdline",
        open_at_floor: Some("without a pid namespace `/proc` lists the host's processes"),
        ..ATTACK
    },
    Attack {
        name: "the memory of a process",
        script: r#"dd if=/proc/$VICTIM/mem bs=1 skip=$ADDRESS count=64"#,
        ..ATTACK
    },
    Attack { name: "the files of a process", script: "cat /proc/$VICTIM/fd/7", ..ATTACK },
    Attack {
        name: "the root of a process",
        script: "cat /proc/$VICTIM/root$SECRET_FILE",
        ..ATTACK
    },
    Attack { name: "the folder of a process", script: "cat /proc/$VICTIM/cwd/plan.txt", ..ATTACK },
    Attack { name: "ptrace", script: r#""$TOOL" ptrace-read $VICTIM $ADDRESS"#, ..ATTACK },
    Attack {
        name: "process_vm_readv",
        script: r#""$TOOL" memory-read $VICTIM $ADDRESS"#,
        ..ATTACK
    },
    Attack {
        name: "a descriptor of another process",
        script: r#""$TOOL" take-descriptor $VICTIM 7"#,
        ..ATTACK
    },
    Attack { name: "a key of the kernel", script: r#""$TOOL" key-read $KEY_NUMBER"#, ..ATTACK },
    Attack { name: "shared memory", script: r#""$TOOL" shm-read $SHM"#, ..ATTACK },
    Attack { name: "a message queue", script: r#""$TOOL" queue-read $QUEUE"#, ..ATTACK },
    Attack {
        name: "a debugger",
        script: r#"gdb -p $VICTIM -batch -ex "x/s $ADDRESS" 2>/dev/null"#,
        ..ATTACK
    },
    Attack {
        name: "a listening socket left open",
        script: r#"python3 -I -c '
import os, socket
s = socket.socket(fileno=int(os.environ["LEFT_LISTENER"]))
print(s.accept()[0].recv(99))'"#,
        ..ATTACK
    },
];

/// Stopped by the kernel these tests were written on, with or without a sandbox.
const STOPPED: &[Attack] = &[
    Attack {
        name: "the memory of the machine",
        script: r#"head -c 64 /dev/mem && echo "$TOKEN""#,
        witness: says_token,
        stopped_anyway: Some("the kernel has no /dev/mem, or it is root's"),
        ..ATTACK
    },
    Attack {
        name: "the disk, by a node of one's own",
        script: r#"set -- $(awk 'NR > 2' /proc/partitions); mknod disk b $1 $2 && head -c 512 disk > copy && [ -s copy ] && echo "$TOKEN""#,
        witness: says_token,
        stopped_anyway: Some("the machine's control group has no disks"),
        ..ATTACK
    },
    Attack {
        name: "root's file",
        script: r#"cat "${SET_USER_ID%setuid}roots""#,
        witness: says_secret,
        by: By::User,
        stopped_anyway: Some("the file belongs to root"),
        ..ATTACK
    },
];
