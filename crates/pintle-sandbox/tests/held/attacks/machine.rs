//! Processes and the machine: signals, terminals, what outlives a call, and parts of the kernel that no build needs.

use super::{
    ATTACK, Attack, By, Scene, changes_victim, says_token, survives, token_arrives, try_all,
    withstand,
};
use pintle_sandbox::{Limits, Settings};

use crate::{host, users::as_lone_user, world::World};

#[test]
fn neither_other_processes_nor_the_machine_are_touched() {
    let test = "attacks::machine::neither_other_processes_nor_the_machine_are_touched";
    withstand(test, |_| {}, &[PROCESSES, LIVING_ON, KERNEL, STOPPED]);
}

#[test]
fn the_other_processes_of_a_user_are_not_touched() {
    let test = "attacks::machine::the_other_processes_of_a_user_are_not_touched";
    as_lone_user(test, || try_all(&[WHOLE_USER], 1));
}

const VICTIM: Attack = Attack { witness: changes_victim, ..ATTACK };

fn changes_shared_memory(scene: &Scene<'_>) -> bool {
    let (_, id) = scene.host.variables.iter().find(|(name, _)| *name == "SHM").unwrap();
    !host::tool(&["shm-read", id]).is_some_and(|text| text.contains(crate::world::SECRET))
}

const PROCESSES: &[Attack] = &[
    Attack { name: "kill", script: "kill -9 $VICTIM", ..VICTIM },
    Attack { name: "stop", script: "kill -STOP $VICTIM", ..VICTIM },
    Attack { name: "a signal by pidfd", script: r#""$TOOL" pidfd-kill $VICTIM"#, ..VICTIM },
    Attack { name: "a signal to a thread", script: r#""$TOOL" tgkill $VICTIM"#, ..VICTIM },
    Attack { name: "a queued signal", script: r#""$TOOL" sigqueue $VICTIM"#, ..VICTIM },
    Attack { name: "a signal by a file", script: r#""$TOOL" sigio $VICTIM"#, ..VICTIM },
    Attack {
        name: "signals to every process in sight",
        script: "for p in /proc/[0-9]*; do p=${p#/proc/}; [ $p = $VICTIM ] && kill -9 $p; done",
        ..VICTIM
    },
    Attack { name: "ptrace", script: r#""$TOOL" ptrace-write $VICTIM $ADDRESS"#, ..VICTIM },
    Attack {
        name: "process_vm_writev",
        script: r#""$TOOL" memory-write $VICTIM $ADDRESS"#,
        ..VICTIM
    },
    Attack {
        name: "the memory file",
        script: "printf poked | dd of=/proc/$VICTIM/mem bs=1 seek=$ADDRESS conv=notrunc",
        ..VICTIM
    },
    Attack { name: "priority", script: "renice -n 5 -p $VICTIM", ..VICTIM },
    Attack { name: "priority of input and output", script: "ionice -c 3 -p $VICTIM", ..VICTIM },
    Attack { name: "scheduler", script: "chrt -b -p 0 $VICTIM", ..VICTIM },
    Attack { name: "processors", script: "taskset -p 1 $VICTIM", ..VICTIM },
    Attack { name: "limits", script: "prlimit --pid $VICTIM --nofile=3:3", ..VICTIM },
    Attack {
        name: "the first to go when memory is short",
        script: "echo 1000 > /proc/$VICTIM/oom_score_adj",
        ..VICTIM
    },
    Attack {
        name: "writing to shared memory",
        script: r#""$TOOL" shm-write $SHM"#,
        witness: changes_shared_memory,
        ..ATTACK
    },
    Attack {
        name: "removing shared memory",
        script: r#""$TOOL" shm-remove $SHM"#,
        witness: changes_shared_memory,
        ..ATTACK
    },
    Attack {
        name: "writing to a terminal",
        script: r#"echo "$TOKEN" > "$TERMINAL""#,
        witness: token_arrives,
        ..ATTACK
    },
    Attack {
        name: "typing into a terminal",
        script: r#""$TOOL" type "$TERMINAL" "$TOKEN""#,
        witness: token_arrives,
        by: By::Root,
        ..ATTACK
    },
];

fn few_processes(world: &World) -> Settings {
    let limits = Limits { processes: 400, ..Limits::default() };
    Settings { limits, ..world.settings() }
}

/// They change every process of their user, or are counted with them, so nothing else of it may run meanwhile.
const WHOLE_USER: &[Attack] = &[
    Attack {
        script: BOMB,
        name: "more processes than are allowed",
        by: By::User,
        settings: few_processes,
        ..CALL
    },
    Attack {
        name: "priority of all of a user's processes",
        script: r#": $VICTIM; "$TOOL" priority-of-all 3"#,
        by: By::User,
        ..VICTIM
    },
    Attack {
        name: "priority of input and output of all of a user's processes",
        script: r#": $VICTIM; "$TOOL" io-priority-of-all"#,
        by: By::User,
        ..VICTIM
    },
];

const OUTLIVING: Attack = Attack { witness: survives, ..ATTACK };

/// More processes than the limits of these worlds allow, and their end.
const BOMB: &str = r#"python3 -IS -c '
import os, sys, time
made = 0
try:
    for _ in range(500):
        if os.fork() == 0:
            time.sleep(20)
            os._exit(0)
        made += 1
except OSError:
    pass
if made == 500:
    print(os.environ["TOKEN"])
sys.stdout.flush()
os.killpg(0, 9)'"#;

const LIVING_ON: &[Attack] = &[
    Attack {
        name: "in the background",
        script: r#"sh -c ': > begun; sleep 300; :' "$MARK" > /dev/null 2>&1 & until [ -e begun ]; do sleep 0.01; done"#,
        ..OUTLIVING
    },
    Attack {
        name: "nohup",
        script: r#"nohup sh -c ': > begun; sleep 300; :' "$MARK" > /dev/null 2>&1 & until [ -e begun ]; do sleep 0.01; done"#,
        ..OUTLIVING
    },
    Attack {
        name: "a session of its own",
        script: r#"setsid sh -c ': > begun; sleep 300; :' "$MARK" > /dev/null 2>&1 & until [ -e begun ]; do sleep 0.01; done"#,
        ..OUTLIVING
    },
    Attack {
        name: "a daemon",
        script: r#"(setsid sh -c '(trap "" TERM HUP INT; cd /; sh -c ": > $WS/begun; sleep 300; :" "$1" > /dev/null 2>&1 &)' x "$MARK" > /dev/null 2>&1 < /dev/null &) ; until [ -e begun ]; do sleep 0.01; done"#,
        ..OUTLIVING
    },
    Attack {
        name: "a daemon without an environment",
        script: r#"setsid env -i sh -c ': > begun; sleep 300; :' "$MARK" > /dev/null 2>&1 & until [ -e begun ]; do sleep 0.01; done"#,
        ..OUTLIVING
    },
    Attack {
        name: "a daemon without an environment and with limits of its own",
        script: r#"setsid env -i prlimit --locks=unlimited:unlimited sh -c ': > begun; sleep 300; :' "$MARK" > /dev/null 2>&1 & until [ -e begun ]; do sleep 0.01; done"#,
        open_at_floor: Some("a process that drops both tags is not found without a pid namespace"),
        ..OUTLIVING
    },
    Attack {
        script: BOMB,
        name: "more processes than are allowed, as root",
        by: By::Root,
        settings: few_processes,
        open_at_floor: Some("without a pid namespace no limit of processes binds root"),
        ..CALL
    },
];

const CALL: Attack = Attack { witness: says_token, ..ATTACK };

const KERNEL: &[Attack] = &[
    Attack { name: "userfaultfd", script: r#""$TOOL" userfaultfd && echo "$TOKEN""#, ..CALL },
    Attack { name: "perf", script: r#""$TOOL" perf && echo "$TOKEN""#, ..CALL },
    Attack { name: "segments", script: r#""$TOOL" ldt && echo "$TOKEN""#, ..CALL },
    Attack { name: "32-bit calls", script: r#""$TOOL" int80 && echo "$TOKEN""#, ..CALL },
    Attack {
        name: "a new user namespace",
        script: r#"unshare --user true && echo "$TOKEN""#,
        ..CALL
    },
    Attack { name: "bpf", script: r#""$TOOL" bpf && echo "$TOKEN""#, by: By::Root, ..CALL },
    Attack {
        name: "fanotify",
        script: r#""$TOOL" fanotify && echo "$TOKEN""#,
        by: By::Root,
        ..CALL
    },
    Attack {
        name: "the clock",
        script: r#""$TOOL" settime && echo "$TOKEN""#,
        by: By::Root,
        ..CALL
    },
    Attack {
        name: "the clock, adjusted",
        script: r#""$TOOL" adjtimex && echo "$TOKEN""#,
        by: By::Root,
        ..CALL
    },
    Attack {
        name: "the name of the machine",
        script: r#""$TOOL" hostname && echo "$TOKEN""#,
        by: By::Root,
        ..CALL
    },
    Attack {
        name: "the messages of the kernel",
        script: r#""$TOOL" syslog && echo "$TOKEN""#,
        by: By::Root,
        ..CALL
    },
    Attack {
        name: "the log of the kernel",
        script: r#": >> /dev/kmsg && echo "$TOKEN""#,
        by: By::Root,
        ..CALL
    },
    Attack {
        name: "what runs when a program crashes",
        script: r#"cat /proc/sys/kernel/core_pattern > pattern && cat pattern > /proc/sys/kernel/core_pattern && echo "$TOKEN""#,
        by: By::Root,
        ..CALL
    },
    Attack {
        name: "a setting of the kernel",
        script: r#": >> /proc/sys/vm/drop_caches && echo "$TOKEN""#,
        by: By::Root,
        ..CALL
    },
    Attack {
        name: "a setting of the processors",
        script: r#"for f in $(find /sys/devices/system -type f -perm -200 | head -20); do : >> $f && echo "$TOKEN"; done"#,
        by: By::Root,
        ..CALL
    },
    Attack {
        name: "control groups",
        script: r#"for f in $(find /sys/fs/cgroup -maxdepth 2 -name '*.procs'); do : >> $f && echo "$TOKEN"; done"#,
        by: By::Root,
        ..CALL
    },
    Attack {
        name: "the namespaces of another process",
        script: r#""$TOOL" setns /proc/$VICTIM/ns/mnt && echo "$TOKEN""#,
        by: By::Root,
        ..CALL
    },
    Attack { name: "chroot", script: r#""$TOOL" chroot . && echo "$TOKEN""#, by: By::Root, ..CALL },
    Attack {
        name: "swap space",
        script: r#""$TOOL" swapoff README && echo "$TOKEN""#,
        by: By::Root,
        ..CALL
    },
];

/// Stopped by the kernel these tests were written on, with or without a sandbox.
const STOPPED: &[Attack] = &[
    Attack {
        name: "x32 calls",
        script: r#""$TOOL" x32 && echo "$TOKEN""#,
        stopped_anyway: Some("CONFIG_X86_X32_ABI is not set"),
        ..CALL
    },
    Attack {
        name: "ports of the processor",
        script: r#""$TOOL" iopl && echo "$TOKEN""#,
        stopped_anyway: Some("CONFIG_X86_IOPL_IOPERM is not set"),
        ..CALL
    },
    Attack {
        name: "a kernel module",
        script: r#""$TOOL" module && echo "$TOKEN""#,
        stopped_anyway: Some("the kernel has no modules"),
        ..CALL
    },
    Attack {
        name: "the emergency key",
        script: r#": >> /proc/sysrq-trigger && echo "$TOKEN""#,
        stopped_anyway: Some("CONFIG_MAGIC_SYSRQ is not set"),
        ..CALL
    },
];
