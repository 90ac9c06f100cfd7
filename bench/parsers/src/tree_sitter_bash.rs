//! tree-sitter-bash, taken at its word: the product is more suspicious (`pintle_policy::shell`).

use tree_sitter::{Node, Parser};

use crate::names::read;

pub fn commands(source: &str) -> Result<Vec<String>, String> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).map_err(|error| error.to_string())?;
    let tree = parser.parse(source, None).ok_or("no tree")?;
    if tree.root_node().has_error() {
        return Err("the tree has errors".into());
    }
    let mut names = Vec::new();
    let mut pending = vec![tree.root_node()];
    while let Some(node) = pending.pop() {
        if let Some(name) = name_of(&node) {
            names.push(read(&source[name.byte_range()]));
        }
        let mut cursor = node.walk();
        pending.extend(node.children(&mut cursor));
    }
    Ok(names)
}

fn name_of<'t>(node: &Node<'t>) -> Option<Node<'t>> {
    match node.kind() {
        "command" => node.child_by_field_name("name"),
        "declaration_command" | "unset_command" => node.child(0),
        _ => None,
    }
}
