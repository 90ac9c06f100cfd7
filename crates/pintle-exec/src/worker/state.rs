//! What is known about a worker's process: what is under way, and what its lines mean.

use std::{collections::VecDeque, time::Duration};

use pintle::{Failure, FailureKind};
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::{
    Request,
    lines::{Line, Lines, Meter, Tail},
};
use crate::{capture::FLOOD_LIMIT, strict_json};

/// How many requests a concurrent worker has at most.
const CONCURRENT: usize = 64;
/// How long after a deadline the answer may still come before the worker is treated as silent.
const LATE: Duration = Duration::from_millis(500);
/// How long a worker that talks nonsense is listened to before it gets its next request.
const NONSENSE: Duration = Duration::from_secs(3);
/// How many lines in a row may be something other than answers.
const NONSENSE_LINES: u32 = 100;
/// How many deadlines in a row a concurrent worker may let pass.
const MISSES: u32 = 3;
/// How many finished requests are remembered.
const REMEMBERED: usize = 1024;

#[derive(Default)]
pub(super) struct State {
    lines: Lines,
    stderr: Tail,
    stderr_flow: Meter,
    unsent: Option<Unsent>,
    /// The oldest first.
    under_way: Vec<Request>,
    /// Finished requests, to tell a second answer from an answer to an unknown id.
    over: VecDeque<Over>,
    ready: bool,
    concurrent: bool,
    missed: u32,
    /// Bytes, and lines other than answers, on stdout since the last answer.
    noise: usize,
    nonsense_lines: u32,
    answered: bool,
    /// It printed lines that are not answers: the next request waits until it has been quiet for a while.
    nonsense: Option<Nonsense>,
    /// The last mistake that failed no request.
    oddity: Option<&'static str>,
}

/// The newest request, as long as some of its line still has to be written to the process.
struct Unsent {
    id: u64,
    line: Vec<u8>,
    sent: usize,
    /// Who has not read it by then reads nothing, whatever became of the request.
    overdue: Instant,
}

struct Over {
    id: u64,
    /// Otherwise it was given up, and its answer may still come: it is late, not wrong.
    answered: bool,
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

impl State {
    /// What still has to be written to it.
    pub(super) fn unsent(&self) -> &[u8] {
        self.unsent.as_ref().and_then(|unsent| unsent.line.get(unsent.sent..)).unwrap_or_default()
    }

    pub(super) fn sent(&mut self, count: usize) {
        if let Some(unsent) = &mut self.unsent {
            unsent.sent += count;
        }
        self.unsent.take_if(|unsent| unsent.sent >= unsent.line.len());
    }

    /// Whether it has answered anything since this was last asked.
    pub(super) fn take_answered(&mut self) -> bool {
        std::mem::take(&mut self.answered)
    }

    pub(super) fn has_room(&self) -> bool {
        let most = if self.concurrent { CONCURRENT } else { 1 };
        self.unsent.is_none() && self.nonsense.is_none() && self.under_way.len() < most
    }

    pub(super) fn accept(&mut self, mut request: Request) {
        if !request.answer.is_closed() {
            let (id, line) = (request.id, std::mem::take(&mut request.line));
            self.unsent = Some(Unsent { id, line, sent: 0, overdue: request.deadline + LATE });
            self.under_way.push(request);
        }
    }

    /// The request of which it has not read a single byte.
    pub(super) fn take_untold(&mut self) -> Option<Request> {
        let Unsent { id, line, .. } = self.unsent.take_if(|unsent| unsent.sent == 0)?;
        let request = self.under_way.pop_if(|newest| newest.id == id)?;
        Some(Request { line, ..request })
    }

    /// What there is to say about a process that is gone, besides how it went.
    pub(super) fn epitaph(&self) -> String {
        let mut words = self.oddity.map(|oddity| format!("; it {oddity}")).unwrap_or_default();
        match self.stderr.0.text().trim() {
            "" => {}
            said => words.push_str(&format!("; it said: {said}")),
        }
        words
    }

    /// Takes what it wrote to stderr.
    ///
    /// # Errors
    /// When that is so much that the process has to be ended.
    pub(super) fn hear_aside(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.stderr.0.push(bytes);
        match self.stderr_flow.exceeds(FLOOD_LIMIT, bytes.len()) {
            true => {
                Err(Failure::new(FailureKind::TooMuchOutput, "the worker wrote too much to stderr"))
            }
            false => Ok(()),
        }
    }

    /// Takes what it wrote to stdout.
    ///
    /// # Errors
    /// When the process floods and has to be ended.
    pub(super) fn hear(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.noise += bytes.len();
        for line in self.lines.push(bytes) {
            match line {
                Line::Whole(line) => self.understand(&line),
                Line::TooLong => self.blame(Failure::new(
                    FailureKind::TooMuchOutput,
                    "the worker wrote a line that is too long",
                )),
            }
            if self.nonsense_lines > NONSENSE_LINES {
                return Err(Failure::bad_output("the worker writes no valid JSON"));
            }
        }
        if let Some(nonsense) = &mut self.nonsense {
            nonsense.heard();
        }
        if self.noise > FLOOD_LIMIT {
            let message = "the worker wrote too much without answering";
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
        let mut message = match parsed {
            Ok(Value::Object(message)) => message,
            Ok(_) => {
                return self.blame(Failure::bad_output(
                    "the worker wrote a line that is not a JSON object",
                ));
            }
            Err(error) => {
                let shown: String = String::from_utf8_lossy(line).chars().take(80).collect();
                return self.blame(Failure::bad_output(format!(
                    "the worker wrote a line that is not JSON ({error}): {shown}"
                )));
            }
        };
        let id = message.remove("id");
        match id.as_ref().map(Value::as_u64) {
            Some(Some(id)) => self.hear_answer(id, message),
            None if message.get("ready") == Some(&Value::Bool(true)) => self.hear_ready(&message),
            _ => self.blame(Failure::bad_output(
                "the worker wrote a line without an id: an answer has the request's, the same number",
            )),
        }
    }

    fn hear_ready(&mut self, message: &Map<String, Value>) {
        if std::mem::replace(&mut self.ready, true) {
            return self.wonder("said more than once that it is ready");
        }
        self.concurrent = message.get("concurrent") == Some(&Value::Bool(true));
    }

    fn hear_answer(&mut self, id: u64, message: Map<String, Value>) {
        if let Some(place) = self.under_way.iter().position(|request| request.id == id) {
            let request = self.under_way.remove(place);
            (self.noise, self.nonsense_lines, self.missed, self.answered) = (0, 0, 0, true);
            self.remember(id, true);
            let _ = request.answer.send(answer_in(message));
            return;
        }
        match self.over.iter_mut().find(|over| over.id == id) {
            Some(over) if !over.answered => {
                over.answered = true;
                (self.missed, self.answered, self.nonsense) = (0, true, None);
            }
            Some(_) => self.wonder("answered a request twice"),
            None => self.wonder("answered an id that was not requested"),
        }
    }

    /// A mistake that fails no request. It is counted, and named in the failure of a request that gets no answer.
    fn wonder(&mut self, oddity: &'static str) {
        self.nonsense_lines += 1;
        self.oddity = Some(oddity);
        for request in &self.under_way {
            let _ = request.oddity.set(oddity);
        }
    }

    /// A failure that names no request harms the one that is under way, if there is exactly one. More may follow,
    /// which must not be taken for an answer to the next request.
    fn blame(&mut self, failure: Failure) {
        self.nonsense_lines += 1;
        if self.under_way.len() == 1
            && let Some(request) = self.under_way.pop()
        {
            self.remember(request.id, false);
            request.fail(failure);
            let now = Instant::now();
            self.nonsense = Some(Nonsense { quiet_at: now + LATE, over_at: now + NONSENSE });
        }
    }

    fn remember(&mut self, id: u64, answered: bool) {
        self.over.push_back(Over { id, answered });
        if self.over.len() > REMEMBERED {
            self.over.pop_front();
        }
    }

    /// When it has to be looked at even if nothing happens.
    pub(super) fn next_look(&self) -> Option<Instant> {
        let overdue = self.under_way.iter().map(|request| request.deadline + LATE);
        let unread = self.unsent.as_ref().map(|unsent| unsent.overdue);
        let quiet = self.nonsense.as_ref().map(|nonsense| nonsense.quiet_at);
        overdue.chain(unread).chain(quiet).min()
    }

    /// # Errors
    /// When the process has been silent for so long that it has to be ended.
    pub(super) fn look(&mut self) -> Result<(), Failure> {
        let now = Instant::now();
        self.nonsense.take_if(|nonsense| nonsense.quiet_at <= now);
        let overdue: Vec<Request> =
            self.under_way.extract_if(.., |request| request.deadline + LATE <= now).collect();
        for request in overdue {
            self.remember(request.id, false);
            self.missed += 1;
            request.fail(Failure::new(FailureKind::TimedOut, "the worker did not answer in time"));
        }
        let most = if self.concurrent { MISSES } else { 1 };
        let ended = |why| Err(Failure::new(FailureKind::Gone, why));
        if self.unsent.as_ref().is_some_and(|unsent| unsent.overdue <= now) {
            ended("the worker did not read its stdin and had to be ended")
        } else if self.missed >= most {
            ended("the worker was silent and had to be ended")
        } else {
            Ok(())
        }
    }

    pub(super) fn fail_all(&mut self, failure: &Failure) {
        for request in std::mem::take(&mut self.under_way) {
            request.fail(failure.clone());
        }
    }
}

fn answer_in(mut message: Map<String, Value>) -> Result<Value, Failure> {
    let (result, error) = (message.remove("result"), message.remove("error"));
    // A refusal beside the result would be ignored.
    if let Some(stray) = message.keys().find(|key| *key != "id") {
        let why = format!(
            "the worker's answer has `{stray}` beside its result: it belongs into `result`"
        );
        return Err(Failure::bad_output(why));
    }
    match (result, error) {
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
