//! Tool names on the wire.
//!
//! The client library takes a tool whose name is that of a provider's built-in *for* the built-in, which the
//! provider then runs by itself: no hook, guard or approval of ours would ever see those calls. An MCP server's
//! `web_search` is such a name. So these names get a tail on the way out and lose it on the way in.

const BUILT_IN: [&str; 14] = [
    "WebSearch",
    "web_search",
    "google_search",
    "google_maps",
    "code_execution",
    "url_context",
    "file_search",
    "computer_use",
    "mcp_server",
    "retrieval",
    "googleSearch",
    "googleSearchRetrieval",
    "codeExecution",
    "urlContext",
];

const TAIL: char = '_';

/// The name to send.
pub(super) fn to_wire(mut name: String) -> String {
    if is_taken(&name) {
        name.push(TAIL);
    }
    name
}

/// The name that was sent as this one.
pub(super) fn from_wire(mut name: String) -> String {
    if is_taken(&name) && name.ends_with(TAIL) {
        name.pop();
    }
    name
}

/// Whether it is a built-in's name, with any number of tails: one more then never meets another tool's name.
fn is_taken(name: &str) -> bool {
    BUILT_IN.contains(&name.trim_end_matches(TAIL))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_comes_back_as_it_was_and_none_goes_out_as_a_built_in() {
        for name in
            ["terminal", "web_search", "web_search_", "web_search__", "urlContext", "search_", "_"]
        {
            let sent = to_wire(name.to_owned());
            assert!(!BUILT_IN.contains(&sent.as_str()), "{sent}");
            assert_eq!(from_wire(sent), name);
        }
        assert_eq!(to_wire("terminal".to_owned()), "terminal");
    }
}
