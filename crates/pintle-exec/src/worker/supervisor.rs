//! Keeps a worker's process: starts it when asked, hands it requests, starts it anew when it died.

use std::sync::Arc;

use pintle::{Failure, FailureKind};
use pintle_sandbox::HostLog;
use tokio::{
    select,
    sync::{Notify, mpsc},
};

use super::{
    Request, WorkerSpec,
    backoff::Backoff,
    process::{Ended, WorkerProcess},
};

/// Runs until the last sender of requests is gone, or `stop` is notified.
pub(super) async fn supervise(
    spec: Arc<WorkerSpec>,
    hosts: HostLog,
    mut requests: mpsc::Receiver<Request>,
    stop: Arc<Notify>,
) {
    let mut backoff = Backoff::new(spec.first_backoff, spec.longest_backoff);
    let mut last_death = String::new();
    let mut next = None;
    loop {
        let request = match next.take() {
            Some(request) => request,
            None => select! {
                () = stop.notified() => return,
                request = requests.recv() => match request {
                    None => return,
                    Some(request) => request,
                },
            },
        };
        if request.answer.is_closed() {
            continue;
        }
        if let Some(wait) = backoff.remaining() {
            let message = format!(
                "the worker keeps dying and is not started for another {wait:?}; last: {last_death}"
            );
            request.fail(Failure::new(FailureKind::Gone, message));
            continue;
        }
        let mut process = match WorkerProcess::start(&spec.process, hosts.clone()) {
            Ok(process) => process,
            Err(failure) => {
                backoff.died();
                last_death = failure.to_string();
                request.fail(failure);
                continue;
            }
        };
        process.accept(request);
        match process.serve(&mut requests, &stop, &mut backoff).await {
            Ended::Stopped => return,
            Ended::Died { failure, untold } => {
                backoff.died();
                last_death = failure.message;
                next = untold;
            }
        }
    }
}
