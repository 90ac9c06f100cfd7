//! seccomp: the calls that neither a mount nor Landlock can refuse.

use seccompiler::apply_filter;

use super::{
    filter::{Filter, Test},
    landlock,
};
use crate::{control::Layers, plan::Plan, policy::Network};

type Error = Box<dyn std::error::Error + Send + Sync>;

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
const PRIO_USER: u32 = 2;
const IOPRIO_WHO_USER: u32 = 3;

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
const SET_USER_ID: u32 = 0o4000;

/// Restricts this process. Comes last: the calls that set the sandbox up are among those that are refused.
pub(super) fn restrict(plan: &Plan, layers: Layers) -> Result<(), Error> {
    let mut filter = Filter::default();
    // The calls that programs make most come first.
    for (call, argument) in SETS_MODE {
        filter.refuse_if(*call, &[Test::HasBit(*argument, SET_USER_ID)], libc::EPERM);
    }
    // Input into a terminal.
    for request in [libc::TIOCSTI, libc::TIOCLINUX, libc::TIOCSETD, libc::TIOCCONS] {
        let request = u32::try_from(request)?;
        filter.refuse_if(libc::SYS_ioctl, &[Test::Equals(1, request)], libc::EPERM);
    }
    let namespaces = NEW_NAMESPACES.iter().fold(0, |bits, flag| bits | flag.cast_unsigned());
    filter.refuse_if(libc::SYS_clone, &[Test::HasBit(0, namespaces)], libc::EPERM);
    sockets(&mut filter, plan, layers);
    if !layers.namespaces {
        shared_with_the_host(&mut filter);
    }
    for call in UNKNOWN {
        filter.refuse(*call, libc::ENOSYS);
    }
    for call in NEVER.iter().chain(&[OPEN_TREE_ATTR]) {
        filter.refuse(*call, libc::EPERM);
    }
    Ok(apply_filter(&filter.program()?)?)
}

/// Calls that can make a file set-user-id, and their argument with the mode.
const SETS_MODE: &[(i64, u8)] = &[
    (libc::SYS_openat, 3),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 2),
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (FCHMODAT2, 2),
    (libc::SYS_mknodat, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1),
];

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

fn shared_with_the_host(filter: &mut Filter) {
    for call in SHARED_WITH_THE_HOST {
        filter.refuse(*call, libc::EPERM);
    }
    // Limits and priorities of others: zero is the process itself.
    for (call, argument) in [
        (libc::SYS_prlimit64, 0),
        (libc::SYS_sched_setaffinity, 0),
        (libc::SYS_sched_setscheduler, 0),
        (libc::SYS_sched_setattr, 0),
        (libc::SYS_sched_setparam, 0),
        (libc::SYS_setpriority, 1),
        (libc::SYS_ioprio_set, 1),
    ] {
        filter.refuse_if(call, &[Test::Differs(argument, 0)], libc::EPERM);
    }
    // Here zero may also be the user: all of its processes.
    for (call, whole_user) in
        [(libc::SYS_setpriority, PRIO_USER), (libc::SYS_ioprio_set, IOPRIO_WHO_USER)]
    {
        filter.refuse_if(call, &[Test::Equals(0, whole_user)], libc::EPERM);
    }
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
fn sockets(filter: &mut Filter, plan: &Plan, layers: Layers) {
    let [unix, inet, inet6, netlink, route, raw] = [
        libc::AF_UNIX,
        libc::AF_INET,
        libc::AF_INET6,
        libc::AF_NETLINK,
        libc::NETLINK_ROUTE,
        libc::SOCK_RAW,
    ]
    .map(i32::unsigned_abs);
    let mut others = vec![inet, inet6, netlink];
    if may_have_unix_sockets(plan, layers) {
        others.push(unix);
    } else {
        // One end of a pair of datagram sockets can be connected to another place. The kernel takes a raw one for such.
        for kind in [libc::SOCK_DGRAM, libc::SOCK_RAW].map(i32::unsigned_abs) {
            let pair = [Test::Masked(1, 0xf, kind)];
            filter.refuse_if(libc::SYS_socketpair, &pair, libc::EPERM);
        }
    }
    let others: Vec<Test> = others.into_iter().map(|family| Test::Differs(0, family)).collect();
    filter.refuse_if(libc::SYS_socket, &others, libc::EPERM);
    // Of netlink only routes: programs list their interfaces.
    let no_route = [Test::Equals(0, netlink), Test::Differs(2, route)];
    filter.refuse_if(libc::SYS_socket, &no_route, libc::EPERM);
    for family in [inet, inet6] {
        let is_raw = [Test::Equals(0, family), Test::Masked(1, 0xf, raw)];
        filter.refuse_if(libc::SYS_socket, &is_raw, libc::EPERM);
        if !layers.namespaces && plan.network != Network::Direct {
            // The words that everyone knows: "Network is unreachable".
            filter.refuse_if(libc::SYS_socket, &[Test::Equals(0, family)], libc::ENETUNREACH);
        }
    }
    filter.refuse_if(libc::SYS_socketpair, &[Test::Differs(0, unix)], libc::EPERM);
}
