//! Names that a program works out of what it reads: `echo x | sed 's#^#../#' | xargs cat`, `cat $(echo _etc_x | tr _ /)`.
//!
//! What a lister prints is what is there; what `sed`, `awk` and `tr` make of it is another name of the same kind, unless they put
//! something to it that leads away, or cut a text of the line so that its rest does.

use super::{code, is_joint, printers, sed};
use crate::outside::PROGRAM_FOLDERS;
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
    /// It calculates, as long as it reads no text in quotes.
    Quotes,
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
            Self::Quotes if text.contains('"') => None,
            Self::Quotes => Some(text.to_owned()),
            Self::Unknown => None,
        }
    }
}

/// What this command makes of what it reads. Of a program that nobody knows, what it prints may be any name.
pub(super) fn work(command: &SimpleCommand) -> Work {
    let args: Vec<&str> = command.args.iter().map(Word::text).collect();
    let has = |options: &[&str]| args.iter().any(|arg| options.contains(arg));
    let short = |letter: char| {
        let is =
            |arg: &&str| arg.starts_with('-') && !arg.starts_with("--") && arg.contains(letter);
        args.iter().any(is)
    };
    let unknown = || Work::Cuts(vec![Cutting::Unknown]);
    let name = command.name.text();
    if name.contains('/') && !PROGRAM_FOLDERS.iter().any(|folder| name.starts_with(folder)) {
        return Work::Makes;
    }
    match command.program().unwrap_or("?") {
        "sed" | "gsed" => sed::work(command),
        "awk" | "gawk" | "mawk" | "nawk" => awk(&args),
        "tr" => tr(&args),
        "printf" => printf(command),
        "paste" if args.iter().any(|arg| arg.starts_with("-d") || arg.starts_with("--d")) => {
            Work::Makes
        }
        "paste" => Work::Cuts(vec![Cutting::Joins]),
        "rev" | "fold" | "colrm" | "dd" => unknown(),
        "head" | "tail" if short('c') || has(&["--bytes"]) => unknown(),
        "rg" if short('r') || args.iter().any(|arg| arg.starts_with("--r")) => Work::Makes,
        "grep" | "egrep" | "fgrep" | "rg" if short('o') || has(&["--only-matching"]) => unknown(),
        "cut" => {
            let by_place = |arg: &&str| arg.starts_with("-c") || arg.starts_with("-b");
            let at_dots = args.join(" ").contains("-d.") || has(&["."]);
            let joins = args.iter().any(|arg| arg.starts_with("--o"));
            let is_open = args.iter().any(by_place) || at_dots;
            match joins {
                true => Work::Makes,
                false => Work::Cuts(is_open.then_some(Cutting::Unknown).into_iter().collect()),
            }
        }
        "jq" | "yq" if walks(&args) => unknown(),
        program if code::is_language(program) && code::says_no_place(command) => Work::Keeps,
        "bc" if args.iter().all(|arg| *arg == "-l") => Work::Cuts(vec![Cutting::Quotes]),
        _ if printers::is_known(command) => Work::Keeps,
        _ => Work::Makes,
    }
}

/// What `printf` fills in is known, unless it is cut or only running the line tells how it is filled in.
fn printf(command: &SimpleCommand) -> Work {
    let format = command.args.iter().find(|arg| !matches!(arg.text(), "--" | "-v"));
    let is_cut = |format: &&Word| {
        let cuts = |part: &str| {
            let end = part.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(part.len());
            let (flags, letter) = part.split_at_checked(end).unwrap_or((part, ""));
            flags.contains(['.', '*']) || letter.starts_with('c')
        };
        format.text().split('%').skip(1).any(cuts)
    };
    let is_open = |format: &&Word| format.is_dynamic() && format.text().contains(['$', '`']);
    match format.filter(|format| is_cut(format) || is_open(format)) {
        Some(_) => Work::Makes,
        None => Work::Keeps,
    }
}

/// Whether `jq` only goes to fields of what it reads: `.a.b[]`, `.scripts | keys[]`.
fn walks(args: &[&str]) -> bool {
    const KNOWN: &[&str] = &[
        "first",
        "keys",
        "last",
        "length",
        "map",
        "not",
        "select",
        "sort",
        "to_entries",
        "unique",
        "values",
    ];
    let is_walk = |arg: &str| {
        let mut before = ' ';
        let mut words = Vec::new();
        for part in arg.split_inclusive(|c: char| !c.is_ascii_alphanumeric() && c != '_') {
            let word = part.trim_end_matches(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            let is_number = word.bytes().all(|b| b.is_ascii_digit());
            if before != '.' && !is_number {
                words.push(word);
            }
            before = part.chars().next_back().unwrap_or(' ');
        }
        arg.chars().all(|c| c.is_ascii_alphanumeric() || "_.[]|()? =!<>-".contains(c))
            && words.iter().all(|word| KNOWN.contains(word))
    };
    let mut operands = args.iter().filter(|arg| !arg.starts_with('-'));
    let options = args.iter().filter(|arg| arg.starts_with('-'));
    let plain = ["-r", "-e", "-c", "-s", "-M", "-er", "-cr", "-rc", "-re", "--raw-output", "-rM"];
    operands.next().is_some_and(|filter| is_walk(filter))
        && options.into_iter().all(|option| plain.contains(option))
}

/// Whether a text that is put to a name may lead away.
pub(super) fn leads_away(put: &str, at_start: bool) -> bool {
    let is_dots = !put.is_empty() && put.chars().all(|c| c == '.');
    let goes_on = put.starts_with("./") && !at_start;
    put.starts_with(['/', '~']) || put.contains("..") || is_dots || goes_on
}

fn awk(args: &[&str]) -> Work {
    const CUTS: &[&str] =
        &["substr", "sub(", "split(", "match(", "printf", "FS", "RS", "ARGV", "FILENAME"];
    let mut cuts = Vec::new();
    let works = args.iter().any(|text| CUTS.iter().any(|it| text.contains(it)));
    for text in args {
        let sets = text.split_once("OFS=").or_else(|| text.split_once("ORS="));
        let is_set = sets.is_some_and(|(_, value)| value.starts_with(['/', '.']));
        let mut strings = text.split('"').skip(1).step_by(2);
        let is_made = |it: &str| {
            leads_away(it, true)
                || ["%c", "%.", "\\0", "\\1", "\\x", "\\/"].iter().any(|c| it.contains(c))
                || (works && it.contains(['/', '.']))
        };
        let is_given = works
            && text.split_once('=').is_some_and(|(name, value)| {
                name.bytes().all(|b| b.is_ascii_alphanumeric()) && value.contains(['/', '.'])
            });
        if is_set || is_given || text.contains("ENVIRON") || strings.any(is_made) {
            return Work::Makes;
        }
        if works {
            cuts.push(Cutting::Unknown);
        } else if !prints_fields(text) || assigns(text) {
            cuts.push(Cutting::Joins);
        }
    }
    let cuts_at = args.iter().any(|arg| arg.starts_with("-F"));
    if cuts.is_empty() && !cuts_at { Work::Keeps } else { Work::Cuts(cuts) }
}

/// `x = $1`, but not `$1 == x`.
fn assigns(program: &str) -> bool {
    let compares = ["==", "!=", "<=", ">="];
    compares.iter().fold(program.to_owned(), |text, it| text.replace(it, "")).contains('=')
}

/// `{print $1, $2}`: nothing stands beside a field but a comma.
fn prints_fields(program: &str) -> bool {
    let is_field = |field: &str| {
        let number = field.trim().strip_prefix('$').unwrap_or_default();
        !number.is_empty() && number.bytes().all(|b| b.is_ascii_alphanumeric())
    };
    let printed = program.split("print").skip(1).map(|after| {
        let end = after.find(['}', ';', '\n']).unwrap_or(after.len());
        after.get(..end).unwrap_or_default().trim()
    });
    printed.into_iter().all(|fields| fields.is_empty() || fields.split(',').all(is_field))
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
        // What is kept may be a way; digits are none.
        [kept] if deletes && is_complement && !may_be_a_way(kept) => Work::Keeps,
        // Of `a.b` without its letters a way up is left.
        [set] if deletes && set.contains(|c: char| c.is_alphanumeric()) => Work::Makes,
        [_] if deletes && is_complement => Work::Makes,
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
            ("tr", &["-cd", "."]),
            ("tr", &["-d", "a-z\\n"]),
            ("sed", &["s/.*/\\x2e\\x2e\\/&/"]),
            ("sed", &["s/^/\\o56/"]),
            ("date", &["+/etc/x"]),
            ("jq", &["-rn", "env.HOME"]),
            ("printenv", &["HOME"]),
            ("env", &[]),
            ("base64", &["-d"]),
            ("python3", &["-c", "print('/etc/x')"]),
            ("python3", &["script.py"]),
            ("env", &["A=1"]),
            ("ls", &["-la"]),
            ("anything", &[]),
            ("./ls", &[]),
            ("date", &["+%n/etc/x"]),
            ("date", &["+%H /etc/x"]),
            ("jq", &["-rn", "\".\"+\"./x\""]),
            ("dc", &["-e", "[/etc/x]p"]),
            ("m4", &[]),
            ("find", &[".", "-printf", "x\\n/etc/x"]),
            ("ls", &["--time-style=+/etc/x", "-l"]),
            ("git", &["log", "--format=x%n/etc/x"]),
            ("git", &["rev-parse", "--show-toplevel"]),
            ("git", &["ls-files", ".."]),
            ("docker", &["ps", "--format", "{{\"/etc\"}}"]),
            ("realpath", &["--relative-to=src", "."]),
            ("readlink", &["link"]),
            ("basename", &["src/.."]),
            ("seq", &["-f", "/x%g", "1"]),
            ("which", &["ls"]),
            ("sed", &["1i\\/etc/x"]),
            ("printf", &["%.2s", "..x"]),
            ("awk", &["BEGIN{print substr(\"x/etc\", 2)}"]),
        ];
        for (program, args) in makes {
            assert_eq!(of(program, args), Work::Makes, "{program} {args:?}");
        }
        let keeps: &[(&str, &[&str])] = &[
            ("sed", &["/foo/d"]),
            ("sed", &["-n", "/a/,/b/p"]),
            ("awk", &["{print $1}"]),
            ("awk", &["/x/{print $2}"]),
            ("awk", &["{print $1, $NF}"]),
            ("tr", &[" ", "\\n"]),
            ("tr", &["a-z", "A-Z"]),
            ("tr", &["-dc", "0-9"]),
            ("env", &["A=1", "ls"]),
            ("python3", &["-c", "print(1/2)"]),
            ("date", &["+%Y/%m/%d"]),
            ("ls", &["-t"]),
            ("find", &[".", "-printf", "%f\\n"]),
            ("git", &["log", "--format=%h %s", "-3"]),
            ("git", &["-C", "sub", "ls-files"]),
            ("docker", &["ps", "-q", "--format", "{{.Names}}"]),
            ("seq", &["1", "5"]),
            ("/usr/bin/ls", &[]),
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
