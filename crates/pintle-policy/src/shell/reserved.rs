//! Words that are grammar to a shell, and never a program, when they stand unquoted where a program's name would.

const RESERVED: &[&str] = &[
    "!", "{", "}", "[[", "]]", "((", "case", "do", "done", "elif", "else", "esac", "fi", "for",
    "function", "if", "in", "select", "then", "until", "while",
];

/// Whether a shell reads this text as grammar. `time` and `coproc` are looked behind instead.
pub(crate) fn is_reserved(text: &str) -> bool {
    RESERVED.contains(&text)
}

/// Whether a shell would take this text, in front of a program's name, for `NAME=value`, `NAME+=value` or `NAME[i]=value`.
pub(crate) fn looks_assigned(text: &str) -> bool {
    text.split_once('=').is_some_and(|(left, _)| {
        let name = left.split_once('[').map_or(left, |(name, _)| name);
        super::is_variable_name(name.trim_end_matches('+'))
    })
}

/// Whether text that follows `time`, `coproc` or `!` is grammar rather than a program's name.
pub(crate) fn is_grammar(text: &str) -> bool {
    is_reserved(text)
        || looks_assigned(text)
        || matches!(text, "time" | "coproc")
        || text.starts_with('(')
}
