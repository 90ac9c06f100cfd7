//! Where a profile says what: for showing which rule decided.

use super::json::parse;
use super::read::read_text;
use super::report::place;
use super::{Profile, written_at};

impl Profile {
    /// Where a field of agent.json is written, like `agent.json:14`; `None` when it is left out.
    #[must_use]
    pub fn written(&self, field: &[&str]) -> Option<String> {
        let node = field.iter().try_fold(&self.document, |node, key| node.get(key))?;
        Some(written_at(&self.source, node))
    }

    /// Where it is written which tools this personality may use, in agent.json or in the `config.json` of its folder;
    /// `None` when it may use all.
    #[must_use]
    pub fn tools_written(&self, personality: &str) -> Option<String> {
        self.personalities.get(personality)?.tools.as_ref()?;
        // As they were taken: what agent.json says of a personality stands before its folder.
        if self.written(&["personalities", personality]).is_some() {
            return self.written(&["personalities", personality, "tools"]);
        }
        let file = format!("personalities/{personality}/config.json");
        let source = read_text(&self.dir, &file).ok()?;
        let tools = parse(&source).document?.get("tools")?.span.start;
        Some(format!("{file}:{}", place(&source, tools).0))
    }
}
