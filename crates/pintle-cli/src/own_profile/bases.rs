//! Where a command's words start from.

use std::path::{Path, PathBuf};

use pintle_policy::{
    resolve,
    shell::{SimpleCommand, Word},
};

pub(super) struct Bases {
    /// Each place where a part of the line may run.
    pub(super) known: Vec<PathBuf>,
    /// It goes to a folder that nobody knows.
    pub(super) anywhere: bool,
    /// Where it goes on from there, by name; the first is where it is then.
    pub(super) tails: Vec<PathBuf>,
}

impl Bases {
    pub(super) fn of(line: &str, commands: &[SimpleCommand], cwd: &Path) -> Self {
        let only = only_in(line, commands);
        let start = only.map_or_else(|| cwd.to_path_buf(), |folder| cwd.join(folder));
        let mut bases = Self { known: vec![start], anywhere: false, tails: vec![PathBuf::new()] };
        for command in commands {
            let args = &command.args;
            if only.is_none() && goes(command) {
                bases.go(args.iter().find(|a| !a.text().starts_with('-')));
            }
            for (at, arg) in args.iter().enumerate() {
                match arg.text() {
                    "-C" | "--chdir" | "--directory" | "--cwd" | "--work-tree" => {
                        bases.go(args.get(at.saturating_add(1)));
                    }
                    "-execdir" | "-okdir" => bases.anywhere = true,
                    text => {
                        let long = ["--chdir=", "--directory=", "--cwd=", "--work-tree=", "-C"];
                        if let Some(folder) = long.iter().find_map(|it| text.strip_prefix(it)) {
                            let folder = folder.to_owned();
                            bases.go(Some(&match arg.is_dynamic() {
                                true => Word::Dynamic(folder),
                                false => Word::Literal(folder),
                            }));
                        }
                    }
                }
            }
        }
        bases
    }

    fn go(&mut self, place: Option<&Word>) {
        match place {
            Some(Word::Literal(place)) if self.known.len() <= 8 => {
                let further: Vec<PathBuf> =
                    self.known.iter().map(|base| base.join(place)).collect();
                self.known.extend(further);
                let further: Vec<PathBuf> =
                    self.tails.iter().map(|base| base.join(place)).collect();
                self.tails.extend(further);
            }
            _ => self.anywhere = true,
        }
    }

    /// The work trees of git that it may run in, the outermost ones: an inner one can be taken away first.
    pub(super) fn work_trees(&self) -> impl Iterator<Item = PathBuf> {
        self.known.iter().filter_map(|base| resolve(base, Path::new("")).ok()).map(|base| {
            let outermost = base.ancestors().filter(|folder| folder.join(".git").exists()).last();
            outermost.unwrap_or(&base).to_path_buf()
        })
    }

    /// Whether a repository here changes its files when something is pushed into it.
    pub(super) fn takes_pushes(&self) -> bool {
        self.work_trees().any(|tree| {
            let settings = std::fs::read_to_string(tree.join(".git/config"));
            // What cannot be read may say so.
            settings.is_ok_and(|it| it.to_ascii_lowercase().contains("updateinstead"))
        })
    }

    /// Whether each of these is a file here, and nothing that git would take for a version instead.
    pub(super) fn only_files(&self, names: &[String]) -> bool {
        const REFS: &[&str] = &["", "refs", "refs/tags", "refs/heads", "refs/remotes"];
        let is_file = |name: &String| self.known.iter().all(|base| base.join(name).exists());
        let is_version = |name: &String| {
            self.work_trees().any(|tree| {
                let git = tree.join(".git");
                let packed = std::fs::read_to_string(git.join("packed-refs")).unwrap_or_default();
                let ends = |line: &str| {
                    line.strip_suffix(name.as_str()).is_some_and(|it| it.ends_with('/'))
                };
                !git.is_dir()
                    || git.join("reftable").exists()
                    || REFS.iter().any(|place| git.join(place).join(name).exists())
                    || packed.lines().any(ends)
            })
        };
        names.iter().all(|name| is_file(name) && !is_version(name))
    }
}

fn goes(command: &SimpleCommand) -> bool {
    matches!(command.program(), Some("cd" | "chdir" | "pushd" | "popd"))
}

/// The folder of `cd FOLDER && …`, where nothing runs unless it has gone there.
fn only_in<'a>(line: &str, commands: &'a [SimpleCommand]) -> Option<&'a str> {
    let (before, after) = line.trim().split_once("&&")?;
    let rest = after.replace("2>&1", "").replace("&&", "");
    let is_plain = before.starts_with("cd ")
        && !before.contains(['|', '&', ';', '\n', '(', '`', '#'])
        && !rest.contains("||")
        && !rest.contains(['&', ';', '\n', '(', '`', '{']);
    let mut going = commands.iter().filter(|command| goes(command));
    let (Some(first), None) = (going.next(), going.next()) else { return None };
    let [Word::Literal(folder)] = first.args.as_slice() else { return None };
    (is_plain && !folder.starts_with('-')).then_some(folder)
}
