//! `docs/points.md` is made from the declarations of the points, and is never older than they are.

use std::{collections::BTreeMap, fmt::Write};

use crate::generated::{assert_fresh, repository};
use pintle::{
    ENVELOPE_FIELDS, Hooks, ModelKind, PointInfo,
    points::{SessionOpened, ToolPre},
};
use serde_json::Value;

#[test]
fn the_page_of_points_is_that_of_the_declarations() {
    assert_fresh(&repository().join("docs/points.md"), &page());
}

const INTRODUCTION: &str = "# Hook points

Every point of the catalogue: when it fires, what a handler may answer, what its failure does, how long it may take, and
what it carries. This page is made from the declarations in `crates/pintle/src/points`;
`PINTLE_UPDATE=1 cargo nextest run -p pintle` writes it anew.
";

const MODELS: [(ModelKind, &str); 4] = [
    (ModelKind::Void, "Handlers observe. They run concurrently, and all are awaited."),
    (
        ModelKind::Modifying,
        "Handlers amend. They run one after another; per key the first value that is not null wins.",
    ),
    (
        ModelKind::Claiming,
        "Handlers route. They run one after another; the first claim ends the chain.",
    ),
    (
        ModelKind::Gate,
        "Handlers stop. They run one after another; one that fails blocks. Where the point is binding, a block stops the \
         action and ends the chain; where it is advisory, it is recorded and reported to the model.",
    ),
];

fn page() -> String {
    let points = Hooks::new().known_points();
    let mut page = INTRODUCTION.to_string();
    let mut shapes = BTreeMap::new();
    page.push_str("\n| point | model | fires |\n|---|---|---|\n");
    for (model, _) in MODELS {
        for info in points.iter().filter(|info| info.model == model) {
            writeln!(
                page,
                "| [`{}`](#{}) | {} | {} |",
                info.name,
                anchor(info.name),
                model_of(info),
                first_paragraph(info)
            )
            .unwrap();
        }
    }
    page.push_str("\n## The envelope\n\nEvery payload carries these fields too. At a channel or ticket point with no session \
                   yet, the session's fields are absent.\n\n");
    let envelope = PointInfo::of::<SessionOpened>().payload_schema();
    let names = ENVELOPE_FIELDS.map(String::from);
    page.push_str(&table(&envelope, &names));
    for (model, words) in MODELS {
        write!(page, "\n## {model}\n\n{words}\n").unwrap();
        if model == ModelKind::Gate {
            let own = ["continue", "reason", "output", "additionalContext"].map(String::from);
            let foreign = ["decision", "stopReason", "systemMessage", "hookSpecificOutput"];
            let verdict = PointInfo::of::<ToolPre>().result_schema().unwrap();
            write!(page, "\nA verdict on the wire:\n\n{}\n{NO_ANSWER}\n", table(&verdict, &own))
                .unwrap();
            let foreign = table(&verdict, &foreign.map(String::from));
            write!(page, "\nHooks of other agents may answer in their own words:\n\n{foreign}")
                .unwrap();
        }
        for info in points.iter().filter(|info| info.model == model) {
            page.push_str(&section(info));
            for schema in [Some(info.payload_schema()), info.result_schema()].into_iter().flatten()
            {
                for (name, shape) in schema["$defs"].as_object().into_iter().flatten() {
                    shapes.insert(name.clone(), shape.clone());
                }
            }
        }
    }
    page.push_str("\n## Shapes\n\nTypes that several payloads and patches share.\n");
    for (name, shape) in &shapes {
        write!(page, "\n### {name}\n\n{}\n\n", shape["description"].as_str().unwrap()).unwrap();
        page.push_str(&body_of(shape));
    }
    page
}

const NO_ANSWER: &str = "No output, `null` and `{}` are no answer: the handler allows. At a binding point any other object \
    must decide or say something; if it does not, has a `reason` without a decision, or rewrites the call (`updatedInput`), \
    it is bad output and blocks. Unknown fields are ignored and noted in the record.";

fn anchor(name: &str) -> String {
    name.replace('.', "")
}

fn model_of(info: &PointInfo) -> String {
    match info.binding {
        None => info.model.to_string(),
        Some(true) => "Gate, binding".into(),
        Some(false) => "Gate, advisory".into(),
    }
}

/// What the declaration says, up to its example, with the links of rustdoc turned into plain names.
fn doc(info: &PointInfo) -> String {
    let text: Vec<_> = info
        .doc
        .lines()
        .map(|line| line.strip_prefix(' ').unwrap_or(line))
        .take_while(|line| *line != "# Example")
        .collect();
    text.join("\n").trim().replace("[`", "`").replace("`]", "`")
}

fn first_paragraph(info: &PointInfo) -> String {
    doc(info).split("\n\n").next().unwrap().replace('\n', " ")
}

fn section(info: &PointInfo) -> String {
    let name = info.name;
    let mut text = format!("\n### `{name}`\n\n*{}*", model_of(info));
    if info.has_tool {
        text.push_str(", about a tool: handlers can be bound to some tools only");
    }
    let fields: Vec<String> = info.fields.iter().map(ToString::to_string).collect();
    write!(text, "\n\n{}\n\n{}", doc(info), table(&info.payload_schema(), &fields)).unwrap();
    if !info.capabilities.is_empty() {
        let capabilities: Vec<_> =
            info.capabilities.iter().map(|power| format!("`{power}`")).collect();
        write!(text, "\nCapabilities: {}.\n", capabilities.join(", ")).unwrap();
    }
    if let Some(result) = info.result_schema().filter(|_| info.model != ModelKind::Gate) {
        let fields: Vec<_> = result["properties"].as_object().unwrap().keys().cloned().collect();
        let mut fields: Vec<_> = fields
            .into_iter()
            .filter(|field| !info.capabilities.contains(&field.as_str()))
            .collect();
        fields.sort();
        let capabilities =
            info.capabilities.iter().map(ToString::to_string).filter(|power| power != "claim");
        let all: Vec<_> = capabilities.chain(fields).collect();
        write!(text, "\nAn answer on the wire:\n\n{}", table(&result, &all)).unwrap();
    }
    write!(text, "\nSchemas: [payload](../schemas/points/{name}.payload.json)").unwrap();
    if info.result_schema().is_some() {
        write!(text, ", [result](../schemas/points/{name}.result.json)").unwrap();
    }
    text.push_str(".\n");
    text
}

fn table(schema: &Value, fields: &[String]) -> String {
    if fields.is_empty() {
        return "It has no fields of its own.\n".into();
    }
    let always: Vec<_> = [&schema["required"], &schema["then"]["required"]]
        .into_iter()
        .flat_map(|list| list.as_array().into_iter().flatten())
        .filter_map(Value::as_str)
        .collect();
    let mut text = "| field | type | |\n|---|---|---|\n".to_string();
    for field in fields {
        let property = &schema["properties"][field];
        let optional = if always.contains(&field.as_str()) { "" } else { ", optional" };
        let words = property["description"].as_str().unwrap_or_default().replace('\n', " ");
        writeln!(text, "| `{field}` | {}{optional} | {words} |", type_of(property)).unwrap();
    }
    text
}

/// A struct as a table, an enum as its values.
fn body_of(shape: &Value) -> String {
    if let Some(properties) = shape["properties"].as_object() {
        let mut fields: Vec<_> = properties.keys().cloned().collect();
        fields.sort();
        return table(shape, &fields);
    }
    let mut text = String::new();
    for variant in shape["oneOf"].as_array().into_iter().flatten() {
        let words = variant["description"].as_str().unwrap_or_default();
        match (variant["const"].as_str(), variant["properties"].as_object()) {
            (Some(value), _) => writeln!(text, "- `{value}`: {words}").unwrap(),
            // A variant with fields: the constant one says which it is.
            (None, Some(properties)) => {
                let mut fields: Vec<_> = properties.keys().cloned().collect();
                fields.sort();
                let (tag, value) = properties
                    .iter()
                    .find_map(|(name, field)| Some((name, field["const"].as_str()?)))
                    .unwrap();
                fields.retain(|field| field != tag);
                let table = table(variant, &fields);
                writeln!(text, "With `{tag}` `{value}`: {words}\n\n{table}").unwrap();
            }
            (None, None) => panic!("a variant that the page cannot show: {variant}"),
        }
    }
    text
}

fn type_of(property: &Value) -> String {
    let reference = |schema: &Value| {
        schema["$ref"]
            .as_str()
            .and_then(|path| path.rsplit('/').next())
            .map(|name| format!("[{name}](#{})", name.to_lowercase()))
    };
    if let Some(name) = reference(property) {
        return name;
    }
    if let Some(name) = property["anyOf"].as_array().into_iter().flatten().find_map(reference) {
        return name;
    }
    let plain: Vec<_> = match &property["type"] {
        Value::String(one) => vec![one.as_str()],
        Value::Array(several) => {
            several.iter().filter_map(Value::as_str).filter(|name| *name != "null").collect()
        }
        _ => vec![],
    };
    match plain.as_slice() {
        ["array"] => format!("list of {}", type_of(&property["items"])),
        [one] => (*one).to_string(),
        _ => "any JSON".into(),
    }
}
