//! One life of a worker's process: what is written to it, read from it and waited for.

use std::{process::ExitStatus, sync::Arc, time::Duration};

use pintle::{Failure, FailureKind};
use pintle_sandbox::{HostLog, Process};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::unix::pipe::Receiver,
    select,
    sync::{Notify, mpsc},
    time::{Instant, sleep_until, timeout},
};

use super::{Request, backoff::Backoff, state::State};
use crate::{
    spawn::{Pipes, spawn},
    spec::CommandSpec,
};

/// How long what a dead worker has said may take to arrive.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// Why a life ended.
pub(super) enum Ended {
    /// It is not needed any more.
    Stopped,
    /// It died, or had to be ended. A request of which it has not got a single byte goes to the next process.
    Died { failure: Failure, untold: Option<Request> },
}

pub(super) struct WorkerProcess {
    process: Process,
    pipes: Pipes,
    state: State,
    /// Of all lives of the worker.
    hosts: HostLog,
}

impl WorkerProcess {
    pub(super) fn start(spec: &CommandSpec, hosts: HostLog) -> Result<Self, Failure> {
        let (mut process, pipes) = spawn(spec, [])?;
        process.serves_calls();
        Ok(Self { process, pipes, state: State::default(), hosts })
    }

    pub(super) fn accept(&mut self, request: Request) {
        self.state.accept(request);
    }

    /// Serves until the process ends or is not needed any more. Requests not handed to it stay in the queue.
    pub(super) async fn serve(
        mut self,
        requests: &mut mpsc::Receiver<Request>,
        stop: &Arc<Notify>,
        backoff: &mut Backoff,
    ) -> Ended {
        let lived = self.live(requests, stop, backoff).await;
        log_hosts(&self.process, &self.hosts);
        let failure = match lived {
            Ok(()) => {
                let gone = Failure::new(FailureKind::Gone, "the worker was shut down");
                self.state.fail_all(&gone);
                self.process.end().await;
                return Ended::Stopped;
            }
            Err(mut failure) => {
                failure.message.push_str(&self.state.epitaph());
                failure
            }
        };
        let untold = self.state.take_untold();
        self.state.fail_all(&failure);
        Ended::Died { failure, untold }
    }

    async fn live(
        &mut self,
        requests: &mut mpsc::Receiver<Request>,
        stop: &Arc<Notify>,
        backoff: &mut Backoff,
    ) -> Result<(), Failure> {
        let (mut out, mut err) = (vec![0; 16 * 1024], vec![0; 4 * 1024]);
        let mut stderr_open = true;
        let Self { process, pipes: Pipes { stdin, stdout, stderr }, state, hosts } = self;
        let gone = |message: String| Failure::new(FailureKind::Gone, message);
        loop {
            let next_look = state.next_look();
            select! {
                // What the process writes comes last: however much it is, it holds up nothing else. And before the
                // next request is taken all of it is read, so that nothing old is taken for an answer to it.
                biased;
                () = stop.notified() => return Ok(()),
                () = sleep_until(next_look.unwrap_or_else(Instant::now)), if next_look.is_some() => {
                    state.look()?;
                },
                status = process.wait() => {
                    log_hosts(process, hosts);
                    // A grandchild may hold the pipes: what is in them is read, their end is not waited for.
                    let _ = timeout(LAST_WORDS, async {
                        while let Ok(count @ 1..) = stdout.read(&mut out).await {
                            if state.hear(out.get(..count).unwrap_or_default()).is_err() {
                                break;
                            }
                        }
                    }).await;
                    if state.take_answered() {
                        backoff.answered();
                    }
                    hear_last_words(state, stderr).await;
                    return Err(gone(status.map_or_else(|error| error.to_string(), how_it_ended)));
                },
                written = stdin.write(state.unsent()), if !state.unsent().is_empty() => match written {
                    Ok(count) => state.sent(count),
                    Err(error) => {
                        let status = timeout(LAST_WORDS, process.wait()).await;
                        hear_last_words(state, stderr).await;
                        return Err(gone(match status {
                            Ok(Ok(status)) => how_it_ended(status),
                            _ => format!("the worker does not read its stdin: {error}"),
                        }));
                    }
                },
                read = stdout.read(&mut out) => match read {
                    Ok(count @ 1..) => {
                        // The caller may read the answer at once.
                        log_hosts(process, hosts);
                        state.hear(out.get(..count).unwrap_or_default())?;
                        if state.take_answered() {
                            backoff.answered();
                        }
                    }
                    _ => {
                        let status = timeout(LAST_WORDS, process.wait()).await;
                        hear_last_words(state, stderr).await;
                        return Err(gone(match status {
                            Ok(Ok(status)) => how_it_ended(status),
                            _ => "the worker closed its stdout".into(),
                        }));
                    }
                },
                read = stderr.read(&mut err), if stderr_open => match read {
                    Ok(count @ 1..) => state.hear_aside(err.get(..count).unwrap_or_default())?,
                    _ => stderr_open = false,
                },
                request = requests.recv(), if state.has_room() => match request {
                    None => return Ok(()),
                    Some(request) => state.accept(request),
                },
            }
        }
    }
}

/// Keeps the hosts that the process asked for until now.
fn log_hosts(process: &Process, hosts: &HostLog) {
    process.take_hosts().into_iter().for_each(|host| hosts.add(host));
}

/// What a process that is gone still has to say on stderr, as far as it is at hand.
async fn hear_last_words(state: &mut State, stderr: &mut Receiver) {
    let mut chunk = vec![0; 4 * 1024];
    let words = async {
        while let Ok(count @ 1..) = stderr.read(&mut chunk).await {
            if state.hear_aside(chunk.get(..count).unwrap_or_default()).is_err() {
                break;
            }
        }
    };
    let _ = timeout(LAST_WORDS, words).await;
}

fn how_it_ended(status: ExitStatus) -> String {
    format!("the worker died ({status})")
}
