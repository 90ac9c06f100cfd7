//! A shell command with its parts in colours.

use pintle_policy::shell::{Token, tokens};

use crate::shown::{Show, Shown, bold, cyan, green, text};

/// The lines of a command: programs are bold, the signs of the shell cyan, quoted text green. A command that cannot be read
/// is bold.
pub(crate) fn command_lines(command: &str) -> Vec<Shown> {
    let command = command.trim_end();
    let tokens = tokens(command);
    if tokens.is_empty() {
        return command.split('\n').map(bold).collect();
    }
    let mut lines = vec![Shown::default()];
    let mut push = |piece: &str, paint: fn(Shown) -> Shown| {
        for (at, part) in piece.split('\n').enumerate() {
            if at > 0 {
                lines.push(Shown::default());
            }
            if let Some(line) = lines.last_mut().filter(|_| !part.is_empty()) {
                *line = text!("{}{}", *line, paint(part.shown()));
            }
        }
    };
    let mut done = 0;
    for (range, token) in tokens {
        let paint = match token {
            Token::Program => bold,
            Token::Operator => cyan,
            Token::Text => green,
        };
        push(command.get(done..range.start).unwrap_or_default(), |it| it);
        done = done.max(range.end);
        push(command.get(range).unwrap_or_default(), paint);
    }
    push(command.get(done..).unwrap_or_default(), |it| it);
    lines
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;

    use super::command_lines;

    #[test]
    fn every_character_of_a_command_is_shown() {
        for command in [
            "git push origin main",
            "é=ü; cat <<'E' | tr a \"b $(rm -r x)\" && \\\n  echo done\nsome text\nE\n",
            "((((",
            "'open",
            "",
        ] {
            let lines = command_lines(command);
            let shown: Vec<_> = lines.iter().map(|it| strip_str(it.as_str()).to_string()).collect();
            assert_eq!(shown.join("\n"), command.trim_end());
        }
        let push = command_lines("git push | cat");
        let drawn = "\u{1b}[1mgit\u{1b}[0m push \u{1b}[36m|\u{1b}[0m \u{1b}[1mcat\u{1b}[0m";
        assert_eq!(push.first().unwrap().as_str(), drawn);
    }
}
