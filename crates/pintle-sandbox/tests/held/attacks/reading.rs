//! Reading what is secret: keys in the home folder, the data folder, other people's memory.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use pintle_sandbox::{Rights, Settings};

use super::{ATTACK, Attack, By, Scene, says_secret, says_token, withstand};
use crate::{
    confined::{TIERS, bare},
    world::{SECRET, World, program},
};

#[test]
fn secrets_cannot_be_read() {
    withstand("attacks::reading::secrets_cannot_be_read", prepare, &[FILES, PROCESSES, STOPPED]);
}

/// What package managers keep in the folders that a command reads.
const OF_PACKAGE_MANAGERS: [(&str, &str); 12] = [
    (".cache", "huggingface/stored_tokens"),
    (".cache", "huggingface/token"),
    (".cargo", "credentials"),
    (".cargo", "credentials.toml"),
    (".composer", "auth.json"),
    (".config/git", "credentials"),
    (".gem", "credentials"),
    (".gradle", "gradle.properties"),
    (".local/share/uv", "credentials/credentials.toml"),
    (".m2", "settings-security.xml"),
    (".m2", "settings.xml"),
    (".stack", "upload/credentials.json"),
];

// R11.2
#[test]
fn the_credentials_of_package_managers_cannot_be_read_and_what_lies_beside_them_can() {
    let world = World::new();
    for (tool, file) in OF_PACKAGE_MANAGERS {
        world.write(&format!("home/{tool}/{file}"), SECRET);
        world.write(&format!("home/{tool}/beside.txt"), "for everyone");
    }
    for (tool, file) in OF_PACKAGE_MANAGERS {
        let script = format!("cd ~/{tool}; cat {file} beside.txt");
        let bare = bare(&script, &world.workspace(), &world.variables());
        assert!(bare.output.contains(SECRET), "{tool}/{file}: {bare:?}");
        for tier in TIERS {
            let outcome = world.run(&world.held(tier, Rights::Build), &script);
            assert!(!outcome.output.contains(SECRET), "{tier:?} {tool}/{file}: {outcome:?}");
            assert!(outcome.output.contains("for everyone"), "{tier:?} {tool}: {outcome:?}");
        }
    }
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
    ATTACK.with("plainly", r#"cat "$SECRET_FILE""#),
    ATTACK.with("a name from pieces", r#"a=.s b=sh; cat ~/$a$b/id*"#),
    ATTACK.with("eval", r#"eval "$(printf '\143at ~/.ssh/id_key')""#),
    ATTACK.with("base64", r#"echo Y2F0IH4vLnNzaC9pZF9rZXkK | base64 -d | sh"#),
    ATTACK.with(
        "python",
        r#"python3 -IS -c 'import os; print(open(os.environ["SECRET_FILE"]).read())'"#,
    ),
    ATTACK.with(
        "node",
        r#"node -e 'console.log(require("fs").readFileSync(process.env.SECRET_FILE, "utf8"))'"#,
    ),
    ATTACK.with(
        "a script in a file, run by make",
        "printf 'all:\\n\\tcat $(HOME)/.ssh/id_key\\n' > Makefile && make",
    ),
    ATTACK.with("the preprocessor", r##"echo "#include \"$SECRET_FILE\"" | cc -E -x c -"##),
    ATTACK.with("git", r#"git -c safe.directory=* diff --no-index /dev/null "$SECRET_FILE""#),
    ATTACK.with("tar", r#"tar cf - -C ~/.ssh . 2>/dev/null | tar xOf -"#),
    ATTACK.with("a symlink", r#"ln -s "$SECRET_FILE" here && cat here"#),
    ATTACK.with("a symlink to a folder", r#"ln -s ~/.ssh here && cat here/id_key"#),
    ATTACK.with("a hard link", r#"ln "$SECRET_FILE" here && cat here"#),
    ATTACK.with("moving it into the workspace", r#"mv ~/.ssh here; cat here/id_key"#),
    ATTACK.with("up and over", "cat ../../../../../../../../../..$SECRET_FILE"),
    ATTACK.with("from its folder", "cd ~/.ssh && cat id_key"),
    ATTACK.with("from the folder above", "cd .. && cat .ssh/id_key"),
    ATTACK.with("the root of this process", "cat /proc/self/root$SECRET_FILE"),
    ATTACK.with("the root of a thread", "cat /proc/thread-self/root$SECRET_FILE"),
    ATTACK.with("the root of the parent", "cat /proc/$PPID/root$SECRET_FILE"),
    ATTACK.with("a descriptor by name", r#"cat /dev/fd/3 3< "$SECRET_FILE""#),
    ATTACK.with("the netrc file", "cat ~/.netrc"),
    ATTACK.with("credentials in a cache", "cat ~/.cargo/credentials.toml"),
    ATTACK.with(
        "credentials in a cache, moved",
        "cd ~/.cargo && mv credentials.toml x; cat x; cp -r . \"$WS/copy\"; cat \"$WS\"/copy/*",
    ),
    ATTACK.with("the data folder", r#"cat "$DATA/token""#),
    ATTACK.with("the data folder, found", r#"grep -r the-secret "$DATA""#),
    ATTACK.with("another folder of the home", "cat ~/letters/plan.txt"),
    ATTACK.with("another folder, by a link", "cat ~/mail/plan.txt"),
    Attack {
        witness: says_token,
        ..ATTACK.with(
            "names in the home folder",
            r#"ls ~/letters | grep -q plan && echo "$TOKEN""#,
        )
    },
    Attack {
        settings: home_is_a_repository,
        ..ATTACK.with("a home folder that is a repository", "cat ~/letters/plan.txt")
    },
    Attack {
        settings: home_is_the_workspace,
        ..ATTACK.with(
            "a home folder that is the workspace",
            "cat ~/.ssh/id_key ~/.netrc ~/.cargo/credentials.toml",
        )
    },
    Attack {
        settings: secret_inside,
        ..ATTACK.with("a secret in the workspace", "cat inner/keys/key")
    },
    Attack {
        settings: secret_inside,
        ..ATTACK.with(
            "a secret in the workspace, moved with its folder",
            "mv inner outer; cat outer/keys/key; cat inner/keys/key",
        )
    },
    Attack {
        settings: secret_inside,
        ..ATTACK.with(
            "a secret in the workspace, linked",
            "ln inner/keys/key here; ln -s inner/keys there; cat here there/key",
        )
    },
    Attack {
        settings: data_inside,
        ..ATTACK.with(
            "a data folder in the workspace, uncovered",
            "umount inner/keys; rmdir inner/keys; cat inner/keys/key",
        )
    },
    Attack {
        open_at_floor: Some("Landlock does not see modes, times and attributes"),
        ..ATTACK.with(
            "attributes of a file",
            r#"python3 -IS -c '
import os
print(os.getxattr(os.environ["ATTRIBUTES"], "user.secret"))'"#,
        )
    },
    ATTACK.with("the host's /tmp", r#"cat "$HOST_TMP""#),
    ATTACK.with("the host's shared memory folder", r#"cat "$HOST_SHM""#),
    Attack {
        witness: reads_shadow,
        by: By::Root,
        ..ATTACK.with("the passwords of the system", "cat /etc/shadow")
    },
    Attack {
        witness: reads_shadow,
        by: By::Root,
        ..ATTACK.with("the old passwords of the system", "cat /etc/shadow- /etc/gshadow-")
    },
    Attack {
        by: By::Root,
        ..ATTACK.with("a file by its handle", r#""$TOOL" handle-open "$WS" "$HANDLE""#)
    },
    ATTACK.with("io_uring", r#""$TOOL" uring-read "$SECRET_FILE""#),
    ATTACK.with("a library put before a program", r#"LD_PRELOAD="$PRELOAD" /bin/true"#),
    ATTACK.with(
        "a program in memory",
        r#"python3 -IS -c '
import os
program = os.memfd_create("cat", 0)
os.write(program, open("/bin/cat", "rb").read())
os.execve(program, ["cat", os.environ["SECRET_FILE"]], os.environ)'"#,
    ),
    Attack {
        by: By::User,
        settings: with_root_helper,
        ..ATTACK.with(
            "a program that runs as root",
            r#""$SET_USER_ID" uring-read "${SET_USER_ID%setuid}roots""#,
        )
    },
    ATTACK.with(
        "a namespace of one's own",
        r#"unshare --user --map-root-user cat "$SECRET_FILE""#,
    ),
    ATTACK.with(
        "a bind mount",
        r#"mkdir here && unshare --user --map-root-user --mount sh -c 'mount --bind ~/.ssh here && cat here/id_key'"#,
    ),
    ATTACK.with(
        "an overlay",
        r#"mkdir here up work && unshare --user --map-root-user --mount sh -c "mount -t overlay -o lowerdir=$HOME/.ssh,upperdir=up,workdir=work,userxattr none here && cat here/id_key""#,
    ),
    ATTACK.with(
        "taking the cover off",
        r#"umount -l "$DATA" ~/.ssh ~/.netrc; cat "$SECRET_FILE""#,
    ),
];

const PROCESSES: &[Attack] = &[
    ATTACK.with("a file left open", "bash -c 'cat <&$LEFT_FILE'"),
    ATTACK.with(
        "a file left open, by name",
        ": $LEFT_FILE; for fd in /proc/self/fd/* /proc/$PPID/fd/*; do [ -f $fd ] && cat $fd; done",
    ),
    ATTACK.with("a folder left open", r#"cat /proc/self/fd/$LEFT_FOLDER/../.ssh/id_key"#),
    ATTACK.with("the environment of a process", "cat /proc/$VICTIM/environ"),
    ATTACK.with(
        "the environment of every process",
        "cat /proc/[0-9]*/environ 2>/dev/null; : $VICTIM",
    ),
    Attack {
        open_at_floor: Some("without a pid namespace `/proc` lists the host's processes"),
        ..ATTACK.with("the command line of a process", "cat /proc/$VICTIM/cmdline")
    },
    ATTACK
        .with("the memory of a process", r#"dd if=/proc/$VICTIM/mem bs=1 skip=$ADDRESS count=64"#),
    ATTACK.with("the files of a process", "cat /proc/$VICTIM/fd/7"),
    ATTACK.with("the root of a process", "cat /proc/$VICTIM/root$SECRET_FILE"),
    ATTACK.with("the folder of a process", "cat /proc/$VICTIM/cwd/plan.txt"),
    ATTACK.with("ptrace", r#""$TOOL" ptrace-read $VICTIM $ADDRESS"#),
    ATTACK.with("process_vm_readv", r#""$TOOL" memory-read $VICTIM $ADDRESS"#),
    ATTACK.with("a descriptor of another process", r#""$TOOL" take-descriptor $VICTIM 7"#),
    ATTACK.with("a key of the kernel", r#""$TOOL" key-read $KEY_NUMBER"#),
    ATTACK.with("shared memory", r#""$TOOL" shm-read $SHM"#),
    ATTACK.with("a message queue", r#""$TOOL" queue-read $QUEUE"#),
    ATTACK.with("a debugger", r#"gdb -p $VICTIM -batch -ex "x/s $ADDRESS" 2>/dev/null"#),
    ATTACK.with(
        "a listening socket left open",
        r#"python3 -I -c '
import os, socket
s = socket.socket(fileno=int(os.environ["LEFT_LISTENER"]))
print(s.accept()[0].recv(99))'"#,
    ),
];

/// Stopped by the kernel these tests were written on, with or without a sandbox.
const STOPPED: &[Attack] = &[
    Attack {
        witness: says_token,
        stopped_anyway: Some("the kernel has no /dev/mem, or it is root's"),
        ..ATTACK.with("the memory of the machine", r#"head -c 64 /dev/mem && echo "$TOKEN""#)
    },
    Attack {
        witness: says_token,
        stopped_anyway: Some("the machine's control group has no disks"),
        ..ATTACK.with(
            "the disk, by a node of one's own",
            r#"set -- $(awk 'NR > 2' /proc/partitions); mknod disk b $1 $2 && head -c 512 disk > copy && [ -s copy ] && echo "$TOKEN""#,
        )
    },
    Attack {
        witness: says_secret,
        by: By::User,
        stopped_anyway: Some("the file belongs to root"),
        ..ATTACK.with("root's file", r#"cat "${SET_USER_ID%setuid}roots""#)
    },
];
