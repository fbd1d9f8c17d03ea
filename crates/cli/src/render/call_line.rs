use callgate_mcp::wire::{Kind, RawJson};

use super::schema::{describe_type, resolve};
use crate::output::argument;
use crate::visible::visible_line;

/// Maximum depth of an example value.
const DEPTH: usize = 3;
/// Maximum members of an example.
const MEMBERS: usize = 20;
/// Maximum bytes of an example that the schema gives.
const EXAMPLE: usize = 200;

/// Arguments of `callgate call` for a tool with this schema: a value to replace for each required argument.
pub(crate) fn example_arguments(schema: &RawJson) -> Vec<String> {
    let members = required_members(schema);
    let pairs: Option<Vec<String>> = members
        .iter()
        .map(|(key, member)| pair(key, &example(member, schema, 0)))
        .collect();
    match pairs {
        Some(pairs) => pairs,
        // A key that the form key=value cannot hold.
        None => vec![argument(&object(&members, schema, 0))],
    }
}

/// `key=value`, or `key:=json` for values that are no text; `None` if the key does not allow it.
fn pair(key: &str, value: &str) -> Option<String> {
    let is_plain = !key.is_empty()
        && key
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
    if !is_plain {
        return None;
    }
    let value: RawJson = serde_json::from_str(value).ok()?;
    let text = value.text().filter(|text| !text.starts_with('@'));
    Some(match (text, value.kind()) {
        (Some(text), _) => format!("{key}={}", argument(&text)),
        (None, Kind::Number | Kind::Bool) => format!("{key}={}", value.as_str()),
        (None, _) => format!("{key}:={}", argument(value.as_str())),
    })
}

fn required_members(schema: &RawJson) -> Vec<(String, RawJson)> {
    let required: Vec<String> = schema
        .get("required")
        .and_then(|list| list.decode().ok())
        .unwrap_or_default();
    let properties = schema.get("properties");
    let members = required.into_iter().take(MEMBERS).map(|name| {
        let member = properties.as_ref().and_then(|list| list.get(&name));
        (name, member.unwrap_or_else(RawJson::empty_object))
    });
    members.collect()
}

/// A value in JSON that the schema allows, as far as it is easily seen.
fn example(schema: &RawJson, root: &RawJson, depth: usize) -> String {
    let schema = &resolve(schema, root).0;
    let given = [
        schema.get("default"),
        schema.get("const"),
        first(schema, "examples"),
        first(schema, "enum"),
    ];
    let is_short = |value: &RawJson| {
        let text = value.text();
        let text = text.as_deref().unwrap_or_else(|| value.as_str());
        text.len() <= EXAMPLE && visible_line(text) == text && value.kind() != Kind::Null
    };
    if let Some(given) = given.into_iter().flatten().find(is_short) {
        return given.as_str().to_owned();
    }
    let alternative = first(schema, "anyOf").or_else(|| first(schema, "oneOf"));
    if let Some(alternative) = alternative.filter(|_| depth < DEPTH) {
        return example(&alternative, root, depth + 1);
    }
    let kind = describe_type(schema, root);
    let kind = kind.split([' ', '|']).next().unwrap_or_default();
    match kind {
        "integer" | "number" => number(schema),
        "boolean" => "true".to_owned(),
        "null" => "null".to_owned(),
        "array" => match schema.get("items").filter(|_| depth < DEPTH) {
            Some(items) => format!("[{}]", example(&items, root, depth + 1)),
            None => "[]".to_owned(),
        },
        "object" if depth < DEPTH => object(&required_members(schema), root, depth + 1),
        "object" => "{}".to_owned(),
        _ => RawJson::string(text_example(schema)).as_str().to_owned(),
    }
}

fn object(members: &[(String, RawJson)], root: &RawJson, depth: usize) -> String {
    let members: Vec<String> = members
        .iter()
        .map(|(key, member)| {
            let key = RawJson::string(key);
            format!("{}:{}", key.as_str(), example(member, root, depth))
        })
        .collect();
    format!("{{{}}}", members.join(","))
}

fn number(schema: &RawJson) -> String {
    let bounds = ["minimum", "maximum"].map(|key| schema.get(key));
    let bound = bounds
        .into_iter()
        .flatten()
        .find(|value| value.kind() == Kind::Number);
    let bound = bound.filter(|value| value.as_bytes().len() < 20);
    bound.map_or_else(|| "1".to_owned(), |value| value.as_str().to_owned())
}

fn text_example(schema: &RawJson) -> &'static str {
    let format = schema.get("format");
    match format.as_ref().and_then(RawJson::text).as_deref() {
        Some("date") => "2026-01-31",
        Some("date-time") => "2026-01-31T12:00:00Z",
        Some("time") => "12:00:00Z",
        Some("email") => "user@example.com",
        Some("uri" | "url") => "https://example.com",
        Some("uuid") => "00000000-0000-4000-8000-000000000000",
        _ => "TEXT",
    }
}

fn first(schema: &RawJson, key: &str) -> Option<RawJson> {
    schema.get(key)?.elements().into_iter().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(schema: &str, expect: &[&str]) {
        let schema: RawJson = serde_json::from_str(schema).unwrap();
        let words = example_arguments(&schema);
        assert_eq!(words, expect);
        let line = words.join(" ");
        assert_eq!(
            shlex::split(&line).map(|words| words.len()),
            Some(expect.len()),
            "{line}"
        );
    }

    #[test]
    fn required_arguments_have_values_to_replace() {
        check(r#"{"properties":{"a":{"type":"string"}}}"#, &[]);
        check(
            r##"{"required":["s","n","on","when","kind","list","deep","ref","maybe"],"properties":{
                "s":{"type":"string"},"n":{"type":"integer","minimum":5},"on":{"type":"boolean"},
                "when":{"type":"string","format":"date"},"kind":{"enum":["it's","b"]},
                "list":{"type":"array","items":{"type":"number"}},
                "deep":{"type":"object","required":["x"],"properties":{"x":{"type":"string"},"y":{}}},
                "ref":{"$ref":"#/$defs/R"},"maybe":{"anyOf":[{"type":"integer"},{"type":"null"}]}},
                "$defs":{"R":{"type":"string","default":"@file"}}}"##,
            &[
                "s=TEXT",
                "n=5",
                "on=true",
                "when=2026-01-31",
                "kind=\"it's\"",
                "list:='[1]'",
                "deep:='{\"x\":\"TEXT\"}'",
                "ref:='\"@file\"'",
                "maybe=1",
            ],
        );
    }

    #[test]
    fn keys_that_do_not_fit_make_one_object() {
        check(
            r#"{"required":["a=b","$(rm)"],"properties":{"a=b":{"type":"integer"}}}"#,
            &[r#"'{"a=b":1,"$(rm)":"TEXT"}'"#],
        );
    }

    #[test]
    fn hostile_schemas_make_short_lines() {
        let deep = format!(
            r#"{{"required":["a"],"properties":{{"a":{}{{}}{}}}}}"#,
            r#"{"type":"array","items":"#.repeat(50),
            "}".repeat(50)
        );
        check(&deep, &["a:='[[[[]]]]'"]);
        let long = format!(
            r#"{{"required":["a"],"properties":{{"a":{{"default":"{}"}}}}}}"#,
            "x".repeat(1 << 20)
        );
        check(&long, &["a=TEXT"]);
        check(
            r#"{"required":["a"],"properties":{"a":{"default":"\u001b[2J\u202e"}}}"#,
            &["a=TEXT"],
        );
    }
}
