//! In which folders each command of a line may run: `cd` followed, as far as its words say.
//!
//! Where it is not sure that a `cd` runs, or that it goes well, the folder before it stays possible as well. So a command has a
//! few folders, and its words are looked at from each of them.

mod targets;

pub(crate) use targets::{HOME, goes_home};

use crate::movers::{
    drops_patterns, glued, goes_itself, is_mover, is_quiet, makes_dashes, may_remove,
    may_stay_behind, names_variables,
};
use crate::shell::{Scope, Script, SimpleCommand, Step, Values, Word, read};
use std::path::{Path, PathBuf};

/// A line that may be in more folders than these is not followed.
const MOST: usize = 24;

/// Where a command may run.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) folders: Vec<PathBuf>,
    /// Whether what it prints becomes a word of another command, `"$(echo a b)"`, or several.
    pub(crate) makes_a_word: bool,
    pub(crate) makes_words: bool,
    /// Whether it belongs to a function or a trap.
    pub(crate) is_later: bool,
    /// The pipe that it is a part of, or something else that may run or not: the outermost.
    pub(crate) pipe: Option<usize>,
    /// The process of its own in which it runs.
    pub(crate) apart: Option<usize>,
    /// How many commands are written before it.
    pub(crate) at: usize,
}

/// Where the commands of a line may run.
pub(crate) struct Places {
    /// One for each command, in their order.
    pub(crate) each: Vec<Place>,
    /// Every folder that one of them may run in.
    pub(crate) all: Vec<PathBuf>,
}

/// Every folder in which a command of this line may run when it starts in `start`; `None` when the line cannot be read, or
/// goes to a folder that only running it would tell.
///
/// ```
/// # use pintle_policy::folders_of;
/// let folders = folders_of("(cd usr && ls); ls", "/".as_ref()).unwrap();
/// assert_eq!(folders, ["/", "/usr"].map(std::path::PathBuf::from));
/// assert!(folders_of("cd \"$X\"; ls", "/".as_ref()).is_none());
/// ```
#[must_use]
pub fn folders_of(command: &str, start: &Path) -> Option<Vec<PathBuf>> {
    let script = read(command).ok()?;
    let all = places(&script, start).ok()?.all;
    (!all.iter().any(|folder| folder.starts_with(HOME))).then_some(all)
}

/// The places of all commands in these steps.
///
/// # Errors
/// The command that goes to a folder which only running it would tell.
pub(crate) fn places<'s>(script: &'s Script, start: &Path) -> Result<Places, &'s SimpleCommand> {
    let steps = script.steps.as_slice();
    let movers = |steps: &'s [Step]| steps.iter().filter_map(Step::command).filter(|c| is_mover(c));
    let mut follow = Follow {
        values: &script.values,
        now: vec![start.to_path_buf()],
        before: None,
        seen: vec![start.to_path_buf()],
        frames: Vec::new(),
        may_remove: false,
        loose: false,
        drops_patterns: steps.iter().filter_map(Step::command).any(drops_patterns),
        makes_dashes: steps.iter().filter_map(Step::command).any(makes_dashes),
    };
    if let Some(command) = steps.iter().filter_map(Step::command).find(|c| names_variables(c)) {
        return Err(command);
    }
    let later = |at: usize| within(steps, at);
    let mut starts = steps.iter().enumerate();
    follow.loose = starts.any(|(at, step)| {
        matches!(step, Step::Enter(Scope::Later)) && movers(later(at)).next().is_some()
    });
    if follow.loose {
        follow.close_over(movers(steps))?;
    }
    follow.loose |= steps.iter().filter_map(Step::command).any(may_stay_behind);
    let mut places: Vec<(Place, Option<&SimpleCommand>)> = Vec::new();
    let mut here = follow.now.clone();
    for (at, step) in steps.iter().enumerate() {
        match step {
            Step::Enter(scope) => {
                follow.enter(*scope, &here, at);
                if matches!(scope, Scope::Loop | Scope::Later) {
                    // What comes last in it may come first the next time.
                    let mut inside = within(steps, at).iter().filter_map(Step::command);
                    follow.may_remove |= inside.any(may_remove);
                }
                if *scope == Scope::Loop {
                    let inside = staying(within(steps, at)).into_iter();
                    follow.close_over(inside.filter(|command| is_mover(command)))?;
                }
            }
            Step::Leave => follow.leave(),
            Step::Script(_) => {}
            Step::Command(command) => {
                here = follow.folders_of(command).ok_or(command)?;
                let in_scope = |scope| follow.frames.iter().any(|frame| frame.scope == scope);
                let frames = || follow.frames.iter();
                let place = Place {
                    folders: here.clone(),
                    makes_a_word: in_scope(Scope::Word),
                    makes_words: in_scope(Scope::Words),
                    is_later: in_scope(Scope::Later),
                    pipe: frames().find(|it| it.scope == Scope::Branch).map(|frame| frame.at),
                    apart: frames().rfind(|it| it.scope == Scope::Apart).map(|frame| frame.at),
                    at: places.len(),
                };
                // A redirection around several commands belongs to any of them.
                let around = command.name.text().is_empty() && !command.redirects.is_empty();
                let at_any_time = (around || in_scope(Scope::Later)).then_some(command);
                places.push((place, at_any_time));
                follow.run(command, &here).ok_or(command)?;
            }
        }
    }
    follow.now = follow.seen.clone();
    let mut each = Vec::new();
    for (mut place, at_any_time) in places {
        if let Some(command) = at_any_time {
            add(&mut place.folders, &follow.folders_of(command).ok_or(command)?);
        }
        add(&mut follow.seen, &place.folders);
        each.push(place);
    }
    Ok(Places { each, all: follow.seen })
}

/// The steps between this `Enter` and its `Leave`.
fn within(steps: &[Step], enter: usize) -> &[Step] {
    let rest = steps.get(enter..).unwrap_or_default();
    let mut depth = 0_usize;
    let end = rest.iter().position(|step| {
        match step {
            Step::Enter(_) => depth = depth.saturating_add(1),
            Step::Leave => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    });
    rest.get(..end.unwrap_or(rest.len())).unwrap_or_default()
}

/// The commands in a loop after which it may go on elsewhere: not those of a process of its own.
fn staying(steps: &[Step]) -> Vec<&SimpleCommand> {
    let mut apart: Vec<bool> = Vec::new();
    let mut found = Vec::new();
    for step in steps {
        match step {
            Step::Enter(scope) => {
                apart.push(matches!(scope, Scope::Apart | Scope::Word | Scope::Words));
            }
            Step::Leave => drop(apart.pop()),
            Step::Command(command) if !apart.contains(&true) => found.push(command),
            _ => {}
        }
    }
    found
}

struct Frame {
    scope: Scope,
    /// Which of the steps opens it.
    at: usize,
    start: Vec<PathBuf>,
    before: Option<Vec<PathBuf>>,
    /// Every folder since its start.
    all: Vec<PathBuf>,
    /// Nothing has run in it yet.
    fresh: bool,
}

/// How sure it is that a `cd` has gone where it leads.
#[derive(PartialEq)]
enum Sure {
    Yes,
    IfItIsThere,
    No,
}

struct Follow<'s> {
    values: &'s Values,
    now: Vec<PathBuf>,
    /// Where `cd -` leads.
    before: Option<Vec<PathBuf>>,
    seen: Vec<PathBuf>,
    frames: Vec<Frame>,
    may_remove: bool,
    /// A function or a trap goes elsewhere, and nobody knows when it is called; or no `cd` is sure to do anything.
    loose: bool,
    /// A file pattern that finds nothing may be no word.
    drops_patterns: bool,
    /// Something in the line may make a file of which the name is an option.
    makes_dashes: bool,
}

fn add(folders: &mut Vec<PathBuf>, more: &[PathBuf]) {
    for folder in more {
        if !folders.contains(folder) {
            folders.push(folder.clone());
        }
    }
}

impl Follow<'_> {
    fn enter(&mut self, scope: Scope, here: &[PathBuf], at: usize) {
        let (start, before) = (self.now.clone(), self.before.clone());
        self.frames.push(Frame { scope, at, all: start.clone(), start, before, fresh: true });
        if scope == Scope::Inside {
            self.now = here.to_vec();
        }
    }

    fn leave(&mut self) {
        let Some(frame) = self.frames.pop() else { return };
        match frame.scope {
            Scope::Apart | Scope::Word | Scope::Words => {
                self.now = frame.start;
                self.before = frame.before;
            }
            Scope::Group | Scope::Sure => {}
            _ => {
                self.now = frame.all;
                // Whether there was a `cd` before this is as unsure as this is.
                self.before = frame.before.and(self.before.take());
                if let Some(before) = &mut self.before {
                    add(before, &self.now);
                }
            }
        }
    }

    /// Adds every folder that these commands lead to, in any order and however often.
    fn close_over<'c>(
        &mut self,
        movers: impl Iterator<Item = &'c SimpleCommand>,
    ) -> Result<(), &'c SimpleCommand> {
        let movers: Vec<_> = movers.collect();
        loop {
            let known = self.now.len();
            for mover in &movers {
                let to = self.target(mover).ok_or(*mover)?;
                add(&mut self.now, &to.folders);
                if self.now.len() > MOST {
                    return Err(mover);
                }
            }
            if self.now.len() == known {
                let now = self.now.clone();
                self.remember(&now);
                return Ok(());
            }
        }
    }

    fn remember(&mut self, now: &[PathBuf]) {
        add(&mut self.seen, now);
        for frame in self.frames.iter_mut().rev() {
            add(&mut frame.all, now);
            if matches!(frame.scope, Scope::Apart | Scope::Word | Scope::Words) {
                break;
            }
        }
    }

    /// The folders in which the command runs: it may go elsewhere itself, as `make -C` does.
    fn folders_of(&self, command: &SimpleCommand) -> Option<Vec<PathBuf>> {
        let mut folders = self.now.clone();
        let program = command.program().unwrap_or_default();
        let is_everywhere = |arg: &Word| matches!(arg.text(), "-execdir" | "-okdir");
        if program == "find" && command.args.iter().any(is_everywhere) {
            return self.below(command);
        }
        let goes = |(at, arg): (usize, &Word)| goes_itself(program, at, arg.text());
        let mut options = command.args.iter().enumerate().filter(|option| goes(*option)).peekable();
        if is_mover(command) || options.peek().is_none() {
            return Some(folders);
        }
        let follows = |at: usize| command.args.get(at.saturating_add(1));
        let is_unknown = |word: &Word| word.is_dynamic() && word.text().contains(['$', '`']);
        if options.any(|(at, arg)| is_unknown(arg) || follows(at).is_some_and(is_unknown)) {
            return None;
        }
        for word in &command.args {
            for text in word.readings() {
                for part in [text.as_str()].into_iter().chain(glued(&text)) {
                    let found = self.now.iter().map(|base| base.join(part));
                    let found: Vec<_> = found.filter(|folder| folder.is_dir()).collect();
                    add(&mut folders, &found);
                }
            }
        }
        (folders.len() <= MOST).then_some(folders)
    }

    /// Every folder that `find` may come to.
    fn below(&self, command: &SimpleCommand) -> Option<Vec<PathBuf>> {
        let words = command.args.iter().skip_while(|arg| arg.text().starts_with('-'));
        let words = words.take_while(|arg| !arg.text().starts_with(['-', '(', '!']));
        let starts: Vec<String> = words.flat_map(Word::readings).collect();
        if starts.iter().any(|start| start.contains('$')) {
            return None;
        }
        let mut folders = self.now.clone();
        let mut pending: Vec<PathBuf> = match starts.as_slice() {
            [] => folders.clone(),
            starts => {
                folders.iter().flat_map(|base| starts.iter().map(|it| base.join(it))).collect()
            }
        };
        // It goes to the folder in which it finds something.
        let is_named = |start: &String| Path::new(start).file_name().is_some();
        if starts.iter().any(is_named) {
            let parents = pending.iter().filter_map(|it| it.parent()).map(Path::to_path_buf);
            add(&mut folders, &parents.collect::<Vec<_>>());
        }
        while let Some(folder) = pending.pop() {
            let inside = std::fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok);
            let is_folder =
                |entry: &std::fs::DirEntry| entry.file_type().is_ok_and(|it| it.is_dir());
            pending.extend(inside.filter(is_folder).map(|entry| entry.path()));
            add(&mut folders, &[folder]);
            if folders.len().saturating_add(pending.len()) > MOST {
                return None;
            }
        }
        Some(folders)
    }

    fn run(&mut self, command: &SimpleCommand, here: &[PathBuf]) -> Option<()> {
        let is_inside = self.frames.last().is_some_and(|frame| frame.scope == Scope::Inside);
        if is_inside && command.program() == Some("env") {
            self.now = here.to_vec();
        }
        let program = command.program();
        self.may_remove |= may_remove(command);
        let fresh = self.frames.last_mut().is_some_and(|f| std::mem::take(&mut f.fresh));
        if !is_mover(command) {
            return Some(());
        }
        let mut target = self.target(command)?;
        let is_there = target.exists
            && !self.may_remove
            // Not every shell has the others.
            && program == Some("cd")
            && command.assignments.is_empty()
            && command.redirects.iter().all(is_quiet);
        let surely = match self.sure() {
            Sure::Yes => target.is_one,
            Sure::IfItIsThere => target.is_one && is_there,
            Sure::No => false,
        };
        if surely {
            self.before = Some(std::mem::take(&mut self.now));
        } else {
            if let Some(before) = &mut self.before {
                add(before, &self.now);
            }
            add(&mut target.folders, &self.now);
        }
        self.now = target.folders;
        // The first of a chain runs whatever becomes of the rest.
        if let Some(frame) = self.frames.last_mut()
            && frame.scope == (Scope::Chain { led: true })
            && (fresh && surely && is_there)
        {
            frame.all.clear();
        }
        let now = self.now.clone();
        self.remember(&now);
        (self.now.len() <= MOST && self.seen.len() <= MOST).then_some(())
    }

    fn sure(&self) -> Sure {
        if self.loose {
            return Sure::No;
        }
        let (mut ends_otherwise, mut in_a_group) = (false, false);
        for frame in self.frames.iter().rev() {
            match frame.scope {
                Scope::Branch | Scope::Loop | Scope::Later => return Sure::No,
                Scope::Group => in_a_group = true,
                Scope::Sure => ends_otherwise |= !in_a_group,
                Scope::Chain { .. } if !in_a_group => return Sure::Yes,
                _ => break,
            }
        }
        if ends_otherwise { Sure::Yes } else { Sure::IfItIsThere }
    }
}
