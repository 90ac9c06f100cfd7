//! The words of a script in another language: names, texts with what is put into them, and signs. Comments are left out.

/// Whose rules for comments and texts hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::profile) enum Tongue {
    Python,
    Node,
    Ruby,
    Perl,
    Php,
    Lua,
    Awk,
}

impl Tongue {
    /// By a script's ending, or else by the program in its first line.
    pub(in crate::profile) fn of(kind: &str, text: &str) -> Option<Self> {
        let by_ending = match kind {
            "py" => Some(Self::Python),
            "cjs" | "cts" | "js" | "jsx" | "mjs" | "mts" | "ts" | "tsx" => Some(Self::Node),
            "rb" => Some(Self::Ruby),
            "pl" | "pm" => Some(Self::Perl),
            "php" => Some(Self::Php),
            "lua" => Some(Self::Lua),
            "awk" => Some(Self::Awk),
            _ => None,
        };
        let first = text.strip_prefix("#!").and_then(|text| text.lines().next());
        by_ending.or_else(|| {
            const STARTS: [(&str, Tongue); 10] = [
                ("python", Tongue::Python),
                ("pypy", Tongue::Python),
                ("node", Tongue::Node),
                ("deno", Tongue::Node),
                ("bun", Tongue::Node),
                ("tsx", Tongue::Node),
                ("ruby", Tongue::Ruby),
                ("perl", Tongue::Perl),
                ("php", Tongue::Php),
                ("lua", Tongue::Lua),
            ];
            let line = first?;
            STARTS.iter().find(|(name, _)| line.contains(name)).map(|(_, tongue)| *tongue)
        })
    }

    fn starts_comment(self, here: char, next: Option<char>, before: Option<char>) -> bool {
        match self {
            Self::Node => here == '/' && next == Some('/'),
            Self::Lua => here == '-' && next == Some('-'),
            Self::Php => (here == '/' && next == Some('/')) || here == '#',
            // `$#list` of Perl is a number.
            Self::Perl => here == '#' && before != Some('$'),
            Self::Python | Self::Ruby | Self::Awk => here == '#',
        }
    }

    /// Whether a text in these quotes is looked through for what is put into it.
    fn puts_into(self, quote: char, prefix: &str) -> bool {
        match self {
            Self::Python => prefix.contains(['f', 't']),
            Self::Node => quote == '`',
            Self::Ruby | Self::Perl | Self::Php => quote != '\'',
            Self::Lua | Self::Awk => false,
        }
    }

    /// Whether a text in backquotes is a line for a shell.
    fn runs_backquotes(self) -> bool {
        matches!(self, Self::Ruby | Self::Perl | Self::Php)
    }

    fn has_patterns(self) -> bool {
        !matches!(self, Self::Python | Self::Lua)
    }
}

#[derive(Debug, Clone)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) line: usize,
    /// How far in the line it stands in.
    pub(super) indent: usize,
}

#[derive(Debug, Clone)]
pub(super) enum Kind {
    Name(String),
    Text(Vec<Part>),
    /// A text that a shell is given: in backquotes.
    Line(Vec<Part>),
    Number(String),
    Sign(char),
}

/// A part of a text.
#[derive(Debug, Clone)]
pub(super) enum Part {
    Plain(String),
    /// What is put in there.
    Code(Vec<Token>),
}

impl Token {
    pub(super) fn name(&self) -> Option<&str> {
        match &self.kind {
            Kind::Name(name) => Some(name),
            _ => None,
        }
    }

    pub(super) fn is(&self, sign: char) -> bool {
        matches!(self.kind, Kind::Sign(it) if it == sign)
    }

    pub(super) fn is_name(&self, name: &str) -> bool {
        self.name() == Some(name)
    }
}

/// All words of a script.
pub(super) fn tokens(tongue: Tongue, script: &str) -> Vec<Token> {
    let chars: Vec<char> = script.chars().collect();
    let mut reader = Reader { tongue, chars: &chars, at: 0, line: 1, line_at: 0 };
    reader.until(None)
}

struct Reader<'a> {
    tongue: Tongue,
    chars: &'a [char],
    at: usize,
    line: usize,
    /// Where the line begins.
    line_at: usize,
}

impl Reader<'_> {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at.saturating_add(ahead)).copied()
    }

    fn before(&self) -> Option<char> {
        self.chars.get(self.at.checked_sub(1)?).copied()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek(0)?;
        self.at = self.at.saturating_add(1);
        if c == '\n' {
            self.line = self.line.saturating_add(1);
            self.line_at = self.at;
        }
        Some(c)
    }

    fn skip(&mut self, count: usize) {
        for _ in 0..count {
            self.next();
        }
    }

    fn begins(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(ahead, c)| self.peek(ahead) == Some(c))
    }

    /// Up to a closing sign that nothing here opened, or the end.
    fn until(&mut self, close: Option<char>) -> Vec<Token> {
        let mut found: Vec<Token> = Vec::new();
        let mut depth = 0_usize;
        while let Some(c) = self.peek(0) {
            let (line, indent) = (self.line, self.at.saturating_sub(self.line_at));
            let divides = !begins_a_pattern(found.last());
            let mut add = |kind: Kind| found.push(Token { kind, line, indent });
            if self.tongue.starts_comment(c, self.peek(1), self.before()) {
                while self.peek(0).is_some_and(|c| c != '\n') {
                    self.next();
                }
            } else if self.begins("/*") && matches!(self.tongue, Tongue::Node | Tongue::Php) {
                while self.peek(0).is_some() && !self.begins("*/") {
                    self.next();
                }
                self.next();
                self.next();
            } else if c.is_whitespace() {
                self.next();
            } else if matches!(c, '"' | '\'' | '`') {
                if let Some(kind) = self.text("") {
                    add(kind);
                }
            } else if c.is_alphabetic() || c == '_' {
                let name = self.name();
                let is_prefix = name.len() <= 2 && self.tongue == Tongue::Python;
                match self.peek(0) {
                    Some('"' | '\'') if is_prefix => {
                        if let Some(kind) = self.text(&name.to_lowercase()) {
                            add(kind);
                        }
                    }
                    _ => add(Kind::Name(name)),
                }
            } else if c.is_ascii_digit() {
                add(Kind::Number(self.name()));
            } else if c == '/' && self.tongue.has_patterns() && !divides {
                self.pattern();
                add(Kind::Number("pattern".into()));
            } else {
                match c {
                    '(' | '[' | '{' => depth = depth.saturating_add(1),
                    _ if close == Some(c) && depth == 0 => {
                        self.next();
                        return found;
                    }
                    ')' | ']' | '}' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                add(Kind::Sign(c));
                self.next();
            }
        }
        found
    }

    fn name(&mut self) -> String {
        let mut name = String::new();
        while let Some(c) = self.peek(0).filter(|c| c.is_alphanumeric() || *c == '_') {
            name.push(c);
            self.next();
        }
        name
    }

    fn pattern(&mut self) {
        self.next();
        let mut in_class = false;
        while let Some(c) = self.peek(0).filter(|c| *c != '\n') {
            self.next();
            match c {
                '\\' => drop(self.next()),
                '[' => in_class = true,
                ']' => in_class = false,
                '/' if !in_class => break,
                _ => {}
            }
        }
    }

    /// A text from its first quote to its last. A quote alone (an apostrophe) is none.
    fn text(&mut self, prefix: &str) -> Option<Kind> {
        let quote = self.next()?;
        let is_long = self.tongue == Tongue::Python
            && self.peek(0) == Some(quote)
            && self.peek(1) == Some(quote);
        if is_long {
            self.next();
            self.next();
        }
        let goes_on = is_long || quote == '`';
        let puts_into = self.tongue.puts_into(quote, prefix);
        let begun = (self.at, self.line, self.line_at);
        let (mut parts, mut plain) = (Vec::new(), String::new());
        loop {
            let Some(c) = self.peek(0).filter(|c| goes_on || *c != '\n') else {
                (self.at, self.line, self.line_at) = begun;
                return None;
            };
            let ends = match is_long {
                true => (0..3).all(|ahead| self.peek(ahead) == Some(quote)),
                false => c == quote,
            };
            if ends {
                self.skip(if is_long { 3 } else { 1 });
                break;
            }
            if c == '\\' {
                self.next();
                if prefix.contains('r') {
                    plain.push(c);
                    plain.extend(self.next());
                } else if !self.escaped(&mut plain) {
                    parts.push(Part::Plain(std::mem::take(&mut plain)));
                    parts.push(Part::Code(Vec::new()));
                }
                continue;
            }
            if puts_into && let Some(code) = self.put_in() {
                parts.push(Part::Plain(std::mem::take(&mut plain)));
                parts.push(Part::Code(code));
                continue;
            }
            plain.push(c);
            self.next();
        }
        parts.push(Part::Plain(plain));
        parts.retain(|part| !matches!(part, Part::Plain(text) if text.is_empty()));
        let is_line = quote == '`' && self.tongue.runs_backquotes();
        Some(if is_line { Kind::Line(parts) } else { Kind::Text(parts) })
    }

    /// What stands behind a backslash; whether it could be told.
    fn escaped(&mut self, plain: &mut String) -> bool {
        let digits = |reader: &mut Self, most: usize, radix: u32| {
            let mut number = 0_u32;
            for _ in 0..most {
                let Some(digit) = reader.peek(0).and_then(|c| c.to_digit(radix)) else { break };
                number = number.saturating_mul(radix).saturating_add(digit);
                reader.next();
            }
            char::from_u32(number)
        };
        let Some(c) = self.peek(0) else { return true };
        let found = match c {
            'x' | 'u' | 'U' => {
                self.next();
                if self.peek(0) == Some('{') {
                    return false;
                }
                digits(self, if c == 'x' { 2 } else { 4 }, 16)
            }
            '0'..='7' => digits(self, 3, 8),
            'N' => return false,
            _ => {
                self.next();
                match c {
                    'n' => Some('\n'),
                    't' => Some('\t'),
                    '\n' => None,
                    c => Some(c),
                }
            }
        };
        plain.extend(found);
        true
    }

    /// `{name}`, `${name}`, `#{name}`, `$name`
    fn put_in(&mut self) -> Option<Vec<Token>> {
        let start = match self.tongue {
            Tongue::Python if self.begins("{{") => {
                self.next();
                return None;
            }
            Tongue::Python => "{",
            Tongue::Ruby => "#{",
            _ => "${",
        };
        if self.begins(start) {
            self.skip(start.len());
            let mut code = self.until(Some('}'));
            if self.tongue == Tongue::Python {
                // `{name!r:>10}`
                let mut depth = 0_usize;
                let end = code.iter().position(|token| match token.kind {
                    Kind::Sign('(' | '[' | '{') => {
                        depth = depth.saturating_add(1);
                        false
                    }
                    Kind::Sign(')' | ']' | '}') => {
                        depth = depth.saturating_sub(1);
                        false
                    }
                    Kind::Sign(':' | '!') => depth == 0,
                    _ => false,
                });
                code.truncate(end.unwrap_or(code.len()));
            }
            return Some(code);
        }
        let is_variable = matches!(self.tongue, Tongue::Perl | Tongue::Php)
            && self.peek(0) == Some('$')
            && self.peek(1).is_some_and(|c| c.is_alphabetic() || c == '_');
        if !is_variable {
            return None;
        }
        let line = self.line;
        self.next();
        let mut code = vec![Token { kind: Kind::Name(self.name()), line, indent: 0 }];
        // `$ENV{PATH}`
        if self.tongue == Tongue::Perl && self.peek(0) == Some('{') {
            let sign = |c: char| Token { kind: Kind::Sign(c), line, indent: 0 };
            self.next();
            code.push(sign('{'));
            code.extend(self.until(Some('}')));
            code.push(sign('}'));
        }
        Some(code)
    }
}

/// Whether a slash begins a pattern, and does not divide.
fn begins_a_pattern(before: Option<&Token>) -> bool {
    match before.map(|token| &token.kind) {
        None => true,
        Some(Kind::Sign(c)) => !matches!(c, ')' | ']' | '}'),
        Some(Kind::Name(name)) => {
            ["return", "case", "typeof", "in", "of", "if", "and", "or", "split", "grep", "unless"]
                .contains(&name.as_str())
        }
        Some(_) => false,
    }
}
