//! Commands that run `rm x`, one construct around another.

use super::templates::TEMPLATES;

/// Ways to write the program that leaves the mark.
const LEAVES: &[&str] = &[
    "rm x", "rm x", "rm x", "'rm' x", "r\\m x", "\"rm\" x", "$'rm' x", "rm -v x", "rm -c y", "rm",
    "rm if", "rm {",
];

/// What a slip of the pen leaves between two words.
const SLIPS: &[&str] = &[
    "!",
    "time",
    "coproc",
    "{",
    "}",
    "(",
    ")",
    "if",
    "then",
    "fi",
    "do",
    "done",
    "case",
    "esac",
    "in",
    "function f9",
    "[[",
    "]]",
    "a=1",
    "a+=1",
    "a[0]=1",
    ">o",
    "<x",
    "2>&1",
    "\\\n",
    "\n",
    ";",
    "&",
    "&&",
    "|",
    "||",
    ";;",
    "#",
    "'",
    "\"",
    "\\",
    "$",
    "`",
    "$(",
    "${q:-",
    "<<E",
    "<<< a",
    "--",
    "-c",
    "-p",
    "-v",
    "{}",
    "+",
    "env",
    "command",
    "exec",
    "eval",
    "$'",
    "((",
    "))",
    "~",
    "*",
    "x",
    "é",
];

/// The same numbers for the same seed, on every machine.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap() % end
    }

    pub(crate) fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

pub(crate) fn fill(template: &str, inner: &str, level: usize) -> String {
    template
        .replace("@f", &format!("f{level}"))
        .replace("%s", inner)
        .replace("%q", &format!("'{}'", inner.replace('\'', "'\\''")))
        .replace("%d", &inner.replace(['\\', '"', '$', '`', '\''], ""))
}

/// Two or three constructs, one in the other.
pub(crate) fn grow(random: &mut Random) -> String {
    let mut command = random.pick(LEAVES).to_owned();
    for level in 0..2 + random.below(2) {
        command = fill(random.pick(TEMPLATES), &command, level);
    }
    command
}

/// Words in no order, with `rm x` among them.
pub(crate) fn heap(random: &mut Random) -> String {
    let mut words: Vec<&str> = (0..2 + random.below(8)).map(|_| random.pick(SLIPS)).collect();
    for _ in 0..1 + random.below(2) {
        words.insert(random.below(words.len() + 1), random.pick(&["rm x", "rm", ":", "echo a"]));
    }
    words.insert(random.below(words.len() + 1), "rm x");
    let blanks = [" ", " ", " ", "", "\n"];
    words.iter().map(|word| format!("{word}{}", random.pick(&blanks))).collect()
}

/// Pieces of a word with nothing between them: a shell ends it at the blank, whatever is in it.
pub(crate) fn glued(random: &mut Random) -> String {
    const PIECES: &[&str] = &[
        "$q", "${q}", "$", "$:", ":", "/", ".", ",", "-", "=", "b", "B=1", "\"x\"", "'y'", "\\ ",
        "%", "+", "@", "~", "$q/c", "$1", "$((1))", "$(:)", "[0]", "{a,b}", "^",
    ];
    const FRAMES: &[&str] = &[
        "a=% rm x",
        "a=% b=% rm x",
        "a+=% rm x",
        "a[0]=% rm x",
        "export a=%; rm x",
        "echo >o% ; rm x",
        ">o% rm x",
        "for v in %; do rm x; done",
        "case % in *) rm x;; esac",
        "a=%;rm x",
        "{ a=% rm x; }",
        "(a=% rm x)",
        ": $(a=% rm x)",
        "if a=% rm x; then :; fi",
        "cat <<< % ; rm x",
        "a=%\nrm x",
        "a=(%) ; rm x",
    ];
    let mut command = String::new();
    for c in random.pick(FRAMES).chars() {
        match c {
            '%' => (0..1 + random.below(5)).for_each(|_| command.push_str(random.pick(PIECES))),
            c => command.push(c),
        }
    }
    command
}

/// The command with a word put in, taken out, or put in quotes.
pub(crate) fn mutate(random: &mut Random, command: &str) -> String {
    let mut words: Vec<String> = command.split(' ').map(str::to_owned).collect();
    for _ in 0..1 + random.below(2) {
        let at = random.below(words.len());
        match random.below(6) {
            0 if words.len() > 1 => drop(words.remove(at)),
            1 => words[at] = format!("\"{}\"", words[at]),
            2 => words[at].push_str(random.pick(SLIPS)),
            _ => words.insert(at, random.pick(SLIPS).to_owned()),
        }
    }
    words.join(" ")
}
