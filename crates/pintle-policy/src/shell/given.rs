//! Options that a program gets at run time and that make it run another: `make "$x"` with `x='--eval=…'`.
//!
//! A command is looked at once more with each text that the line holds in the place of a word that is decided at run time, as if it had
//! been written there.

use super::escapes::escapes_by_input;
use super::held::Line;
use super::loads::LOAD_NOTHING;
use super::options::is_one_word;
use super::pieces::OPEN;
use super::runners::{RUN_BY_OPTION, usual_name};
use super::unwrap::expand;
use super::{SimpleCommand, Step, Word, scripts};

/// Texts that make one program or another run something.
const TELLING: &[&str] = &[
    "+!x",
    "--config=x.runner='x'",
    "--eval=x",
    "--exec=x",
    "--open-files-in-pager=x",
    "--upload-pack=x",
    "-c=x",
    "-euse_askpass=x",
    "-exec=x",
    "-wrapper",
    "-E",
    ".shell x",
    "CC=x",
    "cmd",
];

/// Whether a word of the command may become an option by which its program runs what the line says.
pub(super) fn runs_by_options(command: &SimpleCommand, line: &Line<'_>) -> bool {
    let runs = |at: usize, word: &Word| {
        let Some(mut texts) = line.texts(word) else { return true };
        if is_put_in(word.text()) {
            texts.push(OPEN.to_string());
        }
        let is_input = word.text() == "$(input of xargs)" || is_put_in(word.text());
        if is_input && line.says_anything {
            return true;
        }
        // What is open may be anything that the line prints somewhere.
        let mut candidates: Vec<String> = Vec::new();
        for text in &texts {
            let (start, rest) = text.split_once(OPEN).unwrap_or((text, ""));
            let rest = rest.replace(OPEN, "");
            candidates.push(format!("{start}{rest}"));
            if text.contains(OPEN) {
                let is_fit = |held: &&String| {
                    held.starts_with(start) && (is_input || held.starts_with(['-', '+']))
                };
                let held = line.held().filter(is_fit);
                candidates.extend(held.flat_map(|held| [held.clone(), format!("{held}{rest}")]));
            }
        }
        candidates.sort_unstable();
        candidates.dedup();
        let is_split = is_input || !word.text().starts_with('"');
        // Without any quotes nothing of it stays together.
        let is_whole = is_input || word.text().contains(['"', '\'']);
        candidates.iter().any(|text| {
            let is_cut = is_split && text.contains(|c| line.cuts(c));
            let parts = text.split(|c| line.cuts(c)).filter(|part| !part.is_empty());
            let words = || parts.clone().map(|it| Word::Literal(it.to_owned())).collect();
            (is_cut && reveals(command, line, at, words()))
                || ((is_whole || !is_cut)
                    && reveals(command, line, at, vec![Word::Literal(text.clone())]))
        })
    };
    let program = usual_name(command.program().unwrap_or_default());
    let escapes = escapes_by_input(program, command).is_some_and(|is_way| {
        let length = line.said().map(|text| text.len().saturating_add(20)).sum();
        (line.takes(length).is_none() || line.said().any(|text| is_way(text)))
            && inside(command.clone()) == 1
    });
    escapes || tellable(command, line).any(|(at, word)| runs(at, word))
}

/// The first word of the command that may become such an option by what comes from outside the line.
pub(super) fn open_to_options<'c>(command: &'c SimpleCommand, line: &Line<'_>) -> Option<&'c Word> {
    let is_open = |word: &Word| {
        let texts = line.texts(word);
        texts.is_none_or(|texts| texts.iter().any(|text| text.starts_with([OPEN, '-'])))
    };
    tellable(command, line).map(|(_, word)| word).find(|word| is_open(word))
}

/// The words of the command that are decided at run time and in whose place an option could make its program run something.
fn tellable<'c>(
    command: &'c SimpleCommand,
    line: &Line<'_>,
) -> impl Iterator<Item = (usize, &'c Word)> {
    let program = usual_name(command.program().unwrap_or_default());
    let known = RUN_BY_OPTION.iter().find(|(name, _)| *name == program);
    let is_plain = LOAD_NOTHING.contains(&program) || scripts::is_read(program);
    let options = command.args.iter().take_while(|arg| arg.literal() != Some("--"));
    let options = options.enumerate().filter(move |_| !is_plain);
    options.filter(move |(at, word)| {
        let tells = |text: &str| reveals(command, line, *at, vec![Word::Literal(text.to_owned())]);
        let glued = |option: &&str| format!("{option}=x");
        may_be_an_option(word)
            && !is_a_value(program, &command.args, *at)
            && (known.is_some_and(|(_, options)| options.iter().any(|it| tells(&glued(it))))
                || TELLING.iter().any(|text| tells(text)))
    })
}

fn may_be_an_option(word: &Word) -> bool {
    let text = word.text().trim_start_matches(['"', '\'']);
    word.is_dynamic()
        && (is_put_in(text)
            || !text.starts_with(|c: char| c.is_alphanumeric() || "._/@%:,=^~".contains(c)))
}

/// Nothing in it is for a shell: `xargs -I p` puts its input there.
fn is_put_in(text: &str) -> bool {
    !text.contains(['$', '`', '{', '*', '?', '[', '~', '<', '>'])
}

/// Whether more is listed with these words in that place than without them; so too when that would take too long to tell.
fn reveals(command: &SimpleCommand, line: &Line<'_>, at: usize, words: Vec<Word>) -> bool {
    let length: usize = words.iter().map(|word| word.text().len()).sum();
    if line
        .takes(length.saturating_add(command.args.len().saturating_mul(4)).saturating_add(5))
        .is_none()
    {
        return true;
    }
    let mut told = command.clone();
    told.args.splice(at..at.saturating_add(1), words);
    inside(told) > inside(command.clone())
}

/// How much is listed with the command.
fn inside(command: SimpleCommand) -> usize {
    let mut listed = Vec::new();
    let Ok(scripts) = expand(command, &mut listed) else { return usize::MAX };
    let counts = |step: &&Step| matches!(step, Step::Command(_) | Step::Script(_));
    listed.iter().chain(&scripts).filter(counts).count()
}

/// Short options of these programs whose next word is surely their value.
const VALUED: &[(&str, &str)] = &[
    ("cargo", "pFjZ"),
    ("gcc", "oIDLl"),
    ("git", "moCbsj"),
    ("go", "opr"),
    ("make", "CfjloW"),
    ("rg", "efgtTABCmMjErd"),
    ("rsync", "fBT"),
    ("scp", "PilcJ"),
    ("sort", "koStT"),
    ("split", "abln"),
    ("ssh", "pilLRDJbcm"),
    ("tar", "CfTXbgKNVH"),
    ("wget", "OPotTwUQAaDIR"),
    ("zip", "bintx"),
];

/// `tar czf "$x"`, `make -C "$x"`
fn is_a_value(program: &str, args: &[Word], at: usize) -> bool {
    let letters = VALUED.iter().find(|(name, _)| *name == program).map_or("", |(_, it)| it);
    let before = at.checked_sub(1).and_then(|at| args.get(at)).and_then(Word::literal);
    let is_last = before.and_then(|it| it.strip_prefix('-')).is_some_and(|cluster| {
        let valued = cluster.find(|c| letters.contains(c));
        !cluster.starts_with('-') && valued.is_some_and(|at| at.saturating_add(1) == cluster.len())
    });
    // `tar czf a.tar`: as many words as there are such letters in the first one.
    let first = args.first().and_then(Word::literal).filter(|_| program == "tar");
    let bundled = first
        .filter(|text| !text.starts_with('-'))
        .map_or(0, |text| text.chars().filter(|c| letters.contains(*c)).count());
    // Its first word is a file.
    let is_first = || args.iter().take(at).all(|arg| arg.text().starts_with('-'));
    let is_file = program == "sqlite3" && args.get(at).is_some_and(is_one_word) && is_first();
    is_last || is_file || (at > 0 && at <= bundled)
}
