use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::router::percent;

use super::admission::{MAX_DEPTH, MAX_PATTERN, MAX_SUBSCHEMAS, SchemaError};

/// The subschemas of a schema and how they apply one another.
pub(super) struct Graph {
    nodes: Vec<Node>,
    /// Subschemas by what a reference calls them: `#/a/pointer`, `#anchor` or an `$id`.
    names: HashMap<String, usize>,
}

#[derive(Default)]
struct Node {
    /// Subschemas that look at the same value.
    in_place: Vec<usize>,
    /// Subschemas that look at a part of the value.
    below: Vec<usize>,
    references: Vec<String>,
}

/// How the subschemas under a keyword apply.
#[derive(Clone, Copy)]
enum Applies {
    InPlace,
    Below,
    /// Only through a reference.
    Never,
}

impl Graph {
    /// Finds the subschemas, within the limits on their number, depth and patterns.
    pub(super) fn new(schema: &Value) -> Result<Self, SchemaError> {
        let mut graph = Self {
            nodes: Vec::new(),
            names: HashMap::new(),
        };
        graph.add(schema, "#", 0)?;
        Ok(graph)
    }

    /// Refuses references that lead back to themselves while looking at the same value.
    pub(super) fn refuse_endless(&self) -> Result<(), SchemaError> {
        let mut visits = vec![Visit::New; self.nodes.len()];
        (0..self.nodes.len()).try_for_each(|node| self.visit_in_place(node, &mut visits))
    }

    /// How many subschemas there are once every reference is followed, recursion aside.
    pub(super) fn expansion(&self) -> Result<u64, SchemaError> {
        self.expand(0, &mut vec![Expansion::Unknown; self.nodes.len()])
    }

    fn add(&mut self, schema: &Value, pointer: &str, depth: usize) -> Result<usize, SchemaError> {
        if depth > MAX_DEPTH {
            return Err(SchemaError::TooDeep);
        }
        if self.nodes.len() >= MAX_SUBSCHEMAS {
            return Err(SchemaError::TooManySubschemas);
        }
        let index = self.nodes.len();
        self.nodes.push(Node::default());
        self.names.insert(pointer.to_owned(), index);
        let Value::Object(members) = schema else {
            return Ok(index);
        };
        self.note_names_and_references(members, index)?;
        let mut node = std::mem::take(self.node_mut(index));
        for (keyword, value) in members {
            let pointer = format!("{pointer}/{}", escape(keyword));
            for (key, subschema, applies) in subschemas(keyword, value) {
                let pointer = key.map_or_else(|| pointer.clone(), |key| format!("{pointer}/{key}"));
                let child = self.add(subschema, &pointer, depth + 1)?;
                match applies {
                    Applies::InPlace => node.in_place.push(child),
                    Applies::Below => node.below.push(child),
                    Applies::Never => {}
                }
            }
        }
        *self.node_mut(index) = node;
        Ok(index)
    }

    fn note_names_and_references(
        &mut self,
        members: &Map<String, Value>,
        index: usize,
    ) -> Result<(), SchemaError> {
        for (keyword, value) in members {
            match (keyword.as_str(), value) {
                ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(reference)) => {
                    self.node_mut(index).references.push(reference.clone());
                }
                ("$anchor" | "$dynamicAnchor", Value::String(anchor)) => {
                    self.names.insert(format!("#{anchor}"), index);
                }
                ("$id", Value::String(id)) => {
                    self.names.insert(id.clone(), index);
                }
                ("pattern", Value::String(pattern)) => check_pattern(pattern)?,
                ("patternProperties", Value::Object(patterns)) => {
                    patterns
                        .keys()
                        .try_for_each(|pattern| check_pattern(pattern))?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn visit_in_place(&self, index: usize, visits: &mut [Visit]) -> Result<(), SchemaError> {
        if let Some(visit) = visits.get_mut(index) {
            if *visit == Visit::Done {
                return Ok(());
            }
            *visit = Visit::Open;
        }
        let node = self.node(index);
        for reference in &node.references {
            let target = self.resolve(reference)?;
            if visits.get(target) == Some(&Visit::Open) {
                return Err(SchemaError::Endless {
                    reference: reference.clone(),
                });
            }
            self.visit_in_place(target, visits)?;
        }
        for &child in &node.in_place {
            self.visit_in_place(child, visits)?;
        }
        if let Some(visit) = visits.get_mut(index) {
            *visit = Visit::Done;
        }
        Ok(())
    }

    fn expand(&self, index: usize, known: &mut [Expansion]) -> Result<u64, SchemaError> {
        match known.get(index) {
            Some(Expansion::Known(size)) => return Ok(*size),
            Some(Expansion::Open) => return Ok(1),
            _ => {}
        }
        set(known, index, Expansion::Open);
        let node = self.node(index);
        let mut size = 1_u64;
        for reference in &node.references {
            let target = self.resolve(reference)?;
            size = size.saturating_add(self.expand(target, known)?);
        }
        for &child in node.in_place.iter().chain(&node.below) {
            size = size.saturating_add(self.expand(child, known)?);
        }
        set(known, index, Expansion::Known(size));
        Ok(size)
    }

    fn resolve(&self, reference: &str) -> Result<usize, SchemaError> {
        let plain = reference.contains('%').then(|| percent::decode(reference));
        let name = match &plain {
            Some(decoded) => decoded.as_deref(),
            None => Some(reference),
        };
        name.and_then(|name| self.names.get(name))
            .copied()
            .ok_or_else(|| SchemaError::Reference {
                reference: reference.to_owned(),
            })
    }

    fn node(&self, index: usize) -> &Node {
        self.nodes.get(index).expect("edges lead to nodes")
    }

    fn node_mut(&mut self, index: usize) -> &mut Node {
        self.nodes.get_mut(index).expect("edges lead to nodes")
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Visit {
    New,
    Open,
    Done,
}

#[derive(Clone, Copy)]
enum Expansion {
    Unknown,
    Open,
    Known(u64),
}

fn set(known: &mut [Expansion], index: usize, expansion: Expansion) {
    if let Some(slot) = known.get_mut(index) {
        *slot = expansion;
    }
}

/// The subschemas under a keyword, each with its place below it as part of a JSON pointer.
fn subschemas<'a>(keyword: &str, value: &'a Value) -> Vec<(Option<String>, &'a Value, Applies)> {
    let applies = match keyword {
        "allOf" | "anyOf" | "oneOf" | "not" | "if" | "then" | "else" | "dependentSchemas"
        | "dependencies" => Applies::InPlace,
        "properties"
        | "patternProperties"
        | "additionalProperties"
        | "unevaluatedProperties"
        | "propertyNames"
        | "items"
        | "prefixItems"
        | "additionalItems"
        | "unevaluatedItems"
        | "contains"
        | "contentSchema" => Applies::Below,
        "$defs" | "definitions" => Applies::Never,
        _ => return Vec::new(),
    };
    let is_map = matches!(
        keyword,
        "dependentSchemas"
            | "dependencies"
            | "properties"
            | "patternProperties"
            | "$defs"
            | "definitions"
    );
    match value {
        Value::Object(members) if is_map => members
            .iter()
            .filter(|(_, subschema)| is_schema(subschema))
            .map(|(key, subschema)| (Some(escape(key)), subschema, applies))
            .collect(),
        Value::Array(elements) => elements
            .iter()
            .enumerate()
            .map(|(at, subschema)| (Some(at.to_string()), subschema, applies))
            .collect(),
        _ if is_schema(value) => vec![(None, value, applies)],
        _ => Vec::new(),
    }
}

fn is_schema(value: &Value) -> bool {
    value.is_object() || value.is_boolean()
}

fn check_pattern(pattern: &str) -> Result<(), SchemaError> {
    let bytes = pattern.len();
    if bytes > MAX_PATTERN {
        return Err(SchemaError::PatternTooLong { bytes });
    }
    Ok(())
}

/// A key as it stands in a JSON pointer.
fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
