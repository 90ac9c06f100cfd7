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
    VICTIM.with("kill", "kill -9 $VICTIM"),
    VICTIM.with("stop", "kill -STOP $VICTIM"),
    VICTIM.with("a signal by pidfd", r#""$TOOL" pidfd-kill $VICTIM"#),
    VICTIM.with("a signal to a thread", r#""$TOOL" tgkill $VICTIM"#),
    VICTIM.with("a queued signal", r#""$TOOL" sigqueue $VICTIM"#),
    VICTIM.with("a signal by a file", r#""$TOOL" sigio $VICTIM"#),
    VICTIM.with(
        "signals to every process in sight",
        "for p in /proc/[0-9]*; do p=${p#/proc/}; [ $p = $VICTIM ] && kill -9 $p; done",
    ),
    VICTIM.with("ptrace", r#""$TOOL" ptrace-write $VICTIM $ADDRESS"#),
    VICTIM.with("process_vm_writev", r#""$TOOL" memory-write $VICTIM $ADDRESS"#),
    VICTIM.with(
        "the memory file",
        "printf poked | dd of=/proc/$VICTIM/mem bs=1 seek=$ADDRESS conv=notrunc",
    ),
    VICTIM.with("priority", "renice -n 5 -p $VICTIM"),
    VICTIM.with("priority of input and output", "ionice -c 3 -p $VICTIM"),
    VICTIM.with("scheduler", "chrt -b -p 0 $VICTIM"),
    VICTIM.with("processors", "taskset -p 1 $VICTIM"),
    VICTIM.with("limits", "prlimit --pid $VICTIM --nofile=3:3"),
    VICTIM.with("the first to go when memory is short", "echo 1000 > /proc/$VICTIM/oom_score_adj"),
    Attack {
        witness: changes_shared_memory,
        ..ATTACK.with("writing to shared memory", r#""$TOOL" shm-write $SHM"#)
    },
    Attack {
        witness: changes_shared_memory,
        ..ATTACK.with("removing shared memory", r#""$TOOL" shm-remove $SHM"#)
    },
    Attack {
        witness: token_arrives,
        ..ATTACK.with("writing to a terminal", r#"echo "$TOKEN" > "$TERMINAL""#)
    },
    Attack {
        witness: token_arrives,
        by: By::Root,
        ..ATTACK.with("typing into a terminal", r#""$TOOL" type "$TERMINAL" "$TOKEN""#)
    },
];

fn few_processes(world: &World) -> Settings {
    let limits = Limits { processes: 400, ..Limits::default() };
    Settings { limits, ..world.settings() }
}

/// They change every process of their user, or are counted with them, so nothing else of it may run meanwhile.
const WHOLE_USER: &[Attack] = &[
    Attack {
        by: By::User,
        settings: few_processes,
        ..CALL.with("more processes than are allowed", BOMB)
    },
    Attack {
        by: By::User,
        ..VICTIM.with(
            "priority of all of a user's processes",
            r#": $VICTIM; "$TOOL" priority-of-all 3"#,
        )
    },
    Attack {
        by: By::User,
        ..VICTIM.with(
            "priority of input and output of all of a user's processes",
            r#": $VICTIM; "$TOOL" io-priority-of-all"#,
        )
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
    OUTLIVING.with(
        "in the background",
        r#"sh -c ': > begun; sleep 300; :' "$MARK" > /dev/null 2>&1 & until [ -e begun ]; do sleep 0.01; done"#,
    ),
    OUTLIVING.with(
        "nohup",
        r#"nohup sh -c ': > begun; sleep 300; :' "$MARK" > /dev/null 2>&1 & until [ -e begun ]; do sleep 0.01; done"#,
    ),
    OUTLIVING.with(
        "a session of its own",
        r#"setsid sh -c ': > begun; sleep 300; :' "$MARK" > /dev/null 2>&1 & until [ -e begun ]; do sleep 0.01; done"#,
    ),
    OUTLIVING.with(
        "a daemon",
        r#"(setsid sh -c '(trap "" TERM HUP INT; cd /; sh -c ": > $WS/begun; sleep 300; :" "$1" > /dev/null 2>&1 &)' x "$MARK" > /dev/null 2>&1 < /dev/null &) ; until [ -e begun ]; do sleep 0.01; done"#,
    ),
    OUTLIVING.with(
        "a daemon without an environment",
        r#"setsid env -i sh -c ': > begun; sleep 300; :' "$MARK" > /dev/null 2>&1 & until [ -e begun ]; do sleep 0.01; done"#,
    ),
    Attack {
        open_at_floor: Some("a process that drops both tags is not found without a pid namespace"),
        ..OUTLIVING.with(
            "a daemon without an environment and with limits of its own",
            r#"setsid env -i prlimit --locks=unlimited:unlimited sh -c ': > begun; sleep 300; :' "$MARK" > /dev/null 2>&1 & until [ -e begun ]; do sleep 0.01; done"#,
        )
    },
    Attack {
        by: By::Root,
        settings: few_processes,
        open_at_floor: Some("without a pid namespace no limit of processes binds root"),
        ..CALL.with("more processes than are allowed, as root", BOMB)
    },
];

const CALL: Attack = Attack { witness: says_token, ..ATTACK };

const KERNEL: &[Attack] = &[
    CALL.with("userfaultfd", r#""$TOOL" userfaultfd && echo "$TOKEN""#),
    CALL.with("perf", r#""$TOOL" perf && echo "$TOKEN""#),
    CALL.with("segments", r#""$TOOL" ldt && echo "$TOKEN""#),
    CALL.with("32-bit calls", r#""$TOOL" int80 && echo "$TOKEN""#),
    CALL.with("a new user namespace", r#"unshare --user true && echo "$TOKEN""#),
    Attack { by: By::Root, ..CALL.with("bpf", r#""$TOOL" bpf && echo "$TOKEN""#) },
    Attack { by: By::Root, ..CALL.with("fanotify", r#""$TOOL" fanotify && echo "$TOKEN""#) },
    Attack { by: By::Root, ..CALL.with("the clock", r#""$TOOL" settime && echo "$TOKEN""#) },
    Attack {
        by: By::Root,
        ..CALL.with("the clock, adjusted", r#""$TOOL" adjtimex && echo "$TOKEN""#)
    },
    Attack {
        by: By::Root,
        ..CALL.with("the name of the machine", r#""$TOOL" hostname && echo "$TOKEN""#)
    },
    Attack {
        by: By::Root,
        ..CALL.with("the messages of the kernel", r#""$TOOL" syslog && echo "$TOKEN""#)
    },
    Attack {
        by: By::Root,
        ..CALL.with("the log of the kernel", r#": >> /dev/kmsg && echo "$TOKEN""#)
    },
    Attack {
        by: By::Root,
        ..CALL.with(
            "what runs when a program crashes",
            r#"cat /proc/sys/kernel/core_pattern > pattern && cat pattern > /proc/sys/kernel/core_pattern && echo "$TOKEN""#,
        )
    },
    Attack {
        by: By::Root,
        ..CALL.with("a setting of the kernel", r#": >> /proc/sys/vm/drop_caches && echo "$TOKEN""#)
    },
    Attack {
        by: By::Root,
        ..CALL.with(
            "a setting of the processors",
            r#"for f in $(find /sys/devices/system -type f -perm -200 | head -20); do : >> $f && echo "$TOKEN"; done"#,
        )
    },
    Attack {
        by: By::Root,
        ..CALL.with(
            "control groups",
            r#"for f in $(find /sys/fs/cgroup -maxdepth 2 -name '*.procs'); do : >> $f && echo "$TOKEN"; done"#,
        )
    },
    Attack {
        by: By::Root,
        ..CALL.with(
            "the namespaces of another process",
            r#""$TOOL" setns /proc/$VICTIM/ns/mnt && echo "$TOKEN""#,
        )
    },
    Attack { by: By::Root, ..CALL.with("chroot", r#""$TOOL" chroot . && echo "$TOKEN""#) },
    Attack {
        by: By::Root,
        ..CALL.with("swap space", r#""$TOOL" swapoff README && echo "$TOKEN""#)
    },
];

/// Stopped by the kernel these tests were written on, with or without a sandbox.
const STOPPED: &[Attack] = &[
    Attack {
        stopped_anyway: Some("CONFIG_X86_X32_ABI is not set"),
        ..CALL.with("x32 calls", r#""$TOOL" x32 && echo "$TOKEN""#)
    },
    Attack {
        stopped_anyway: Some("CONFIG_X86_IOPL_IOPERM is not set"),
        ..CALL.with("ports of the processor", r#""$TOOL" iopl && echo "$TOKEN""#)
    },
    Attack {
        stopped_anyway: Some("the kernel has no modules"),
        ..CALL.with("a kernel module", r#""$TOOL" module && echo "$TOKEN""#)
    },
    Attack {
        stopped_anyway: Some("CONFIG_MAGIC_SYSRQ is not set"),
        ..CALL.with("the emergency key", r#": >> /proc/sysrq-trigger && echo "$TOKEN""#)
    },
];
