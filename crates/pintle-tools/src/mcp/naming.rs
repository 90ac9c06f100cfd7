//! What an MCP server's tool is called.

use std::collections::HashSet;

/// The longest name that providers take.
const LONGEST: usize = 64;

/// `mcp__SERVER__TOOL`, of letters, digits, `_` and `-` only.
///
/// A name that is too long or already taken ends in a hash of the original names, so that it is the same on every
/// run: guards and toolsets refer to tools by name.
pub(super) fn tool_name(server: &str, tool: &str, taken: &mut HashSet<String>) -> String {
    let plain = format!("mcp__{}__{}", sanitised(server), sanitised(tool));
    let name = if plain.len() > LONGEST || taken.contains(&plain) {
        let hash = format!("_{:08x}", fnv1a(&[server, "\0", tool].concat()));
        plain.chars().take(LONGEST - hash.len()).chain(hash.chars()).collect()
    } else {
        plain
    };
    taken.insert(name.clone());
    name
}

fn sanitised(name: &str) -> String {
    name.chars()
        .map(|character| match character {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' => character,
            _ => '_',
        })
        .collect()
}

/// The standard library's hashes may change with the compiler; this one does not.
fn fnv1a(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_server_and_tool() {
        assert_eq!(tool_name("files", "get-sum", &mut HashSet::new()), "mcp__files__get-sum");
        assert_eq!(
            tool_name("my server", "ärger.v2", &mut HashSet::new()),
            "mcp__my_server___rger_v2"
        );
    }

    #[test]
    fn names_that_would_be_the_same_stay_apart() {
        let mut taken = HashSet::new();
        assert_eq!(tool_name("s", "a.b", &mut taken), "mcp__s__a_b");
        let second = tool_name("s", "a b", &mut taken);
        assert_eq!(second, "mcp__s__a_b_684f6b27");
    }

    #[test]
    fn a_long_name_is_cut_and_stays_unique() {
        let mut taken = HashSet::new();
        let first = tool_name("server", &"x".repeat(100), &mut taken);
        let second = tool_name("server", &"x".repeat(101), &mut taken);
        assert_eq!((first.len(), second.len()), (LONGEST, LONGEST));
        assert_ne!(first, second);
    }
}
