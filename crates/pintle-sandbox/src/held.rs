//! The proof that a policy is held, and the start of a process under it.

use std::{
    ffi::OsString,
    fs::{self, File},
    io,
    os::{
        fd::OwnedFd,
        unix::{fs::PermissionsExt, process::CommandExt},
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open},
};

use crate::{
    Launcher, Policy, Sandbox, Tier,
    control::{self, Layers, Message, Order},
    host_sockets,
    launch::{LANDLOCK_SOCKETS, OUTER, landlock_abi},
    plan::{Plan, PlanError},
    policy::Network,
    proxy,
};

/// The most processes that have copies of the caches of their own at once.
const MOST_SLOTS: usize = 64;

/// A policy that this machine holds. [`Sandbox::hold`] alone makes one, and without one no process is started inside.
#[derive(Debug, Clone)]
pub struct Held {
    sandbox: Sandbox,
    policy: Arc<Policy>,
}

/// What a process needs besides its policy.
pub(crate) struct Launch<'a, F> {
    pub(crate) program: &'a Path,
    pub(crate) args: Vec<OsString>,
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) folder: &'a Path,
    pub(crate) streams: [OwnedFd; 3],
    /// Called with the launcher's process before it gets its order.
    pub(crate) before_order: F,
}

/// A started launcher.
pub(crate) struct Launched {
    pub(crate) child: Child,
    pub(crate) control: OwnedFd,
    /// Held while the process may write to the caches.
    pub(crate) slot: Option<File>,
}

impl Held {
    pub(crate) fn new(sandbox: Sandbox, policy: Policy) -> Self {
        Self { sandbox, policy: Arc::new(policy) }
    }

    /// How well it is held.
    #[must_use]
    pub fn tier(&self) -> Tier {
        self.sandbox.tier()
    }

    /// The rights of the process.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The machine that holds it.
    #[must_use]
    pub fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// Starts the launcher, which restricts itself and then starts the program.
    pub(crate) fn launch<F: FnOnce(Pid)>(&self, launch: Launch<'_, F>) -> io::Result<Launched> {
        let slot = match &self.policy.cache_store {
            Some(store) if self.sandbox.copies_on_write(&self.policy) => Some(take_slot(store)?),
            _ => None,
        };
        let (slot, slot_folder) = slot.unzip();
        let Launch { program, args, env, folder, streams, before_order } = launch;
        let order = |launcher: Pid| {
            before_order(launcher);
            let plan = self.plan(folder, slot_folder.as_deref()).map_err(io::Error::other)?;
            let env = self.environment(env).into_iter().map(joined).collect();
            let (layers, program) = (Layers::of(self.tier()), Some(program.to_owned()));
            Ok(Order { plan, layers, program, args, env })
        };
        let (child, control) = start(self.sandbox.launcher()?, &streams, slot.as_ref(), order)?;
        Ok(Launched { child, control, slot })
    }

    fn plan(&self, folder: &Path, slot: Option<&Path>) -> Result<Plan, PlanError> {
        let plan = Plan::new(&self.policy, folder, slot)?;
        // Otherwise it gets no sockets, or Landlock tells them apart.
        let may_reach_sockets =
            self.tier().has_namespaces() && self.policy.network != Network::None;
        if !may_reach_sockets || self.tier().has_landlock() && landlock_abi() >= LANDLOCK_SOCKETS {
            return Ok(plan);
        }
        let sockets = host_sockets::in_view(&plan);
        if sockets.is_empty() {
            return Ok(plan);
        }
        let mut policy = Policy::clone(&self.policy);
        policy.hide.extend(sockets);
        Plan::new(&policy, folder, slot)
    }

    /// What the sandbox adds to the environment: where temporary files go, and the way to the proxy.
    fn environment(&self, mut env: Vec<(OsString, OsString)>) -> Vec<(OsString, OsString)> {
        let mut set = |name: &str, value: OsString| {
            env.retain(|(known, _)| known != name);
            env.push((name.into(), value));
        };
        set("PINTLE_SANDBOX", self.tier().name().into());
        match (&self.policy.tmp, self.tier().has_namespaces()) {
            (Some(tmp), false) => set("TMPDIR", tmp.into()),
            _ => set("TMPDIR", "/tmp".into()),
        }
        if let Network::Proxy(_) = self.policy.network {
            for name in proxy::VARIABLES {
                set(name, format!("http://127.0.0.1:{}", proxy::PORT).into());
            }
            for name in ["no_proxy", "NO_PROXY"] {
                set(name, "localhost,127.0.0.1,::1".into());
            }
            set("NODE_USE_ENV_PROXY", "1".into());
        }
        env
    }
}

fn joined((mut name, value): (OsString, OsString)) -> OsString {
    name.push("=");
    name.push(value);
    name
}

fn start(
    launcher: &Launcher,
    streams: &[OwnedFd; 3],
    slot: Option<&File>,
    order: impl FnOnce(Pid) -> io::Result<Order>,
) -> io::Result<(Child, OwnedFd)> {
    let (ours, theirs) = control::pair()?;
    rustix::io::ioctl_fionbio(&ours, true)?;
    let mut child = Command::new(&launcher.program)
        .arg0(OUTER)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::from(theirs))
        // The lock lives as long as the launcher, which may outlive the host's interest in it.
        .stdout(slot.map_or(Ok(Stdio::null()), |slot| slot.try_clone().map(Stdio::from))?)
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()?;
    // While the launcher starts, the host looks at the disk. Nothing of the program runs before the order is there.
    let order = order(Pid::from_child(&child));
    if let Err(error) = order.and_then(|order| order.send(&ours, streams)) {
        child.kill()?;
        child.wait()?;
        return Err(error);
    }
    Ok((child, ours))
}

/// The first folder of the store that no other process uses: two overlays must not share one.
fn take_slot(store: &Path) -> io::Result<(File, PathBuf)> {
    fs::create_dir_all(store)?;
    fs::set_permissions(store, fs::Permissions::from_mode(0o700))?;
    for number in 0..MOST_SLOTS {
        let lock = File::create(store.join(format!("{number}.lock")))?;
        if lock.try_lock().is_ok() {
            return Ok((lock, store.join(number.to_string())));
        }
    }
    Err(io::Error::other(format!(
        "all {MOST_SLOTS} copies of the caches in {} are in use",
        store.display()
    )))
}

/// Tries a tier with everything that holds a process, and runs nothing.
pub(crate) struct Trial<'a> {
    launcher: &'a Launcher,
    until: Instant,
}

impl<'a> Trial<'a> {
    pub(crate) fn new(launcher: &'a Launcher, deadline: Duration) -> Self {
        Self { launcher, until: Instant::now() + deadline }
    }

    /// Why this tier does not hold here, if it does not.
    pub(crate) fn run(&self, tier: Tier) -> Result<(), String> {
        let policy = Policy {
            read: vec!["/usr".into(), "/etc".into()],
            network: Network::Loopback,
            ..Policy::default()
        };
        let tried = Plan::new(&policy, Path::new("/"), None)
            .map_err(io::Error::other)
            .and_then(|plan| self.set_up(tier, plan));
        let mut launcher = tried.map_err(|error| error.to_string())??;
        // It has answered; the kernel takes a while to remove its namespaces.
        let _ = thread::Builder::new().spawn(move || launcher.wait());
        Ok(())
    }

    /// Why these caches cannot be copied on write, if they cannot.
    pub(crate) fn copy(&self, tier: Tier, caches: &[PathBuf], store: &Path) -> Result<(), String> {
        let policy = Policy { caches: caches.to_vec(), ..Policy::default() };
        let tried = take_slot(store).and_then(|(_lock, slot)| {
            let plan = Plan::new(&policy, Path::new("/"), Some(&slot)).map_err(io::Error::other)?;
            // The slot is in use until the launcher has exited.
            match self.set_up(tier, plan)? {
                Ok(mut launcher) => launcher.wait().map(|_| Ok(())),
                Err(why) => Ok(Err(why)),
            }
        });
        tried.unwrap_or_else(|error| Err(error.to_string()))
    }

    /// The launcher after it has said that everything holds, or what it says instead.
    fn set_up(&self, tier: Tier, plan: Plan) -> io::Result<Result<Child, String>> {
        let order = Order {
            plan,
            layers: Layers::of(tier),
            program: None,
            args: Vec::new(),
            env: Vec::new(),
        };
        let null = || File::options().read(true).write(true).open("/dev/null").map(OwnedFd::from);
        let (mut child, control) =
            start(self.launcher, &[null()?, null()?, null()?], None, |_| Ok(order))?;
        let mut answer = Ok(None);
        if self.waits_for(&control)? {
            answer = Message::receive(&control);
            // Another program may well exit with 0: the launcher says so.
            if let Ok(Some((Message::Ready, _))) = answer {
                return Ok(Ok(child));
            }
        }
        let process = pidfd_open(Pid::from_child(&child), PidfdFlags::empty())?;
        if !self.waits_for(&process)? {
            kill_process_group(Pid::from_child(&child), Signal::KILL)?;
            child.wait()?;
            return Ok(Err("the launcher took too long".into()));
        }
        let status = child.wait()?;
        Ok(Err(match answer {
            Ok(Some((Message::Failed(why), _))) => why,
            _ => format!(
                "the launcher did not answer ({status}): does `main` call `pintle_sandbox::init()` first?"
            ),
        }))
    }

    /// Whether it can be read before the time is up.
    fn waits_for(&self, file: &OwnedFd) -> io::Result<bool> {
        let left = self.until.saturating_duration_since(Instant::now());
        let left =
            Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() };
        Ok(poll(&mut [PollFd::new(file, PollFlags::IN)], Some(&left))? > 0)
    }
}
