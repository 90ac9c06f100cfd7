//! One life of a worker's process: what is under way, and what its lines mean.

use std::{
    collections::{BTreeMap, VecDeque},
    process::ExitStatus,
    sync::Arc,
    time::Duration,
};

use pintle::{Failure, FailureKind};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    process::{ChildStderr, ChildStdin},
    select,
    sync::{Notify, mpsc},
    time::{Instant, sleep_until, timeout},
};

use super::{
    Request,
    backoff::Backoff,
    lines::{Line, Lines, Tail},
};
use crate::{
    capture::FLOOD_LIMIT,
    leash::{Leash, Talk},
    spawn::spawn,
    spec::CommandSpec,
    strict_json,
};

/// How many requests a concurrent worker has at most.
const CONCURRENT: usize = 64;
/// How long after a deadline the answer may still come before the worker counts as silent.
const LATE: Duration = Duration::from_millis(500);
/// How long a worker that talks nonsense is listened to before it gets its next request.
const NONSENSE: Duration = Duration::from_secs(3);
/// How many lines of nonsense in a row are too many.
const NONSENSE_LINES: u32 = 100;
/// How many deadlines in a row a concurrent worker may let pass.
const MISSES: u32 = 3;
/// How many requests that nobody waits for any more are remembered.
const REMEMBERED: usize = 1024;
/// How long what a dead worker has said may take to arrive.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// Why a life ended.
pub(super) enum Ended {
    /// Nobody needs it any more.
    Stopped,
    /// It died, or had to be ended. A request of which it had not been told a single byte is none of its victims.
    Died { failure: Failure, untold: Option<Request> },
}

pub(super) struct Process {
    leash: Leash,
    stdin: ChildStdin,
    state: State,
}

/// What is known about the process, apart from the process.
#[derive(Default)]
struct State {
    lines: Lines,
    stderr: Tail,
    /// What still has to be written to it.
    unsent: Vec<u8>,
    under_way: BTreeMap<u64, Request>,
    /// Requests that were given up: an answer to one of them is late, not wrong.
    given_up: VecDeque<u64>,
    concurrent: bool,
    missed: u32,
    /// Bytes, and lines of nonsense, on stdout since the last answer that made sense.
    noise: usize,
    nonsense_lines: u32,
    answered: bool,
    /// It talked nonsense: the next request is kept from it until it has been quiet for a while.
    nonsense: Option<Nonsense>,
}

struct Nonsense {
    quiet_at: Instant,
    over_at: Instant,
}

impl Nonsense {
    fn heard(&mut self) {
        self.quiet_at = (Instant::now() + LATE).min(self.over_at);
    }
}

impl Process {
    pub(super) fn start(spec: &CommandSpec) -> Result<Self, Failure> {
        let (leash, stdin) = spawn(spec, [])?;
        Ok(Self { leash, stdin, state: State::default() })
    }

    pub(super) fn accept(&mut self, request: Request) {
        self.state.accept(request);
    }

    /// Serves until the process ends or nobody needs it. Requests not handed to it stay in the queue.
    pub(super) async fn serve(
        mut self,
        requests: &mut mpsc::Receiver<Request>,
        stop: &Arc<Notify>,
        backoff: &mut Backoff,
    ) -> Ended {
        let failure = match self.live(requests, stop, backoff).await {
            Ok(()) => {
                let gone = Failure::new(FailureKind::Gone, "the worker was shut down");
                self.state.fail_all(&gone);
                self.leash.end().await;
                return Ended::Stopped;
            }
            Err(mut failure) => {
                let words = self.state.stderr.words();
                if !words.is_empty() {
                    failure.message = format!("{}; it said: {words}", failure.message);
                }
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
        let Self { leash, stdin, state } = self;
        let gone = |message: String| Failure::new(FailureKind::Gone, message);
        let Talk { child, stdout, stderr } =
            leash.talk().ok_or_else(|| gone("the worker was let go".into()))?;
        loop {
            let next_look = state.next_look();
            select! {
                biased;
                () = stop.notified() => return Ok(()),
                read = stdout.read(&mut out) => match read {
                    Ok(count @ 1..) => {
                        state.hear(out.get(..count).unwrap_or_default())?;
                        if std::mem::take(&mut state.answered) {
                            backoff.answered();
                        }
                    }
                    _ => {
                        let status = timeout(LAST_WORDS, child.wait()).await;
                        state.hear_stderr(stderr).await;
                        return Err(gone(match status {
                            Ok(Ok(status)) => how_it_ended(status),
                            _ => "the worker closed its stdout".into(),
                        }));
                    }
                },
                read = stderr.read(&mut err), if stderr_open => match read {
                    Ok(count @ 1..) => state.stderr.push(err.get(..count).unwrap_or_default()),
                    _ => stderr_open = false,
                },
                status = child.wait() => {
                    // A grandchild may hold the pipes: what is in them is read, their end is not waited for.
                    let _ = timeout(LAST_WORDS, async {
                        while let Ok(count @ 1..) = stdout.read(&mut out).await {
                            if state.hear(out.get(..count).unwrap_or_default()).is_err() {
                                break;
                            }
                        }
                    }).await;
                    state.hear_stderr(stderr).await;
                    return Err(gone(status.map_or_else(|error| error.to_string(), how_it_ended)));
                },
                written = stdin.write(&state.unsent), if !state.unsent.is_empty() => match written {
                    Ok(count) => drop(state.unsent.drain(..count)),
                    Err(error) => {
                        let status = timeout(LAST_WORDS, child.wait()).await;
                        state.hear_stderr(stderr).await;
                        return Err(gone(match status {
                            Ok(Ok(status)) => how_it_ended(status),
                            _ => format!("the worker does not read its stdin: {error}"),
                        }));
                    }
                },
                () = sleep_until(next_look.unwrap_or_else(Instant::now)), if next_look.is_some() => {
                    state.look()?;
                },
                request = requests.recv(), if state.has_room() => match request {
                    None => return Ok(()),
                    Some(request) => state.accept(request),
                },
            }
        }
    }
}

fn how_it_ended(status: ExitStatus) -> String {
    format!("the worker died ({status})")
}

impl State {
    fn has_room(&self) -> bool {
        let most = if self.concurrent { CONCURRENT } else { 1 };
        self.unsent.is_empty() && self.nonsense.is_none() && self.under_way.len() < most
    }

    fn accept(&mut self, request: Request) {
        if !request.answer.is_closed() {
            self.unsent.extend_from_slice(&request.line);
            self.under_way.insert(request.id, request);
        }
    }

    fn take_untold(&mut self) -> Option<Request> {
        let (id, newest) = self.under_way.last_key_value()?;
        let untold = newest.line.len() == self.unsent.len();
        let id = *id;
        untold.then(|| self.under_way.remove(&id)).flatten()
    }

    async fn hear_stderr(&mut self, stderr: &mut ChildStderr) {
        let mut chunk = vec![0; 4 * 1024];
        let words = async {
            let mut left = 64;
            while let Ok(count @ 1..) = stderr.read(&mut chunk).await
                && left > 0
            {
                left -= 1;
                self.stderr.push(chunk.get(..count).unwrap_or_default());
            }
        };
        let _ = timeout(LAST_WORDS, words).await;
    }

    /// # Errors
    /// When the process floods and has to be ended.
    fn hear(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.noise += bytes.len();
        for line in self.lines.push(bytes) {
            match line {
                Line::Whole(line) => self.understand(&line),
                Line::TooLong => self.blame_for_nonsense(Failure::new(
                    FailureKind::TooMuchOutput,
                    "the worker wrote a line that is too long",
                )),
            }
            if self.nonsense_lines > NONSENSE_LINES {
                return Err(Failure::bad_output("the worker talks nothing but nonsense"));
            }
        }
        if let Some(nonsense) = &mut self.nonsense {
            nonsense.heard();
        }
        if self.noise > FLOOD_LIMIT {
            let message = "the worker wrote on and on without answering";
            return Err(Failure::new(FailureKind::TooMuchOutput, message));
        }
        Ok(())
    }

    fn understand(&mut self, line: &[u8]) {
        if line.trim_ascii().is_empty() {
            return;
        }
        let parsed = std::str::from_utf8(line)
            .map_err(|error| error.to_string())
            .and_then(|text| strict_json::from_str(text).map_err(|error| error.to_string()));
        let Value::Object(mut message) = (match parsed {
            Ok(message) => message,
            Err(error) => {
                let shown: String = String::from_utf8_lossy(line).chars().take(80).collect();
                return self.blame_for_nonsense(Failure::bad_output(format!(
                    "the worker wrote a line that is no JSON ({error}): {shown}"
                )));
            }
        }) else {
            return self
                .blame(Failure::bad_output("the worker wrote a line that is no JSON object"));
        };
        if let (Some(Value::Bool(true)), None) = (message.get("ready"), message.get("id")) {
            (self.noise, self.nonsense_lines) = (0, 0);
            self.concurrent = message.get("concurrent") == Some(&Value::Bool(true));
            return;
        }
        let id = message.remove("id").unwrap_or_default();
        if let Some(request) = id.as_u64().and_then(|id| self.under_way.remove(&id)) {
            (self.noise, self.nonsense_lines, self.missed, self.answered) = (0, 0, 0, true);
            let _ = request.answer.send(answer_in(message));
        } else if let Some(late) = self.given_up.iter().position(|given_up| id == *given_up) {
            self.given_up.remove(late);
            (self.missed, self.answered, self.nonsense) = (0, true, None);
        } else {
            self.blame(Failure::bad_output(format!(
                "the worker answered id {id}, which nobody asked"
            )));
        }
    }

    /// A failure that names no request harms the one that is under way, if there is exactly one.
    fn blame(&mut self, failure: Failure) {
        if self.under_way.len() == 1
            && let Some((id, request)) = self.under_way.pop_first()
        {
            self.remember(id);
            request.fail(failure);
        }
    }

    /// As [`blame`](Self::blame); and more may follow, which must not be taken for an answer to the next request.
    fn blame_for_nonsense(&mut self, failure: Failure) {
        self.nonsense_lines += 1;
        let before = self.under_way.len();
        self.blame(failure);
        if self.under_way.len() < before {
            let now = Instant::now();
            self.nonsense = Some(Nonsense { quiet_at: now + LATE, over_at: now + NONSENSE });
        }
    }

    fn remember(&mut self, id: u64) {
        self.given_up.push_back(id);
        if self.given_up.len() > REMEMBERED {
            self.given_up.pop_front();
        }
    }

    /// When it has to be looked at even if nothing happens.
    fn next_look(&self) -> Option<Instant> {
        let overdue = self.under_way.values().map(|request| request.deadline + LATE);
        overdue.chain(self.nonsense.as_ref().map(|nonsense| nonsense.quiet_at)).min()
    }

    /// # Errors
    /// When the process has been silent for so long that it has to be ended.
    fn look(&mut self) -> Result<(), Failure> {
        let now = Instant::now();
        self.nonsense.take_if(|nonsense| nonsense.quiet_at <= now);
        let overdue: Vec<u64> = self
            .under_way
            .iter()
            .filter(|(_, request)| request.deadline + LATE <= now)
            .map(|(id, _)| *id)
            .collect();
        for id in overdue {
            if let Some(request) = self.under_way.remove(&id) {
                request
                    .fail(Failure::new(FailureKind::TimedOut, "the worker did not answer in time"));
                self.remember(id);
                self.missed += 1;
            }
        }
        let most = if self.concurrent { MISSES } else { 1 };
        match self.missed >= most {
            true => {
                Err(Failure::new(FailureKind::Gone, "the worker was silent and had to be ended"))
            }
            false => Ok(()),
        }
    }

    fn fail_all(&mut self, failure: &Failure) {
        for (_, request) in std::mem::take(&mut self.under_way) {
            request.fail(failure.clone());
        }
    }
}

fn answer_in(mut message: serde_json::Map<String, Value>) -> Result<Value, Failure> {
    match (message.remove("result"), message.remove("error")) {
        (Some(result), None) => Ok(result),
        (None, Some(Value::String(error))) => Err(Failure::errored(error)),
        (None, Some(error)) => Err(Failure::errored(error.to_string())),
        (Some(_), Some(_)) => {
            Err(Failure::bad_output("the worker's answer has a result and an error"))
        }
        (None, None) => {
            Err(Failure::bad_output("the worker's answer has neither result nor error"))
        }
    }
}
