use callgate_mcp::wire::{Kind, RawJson};

use super::line::{Color, Line, Style};
use super::wrap::wrap;
use crate::visible::cut;

/// Maximum depth of members that are drawn.
const DEPTH: usize = 6;
/// Maximum lines of a schema.
const LINES: usize = 300;
/// Maximum members of one object.
const MEMBERS: usize = 100;
/// Maximum characters of a name.
const NAME: usize = 60;
/// Maximum characters of a type, of a list of values and of a description.
const TYPE: usize = 200;
const VALUES: usize = 100;
const DESCRIPTION: usize = 600;
/// Maximum steps from reference to reference.
const STEPS: usize = 16;

/// Draws a JSON Schema as a tree of its members, with types, limits, defaults and descriptions.
pub(crate) fn schema(root: &RawJson, width: usize) -> Vec<Line> {
    let mut drawing = Drawing {
        root,
        width,
        lines: Vec::new(),
        open: Vec::new(),
        is_cut: false,
    };
    drawing.children(root, &Line::new(), 0);
    let Drawing {
        mut lines, is_cut, ..
    } = drawing;
    if lines.is_empty() {
        lines.push(Line::of(
            &describe_type(root, root),
            Style::color(Color::Cyan),
        ));
    }
    if is_cut || lines.len() > LINES {
        lines.truncate(LINES);
        lines.push(Line::of(
            "a part of the schema is left out; use --json to get all",
            Style::DIM,
        ));
    }
    lines
}

struct Drawing<'a> {
    root: &'a RawJson,
    width: usize,
    lines: Vec<Line>,
    /// References that are being drawn.
    open: Vec<String>,
    is_cut: bool,
}

/// One line of the tree with its children.
struct Node {
    name: String,
    schema: RawJson,
    is_required: bool,
}

impl Drawing<'_> {
    fn children(&mut self, schema: &RawJson, prefix: &Line, depth: usize) {
        let nodes = self.nodes(schema, 0);
        self.is_cut |= nodes.len() > MEMBERS;
        let last = nodes.len().min(MEMBERS).saturating_sub(1);
        for (at, node) in nodes.iter().enumerate().take(MEMBERS) {
            if self.lines.len() > LINES {
                return;
            }
            // The first level has no branches: its members are what a caller writes.
            let (branch, below) = match (depth, at == last) {
                (0, _) => ("", "  "),
                (_, true) => ("└ ", "  "),
                (_, false) => ("├ ", "│ "),
            };
            let first = prefix.clone().add(branch, Style::DIM);
            let rest = prefix.clone().add(below, Style::DIM);
            self.node(node, &first, &rest, depth);
        }
    }

    fn node(&mut self, node: &Node, first: &Line, rest: &Line, depth: usize) {
        let (schema, reference) = resolve(&node.schema, self.root);
        let mut line = Line::of(&cut(&node.name, NAME), Style::BOLD);
        line = line.add("  ", Style::PLAIN);
        line = line.add(
            &describe_type(&schema, self.root),
            Style::color(Color::Cyan),
        );
        for limit in limits(&schema) {
            line = line.add(&format!(", {limit}"), Style::PLAIN);
        }
        if node.is_required {
            line = line
                .add(", ", Style::PLAIN)
                .add("required", Style::color(Color::Yellow));
        }
        let is_open = reference
            .as_ref()
            .is_some_and(|name| self.open.contains(name));
        if is_open {
            line = line.add(", as above", Style::DIM);
        }
        self.lines.extend(wrap(&line, self.width, first, rest));
        let about = text(&node.schema, "description").or_else(|| text(&schema, "description"));
        if let Some(about) = about.filter(|about| !about.trim().is_empty()) {
            let about = cut(
                &about.split_whitespace().collect::<Vec<_>>().join(" "),
                DESCRIPTION,
            );
            let indent = rest.clone().add("  ", Style::PLAIN);
            self.lines.extend(wrap(
                &Line::of(&about, Style::DIM),
                self.width,
                &indent,
                &indent,
            ));
        }
        if is_open {
            return;
        }
        if depth + 1 >= DEPTH {
            self.is_cut |= !self.nodes(&schema, 0).is_empty();
            return;
        }
        let opened = reference.map(|name| self.open.push(name)).is_some();
        self.children(&schema, rest, depth + 1);
        if opened {
            self.open.pop();
        }
    }

    /// Members of an object, of the items of an array, and alternatives that have members.
    fn nodes(&self, schema: &RawJson, steps: usize) -> Vec<Node> {
        if steps > STEPS {
            return Vec::new();
        }
        let (schema, _) = resolve(schema, self.root);
        let [properties, required, items, all, any, one] =
            schema.pick(["properties", "required", "items", "allOf", "anyOf", "oneOf"]);
        let required: Vec<String> = required
            .and_then(|list| list.decode().ok())
            .unwrap_or_default();
        let mut nodes: Vec<Node> = Vec::new();
        for (name, schema) in properties.iter().flat_map(|list| list.members_besides(&[])) {
            let is_required = required.contains(&name);
            nodes.push(Node {
                name,
                schema,
                is_required,
            });
        }
        for part in all.iter().flat_map(RawJson::elements).take(MEMBERS) {
            nodes.extend(self.nodes(&part, steps + 1));
            if nodes.len() > MEMBERS {
                return nodes;
            }
        }
        if let Some(items) = items.filter(RawJson::is_object) {
            nodes.extend(self.nodes(&items, steps + 1));
        }
        let alternatives: Vec<RawJson> = [any, one]
            .iter()
            .flatten()
            .flat_map(RawJson::elements)
            .collect();
        let has_members = |schema: &RawJson| {
            let (schema, _) = resolve(schema, self.root);
            schema.get("properties").is_some() || schema.get("items").is_some()
        };
        if alternatives.iter().any(has_members) {
            for (at, schema) in alternatives.into_iter().enumerate() {
                let name = text(&schema, "title").unwrap_or_else(|| format!("either {}", at + 1));
                nodes.push(Node {
                    name,
                    schema,
                    is_required: false,
                });
            }
        }
        nodes
    }
}

/// The schema that a reference leads to, and the reference. One that leads nowhere stays as it is.
pub(super) fn resolve(schema: &RawJson, root: &RawJson) -> (RawJson, Option<String>) {
    let mut found = schema.clone();
    let mut name = None;
    for _ in 0..STEPS {
        let Some(reference) = text(&found, "$ref") else {
            break;
        };
        let Some(target) = reference
            .strip_prefix('#')
            .and_then(|path| at_pointer(root, path))
        else {
            break;
        };
        name = Some(reference);
        found = target;
    }
    (found, name)
}

/// The value that a JSON Pointer leads to.
pub(crate) fn at_pointer(root: &RawJson, pointer: &str) -> Option<RawJson> {
    let mut value = root.clone();
    for part in pointer.split('/').skip(1) {
        let key = part.replace("~1", "/").replace("~0", "~");
        value = match value.kind() {
            Kind::Array => value.elements().into_iter().nth(key.parse().ok()?)?,
            _ => value.get(&key)?,
        };
    }
    Some(value)
}

/// The type of a value in a few words.
pub(super) fn describe_type(schema: &RawJson, root: &RawJson) -> String {
    cut(&type_words(schema, root, 0), TYPE)
}

fn type_words(schema: &RawJson, root: &RawJson, depth: usize) -> String {
    let (schema, reference) = resolve(schema, root);
    if depth > 3 {
        return "…".to_owned();
    }
    let [constant, values, kind, items, any, one, properties] = schema.pick([
        "const",
        "enum",
        "type",
        "items",
        "anyOf",
        "oneOf",
        "properties",
    ]);
    if let Some(constant) = constant {
        return cut(constant.as_str(), VALUES);
    }
    if let Some(values) = values.filter(|values| values.kind() == Kind::Array) {
        let values = values.elements();
        let values: Vec<&str> = values.iter().map(RawJson::as_str).collect();
        return cut(&values.join(" | "), VALUES);
    }
    let alternatives: Vec<RawJson> = [any, one]
        .iter()
        .flatten()
        .flat_map(RawJson::elements)
        .collect();
    if !alternatives.is_empty() {
        let mut words: Vec<String> = Vec::new();
        for alternative in alternatives.iter().take(STEPS) {
            let word = type_words(alternative, root, depth + 1);
            if !words.contains(&word) {
                words.push(word);
            }
        }
        return words.join(" | ");
    }
    let kinds: Vec<String> = match &kind {
        Some(kind) if kind.kind() == Kind::String => kind.decode().into_iter().collect(),
        Some(kinds) => kinds.decode().unwrap_or_default(),
        None if properties.is_some() => vec!["object".to_owned()],
        None if schema.get("allOf").is_some() => vec!["object".to_owned()],
        None => vec![unresolved(&schema, reference.as_ref())],
    };
    let words = kinds.iter().map(|kind| match (kind.as_str(), &items) {
        ("array", Some(items)) if items.is_object() => {
            format!("array of {}", type_words(items, root, depth + 1))
        }
        _ => kind.clone(),
    });
    words.collect::<Vec<_>>().join(" | ")
}

/// Word for a schema without a type.
fn unresolved(schema: &RawJson, reference: Option<&String>) -> String {
    match text(schema, "$ref") {
        Some(name) if reference.is_none() => name,
        _ => "any".to_owned(),
    }
}

/// Limits and default of a value.
fn limits(schema: &RawJson) -> Vec<String> {
    let mut limits = Vec::new();
    if let Some(format) = text(schema, "format") {
        limits.push(cut(&format, NAME));
    }
    let [min, max, above, below] =
        schema.pick(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]);
    limits.extend(range("", min.as_ref(), max.as_ref()));
    let number = |value: Option<RawJson>| value.filter(|value| value.kind() == Kind::Number);
    limits.extend(number(above).map(|value| format!("more than {}", cut(value.as_str(), NAME))));
    limits.extend(number(below).map(|value| format!("less than {}", cut(value.as_str(), NAME))));
    let [shortest, longest, fewest, most] =
        schema.pick(["minLength", "maxLength", "minItems", "maxItems"]);
    limits.extend(range("length ", shortest.as_ref(), longest.as_ref()));
    limits.extend(range("items ", fewest.as_ref(), most.as_ref()));
    if let Some(pattern) = text(schema, "pattern") {
        limits.push(format!("matches {}", cut(&pattern, NAME)));
    }
    if let Some(default) = schema.get("default") {
        limits.push(format!("default {}", cut(default.as_str(), VALUES)));
    }
    limits
}

fn range(name: &str, min: Option<&RawJson>, max: Option<&RawJson>) -> Option<String> {
    let number = |value: &RawJson| cut(value.as_str(), NAME);
    match (min.map(number), max.map(number)) {
        (Some(min), Some(max)) => Some(format!("{name}{min} to {max}")),
        (Some(min), None) => Some(format!("{name}at least {min}")),
        (None, Some(max)) => Some(format!("{name}at most {max}")),
        (None, None) => None,
    }
}

fn text(schema: &RawJson, key: &str) -> Option<String> {
    Some(schema.get(key)?.text()?.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(json: &str, width: usize) -> Vec<String> {
        let root: RawJson = serde_json::from_str(json).unwrap();
        let lines = schema(&root, width);
        lines.iter().map(|line| line.paint(false)).collect()
    }

    #[test]
    fn a_schema_is_a_tree_of_members() {
        let drawn = draw(
            r##"{"type":"object","required":["path","filter"],"properties":{
                "path":{"type":"string","description":"File to read,\nrelative to the workspace","minLength":1},
                "mode":{"enum":["text","bytes"],"default":"text"},
                "limit":{"type":["integer","null"],"minimum":1,"maximum":100},
                "since":{"type":"string","format":"date-time"},
                "filter":{"$ref":"#/$defs/Filter","description":"Entries to keep"},
                "tags":{"type":"array","items":{"type":"string"},"maxItems":5},
                "target":{"oneOf":[{"type":"string"},{"title":"Range","type":"object","required":["from"],"properties":{"from":{"type":"integer"}}}]},
                "any":{}},
              "$defs":{"Filter":{"type":"object","properties":{"name":{"type":"string","pattern":"^a"},"not":{"$ref":"#/$defs/Filter"}}}}}"##,
            60,
        );
        insta::assert_snapshot!(drawn.join("\n"), @r#"
        path  string, length at least 1, required
            File to read, relative to the workspace
        mode  "text" | "bytes", default "text"
        limit  integer | null, 1 to 100
        since  string, date-time
        filter  object, required
            Entries to keep
          ├ name  string, matches ^a
          └ not  object, as above
        tags  array of string, items at most 5
        target  string | object
          ├ either 1  string
          └ Range  object
            └ from  integer, required
        any  any
        "#);
    }

    #[test]
    fn schemas_without_members_are_their_type() {
        assert_eq!(draw(r#"{"type":"object"}"#, 40), ["object"]);
        assert_eq!(draw("{}", 40), ["any"]);
        assert_eq!(draw("true", 40), ["any"]);
        assert_eq!(draw(r##"{"$ref":"#"}"##, 40), ["any"]);
        assert_eq!(draw(r#"{"$ref":"other.json"}"#, 40), ["other.json"]);
    }

    #[test]
    fn deep_wide_and_hostile_schemas_stay_bounded() {
        let deep = format!(
            "{}{{}}{}",
            r#"{"properties":{"a":"#.repeat(50),
            "}}".repeat(50)
        );
        let drawn = draw(&deep, 80);
        assert_eq!(drawn.len(), DEPTH + 1);
        assert_eq!(
            drawn.last().unwrap(),
            "a part of the schema is left out; use --json to get all"
        );
        let many: Vec<String> = (0..5000).map(|n| format!(r#""p{n}":{{}}"#)).collect();
        let drawn = draw(&format!(r#"{{"properties":{{{}}}}}"#, many.join(",")), 80);
        assert_eq!(drawn.len(), MEMBERS + 1);
        // Each level names all members of itself twice.
        let bomb = r##"{"$defs":{"a":{"allOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/a"}],"properties":{"x":{"$ref":"#/$defs/a"},"y":{"$ref":"#/$defs/a"}}}},"$ref":"#/$defs/a"}"##;
        assert!(draw(bomb, 80).len() <= LINES + 1);
        let evil = draw(
            r#"{"properties":{"a\u001b[2J":{"type":"\u001b[2J","description":"\u009b\u202e","default":"\u009b"}}}"#,
            80,
        );
        assert_eq!(
            evil,
            [
                r#"a\u{1b}[2J  \u{1b}[2J, default "\u009b""#,
                r"    \u{9b}\u{202e}"
            ]
        );
    }
}
