//! Asks the person at the terminal: one question at a time, or all questions of a message together (R11.4, R11.7).

use std::{path::PathBuf, sync::Arc};

use pintle_actions::Scrubber;
use pintle_agent::store::Scope;

use super::{
    Input, PendingQuestion, TerminalAnswer,
    approver::now_ms,
    keys::KeyRequest,
    question::{Question, rule_in_words, rules_file_name},
};
use crate::{
    out::{tell, tell_line},
    shown::{Shown, bold, dim, text},
    term::{Glyph, columns, pad, width, wrap},
};

/// Below this each key has a line of its own.
const NARROW: usize = 60;

/// Facts that the questions of an agent show.
#[derive(Clone, Default)]
pub(crate) struct AskedAbout {
    pub(crate) workspace: PathBuf,
    pub(crate) scrubber: Arc<Scrubber>,
    /// The file for rules that outlive the program.
    pub(crate) rules_file: Option<PathBuf>,
}

/// The result of asking.
pub(super) enum AskOutcome {
    /// Every question has an answer. These were answered elsewhere.
    Answered(Vec<String>),
    /// The terminal is gone.
    Stopped,
}

pub(super) struct Asking<'a> {
    pub(super) input: &'a Input,
    pub(super) about: &'a AskedAbout,
    /// Approves every question, and shows that.
    pub(super) answer_yes: bool,
    /// Denies every second attempt without showing the question.
    pub(super) declines_attempts: bool,
}

impl Asking<'_> {
    /// Asks until every question has an answer, here or elsewhere.
    pub(super) async fn ask(&self, mut pending: Vec<PendingQuestion>) -> AskOutcome {
        let mut elsewhere = Vec::new();
        if self.declines_attempts {
            let is_again = |it: &mut PendingQuestion| it.0.args.get("grants").is_some();
            for again in pending.extract_if(.., is_again) {
                answer(again, TerminalAnswer::No(None));
            }
        }
        loop {
            elsewhere.extend(
                pending
                    .extract_if(.., |(_, reply)| reply.is_closed())
                    .map(|(it, _)| it.approval_id),
            );
            if pending.is_empty() {
                return AskOutcome::Answered(elsewhere);
            }
            let listed: Vec<usize> = match pending.len() {
                1 => Vec::new(),
                _ => pending
                    .iter()
                    .enumerate()
                    .filter(|(_, it)| self.question(it).fits_a_row())
                    .map(|(at, _)| at)
                    .collect(),
            };
            let chosen = match listed.is_empty() || self.answer_yes {
                true => Chosen::One(0),
                false => self.choose(&mut pending, &listed).await,
            };
            match chosen {
                Chosen::Stopped => return AskOutcome::Stopped,
                Chosen::Changed => {}
                Chosen::YesToListed => {
                    for at in listed.into_iter().rev() {
                        answer(pending.remove(at), TerminalAnswer::Yes(Scope::Once));
                    }
                }
                Chosen::NoToAll => {
                    pending.drain(..).for_each(|it| answer(it, TerminalAnswer::No(None)));
                }
                Chosen::One(at) => {
                    let mut one = pending.remove(at.min(pending.len() - 1));
                    match self.ask_one(&mut one).await {
                        Some(said) => {
                            if let (
                                TerminalAnswer::Yes(Scope::Session | Scope::Always),
                                Some(rule),
                            ) = (&said, &one.0.rule)
                            {
                                // The rule covers these too.
                                let same =
                                    |it: &mut PendingQuestion| it.0.rule.as_ref() == Some(rule);
                                for covered in pending.extract_if(.., same) {
                                    answer(covered, TerminalAnswer::Yes(Scope::Once));
                                }
                            }
                            answer(one, said);
                        }
                        None if one.1.is_closed() => elsewhere.push(one.0.approval_id),
                        None => return AskOutcome::Stopped,
                    }
                }
            }
        }
    }

    fn question<'q>(&'q self, (request, _): &'q PendingQuestion) -> Question<'q> {
        Question::of_request(request, &self.about.workspace, &self.about.scrubber)
    }

    /// One question; `None` when it was answered elsewhere, or the terminal is gone.
    async fn ask_one(&self, (request, reply): &mut PendingQuestion) -> Option<TerminalAnswer> {
        let question = Question::of_request(request, &self.about.workspace, &self.about.scrubber);
        let said = tokio::select! {
            biased;
            () = reply.closed() => None,
            said = self.dialogue(&question) => said,
        };
        self.input.settle().await;
        said
    }

    async fn dialogue(&self, question: &Question<'_>) -> Option<TerminalAnswer> {
        let shown = question.text(now_ms(), width(), false);
        tell!("");
        shown.lines.iter().for_each(tell_line);
        let (mut seen, mut is_new) = (!shown.is_cut, true);
        loop {
            let (lines, prompt, accepted) = self.keys(question, seen);
            lines.iter().for_each(tell_line);
            if self.answer_yes {
                let said = text!("{}y {}", prompt, dim("(--yes)"));
                tell_line(if columns(&said) <= width() { &said } else { &prompt });
                return Some(TerminalAnswer::Yes(Scope::Once));
            }
            let accepted = accepted.to_owned();
            match self.input.key(KeyRequest { prompt, accepted, is_new }).await? {
                'y' => return Some(TerminalAnswer::Yes(Scope::Once)),
                'a' => return Some(TerminalAnswer::Yes(Scope::Session)),
                'A' if self.confirms_rule(question).await? => {
                    return Some(TerminalAnswer::Yes(Scope::Always));
                }
                'n' => return Some(TerminalAnswer::No(None)),
                'r' => match self.input.words(text!("  why not {} ", Glyph::Prompt)).await {
                    Some(words) if !words.trim().is_empty() => {
                        return Some(TerminalAnswer::No(Some(words.trim().to_owned())));
                    }
                    _ => {}
                },
                'd' => {
                    question.text(now_ms(), width(), true).lines.iter().for_each(tell_line);
                    question.details(width()).iter().for_each(tell_line);
                    seen = true;
                }
                _ => {}
            }
            is_new = false;
        }
    }

    /// `A` changes a file: shows the change and asks for confirmation.
    async fn confirms_rule(&self, question: &Question<'_>) -> Option<bool> {
        let rule = question.rule?;
        tell!("  {}", rules_file_name(self.about.rules_file.as_deref()));
        wrap(&text!("  {}", question.written_rule(rule)), width(), 6)
            .split_lines()
            .for_each(|line| tell_line(&line));
        let prompt = text!("  y write it   n back {} ", Glyph::Prompt);
        let request = KeyRequest { prompt, accepted: "yn".to_owned(), is_new: true };
        Some(self.input.key(request).await? == 'y')
    }

    /// The lines above the prompt, the prompt, and the keys that it takes.
    fn keys(&self, question: &Question<'_>, seen: bool) -> (Vec<Shown>, Shown, &'static str) {
        let key = |key: &'static str, words: Shown| text!("  {}  {}", bold(key), words);
        let no = text!(
            "{} no   {} no, with a reason   {} details   {} ",
            bold("n"),
            bold("r"),
            bold("d"),
            Glyph::Prompt
        );
        if !seen {
            let lines = vec![key("d", text!("show all of it, then y is possible"))];
            let no =
                text!("  {} no   {} no, with a reason   {} ", bold("n"), bold("r"), Glyph::Prompt);
            return (lines, no, "dnr");
        }
        let Some(rule) = question.rule else {
            let why = dim(text!("(no rule is offered: {})", question.no_rule()));
            let mut lines: Vec<Shown> =
                wrap(&text!("  {}", why), width(), 2).split_lines().collect();
            return match width() < NARROW {
                true => {
                    lines.push(key("y", text!("yes, once")));
                    (lines, text!("  {}", no), "ynrd")
                }
                false => (lines, text!("  {} yes, once   {}", bold("y"), no), "ynrd"),
            };
        };
        let covered = rule_in_words(rule);
        let file = rules_file_name(self.about.rules_file.as_deref());
        let rows = [
            key("y", text!("yes, this once")),
            key("a", text!("yes, and {} in this conversation until pintle ends", covered)),
            key("A", text!("yes, always: adds that rule to {}", file)),
        ];
        let rows =
            rows.iter().flat_map(|row| wrap(row, width(), 5).split_lines().collect::<Vec<_>>());
        (rows.collect(), text!("  {}", no), "yaAnrd")
    }

    /// Several questions of one message. One approval covers the calls that are shown completely, but none that may change the
    /// machine.
    async fn choose(&self, pending: &mut [PendingQuestion], listed: &[usize]) -> Chosen {
        tell!("");
        tell!("{} {}", Glyph::Ask, bold(text!("{} calls need your approval", pending.len())));
        for (number, it) in (1_usize..).zip(pending.iter()) {
            let question = self.question(it);
            let (call, why) = question.row();
            let id = question.short_id();
            let room = width().saturating_sub(id.len() + 1);
            let first = text!("  {}  {}", bold(number), call);
            match columns(&first) < room {
                true => tell!("{} {}", pad(&first, room, false), dim(id)),
                false => wrap(&first, width(), 5).split_lines().for_each(|line| tell_line(&line)),
            }
            wrap(&text!("     {}", dim(why)), width(), 5)
                .split_lines()
                .for_each(|line| tell_line(&line));
        }
        let numbers = |of: &mut dyn Iterator<Item = usize>| {
            of.map(|at| (at + 1).to_string()).collect::<Vec<_>>().join(" and ")
        };
        let yes = numbers(&mut listed.iter().copied());
        let alone = numbers(&mut (0..pending.len()).filter(|at| !listed.contains(at)));
        match alone.as_str() {
            "" => tell!("  {}  yes to {}", bold("y"), yes),
            alone => tell!("  {}  yes to {} ({} is asked alone)", bold("y"), yes, alone),
        }
        let most = pending.len().min(9);
        let prompt = text!(
            "  {} no to all   {} look at one   {} ",
            bold("n"),
            bold(text!("1-{}", most)),
            Glyph::Prompt
        );
        let digits: String = (1..=most).map(|digit| digit.to_string()).collect();
        let request = KeyRequest { prompt, accepted: format!("yn{digits}"), is_new: true };
        let closed = futures_util::future::select_all(
            pending.iter_mut().map(|(_, reply)| Box::pin(reply.closed())),
        );
        let key = tokio::select! {
            biased;
            _ = closed => None,
            key = self.input.key(request) => Some(key),
        };
        self.input.settle().await;
        match key {
            None => Chosen::Changed,
            Some(None) => Chosen::Stopped,
            Some(Some('y')) => Chosen::YesToListed,
            Some(Some('n')) => Chosen::NoToAll,
            Some(Some(digit)) => {
                let at = digit.to_digit(10).and_then(|digit| usize::try_from(digit).ok());
                Chosen::One(at.map_or(0, |digit| digit.saturating_sub(1)))
            }
        }
    }
}

/// The answer to several questions.
enum Chosen {
    YesToListed,
    NoToAll,
    /// This one is asked alone.
    One(usize),
    /// One of them was answered elsewhere.
    Changed,
    Stopped,
}

fn answer((_, reply): PendingQuestion, said: TerminalAnswer) {
    // An answer from elsewhere may have been first.
    let _ = reply.send(said);
}
