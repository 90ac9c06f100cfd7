//! The four tasks of CONTRIBUTING.md, each done in this crate: it depends on the rooms as an embedder's crate does, and sees
//! only what is public. The files are the examples that CONTRIBUTING.md names.

use super::{read, root};

#[path = "../../../crates/pintle/examples/own_point.rs"]
mod add_a_point;
#[path = "../../../crates/pintle-agent/examples/own_store.rs"]
mod add_a_store;
#[path = "../../../crates/pintle-agent/examples/custom_tool.rs"]
mod add_a_tool;
#[path = "../../../crates/pintle-actions/examples/own_action.rs"]
mod add_an_action;

#[test]
fn contributing_describes_each_task_in_five_lines_and_names_its_example() {
    let text = read("CONTRIBUTING.md");
    for (task, example) in [
        ("A point", "crates/pintle/examples/own_point.rs"),
        ("A tool", "crates/pintle-agent/examples/custom_tool.rs"),
        ("An action of agent.json", "crates/pintle-actions/examples/own_action.rs"),
        ("A store", "crates/pintle-agent/examples/own_store.rs"),
    ] {
        let rest = text.split_once(&format!("\n- **{task} ")).unwrap_or_else(|| panic!("{task}")).1;
        let item = rest.split("\n- ").next().unwrap();
        assert!(item.lines().count() <= 5, "{task} takes more than five lines:\n{item}");
        assert!(item.contains(example) && root().join(example).exists(), "{task}: {example}");
    }
}
