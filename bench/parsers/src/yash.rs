//! yash-syntax: a grammar of POSIX shells, whose substitutions are texts that have to be parsed once more.

use futures_util::FutureExt;
use yash_syntax::parser::{Parser, lex::Lexer};
use yash_syntax::syntax::{
    BackquoteUnit, Command, CompoundCommand, FullCompoundCommand, List, Modifier, Redir, RedirBody,
    SimpleCommand, Text, TextUnit, Value, Word, WordUnit,
};

use crate::names::read;

pub fn commands(source: &str) -> Result<Vec<String>, String> {
    let mut found = Found { names: Vec::new() };
    found.script(source)?;
    Ok(found.names)
}

struct Found {
    names: Vec<String>,
}

type Done = Result<(), String>;

impl Found {
    fn script(&mut self, source: &str) -> Done {
        // A here-document's last line ends, as it does in a file.
        let source = format!("{source}\n");
        let mut lexer = Lexer::with_code(&source);
        let mut parser = Parser::new(&mut lexer);
        // All of it is there, so nothing has to be waited for.
        while let Some(list) =
            parser.command_line().now_or_never().ok_or("waits")?.map_err(|e| e.to_string())?
        {
            self.list(&list)?;
        }
        Ok(())
    }

    fn list(&mut self, list: &List) -> Done {
        list.0.iter().try_for_each(|item| {
            let rest = item.and_or.rest.iter().map(|(_, pipeline)| pipeline);
            std::iter::once(&item.and_or.first)
                .chain(rest)
                .flat_map(|pipeline| &pipeline.commands)
                .try_for_each(|command| self.command(command))
        })
    }

    fn command(&mut self, command: &Command) -> Done {
        match command {
            Command::Simple(simple) => self.simple(simple),
            Command::Compound(compound) => self.compound(compound),
            Command::Function(function) => self.compound(&function.body),
        }
    }

    fn simple(&mut self, simple: &SimpleCommand) -> Done {
        if let Some((name, _)) = simple.words.first() {
            self.names.push(read(&name.to_string()));
        }
        for assign in &simple.assigns {
            match &assign.value {
                Value::Scalar(word) => self.word(word)?,
                Value::Array(words) => self.words(words)?,
            }
        }
        simple.words.iter().try_for_each(|(word, _)| self.word(word))?;
        self.redirects(&simple.redirs)
    }

    fn redirects(&mut self, redirects: &[Redir]) -> Done {
        redirects.iter().try_for_each(|redirect| match &redirect.body {
            RedirBody::Normal { operand, .. } => self.word(operand),
            RedirBody::HereDoc(document) => {
                document.content.get().map_or(Ok(()), |text| self.text(text))
            }
        })
    }

    fn compound(&mut self, compound: &FullCompoundCommand) -> Done {
        self.redirects(&compound.redirs)?;
        match &compound.command {
            CompoundCommand::Grouping(list) => self.list(list),
            CompoundCommand::Subshell { body, .. } => self.list(body),
            CompoundCommand::For { values, body, .. } => {
                self.words(values.as_deref().unwrap_or_default())?;
                self.list(body)
            }
            CompoundCommand::While { condition, body }
            | CompoundCommand::Until { condition, body } => {
                self.list(condition)?;
                self.list(body)
            }
            CompoundCommand::If { condition, body, elifs, r#else } => {
                self.list(condition)?;
                self.list(body)?;
                for elif in elifs {
                    self.list(&elif.condition)?;
                    self.list(&elif.body)?;
                }
                r#else.as_ref().map_or(Ok(()), |list| self.list(list))
            }
            CompoundCommand::Case { subject, items } => {
                self.word(subject)?;
                items.iter().try_for_each(|item| {
                    self.words(&item.patterns)?;
                    self.list(&item.body)
                })
            }
        }
    }

    fn words(&mut self, words: &[Word]) -> Done {
        words.iter().try_for_each(|word| self.word(word))
    }

    fn word(&mut self, word: &Word) -> Done {
        word.units.iter().try_for_each(|unit| match unit {
            WordUnit::Unquoted(unit) => self.unit(unit),
            WordUnit::DoubleQuote(text) => self.text(text),
            _ => Ok(()),
        })
    }

    fn text(&mut self, text: &Text) -> Done {
        text.0.iter().try_for_each(|unit| self.unit(unit))
    }

    fn unit(&mut self, unit: &TextUnit) -> Done {
        match unit {
            TextUnit::CommandSubst { content, .. } => self.script(content),
            TextUnit::Backquote { content, .. } => {
                let script: String = content
                    .iter()
                    .map(|unit| match unit {
                        BackquoteUnit::Literal(c) | BackquoteUnit::Backslashed(c) => *c,
                    })
                    .collect();
                self.script(&script)
            }
            TextUnit::Arith { content, .. } => self.text(content),
            TextUnit::BracedParam(param) => match &param.modifier {
                Modifier::Switch(switch) => self.word(&switch.word),
                Modifier::Trim(trim) => self.word(&trim.pattern),
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }
}
