//! What runs at no level (R11.2, R11.3), however it is written.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

use pintle_policy::Zone::{Build, Machine, Never};
use pintle_policy::shell::destructive;
use pintle_policy::{Judged, Reach, Zone};
use serde_json::{Value, json};
use std::path::Path;

fn zone_of(tool: &str, base: Zone, input: &Value, workspace: &Path) -> Judged {
    pintle_policy::zone_of(tool, base, input, &Reach::of(input, workspace), Default::default())
}

// R11.2: what must never run is known by what the line says, wherever in it that stands.
#[test]
fn no_variable_and_no_folder_hides_what_must_never_run() {
    let folder = tempfile::tempdir().unwrap();
    let work = folder.path().join("work");
    std::fs::create_dir_all(work.join("src")).unwrap();
    let mut wrong = Vec::new();
    let never = [
        "cd / && rm -rf *",
        "cd /; rm -rf *",
        "cd / && rm -rf .",
        "cd / && rm -rf usr",
        "cd /usr/bin && rm -rf ..",
        "cd / && find . -delete",
        "cd / && find -delete",
        "cd /etc && echo x > passwd",
        "cd /dev && dd if=a of=/dev/sda",
        "cd && rm -rf *",
        "cd ~ && rm -rf .",
        "cd -P; rm -rf *",
        "cd \"$HOME\" && rm -rf ./*",
        "(cd /; chmod -R 777 .)",
        "env -C / rm -rf usr",
        "rm -rf ../../../../../../../../../../../..",
        "x=/; rm -rf \"$x\"",
        "x=/; rm -rf $x",
        "x=/; rm -rf \"${x}\"",
        "x=/; rm -rf \"$x\"*",
        "x=/; y=$x; rm -rf \"$y\"",
        "x=$HOME; rm -rf \"$x\"",
        "x=~; rm -rf $x",
        "x=/usr/x; rm -rf \"${x%/*}\"",
        "x='-rf /'; rm $x",
        "x='rm -rf'; $x /",
        "x=rm; \"$x\" -rf /",
        "o=-rf; d=/etc; rm $o $d",
        "for d in /usr /etc; do rm -rf $d; done",
        "for d in /usr /etc; do rm -rf \"$d\"/*; done",
        "for d in /usr /etc; do cd $d && rm -rf *; done",
        "for d in / x; do (cd \"$d\" && rm -rf *); done",
        "f() { rm -rf \"$1\"; }; f /",
        "bash -c 'rm -rf $1' _ /",
        "set -- /; rm -rf $1",
        "echo / | xargs rm -rf",
        "echo / | xargs -I{} rm -rf {}",
        "echo / | xargs -I% rm -rf %",
        "printf '%s\\n' /usr | xargs -n1 rm -rf",
        "find / | xargs rm -rf",
        "xargs rm -rf <<< /",
        "echo / | while read d; do rm -rf \"$d\"; done",
        "while read d; do rm -rf \"$d\"; done <<< /",
        "while read -r d; do rm -rf $d; done <<E\n/usr\nE",
        "read d <<< /; rm -rf $d",
        "rm -rf $(echo /)",
        "rm -rf \"$(printf /)\"",
        "d=$(echo /); rm -rf \"$d\"",
        "x=/dev/sda; dd if=a of=$x",
        "x=/dev/sda; cat a > $x",
        "x=/etc/passwd; echo a > \"$x\"",
        "x=/etc; mv $x y",
        "x=/us; rm -rf ${x}r",
        "x=/us; y=r; rm -rf $x$y",
        "x=build; x=/; rm -rf \"$x\"",
        "x=build; f() { x=/; }; f; rm -rf \"$x\"",
        "x=build; if a; then x=/; fi; rm -rf \"$x\"",
    ];
    for command in never {
        let judged = zone_of("terminal", Build, &json!({ "command": command }), &work);
        if judged.zone != Never {
            wrong.push(format!("{command}: {} {}", judged.zone.name(), judged.why));
        }
    }
    let judged = zone_of("terminal", Build, &json!({ "command": "x=/; rm -rf \"$x\"" }), &work);
    assert_eq!(judged.why, "`rm -rf /` deletes a folder the system or its user lives in");
    let may_be_asked = [
        "cd /tmp/x && rm -rf *",
        "tmp=$(ls | head -1); rm -rf \"$tmp\"; echo '3 / 4 passed'",
        "rm -rf \"$(ls | head -1)\"; echo a / b",
        "git ls-files -o | xargs rm -rf; echo /",
        "cd / && ls; cd /tmp/y && rm -rf *",
        "(cd / && ls); rm -rf build",
        "x=/; ls $x; rm -rf build",
        "x=/; x=build; rm -rf \"$x\"",
        "x=/tmp/y; rm -rf \"$x\"",
        "x=/; rm -rf \"$x/tmp/y\"",
        "cd ~ && rm -rf build",
        "cd src; rm -rf *; ls /",
        "for d in /tmp/a /tmp/b; do rm -rf \"$d\"; done",
        "echo /tmp/a | xargs rm -rf",
        "echo / | xargs ls; rm -rf build",
    ];
    for command in may_be_asked {
        let judged = zone_of("terminal", Build, &json!({ "command": command }), &work);
        if judged.zone != Machine {
            wrong.push(format!("{command}: {} {}", judged.zone.name(), judged.why));
        }
    }
    let everyday = [
        "rm -rf *",
        "cd src && rm -rf *",
        "rm -rf ./* .",
        "d=build; rm -rf \"$d\"",
        "for d in a b; do rm -rf $d; done",
        "find . -name x | xargs rm -rf",
        "find src -type d -exec rm -rf {} +",
    ];
    for command in everyday {
        let judged = zone_of("terminal", Build, &json!({ "command": command }), &work);
        if judged.zone != Build {
            wrong.push(format!("{command}: {} {}", judged.zone.name(), judged.why));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn destructive_commands_are_refused_and_ordinary_ones_are_not() {
    let refused = [
        "rm -rf /",
        "rm -fr /*",
        "rm -r -f //",
        "rm --recursive --force /usr/../",
        "sudo rm -rf /",
        "sh -c 'rm -rf /'",
        "rm -rf ~",
        "rm -rf \"$HOME\"",
        "rm -rf $HOME/",
        "rm -rf ~/*",
        "rm -rf /etc",
        "rm -rf x /home",
        "/bin/rm -Rf /var",
        "r\\m -rf /",
        "rm --no-preserve-root x",
        "find / -delete",
        "find /etc -exec rm {} +",
        "mkfs /dev/sda",
        "mkfs.ext4 x",
        "dd if=x of=/dev/sda",
        "sudo dd if=/dev/zero of=/dev/nvme0n1",
        "cat x > /dev/sda",
        "tee /dev/sdb",
        "shred /dev/sda",
        ":(){ :|:& };:",
        "f() { f | f & }; f",
        "shutdown now",
        "reboot",
        "systemctl poweroff",
        "init 0",
        "kill -9 -1",
        "chmod -R 777 /",
        "chown -R me /usr",
        "echo x > /etc/passwd",
        "echo x | tee /etc/sudoers",
        "mv /usr x",
        "echo c > /proc/sysrq-trigger",
        "wipefs -a /dev/sda",
        "xargs rm -rf /",
        "eval 'rm -rf /'",
        "fdisk /dev/sda",
        "rm -rf '/'",
        "zpool destroy tank",
        "nohup rm -rf / &",
        "echo $(rm -rf /)",
        "echo 'unclosed",
    ];
    for command in refused {
        assert!(destructive(command).is_some(), "{command}");
    }
    let fine = [
        "rm -rf build",
        "rm -rf ./",
        "rm x",
        "rm -rf /tmp/build",
        "find . -delete",
        "dd if=a of=b",
        "cat x > /dev/null",
        "echo rm -rf /",
        "git commit -m 'rm -rf /'",
        "kill -9 123",
        "kill -1 123",
        "chmod -R 755 src",
        "fdisk -l",
        "cp /etc/passwd x",
        "f() { ls | cat; }; f",
        "ls /",
        "grep shutdown log",
        "rm -rf $X",
        "systemctl status",
        "cat /etc/passwd",
        "init --help",
    ];
    for command in fine {
        assert_eq!(destructive(command), None, "{command}");
    }
    assert_eq!(
        destructive("sudo rm -rf /").unwrap(),
        "`rm -rf /` deletes a folder the system or its user lives in"
    );
}
