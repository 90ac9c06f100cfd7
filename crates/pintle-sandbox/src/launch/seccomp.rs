//! seccomp: the calls that neither a mount nor Landlock can refuse.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Len, SeccompCmpOp as Op,
    SeccompCondition as Condition, SeccompFilter, SeccompRule, TargetArch, apply_filter,
};

use super::landlock;
use crate::{control::Layers, plan::Plan, policy::Network};

type Error = Box<dyn std::error::Error + Send + Sync>;
type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// No build needs these, and each is a way out or a wide piece of kernel.
const NEVER: &[i64] = &[
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_adjtimex,
    libc::SYS_bpf,
    libc::SYS_chroot,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_fanotify_init,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_init_module,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pivot_root,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_setns,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
];

/// Programs try these and go on without them when the kernel does not have them. What `clone3` and `openat2` are asked for
/// lies in memory, where no filter can look.
const UNKNOWN: &[i64] = &[
    libc::SYS_clone3,
    libc::SYS_openat2,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];

/// The same numbers on every architecture; `libc` does not name them everywhere.
const FCHMODAT2: i64 = 452;
const OPEN_TREE_ATTR: i64 = 467;

/// Of `setpriority` and `ioprio_set`: every process of a user.
const PRIO_USER: u64 = 2;
const IOPRIO_WHO_USER: u64 = 3;

const NEW_NAMESPACES: [libc::c_int; 7] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// Set-user-id: of no use to the process itself, but the bit outlives it.
const SET_USER_ID: u64 = 0o4000;

/// Restricts this process. Comes last: the calls that set the sandbox up are among those that are refused.
pub(super) fn restrict(plan: &Plan, layers: Layers) -> Result<(), Error> {
    let namespaces = layers.namespaces;
    let mut denied: Rules = NEVER.iter().map(|call| (*call, vec![])).collect();
    denied.insert(OPEN_TREE_ATTR, vec![]);
    // Input into a terminal. Only the low half of the number counts (CVE-2019-10063).
    let requests = [libc::TIOCSTI, libc::TIOCLINUX, libc::TIOCSETD, libc::TIOCCONS];
    denied.insert(libc::SYS_ioctl, any(requests.iter().map(|request| equals(1, *request)))?);
    // One bit at a time: any of them is too much.
    let clones = NEW_NAMESPACES.iter().map(|flag| has_bit(0, u64::from(flag.unsigned_abs())));
    denied.insert(libc::SYS_clone, any(clones)?);
    set_id_bits(&mut denied)?;
    denied.insert(libc::SYS_socket, sockets(may_have_unix_sockets(plan, layers))?);
    denied.insert(libc::SYS_socketpair, vec![rule(vec![differs(0, libc::AF_UNIX)?])?]);
    if !namespaces {
        shared_with_the_host(&mut denied)?;
    }
    apply_filter(&build(denied, libc::EPERM)?)?;
    apply_filter(&build(UNKNOWN.iter().map(|call| (*call, vec![])).collect(), libc::ENOSYS)?)?;
    if !namespaces && plan.network != Network::Direct {
        // The words that everyone knows: "Network is unreachable".
        let families = [libc::AF_INET, libc::AF_INET6];
        let inet = any(families.iter().map(|family| equals(0, family.unsigned_abs().into())))?;
        apply_filter(&build(BTreeMap::from([(libc::SYS_socket, inet)]), libc::ENETUNREACH)?)?;
    }
    #[cfg(target_arch = "x86_64")]
    apply_filter(&no_x32())?;
    Ok(())
}

/// Calls that make a file set-id.
fn set_id_bits(denied: &mut Rules) -> Result<(), Error> {
    let mut calls = vec![
        (libc::SYS_fchmod, 1),
        (libc::SYS_fchmodat, 2),
        (FCHMODAT2, 2),
        (libc::SYS_openat, 3),
        (libc::SYS_mknodat, 2),
    ];
    #[cfg(target_arch = "x86_64")]
    calls.extend([
        (libc::SYS_chmod, 1),
        (libc::SYS_open, 2),
        (libc::SYS_creat, 1),
        (libc::SYS_mknod, 1),
    ]);
    for (call, argument) in calls {
        let bit = Condition::new(argument, Len::Dword, Op::MaskedEq(SET_USER_ID), SET_USER_ID)?;
        denied.insert(call, vec![rule(vec![bit])?]);
    }
    Ok(())
}

/// What only a namespace tells apart from the host's own. The numbers of shared memory, semaphores and queues can be
/// guessed: they need not be looked up first.
const SHARED_WITH_THE_HOST: &[i64] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];

fn shared_with_the_host(denied: &mut Rules) -> Result<(), Error> {
    denied.extend(SHARED_WITH_THE_HOST.iter().map(|call| (*call, vec![])));
    // Limits and priorities of others: zero is the process itself.
    for (call, argument) in [
        (libc::SYS_prlimit64, 0),
        (libc::SYS_sched_setaffinity, 0),
        (libc::SYS_sched_setscheduler, 0),
        (libc::SYS_sched_setattr, 0),
        (libc::SYS_sched_setparam, 0),
    ] {
        denied.insert(call, vec![rule(vec![differs(argument, 0)?])?]);
    }
    // Here zero may also be the user: all of its processes.
    for (call, whole_user) in
        [(libc::SYS_setpriority, PRIO_USER), (libc::SYS_ioprio_set, IOPRIO_WHO_USER)]
    {
        let rules = any([differs(1, 0), equals(0, whole_user)].into_iter())?;
        denied.insert(call, rules);
    }
    Ok(())
}

/// Unix sockets by path need a view in which the host's are covered. Those without a path need a network of their own, or
/// Landlock to tell them apart.
fn may_have_unix_sockets(plan: &Plan, layers: Layers) -> bool {
    let scoped = layers.landlock && landlock::abi() >= landlock::SCOPES;
    match plan.network {
        _ if !layers.namespaces => false,
        Network::None => false,
        Network::Loopback | Network::Proxy(_) => true,
        Network::Direct => scoped,
    }
}

/// The socket families that are refused: all but these. AF_VSOCK reaches the host of a virtual machine, AF_ALG and
/// AF_PACKET the kernel.
fn sockets(unix: bool) -> Result<Vec<SeccompRule>, Error> {
    let mut others = vec![
        differs(0, libc::AF_INET)?,
        differs(0, libc::AF_INET6)?,
        differs(0, libc::AF_NETLINK)?,
    ];
    if unix {
        others.push(differs(0, libc::AF_UNIX)?);
    }
    let mut rules = vec![
        rule(others)?,
        // Of netlink only routes: programs list their interfaces.
        rule(vec![
            equals(0, libc::AF_NETLINK.unsigned_abs().into())?,
            differs(2, libc::NETLINK_ROUTE)?,
        ])?,
    ];
    for family in [libc::AF_INET, libc::AF_INET6] {
        let raw =
            Condition::new(1, Len::Dword, Op::MaskedEq(0xf), libc::SOCK_RAW.unsigned_abs().into())?;
        rules.push(rule(vec![equals(0, family.unsigned_abs().into())?, raw])?);
    }
    Ok(rules)
}

fn rule(conditions: Vec<Condition>) -> Result<SeccompRule, Error> {
    Ok(SeccompRule::new(conditions)?)
}

/// A rule for each condition: one of them is enough.
fn any(
    conditions: impl Iterator<Item = Result<Condition, Error>>,
) -> Result<Vec<SeccompRule>, Error> {
    conditions.map(|condition| rule(vec![condition?])).collect()
}

fn equals(argument: u8, value: u64) -> Result<Condition, Error> {
    Ok(Condition::new(argument, Len::Dword, Op::Eq, value)?)
}

fn differs(argument: u8, value: libc::c_int) -> Result<Condition, Error> {
    Ok(Condition::new(argument, Len::Dword, Op::Ne, value.unsigned_abs().into())?)
}

fn has_bit(argument: u8, bit: u64) -> Result<Condition, Error> {
    Ok(Condition::new(argument, Len::Qword, Op::MaskedEq(bit), bit)?)
}

fn build(rules: Rules, errno: i32) -> Result<BpfProgram, Error> {
    let arch = match cfg!(target_arch = "aarch64") {
        true => TargetArch::aarch64,
        false => TargetArch::x86_64,
    };
    let refused = SeccompAction::Errno(errno.unsigned_abs());
    Ok(SeccompFilter::new(rules, SeccompAction::Allow, refused, arch)?.try_into()?)
}

/// The second set of numbers for the same calls: a list of numbers alone would be walked around.
#[cfg(target_arch = "x86_64")]
fn no_x32() -> BpfProgram {
    let op = |code, jt, jf, k| seccompiler::sock_filter { code, jt, jf, k };
    vec![
        op(0x20, 0, 0, 0),                                         // load the number
        op(0x45, 0, 1, 0x4000_0000),                               // is the x32 bit set?
        op(0x06, 0, 0, 0x0005_0000 | libc::ENOSYS.unsigned_abs()), // then there is no such call
        op(0x06, 0, 0, 0x7fff_0000),                               // else go on
    ]
}
