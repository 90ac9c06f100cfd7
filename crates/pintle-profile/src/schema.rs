//! The JSON Schema of the profile's files, from the types.

use super::file::{AgentFile, PersonalityFile};
use super::hook::Bucket;
use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value, json};

/// The JSON Schema of agent.json; editors complete and check with it, and the reader goes by it.
#[must_use]
pub fn agent_schema() -> Value {
    let mut schema = schema_of::<AgentFile>();
    for bucket in Bucket::ALL {
        at_its_moment(&mut schema, bucket);
    }
    let about = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    let about = format!("{about}\n\n{LEFT_TO_THE_READER}");
    if let Some(schema) = schema.as_object_mut() {
        schema.insert("description".into(), about.trim().into());
    }
    schema
}

/// What an editor cannot say.
const LEFT_TO_THE_READER: &str = "`pintle hooks lint` says more than a schema can: keys that are written twice, names that are taken or that nothing has, files and links in the folder, `..` in the middle of a path, shell lines and rules that cannot be parsed, unusual spellings of addresses and of variables.";

/// An editor marks an action that has no meaning at this moment, or a field of it, too.
fn at_its_moment(schema: &mut Value, bucket: Bucket) {
    let list = schema.pointer_mut(&format!("/$defs/Hooks/properties/{}/items", bucket.name()));
    let Some(Value::Object(action)) = list else { return };
    let mut fields = Map::new();
    if bucket != Bucket::OnToolCall {
        fields.insert("action".into(), json!({ "not": { "const": "approve" } }));
    }
    if !bucket.has_tool() {
        fields.insert("tools".into(), Value::Bool(false));
    }
    if !fields.is_empty() {
        action.insert("properties".into(), fields.into());
    }
}

pub(crate) fn personality_schema() -> Value {
    schema_of::<PersonalityFile>()
}

/// What is held against a file of this type.
pub(crate) fn schema_of<T: JsonSchema>() -> Value {
    let mut schema =
        SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>().to_value();
    without_null(&mut schema);
    as_strict_as_the_reader(&mut schema);
    schema
}

/// Says in the words of JSON Schema what our formats and the reader ask for, as far as it has words for it. Whatever the
/// reader takes fits: an editor gives no false alarm.
fn as_strict_as_the_reader(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            map.values_mut().for_each(as_strict_as_the_reader);
            let format = map.get("format").and_then(Value::as_str).unwrap_or_default().to_owned();
            let is_text = map.get("type").is_some_and(|kind| kind == "string");
            let is_fixed = ["const", "enum", "pattern"].iter().any(|key| map.contains_key(*key));
            if let Some(pattern) = pattern(&format).filter(|_| is_text && !is_fixed) {
                map.insert("pattern".into(), pattern.into());
            }
            if let ("globs", Some(Value::Object(item))) = (format.as_str(), map.get_mut("items")) {
                item.insert("pattern".into(), GLOB.into());
            }
            for name in IDENTITIES {
                let list = map.get_mut(name).filter(|list| list.get("format").is_none());
                let item = list.and_then(|list| list.get_mut("items"));
                if let Some(pattern) = item.and_then(|item| item.get_mut("pattern"))
                    && pattern == PAGE
                {
                    *pattern = LINE.into();
                }
            }
            match map.get("type").and_then(Value::as_str) {
                Some("integer" | "number") => {
                    let most = if format == "uint32" { u32::MAX.into() } else { MOST };
                    map.insert("maximum".into(), most.into())
                }
                Some("object") if map.get("additionalProperties").is_some_and(Value::is_object) => {
                    map.insert("propertyNames".into(), json!({ "pattern": ONE_LINE }))
                }
                _ => None,
            };
        }
        Value::Array(items) => items.iter_mut().for_each(as_strict_as_the_reader),
        _ => {}
    }
}

/// Larger numbers do not survive every JSON reader.
const MOST: u64 = 9_007_199_254_740_991;

/// Lists whose texts are names or patterns.
const IDENTITIES: [&str; 5] = ["approvers", "plugins", "allow", "deny", "tools"];

/// What a page hides: characters that are not seen, or that a terminal acts on. Those beyond the first plane are left to the
/// reader, as not every editor's patterns know them.
macro_rules! hidden_in_a_page {
    () => {
        r"\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u034f\u115f\u1160\u17b4\u17b5\u200b\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb"
    };
}

/// What a line hides: those, line ends, and marks that only pages need.
macro_rules! hidden {
    () => {
        concat!(hidden_in_a_page!(), r"\t\n\r\u061c\u180b-\u180f\u200c-\u200f")
    };
}

/// A path in the profile's folder, as far as it goes without `..` on the way.
macro_rules! inner_path {
    () => {
        concat!(r"(?![/~])(?!(\./+)*\.\.(/|$))(?=.*\S)[^", hidden!(), r"]+$")
    };
}

/// An address of no machine, of many, or of a metadata service, as most people write it; and where it ends.
macro_rules! forbidden_host {
    () => {
        r"(0\.0\.0\.0|169\.254\.[0-9]+\.[0-9]+|2(2[4-9]|3[0-9])\.[0-9]+\.[0-9]+\.[0-9]+|255\.255\.255\.255|metadata(\.google\.internal)?|instance-data)\.?(:[0-9]*)?([/?#\\]|$)"
    };
}

/// Something that can be seen, and nothing that cannot.
const ONE_LINE: &str = concat!("^[^", hidden!(), r"]*[^\s", hidden!(), "][^", hidden!(), "]*$");
/// The same, and it may be empty.
const LINE: &str = concat!("^[^", hidden!(), "]*$");
const PAGE: &str = concat!("^[^", hidden_in_a_page!(), "]*$");
/// Brackets are closed.
const GLOB: &str =
    concat!("^(?=.)(?=[^", hidden!(), r"]*$)([^\[]|\[[^!][^\]]*\]|\[![\s\S][^\]]*\])*$");
/// Of an `argv`, the first: a name on the PATH, or a path in the folder.
const PROGRAM: &str = concat!(r"^(?!/)(?!~.*/)(?!(\./+)*\.\./)[^", hidden_in_a_page!(), "]+$");

/// What a text of this format looks like.
fn pattern(format: &str) -> Option<&'static str> {
    Some(match format {
        "" => PAGE,
        "non-empty" => ONE_LINE,
        "glob" => GLOB,
        "hook-command" => concat!(r"^(?=[\s\S]*\S)[^", hidden_in_a_page!(), "]*$"),
        "program" => PROGRAM,
        "env-name" => "^[A-Za-z_][A-Za-z0-9_]*$",
        "http-url" => {
            concat!(r"^[Hh][Tt][Tt][Pp][Ss]?://(?!", forbidden_host!(), ")[^/]")
        }
        // Plain http to what may be this machine: a name that ends in `localhost`, or an address. Nobody's password.
        "webhook-url" => concat!(
            r"^(?![^:]*:/+[^/?#\\@:][^/?#\\]*@)(?![^:]*://",
            forbidden_host!(),
            r")[Hh][Tt][Tt][Pp]([Ss]://[^/]|://([^/?#]*[Ll][Oo][Cc][Aa][Ll][Hh][Oo][Ss][Tt]\.?|[0-9][0-9A-Fa-fXx.]*|\[[0-9A-Fa-f:.]+\])(:[0-9]*)?([/?#]|$))"
        ),
        // Named like a list of events; no folder, no name longer than any file's, nothing of git's or of the profile itself.
        "save-path" => concat!(
            r"^(?=.*\.(jsonl?|ndjson|log|txt)$)(?!.*/$)(?!(?!.*\.\.)(.*[^/]{256}|(.*/)?\.[Gg][Ii][Tt](/|$)|(\./+)*([Aa][Gg][Ee][Nn][Tt]\.[Jj][Ss][Oo][Nn](/|$)|[Pp][Ee][Rr][Ss][Oo][Nn][Aa][Ll][Ii][Tt][Ii][Ee][Ss]/)))",
            inner_path!()
        ),
        "inside-folder" => concat!("^", inner_path!()),
        _ => return None,
    })
}

/// A field that may be left out may not be `null`: two ways to say nothing would be one too many.
fn without_null(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            if let Some(Value::Array(types)) = map.get_mut("type") {
                types.retain(|t| t != "null");
                if let [one] = types.as_slice() {
                    let one = one.clone();
                    map.insert("type".into(), one);
                }
            }
            if let Some(Value::Array(branches)) = map.get_mut("anyOf") {
                branches.retain(|b| b.get("type").is_none_or(|t| t != "null"));
                if let [Value::Object(one)] = branches.as_slice() {
                    let one = one.clone();
                    map.remove("anyOf");
                    map.extend(one);
                }
            }
            if map.get("default").is_some_and(Value::is_null) {
                map.remove("default");
            }
            map.values_mut().for_each(without_null);
        }
        Value::Array(items) => items.iter_mut().for_each(without_null),
        _ => {}
    }
}
