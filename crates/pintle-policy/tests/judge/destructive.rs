//! Commands that the terminal guard denies (§14), however they are written.

use pintle_policy::shell::destructive;

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
        "rm -rf \"${HOME}\"/*",
        "for i in 1; do rm -rf /; done",
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
        // Variables are not followed, and what cannot be parsed is the sandbox's to hold.
        "x=/; rm -rf $x",
        "echo 'unclosed",
    ];
    for command in fine {
        assert_eq!(destructive(command), None, "{command}");
    }
    assert_eq!(
        destructive("sudo rm -rf /").unwrap(),
        "`rm -rf /` deletes a folder the system or its user lives in"
    );
}
