//! `cargo xtask soak`: a thousand chats, twenty thousand messages, and `kill -9` in the middle.

use std::fs;

use crate::step::{Failed, Step, Steps, root};

pub(crate) const HELP: &str = "\
Sends 20,000 messages of 1,000 chats to a gateway that is killed in the middle, and counts

Usage: cargo xtask soak [--chats N] [--messages N] [--kills N]

Options:
  --chats N     How many chats (default 1000)
  --messages N  How many messages in each (default 20)
  --kills N     How often the gateway is killed with SIGKILL and started again (default 5)

It fails when something accepted is not answered, an answer is out of order, a tool ran twice or an unknown
outcome is not listed. The same runs again with the ledger of tool calls off, and then tools have to run twice.
With the default numbers the figures are written into docs/benchmarks.md.

Examples:
  cargo xtask soak
  cargo xtask soak --chats 100 --kills 2
";

const BEGIN: &str = "<!-- soak -->\n";
const END: &str = "<!-- /soak -->\n";

pub(crate) fn run(options: &[&str]) -> Result<(), Failed> {
    let mut steps = Steps::default();
    let example = ["--profile", "benchmark", "-p", "pintle-gateway", "--example", "soak"];
    steps.run(Step::cargo(&[&["build"], &example[..]].concat()))?;
    let soak = Step::cargo(&[&["run", "--quiet"], &example[..], &["--"], options].concat());
    println!("\n▶ {soak}");
    let section = soak.read()?;
    println!("{section}");
    if options.is_empty() {
        let path = root().join("docs/benchmarks.md");
        let failed = |error| Failed::because(path.display(), error);
        let page = fs::read_to_string(&path).map_err(failed)?;
        let kept = kept(&page);
        let section = format!("{BEGIN}{section}{END}");
        let page = match kept.is_empty() {
            true => page.replace("## The machine\n", &format!("{section}\n## The machine\n")),
            false => page.replace(kept, &section),
        };
        fs::write(&path, page).map_err(failed)?;
        println!("Written: docs/benchmarks.md");
    }
    Ok(())
}

/// What the last soak wrote into the page of benchmarks.
pub(crate) fn kept(page: &str) -> &str {
    let begin = page.find(BEGIN);
    let end = page.find(END).map(|at| at + END.len());
    begin.zip(end).and_then(|(begin, end)| page.get(begin..end)).unwrap_or_default()
}
