//! Names that a program works out of what it reads: `echo x | sed 's#^#../#' | xargs cat`, `cat $(echo _etc_x | tr _ /)`.
//!
//! What a lister prints is what is there; what `sed`, `awk` and `tr` make of it is another name of the same kind, unless they put
//! something to it that leads away, or cut a text of the line so that its rest does.

use super::is_joint;
use crate::shell::{SimpleCommand, Word};

/// What a program makes of the names that it reads.
#[derive(Debug, PartialEq)]
pub(super) enum Work {
    /// Names of the same kind.
    Keeps,
    /// Pieces of them; of a whole path that may be a folder above.
    Cuts(Vec<Cutting>),
    /// Names that may lead anywhere.
    Makes,
}

/// How a text is cut.
#[derive(Debug, PartialEq)]
pub(super) enum Cutting {
    /// This is taken away wherever it stands, or only at the start, and the other put there.
    Text { taken: String, at_start: bool, put: String },
    /// Each of these letters is taken away.
    Letters(String),
    /// Its ends, so that one text becomes of several.
    Joins,
    /// In a way that only running it would tell.
    Unknown,
}

impl Cutting {
    /// What is left of a text; `None` when nobody can tell.
    pub(super) fn left_of(&self, text: &str) -> Option<String> {
        match self {
            Self::Text { taken, at_start: true, put } => Some(
                text.strip_prefix(taken.as_str()).map_or(text.into(), |it| format!("{put}{it}")),
            ),
            Self::Text { taken, put, .. } => Some(text.replace(taken.as_str(), put)),
            Self::Letters(letters) => {
                Some(text.chars().filter(|c| !letters.contains(*c)).collect())
            }
            Self::Joins if is_joint(text) => None,
            Self::Joins => Some(text.to_owned()),
            Self::Unknown => None,
        }
    }
}

pub(super) fn work(command: &SimpleCommand) -> Work {
    let args: Vec<&str> = command.args.iter().map(Word::text).collect();
    let has = |options: &[&str]| args.iter().any(|arg| options.contains(arg));
    let is_bare = args.iter().all(|arg| arg.starts_with('-') || arg.contains('='));
    match command.program().unwrap_or_default() {
        "sed" | "gsed" => sed(&args),
        "awk" | "gawk" | "mawk" | "nawk" => awk(&args),
        "tr" => tr(&args),
        // All of them print variables.
        "printenv" | "getent" => Work::Makes,
        "env" | "export" | "declare" | "typeset" | "set"
            if is_bare && args.iter().all(|a| !a.contains('=')) =>
        {
            Work::Makes
        }
        "compgen" if has(&["-v", "-e"]) => Work::Makes,
        "base64" | "base32" | "basenc" if has(&["-d", "-D", "--decode", "-di"]) => Work::Makes,
        "xxd" if args.iter().any(|arg| arg.starts_with("-r")) => Work::Makes,
        "openssl" if has(&["-d"]) => Work::Makes,
        "date" if args.iter().any(|arg| arg.starts_with("+/") || arg.contains("..")) => Work::Makes,
        "git" if args.iter().any(|arg| arg.contains("%x2")) => Work::Makes,
        "jq" | "yq" if args.iter().any(|arg| arg.contains("env")) => Work::Makes,
        "paste" => Work::Cuts(vec![Cutting::Joins]),
        "rev" | "fold" | "colrm" => Work::Cuts(vec![Cutting::Unknown]),
        "cut" => {
            let by_place = |arg: &&str| arg.starts_with("-c") || arg.starts_with("-b");
            let at_dots = args.join(" ").contains("-d.") || has(&["."]);
            let is_open = args.iter().any(by_place) || at_dots;
            Work::Cuts(is_open.then_some(Cutting::Unknown).into_iter().collect())
        }
        "expr" if has(&[":", "substr", "match"]) && args.iter().any(|arg| arg.contains('/')) => {
            Work::Makes
        }
        program if speaks_another_language(program) => {
            let mut texts = args.iter().copied().chain(command.documents.iter().map(Word::text));
            if texts.any(says_a_place) { Work::Makes } else { Work::Keeps }
        }
        _ => Work::Keeps,
    }
}

fn speaks_another_language(program: &str) -> bool {
    let name = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    matches!(
        name,
        "python"
            | "pypy"
            | "perl"
            | "ruby"
            | "node"
            | "nodejs"
            | "deno"
            | "bun"
            | "php"
            | "lua"
            | "jq"
            | "yq"
            | "m4"
            | "dc"
            | "bc"
            | "sqlite"
            | "tclsh"
            | "osascript"
    )
}

/// Whether a program's text may put a place together: it has one in quotes, a way up, a letter by its number, or the environment.
fn says_a_place(text: &str) -> bool {
    const SAYS: &[&str] = &[
        "\"/",
        "'/",
        "`/",
        "\"~",
        "'~",
        "../",
        "/..",
        "'..'",
        "\"..\"",
        "chr(",
        "CharCode",
        "\\x2",
        "\\057",
        "\\056",
        "\\u002",
        "environ",
        "process.env",
        "ENV",
        "getenv",
        "expanduser",
        "home()",
        "homedir",
        "implode",
        "b64decode",
        "unhex",
        "fromhex",
    ];
    SAYS.iter().any(|it| text.contains(it))
}

/// Whether a text that is put to a name may lead away.
fn leads_away(put: &str, at_start: bool) -> bool {
    let is_dots = !put.is_empty() && put.chars().all(|c| c == '.');
    let goes_on = put.starts_with("./") && !at_start;
    put.starts_with(['/', '~']) || put.contains("..") || is_dots || goes_on
}

fn sed(args: &[&str]) -> Work {
    let (mut cuts, mut substitutes) = (Vec::new(), false);
    for script in args.iter().filter(|arg| !arg.starts_with('-') || arg.starts_with("--e")) {
        let is_said =
            ["../", "/..", "a /", "i /", "c /", "\\\n/"].iter().any(|it| script.contains(it));
        if is_said {
            return Work::Makes;
        }
        for (letter, from, to) in substitutions(script) {
            let put = to.replace('\\', "");
            let takes_a_piece = to.starts_with('&') || to.starts_with("\\1");
            let is_open = to.contains('$');
            let adds = takes_a_piece && put.get(1..).is_some_and(|it| it.starts_with('/'));
            let is_number = |pair: &[u8]| matches!(pair, [b'\\', b'd' | b'o' | b'x', digit] if digit.is_ascii_hexdigit());
            let is_open = is_open || to.as_bytes().windows(3).any(is_number);
            substitutes = true;
            let by_letters = letter == 'y' && put.contains(['/', '.']);
            if leads_away(&put, from.starts_with('^')) || adds || by_letters || is_open {
                return Work::Makes;
            }
            if letter == 's' {
                cuts.extend(cutting(&from, &put));
            }
        }
    }
    if substitutes { Work::Cuts(cuts) } else { Work::Keeps }
}

/// The `s` and `y` in a script of `sed`, with what they look for and what they put there.
fn substitutions(script: &str) -> Vec<(char, String, String)> {
    let mut found = Vec::new();
    let mut before = ';';
    let mut rest = script;
    while let Some(letter) = rest.chars().next() {
        rest = rest.get(letter.len_utf8()..).unwrap_or_default();
        let starts = matches!(letter, 's' | 'y') && !before.is_ascii_alphabetic() && before != '\\';
        let mark = rest.chars().next().filter(|c| starts && c.is_ascii_punctuation() && *c != ';');
        before = letter;
        let Some(mark) = mark else { continue };
        let after = rest.get(1..).unwrap_or_default();
        let Some((from, after)) = until(after, mark) else { continue };
        let Some((to, after)) = until(after, mark) else { continue };
        found.push((letter, from, to));
        (before, rest) = (mark, after);
    }
    found
}

/// What stands before the next mark that is not escaped, and what follows it. An escaped mark is the mark.
fn until(text: &str, mark: char) -> Option<(String, &str)> {
    let mut found = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => {
                let (_, next) = chars.next()?;
                if next != mark {
                    found.push('\\');
                }
                found.push(next);
            }
            c if c == mark => return Some((found, text.get(at.saturating_add(c.len_utf8())..)?)),
            c => found.push(c),
        }
    }
    None
}

/// How `s` cuts a text; `None` when it takes away its end, or all folders before a name.
fn cutting(from: &str, put: &str) -> Option<Cutting> {
    let starts = from.strip_prefix('^');
    let inner = starts.unwrap_or(from);
    let is_wide = |text: &str| text.contains(['*', '+', '{', '?', '|', '[', '(']);
    let at_end = inner.strip_suffix('$').filter(|it| !it.ends_with('\\'));
    let to_the_end = inner.strip_suffix(".*$").or_else(|| inner.strip_suffix(".*"));
    let takes_the_end = at_end.is_some_and(|it| !is_wide(it))
        || (put.is_empty()
            && starts.is_none()
            && to_the_end.is_some_and(|it| !it.is_empty() && !is_wide(it)));
    let takes_the_folders = inner.strip_prefix(".*").is_some_and(|it| it == "/");
    if takes_the_end || takes_the_folders {
        return None;
    }
    let plain = inner.replace("\\.", "\u{0}");
    if plain.contains(['.', '\\', '$']) || is_wide(&plain) || put.contains(['&', '\\']) {
        return Some(Cutting::Unknown);
    }
    let taken = plain.replace('\u{0}', ".");
    Some(Cutting::Text { taken, at_start: starts.is_some(), put: put.to_owned() })
}

fn awk(args: &[&str]) -> Work {
    let mut cuts = Vec::new();
    for text in args {
        let sets = text.split_once("OFS=").or_else(|| text.split_once("ORS="));
        let is_set = sets.is_some_and(|(_, value)| value.starts_with(['/', '.']));
        let mut strings = text.split('"').skip(1).step_by(2);
        let is_made = |it: &str| {
            leads_away(it, true) || ["%c", "\\0", "\\1", "\\x"].iter().any(|c| it.contains(c))
        };
        if is_set || text.contains("ENVIRON") || strings.any(is_made) {
            return Work::Makes;
        }
        if ["substr", "sub(", "split(", "match(", "FS", "RS"].iter().any(|it| text.contains(it)) {
            cuts.push(Cutting::Unknown);
        }
    }
    let cuts_at = args.iter().any(|arg| arg.starts_with("-F"));
    if cuts.is_empty() && !cuts_at { Work::Keeps } else { Work::Cuts(cuts) }
}

fn tr(args: &[&str]) -> Work {
    let deletes = args.iter().any(|arg| arg.starts_with('-') && arg.contains('d'));
    let is_option = |arg: &&str| {
        let letters = arg.strip_prefix('-').map(|it| it.trim_start_matches('-'));
        letters.is_some_and(|it| !it.is_empty() && it.bytes().all(|b| b.is_ascii_alphabetic()))
    };
    let sets: Vec<&str> = args.iter().copied().filter(|arg| !is_option(arg)).collect();
    let is_complement = args.iter().any(|arg| arg.starts_with('-') && arg.contains(['c', 'C']));
    match sets.as_slice() {
        [set] if deletes && !is_complement && !set.contains(['-', '[', '\\']) => {
            Work::Cuts(vec![Cutting::Letters((*set).to_owned())])
        }
        [set] if deletes && set.trim_matches(['\\', 'n', 'r', 't', ' ', '0']).is_empty() => {
            Work::Cuts(vec![Cutting::Joins])
        }
        [_] if deletes => Work::Cuts(vec![Cutting::Unknown]),
        [_, to] if may_be_a_way(to) => Work::Makes,
        _ => Work::Keeps,
    }
}

/// Whether the letters of a set may be `/` or `.`.
fn may_be_a_way(set: &str) -> bool {
    let letters: Vec<char> = set.chars().collect();
    let spans = |range: &[char]| matches!(range, [from, '-', to] if ('.'..='/').any(|c| (*from..=*to).contains(&c)));
    set.contains(['/', '.', '$', '`'])
        || letters.windows(3).any(spans)
        || letters.windows(2).any(|pair| matches!(pair, ['\\', c] if c.is_ascii_digit()))
        || set.contains(":punct:")
}

#[cfg(test)]
#[allow(clippy::panic, clippy::indexing_slicing)]
mod tests {
    use super::*;

    fn of(program: &str, args: &[&str]) -> Work {
        let args = args.iter().map(|arg| Word::Literal((*arg).to_owned())).collect();
        work(&SimpleCommand::new(Word::Literal(program.to_owned()), args))
    }

    #[test]
    fn what_is_put_to_a_name_may_lead_away() {
        let makes: &[(&str, &[&str])] = &[
            ("sed", &["s#^#../#"]),
            ("sed", &["s/^/..\\//"]),
            ("sed", &["s/_/\\//g"]),
            ("sed", &["-e", "s/x/./g"]),
            ("sed", &["s,^,/etc/,"]),
            ("sed", &["y/_/\\//"]),
            ("sed", &["1i /etc/x"]),
            ("sed", &["s/\\(x*\\)/\\1\\//"]),
            ("awk", &["{print \"../\" $0}"]),
            ("awk", &["BEGIN{print ENVIRON[\"HOME\"]}"]),
            ("awk", &["{printf \"%cx\", 47}"]),
            ("awk", &["-v", "OFS=/", "{$1=$1}1"]),
            ("tr", &["_", "/"]),
            ("tr", &["a-c", "--/"]),
            ("tr", &["_", "\\057"]),
            ("sed", &["s/.*/\\x2e\\x2e\\/&/"]),
            ("sed", &["s/^/\\o56/"]),
            ("date", &["+/etc/x"]),
            ("jq", &["-rn", "env.HOME"]),
            ("printenv", &["HOME"]),
            ("env", &[]),
            ("base64", &["-d"]),
            ("python3", &["-c", "print('/etc/x')"]),
        ];
        for (program, args) in makes {
            assert_eq!(of(program, args), Work::Makes, "{program} {args:?}");
        }
        let keeps: &[(&str, &[&str])] = &[
            ("sed", &["/foo/d"]),
            ("sed", &["-n", "/a/,/b/p"]),
            ("awk", &["{print $1}"]),
            ("awk", &["/x/{print $2}"]),
            ("tr", &[" ", "\\n"]),
            ("tr", &["a-z", "A-Z"]),
            ("env", &["A=1"]),
            ("python3", &["-c", "print(1/2)"]),
            ("date", &["+%Y/%m/%d"]),
        ];
        for (program, args) in keeps {
            assert_eq!(of(program, args), Work::Keeps, "{program} {args:?}");
        }
        let ends: &[(&str, &[&str])] = &[
            ("sed", &["s/\\.c$/.o/"]),
            ("sed", &["s/ .*//"]),
            ("sed", &["s/.*\\///"]),
            ("awk", &["-F/", "{print $NF}"]),
            ("cut", &["-d/", "-f1"]),
        ];
        for (program, args) in ends {
            assert_eq!(of(program, args), Work::Cuts(Vec::new()), "{program} {args:?}");
        }
    }

    #[test]
    fn what_is_left_of_a_text_is_known_when_the_cut_is_plain() {
        let Work::Cuts(cuts) = of("sed", &["s|^\\./||"]) else { panic!("it cuts") };
        assert_eq!(cuts[0].left_of(".//etc").as_deref(), Some("/etc"));
        let Work::Cuts(cuts) = of("tr", &["-d", "x"]) else { panic!("it cuts") };
        assert_eq!(cuts[0].left_of(".x./y").as_deref(), Some("../y"));
        assert_eq!(of("sed", &["s/a.*b//"]), Work::Cuts(vec![Cutting::Unknown]));
    }
}
