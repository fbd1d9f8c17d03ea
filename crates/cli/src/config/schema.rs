//! The JSON Schema of a configuration file, made from the table of keys.

use serde_json::{Value, json};

use super::keys::{FILE, SERVER};
use super::shape::{Effect, Key, MAX_MILLISECONDS, Shape};

/// The schema, draft 2020-12.
pub(crate) fn schema() -> Value {
    let mut file = object(FILE);
    let mut server = object(SERVER);
    add(
        &mut server,
        "description",
        json!("A server: a program, or a URL."),
    );
    let one_of = ["command", "url", "serverUrl", "httpUrl"];
    let one_of: Vec<Value> = one_of
        .iter()
        .map(|key| json!({"required": [key]}))
        .collect();
    add(&mut server, "anyOf", Value::Array(one_of));
    add(
        &mut file,
        "$schema",
        json!("https://json-schema.org/draft/2020-12/schema"),
    );
    add(&mut file, "title", json!("Callgate configuration"));
    add(&mut file, "$defs", json!({"server": server}));
    file
}

fn of(shape: &Shape) -> Value {
    match shape {
        Shape::Text | Shape::Template => json!({"type": "string"}),
        Shape::Scalar => json!({"type": ["string", "number", "boolean"]}),
        Shape::Bool => json!({"type": "boolean"}),
        Shape::Milliseconds => {
            json!({"type": "integer", "minimum": 1, "maximum": MAX_MILLISECONDS})
        }
        Shape::Port => json!({"type": "integer", "minimum": 0, "maximum": u16::MAX}),
        Shape::Number => json!({"type": "number", "exclusiveMinimum": 0}),
        Shape::OneOf(words) => json!({"enum": words}),
        Shape::List(items) => json!({"type": "array", "items": of(items)}),
        Shape::Map(values) => json!({"type": "object", "additionalProperties": of(values)}),
        Shape::Object(keys) if std::ptr::eq(*keys, SERVER) => json!({"$ref": "#/$defs/server"}),
        Shape::Object(keys) => object(keys),
        Shape::Either(shapes) => {
            let shapes: Vec<Value> = shapes.iter().map(of).collect();
            json!({"anyOf": shapes})
        }
        Shape::Any => json!({}),
    }
}

fn object(keys: &[Key]) -> Value {
    let properties = keys.iter().map(|key| {
        let mut schema = of(&key.shape);
        add(&mut schema, "description", json!(key.about));
        if key.effect != Effect::Used {
            add(&mut schema, "deprecated", json!(true));
        }
        (key.name.to_owned(), schema)
    });
    let properties: serde_json::Map<String, Value> = properties.collect();
    json!({"type": "object", "properties": properties, "additionalProperties": false})
}

fn add(schema: &mut Value, key: &str, value: Value) {
    if let Value::Object(members) = schema {
        members.insert(key.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use jsonc_parser::ast;
    use proptest::prelude::*;

    use super::*;
    use crate::config::check::check;
    use crate::config::read_file::read;
    use crate::config::text::{parse, raw};

    fn validator() -> jsonschema::Validator {
        jsonschema::draft202012::new(&schema()).expect("a schema of draft 2020-12")
    }

    fn json_of(text: &str) -> Value {
        let value = parse(text).unwrap().unwrap();
        serde_json::from_str(raw(&value).unwrap().as_str()).unwrap()
    }

    /// Code blocks of a page in JSON, with the line of each.
    fn blocks(page: &str) -> Vec<(usize, String)> {
        let mut blocks = Vec::new();
        let mut block: Option<(usize, String)> = None;
        for (index, line) in page.lines().enumerate() {
            match (&mut block, line.trim_end()) {
                (None, "```json" | "```jsonc") => block = Some((index + 1, String::new())),
                (Some(_), "```") => blocks.extend(block.take()),
                (Some((_, text)), line) => {
                    text.push_str(line);
                    text.push('\n');
                }
                (None, _) => {}
            }
        }
        blocks
    }

    #[test]
    fn the_examples_of_the_documentation_are_valid() {
        let validator = validator();
        let pages = [
            include_str!("../../../../docs/configuration.md"),
            include_str!("../../../../README.md"),
        ];
        let blocks: Vec<_> = pages.iter().flat_map(|page| blocks(page)).collect();
        assert!(blocks.len() >= 6, "{}", blocks.len());
        for (line, text) in blocks {
            let content = read(&text);
            assert!(content.is_ok(), "line {line}: {content:?}");
            let errors: Vec<String> = validator
                .iter_errors(&json_of(&text))
                .map(|error| error.to_string())
                .collect();
            assert_eq!(errors, Vec::<String>::new(), "line {line}");
        }
    }

    #[test]
    fn the_documentation_names_every_key() {
        let page = include_str!("../../../../docs/configuration.md");
        let mut names = BTreeSet::new();
        collect(&Shape::Object(FILE), &mut names);
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '$' || c == '_';
        let words: BTreeSet<&str> = page.split(|c| !is_word(c)).collect();
        let unnamed: Vec<&str> = names.difference(&words).copied().collect();
        assert_eq!(unnamed, ["burst", "rate"]);
    }

    /// Names of all keys that have an effect, now or later.
    fn collect(shape: &Shape, names: &mut BTreeSet<&'static str>) {
        match shape {
            Shape::Object(keys) => {
                for key in keys.iter().filter(|key| key.effect != Effect::Foreign) {
                    names.insert(key.name);
                    collect(&key.shape, names);
                }
            }
            Shape::List(of) | Shape::Map(of) => collect(of, names),
            Shape::Either(shapes) => shapes.iter().for_each(|shape| collect(shape, names)),
            _ => {}
        }
    }

    /// A value that has the shape, or nearly.
    fn value(shape: &'static Shape) -> BoxedStrategy<Value> {
        let wrong = prop_oneof![
            Just(json!(null)),
            Just(json!("text")),
            Just(json!(-1)),
            Just(json!(true)),
            Just(json!([])),
            Just(json!({"unknown": 1})),
        ];
        let right: BoxedStrategy<Value> = match shape {
            Shape::Text | Shape::Template => Just(json!("https://a.example/")).boxed(),
            Shape::Scalar => {
                prop_oneof![Just(json!("a")), Just(json!(1.5)), Just(json!(true))].boxed()
            }
            Shape::Bool => any::<bool>().prop_map(Value::from).boxed(),
            Shape::Milliseconds => (0..=MAX_MILLISECONDS + 1).prop_map(Value::from).boxed(),
            Shape::Port => (0..=65536_u32).prop_map(Value::from).boxed(),
            Shape::Number => (0..=3_u32).prop_map(Value::from).boxed(),
            Shape::OneOf(words) => prop::sample::select(*words).prop_map(Value::from).boxed(),
            Shape::List(of) => prop::collection::vec(value(of), 0..3)
                .prop_map(Value::from)
                .boxed(),
            Shape::Map(of) => prop::collection::btree_map("[a-c]", value(of), 0..3)
                .prop_map(|map| Value::Object(map.into_iter().collect()))
                .boxed(),
            Shape::Object(keys) => object_value(keys),
            Shape::Either(shapes) => prop::sample::select((0..shapes.len()).collect::<Vec<_>>())
                .prop_flat_map(move |index| value(&shapes[index]))
                .boxed(),
            Shape::Any => Just(json!({"a": [1, null]})).boxed(),
        };
        prop_oneof![12 => right, 1 => wrong].boxed()
    }

    /// An object with some of the keys; a server always has a command, which the schema asks for and the table
    /// alone does not.
    fn object_value(keys: &'static [Key]) -> BoxedStrategy<Value> {
        let member =
            prop::sample::select((0..keys.len()).collect::<Vec<_>>()).prop_flat_map(move |index| {
                value(&keys[index].shape).prop_map(move |value| (keys[index].name, value))
            });
        let is_server = std::ptr::eq(keys, SERVER);
        prop::collection::vec(member, 0..4)
            .prop_map(move |members| {
                let mut object: serde_json::Map<String, Value> = members
                    .into_iter()
                    .map(|(name, value)| (name.to_owned(), value))
                    .collect();
                if is_server {
                    object.entry("command").or_insert(json!("x"));
                }
                Value::Object(object)
            })
            .boxed()
    }

    proptest! {
        #[test]
        fn the_schema_accepts_what_the_reader_accepts(value in object_value(FILE)) {
            let text = value.to_string();
            let parsed: ast::Value<'_> = parse(&text).unwrap().unwrap();
            let (_, mistakes) = check(&text, &parsed, "", &Shape::Object(FILE));
            let accepted = mistakes.is_empty();
            prop_assert_eq!(validator().is_valid(&value), accepted, "{}", text);
        }
    }
}
