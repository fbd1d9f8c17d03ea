use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

/// Plain schema, as most tools have it: objects and arrays of typed fields, with bounds, choices,
/// alternatives and references to `$defs`, but without patterns and conditions.
///
/// It checks undecoded JSON in one walk, reports the usual mistakes itself, and takes little memory.
#[derive(Debug)]
pub(super) struct PlainSchema {
    /// Subschemas; the root is the first.
    nodes: Vec<PlainNode>,
}

/// One subschema. Each keyword restricts only values of its kind.
#[derive(Debug, Default)]
pub(super) struct PlainNode {
    /// Allowed types in the order of [`TYPES`]; empty if any is allowed.
    pub(super) types: Vec<&'static str>,
    /// Members with a schema, and members that must be there.
    pub(super) members: Vec<KnownMember>,
    pub(super) additional: Additional,
    /// Schema of the elements.
    pub(super) items: Option<usize>,
    pub(super) item_count: CountBounds,
    /// Allowed values: strings, booleans and null.
    pub(super) choices: Option<Vec<Value>>,
    pub(super) constant: Option<Value>,
    /// Number of characters of a string.
    pub(super) length: CountBounds,
    pub(super) bounds: NumberBounds,
    /// Schema that the same value must fit too.
    pub(super) reference: Option<usize>,
    /// Schemas of which the same value must fit one.
    pub(super) any_of: Option<Vec<usize>>,
}

/// Member that a schema names.
#[derive(Debug)]
pub(super) struct KnownMember {
    pub(super) name: String,
    /// Schema of its value; `None` if it is only required, and so is an additional one.
    pub(super) schema: Option<usize>,
    pub(super) required: bool,
}

/// Rule for members without a schema of their own.
#[derive(Debug, Default, Clone, Copy)]
pub(super) enum Additional {
    #[default]
    Any,
    /// Only the members with a schema are allowed.
    Forbidden,
    /// No member is allowed, since none has a schema.
    NoMembers,
    Schema(usize),
}

#[derive(Debug, Default)]
pub(super) struct CountBounds {
    pub(super) min: Option<u64>,
    pub(super) max: Option<u64>,
}

#[derive(Debug, Default)]
pub(super) struct NumberBounds {
    pub(super) minimum: Option<i64>,
    pub(super) maximum: Option<i64>,
    pub(super) exclusive_minimum: Option<i64>,
    pub(super) exclusive_maximum: Option<i64>,
}

/// Type names of JSON Schema, in the order in which the general validator lists them.
pub(super) const TYPES: [&str; 7] = [
    "null", "boolean", "integer", "number", "string", "array", "object",
];

/// Maximum number of members that one subschema names: a check remembers which of them it has seen.
pub(super) const MAX_MEMBERS: usize = 256;

/// The dialect of schemas that do not name one.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

impl PlainSchema {
    /// Reads a schema; `None` if it is not plain, or not valid.
    pub(super) fn read(schema: &Value) -> Option<Self> {
        let mut schema = schema.as_object()?.clone();
        // Any other dialect stays, and as an unknown keyword makes the schema one that is not plain.
        if schema
            .get("$schema")
            .is_some_and(|dialect| dialect == DIALECT)
        {
            schema.remove("$schema");
        }
        let definitions = schema.remove("$defs").unwrap_or_else(|| Map::new().into());
        let mut reader = Reader::default();
        let mut targets = HashMap::from([("#".to_owned(), reader.schema(&schema.into())?)]);
        for (name, definition) in definitions.as_object()? {
            targets.insert(format!("#/$defs/{name}"), reader.schema(definition)?);
        }
        let Reader {
            mut nodes,
            references,
        } = reader;
        for (node, reference) in references {
            nodes.get_mut(node)?.reference = Some(*targets.get(&reference)?);
        }
        Some(Self { nodes })
    }

    /// The subschema at `index`.
    pub(super) fn node(&self, index: usize) -> &PlainNode {
        self.nodes.get(index).expect("edges lead to nodes")
    }
}

#[derive(Default)]
struct Reader {
    nodes: Vec<PlainNode>,
    /// References of subschemas.
    references: Vec<(usize, String)>,
}

impl Reader {
    fn schema(&mut self, schema: &Value) -> Option<usize> {
        let index = self.nodes.len();
        self.nodes.push(PlainNode::default());
        if schema == &Value::Bool(true) {
            return Some(index);
        }
        let mut node = PlainNode::default();
        for (keyword, value) in schema.as_object()? {
            if keyword == "$ref" {
                self.references.push((index, value.as_str()?.to_owned()));
            } else {
                self.keyword(&mut node, keyword, value)?;
            }
        }
        let is_plain = !node.is_contradictory();
        if matches!(node.additional, Additional::Forbidden) && schema.get("properties").is_none() {
            node.additional = Additional::NoMembers;
        }
        *self.nodes.get_mut(index)? = node;
        is_plain.then_some(index)
    }

    fn keyword(&mut self, node: &mut PlainNode, keyword: &str, value: &Value) -> Option<()> {
        match keyword {
            "type" => node.types = types(value)?,
            "properties" => {
                for (name, schema) in value.as_object()? {
                    let schema = self.schema(schema)?;
                    node.member(name)?.schema = Some(schema);
                }
            }
            "required" => {
                for name in distinct_strings(value)? {
                    node.member(name)?.required = true;
                }
            }
            "additionalProperties" => {
                node.additional = match value {
                    Value::Bool(true) => Additional::Any,
                    Value::Bool(false) => Additional::Forbidden,
                    schema => Additional::Schema(self.schema(schema)?),
                }
            }
            "items" => node.items = Some(self.schema(value)?),
            "minItems" => node.item_count.min = Some(value.as_u64()?),
            "maxItems" => node.item_count.max = Some(value.as_u64()?),
            "enum" => node.choices = Some(choices(value)?),
            "const" => node.constant = is_simple(value).then(|| Some(value.clone()))?,
            "minLength" => node.length.min = Some(value.as_u64()?),
            "maxLength" => node.length.max = Some(value.as_u64()?),
            "minimum" => node.bounds.minimum = Some(value.as_i64()?),
            "maximum" => node.bounds.maximum = Some(value.as_i64()?),
            "exclusiveMinimum" => node.bounds.exclusive_minimum = Some(value.as_i64()?),
            "exclusiveMaximum" => node.bounds.exclusive_maximum = Some(value.as_i64()?),
            "anyOf" => {
                let schemas = value.as_array().filter(|schemas| !schemas.is_empty())?;
                let schemas = schemas.iter().map(|schema| self.schema(schema));
                node.any_of = Some(schemas.collect::<Option<_>>()?);
            }
            _ => return is_annotation(keyword, value).then_some(()),
        }
        Some(())
    }
}

impl PlainNode {
    /// True if a member is required that is not allowed.
    fn is_contradictory(&self) -> bool {
        let is_forbidden = |member: &KnownMember| member.schema.is_none();
        matches!(self.additional, Additional::Forbidden) && self.members.iter().any(is_forbidden)
    }

    /// True if the members of an object matter.
    pub(super) fn restricts_members(&self) -> bool {
        !self.members.is_empty() || !matches!(self.additional, Additional::Any)
    }

    /// True if the elements of an array matter.
    pub(super) fn restricts_elements(&self) -> bool {
        let CountBounds { min, max } = self.item_count;
        self.items.is_some() || min.is_some() || max.is_some()
    }

    /// The member with this name; `None` if there are too many.
    fn member(&mut self, name: &str) -> Option<&mut KnownMember> {
        let known = self.members.iter().position(|member| member.name == name);
        let index = known.unwrap_or(self.members.len());
        if known.is_none() {
            // Before it is added, so that the search above stays short whatever a schema names.
            if index == MAX_MEMBERS {
                return None;
            }
            self.members.push(KnownMember {
                name: name.to_owned(),
                schema: None,
                required: false,
            });
        }
        self.members.get_mut(index)
    }
}

/// True for a keyword that restricts nothing.
fn is_annotation(keyword: &str, value: &Value) -> bool {
    match keyword {
        "title" | "description" | "format" | "$comment" => value.is_string(),
        "deprecated" | "readOnly" | "writeOnly" => value.is_boolean(),
        "examples" => value.is_array(),
        "default" => true,
        // Extensions such as `x-mcp-header`.
        _ => keyword.starts_with("x-"),
    }
}

fn types(value: &Value) -> Option<Vec<&'static str>> {
    let names = match value {
        Value::String(name) => vec![name.as_str()],
        _ => distinct_strings(value)?,
    };
    let all_known = names.iter().all(|name| TYPES.contains(name));
    let types = TYPES.into_iter().filter(|name| names.contains(name));
    (all_known && !names.is_empty()).then(|| types.collect())
}

fn choices(value: &Value) -> Option<Vec<Value>> {
    let choices = value.as_array()?;
    // A set: a server may send a schema with ten thousand choices.
    let mut seen = HashSet::new();
    let is_new = |choice| is_simple(choice) && seen.insert(choice);
    let are_plain = choices.iter().all(is_new);
    (are_plain && !choices.is_empty()).then(|| choices.clone())
}

/// True for a value that equals only one text, escapes aside.
fn is_simple(value: &Value) -> bool {
    value.is_string() || value.is_boolean() || value.is_null()
}

fn distinct_strings(value: &Value) -> Option<Vec<&str>> {
    let strings = value.as_array()?.iter().map(Value::as_str);
    let strings: Vec<_> = strings.collect::<Option<_>>()?;
    let distinct: HashSet<_> = strings.iter().collect();
    (distinct.len() == strings.len()).then_some(strings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_plain_schemas_are_read() {
        for schema in [
            json!({}),
            json!({"type": "object", "properties": {"a": {"type": ["string", "null"]}}}),
            json!({"type": "integer", "format": "uint8", "minimum": 0, "maximum": 255}),
            json!({"enum": ["a", null], "description": "d", "default": "a", "x-mcp-header": "A"}),
            json!({"additionalProperties": false, "items": {"deprecated": true}}),
            json!({"properties": {"a": true}, "additionalProperties": {"const": "a"}}),
            json!({"$schema": DIALECT, "$ref": "#/$defs/a", "$defs": {"a": {"maxLength": 3}}}),
            json!({"items": {"$ref": "#"}, "minItems": 1, "exclusiveMaximum": 3}),
            json!({"properties": {"a": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}}),
        ] {
            assert!(PlainSchema::read(&schema).is_some(), "{schema}");
            assert!(jsonschema::validator_for(&schema).is_ok(), "{schema}");
        }
        for schema in [
            json!(true),
            json!({"$ref": "#/$defs/a"}),
            json!({"$ref": "https://example.com"}),
            json!({"$defs": {"a": 7}}),
            json!({"pattern": "a"}),
            json!({"anyOf": []}),
            json!({"oneOf": [{}]}),
            json!({"type": "text"}),
            json!({"type": []}),
            json!({"required": ["a", "a"]}),
            json!({"required": 7}),
            json!({"required": ["a"], "additionalProperties": false}),
            json!({"properties": {"a": false}}),
            json!({"minimum": 0.5}),
            json!({"minLength": -1}),
            json!({"enum": [1]}),
            json!({"enum": []}),
            json!({"enum": ["a", "b", "a"]}),
            json!({"enum": [null, true, null]}),
            json!({"const": [1]}),
            json!({"title": 1}),
            json!({"items": {"$schema": DIALECT}}),
            json!({"$schema": "http://json-schema.org/draft-07/schema#"}),
        ] {
            assert!(PlainSchema::read(&schema).is_none(), "{schema}");
        }
    }

    #[test]
    fn a_schema_with_very_many_members_is_not_plain() {
        let schema = |members: usize| {
            let names: Vec<_> = (0..members).map(|n| format!("m{n}")).collect();
            json!({"required": names})
        };
        assert!(PlainSchema::read(&schema(MAX_MEMBERS)).is_some());
        assert!(PlainSchema::read(&schema(MAX_MEMBERS + 1)).is_none());
    }
}
