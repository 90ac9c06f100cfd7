//! Starting a process that the kernel holds, and what its launcher says of it.

use std::{
    fs::File,
    io,
    net::TcpListener,
    os::{fd::OwnedFd, unix::process::ExitStatusExt},
    process::ExitStatus,
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use rustix::process::Pid;
use tokio::{io::Interest, net::UnixDatagram, task::AbortHandle};

use super::{
    Command,
    orphan_search::Search,
    process_tag::{self, ProcessTag},
    spawn::Child,
    watchdog,
};
use crate::{
    Held,
    control::Message,
    held::Launch,
    policy::{Hosts, Network},
    proxy::{self, HostLog},
};

/// The launcher of a confined process. Dropping it ends its proxy.
pub(super) struct Confined {
    control: OwnedFd,
    /// Why nothing was run, or the signal that ended the program.
    last: Arc<Mutex<Option<Message>>>,
    hosts: HostLog,
    proxy: Option<AbortHandle>,
    /// Locked while the process may write to its copies of the caches.
    _slot: Option<File>,
}

/// Starts it. Without a pid namespace, what it leaves behind is searched for. `before` is called before the program starts.
pub(super) fn start(
    held: &Held,
    command: &Command,
    streams: [OwnedFd; 3],
    before: impl FnOnce(),
) -> io::Result<(Child, Option<Search>, Confined)> {
    let tag = ProcessTag::new();
    let needs_search = !held.tier().has_namespaces();
    if needs_search {
        watchdog::stand_by();
    }
    let mut env = command.env.clone();
    env.push((process_tag::VARIABLE.into(), tag.to_string().into()));
    let since = Instant::now();
    let launched = held.launch(Launch {
        program: &command.program,
        args: command.args.clone(),
        env,
        folder: command.folder.path(),
        streams,
        before_order: |pid| {
            tag.put_on(pid);
            before();
        },
    })?;
    let pid = Pid::from_child(&launched.child);
    let child = Child::of(pid)?;
    let mut confined = Confined {
        control: launched.control,
        last: Arc::default(),
        hosts: HostLog::default(),
        proxy: None,
        _slot: launched.slot,
    };
    if let Network::Proxy(hosts) = &held.policy().network {
        confined.serve_proxy(hosts.clone())?;
    }
    Ok((child, needs_search.then_some(Search { tag, since }), confined))
}

impl Confined {
    /// Serves the proxy as soon as the launcher hands over its listener.
    fn serve_proxy(&mut self, hosts: Hosts) -> io::Result<()> {
        // Only for its readiness: whatever kind of socket it is, tokio waits for it in the same way.
        let control = UnixDatagram::from_std(self.control.try_clone()?.into())?;
        let (last, log) = (self.last.clone(), self.hosts.clone());
        let task = tokio::spawn(async move {
            loop {
                if control.readable().await.is_err() {
                    return;
                }
                match control.try_io(Interest::READABLE, || Message::receive(&control)) {
                    Ok(Some((Message::Listener, fds))) => {
                        if let Some(listener) = fds.into_iter().next().map(TcpListener::from) {
                            let _ = proxy::serve(listener, hosts, log).await;
                        }
                        return;
                    }
                    Ok(Some((message, _))) => {
                        *last.lock().unwrap_or_else(PoisonError::into_inner) = Some(message);
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    Ok(None) | Err(_) => return,
                }
            }
        });
        self.proxy = Some(task.abort_handle());
        Ok(())
    }

    /// How the program ended, where the launcher's own exit code does not say it.
    pub(super) fn status(&self, launcher: ExitStatus) -> ExitStatus {
        while let Ok(Some((message, _))) = Message::receive(&self.control) {
            *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(message);
        }
        match &*self.last.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(Message::Signal(signal)) => ExitStatus::from_raw(*signal),
            _ => launcher,
        }
    }

    /// Why nothing was run, if so.
    pub(super) fn refusal(&self) -> Option<String> {
        match &*self.last.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(Message::Failed(why)) => Some(why.clone()),
            _ => None,
        }
    }

    pub(super) fn hosts(&self) -> &HostLog {
        &self.hosts
    }
}

impl Drop for Confined {
    fn drop(&mut self) {
        if let Some(proxy) = &self.proxy {
            proxy.abort();
        }
    }
}
