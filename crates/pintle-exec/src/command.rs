//! Command hooks: one process per event (R8.1 to R8.6).

use std::{
    os::unix::process::ExitStatusExt, pin::pin, process::ExitStatus, sync::Arc, time::Duration,
};

use futures_util::future::BoxFuture;
use pintle::{DynEvent, DynHandler, Failure, FailureKind, ModelKind};
use pintle_sandbox::{Process, TERM_GRACE};
use serde_json::Value;
use tokio::{
    io::{AsyncWrite, AsyncWriteExt},
    select,
    time::timeout,
};

use crate::{
    answer::{parse_answer, with_cut_mark},
    capture::{Capture, FLOOD_LIMIT, Flood},
    context::Context,
    spawn::{Pipes, spawn},
    spec::CommandSpec,
};

/// How long a grandchild may keep the pipes open after the command has exited.
const PIPE_GRACE: Duration = Duration::from_millis(200);

/// How much longer stdout is listened to when it could still tighten an exit 0. Then the exit code stands (R8.1, R8.4).
const VERDICT_GRACE: Duration = Duration::from_millis(800);

/// A handler that runs a command for each event.
///
/// The context arrives as one JSON object on stdin, with the point's name as `event`. Exit 0 allows; any other
/// exit is a failure, with stderr as its message, and at a gate it blocks with stderr as the reason. Stdout can
/// tighten an exit 0 ([`parse_answer`]); it can never loosen another one.
///
/// How it can fail: `Spawn` (not there, not executable, no folder, no file descriptors), `Exit`, `Signal`,
/// `BadOutput`, `TooMuchOutput` (more than [`FLOOD_LIMIT`] on either stream), `TimedOut`. However it ends, and
/// when its future is dropped too, [no process of it lives on](pintle_sandbox::Process): its group gets TERM, then KILL
/// after [`TERM_GRACE`], and what has left the group (a daemon) is searched for and killed.
///
/// ```
/// use pintle::{Hooks, ModelKind};
/// use pintle_exec::{CommandHook, CommandSpec, Unconfined};
///
/// let hooks = Hooks::new();
/// let confinement = Unconfined::by("this example");
/// let spec = CommandSpec::argv("/srv/profile", ["./hooks/no-prod.sh"], confinement);
/// let hook = CommandHook::new(spec);
/// hooks.named("no-prod").deadline(hook.deadline()).register_dyn("tool.pre", ModelKind::Gate, hook)?;
/// # Ok::<(), pintle::RegisterError>(())
/// ```
#[derive(Debug, Clone)]
pub struct CommandHook {
    spec: Arc<CommandSpec>,
}

impl CommandHook {
    /// A hook that runs this. Nothing is started or checked yet.
    pub fn new(spec: CommandSpec) -> Self {
        Self { spec: Arc::new(spec) }
    }

    /// The deadline to register it with: a little more than its timeout, so that the hook itself notices first
    /// and can say what was the matter.
    pub fn deadline(&self) -> Duration {
        self.spec.timeout.saturating_add(TERM_GRACE).saturating_add(Duration::from_secs(1))
    }
}

impl DynHandler for CommandHook {
    fn call(&self, event: DynEvent) -> BoxFuture<'static, Result<Value, Failure>> {
        let spec = self.spec.clone();
        Box::pin(async move { run(&spec, &event).await })
    }
}

async fn run(spec: &CommandSpec, event: &DynEvent) -> Result<Value, Failure> {
    let context = serde_json::to_vec(&Context { event, scrub: spec.scrub.as_ref() })?;
    let session = event.envelope.session_id.as_deref().unwrap_or_default();
    let (mut process, pipes) =
        spawn(spec, [("PINTLE_EVENT", event.point), ("PINTLE_SESSION_ID", session)])?;
    let output = timeout(spec.timeout, converse(&mut process, pipes, &context, event.model)).await;
    let mut report = process.report();
    let mut stderr = String::new();
    let answer = match output {
        Ok(Ok(output)) => {
            report = process.exited().await;
            stderr = String::from_utf8_lossy(&output.stderr.kept).into_owned();
            output.answer(event.model)
        }
        Ok(Err(failure)) => Err(failure),
        Err(_) => Err(Failure::new(
            FailureKind::TimedOut,
            format!("no answer within {:?}; its process group was ended", spec.timeout),
        )),
    };
    // R17.7: a failure names the hosts that were refused.
    let unnamed = report.hosts.iter().filter(|host| host.allowed || answer.is_ok());
    unnamed.for_each(|host| event.note(host.to_string()));
    report.changed.iter().for_each(|change| event.note(change.to_string()));
    answer.map_err(|failure| spec.with_refusals(failure, &stderr, &report))
}

/// What a command that has exited leaves to judge.
struct CommandOutput {
    status: ExitStatus,
    stdout: Capture,
    stderr: Capture,
}

impl CommandOutput {
    /// The exit code first: no stdout can loosen it.
    fn answer(self, model: ModelKind) -> Result<Value, Failure> {
        let kind = match (self.status.code(), self.status.signal()) {
            (Some(0), _) => return self.tightened(model),
            (Some(code), _) => FailureKind::Exit(code),
            (None, Some(signal)) => FailureKind::Signal(signal),
            (None, None) => FailureKind::Gone,
        };
        let stderr = String::from_utf8_lossy(&self.stderr.kept);
        Err(Failure::new(kind, with_cut_mark(stderr.trim(), self.stderr.truncated())))
    }
}

impl CommandOutput {
    /// What stdout makes of an exit 0.
    fn tightened(self, model: ModelKind) -> Result<Value, Failure> {
        if model == ModelKind::Gate && self.stdout.lost_verdict {
            return Err(Failure::bad_output(
                "there is a verdict on stdout after more text than is read: write the verdict alone",
            ));
        }
        parse_answer(&self.stdout.kept, self.stdout.truncated(), model)
    }

    /// Whether stdout is still open, has said nothing yet, and would be listened to: a verdict may be on its way through
    /// another process (`exec > >(tee log)`).
    fn may_still_decide(&self, model: ModelKind) -> bool {
        let silent = self.stdout.kept.trim_ascii().is_empty();
        self.status.success() && model != ModelKind::Void && silent && !self.stdout.ended
    }
}

/// Tells, listens and waits, all at once: a process may fill one pipe before it reads another.
async fn converse(
    process: &mut Process,
    Pipes { stdin, stdout: mut out, stderr: err }: Pipes,
    context: &[u8],
    model: ModelKind,
) -> Result<CommandOutput, Failure> {
    let (mut stdout, mut stderr) = (Capture::default(), Capture::default());
    let status = {
        let mut streams = pin!(async {
            tokio::try_join!(
                async {
                    tell(stdin, context).await;
                    Ok(())
                },
                async { stdout.drain(&mut out).await.map_err(|flood| too_much(flood, "stdout")) },
                async { stderr.drain(err).await.map_err(|flood| too_much(flood, "stderr")) },
            )
        });
        let waited = select! {
            // A flood is known before the process ends; the end of all streams is not the end of the process.
            ended = &mut streams => {
                ended?;
                process.wait().await
            }
            status = process.wait() => {
                if let Ok(ended) = timeout(PIPE_GRACE, streams).await {
                    ended?;
                }
                status
            }
        };
        waited.map_err(|error| {
            Failure::new(FailureKind::Gone, format!("cannot wait for it: {error}"))
        })?
    };
    let mut output = CommandOutput { status, stdout, stderr };
    if output.may_still_decide(model)
        && let Ok(ended) = timeout(VERDICT_GRACE, output.stdout.drain(out)).await
    {
        ended.map_err(|flood| too_much(flood, "stdout"))?;
    }
    Ok(output)
}

/// Writes the context. A process that does not read all of it has not failed (`EPIPE`): its exit code decides.
async fn tell(mut stdin: impl AsyncWrite + Unpin, context: &[u8]) {
    let _ = stdin.write_all(context).await;
    let _ = stdin.shutdown().await;
}

fn too_much(Flood: Flood, stream: &str) -> Failure {
    let limit = FLOOD_LIMIT / 1024 / 1024;
    Failure::new(FailureKind::TooMuchOutput, format!("more than {limit} MiB on {stream}"))
}
