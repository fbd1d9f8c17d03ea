use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value};

use crate::percent;

use super::error::{MAX_DEPTH, MAX_PATTERN, MAX_SUBSCHEMAS, SchemaError};

/// Graph of the subschemas of a schema and of the references between them.
pub(super) struct SchemaGraph {
    nodes: Vec<SubschemaNode>,
    /// Subschemas by reference: `#/a/pointer`, `#anchor` or an `$id`.
    names: HashMap<String, usize>,
}

#[derive(Default)]
struct SubschemaNode {
    /// Subschemas that apply to the same value.
    in_place: Vec<usize>,
    /// Subschemas that apply to a part of the value.
    below: Vec<(ValuePart, usize)>,
    references: Vec<String>,
}

/// Part of a value: a member or an element.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ValuePart {
    /// Member with this name.
    Member(String),
    /// Any member.
    AnyMember,
    /// Element at this index.
    Element(usize),
    /// Any element.
    AnyElement,
}

/// Target of a subschema.
enum AppliesTo {
    SameValue,
    Part(ValuePart),
    /// No value: it applies only through a reference, or to a string without parts.
    Nothing,
}

/// Maximum number of pairs of subschemas of which one applies the other one to its own value. Nesting alone,
/// without references, stays below.
const MAX_IN_PLACE: usize = (MAX_DEPTH + 1) * MAX_SUBSCHEMAS;

impl SchemaGraph {
    /// Collects the subschemas, within the limits of their number, depth and patterns.
    pub(super) fn new(schema: &Value) -> Result<Self, SchemaError> {
        let mut graph = Self {
            nodes: Vec::new(),
            names: HashMap::new(),
        };
        graph.add(schema, "#", 0)?;
        Ok(graph)
    }

    /// Number of subschemas when every reference is followed, recursion aside.
    pub(super) fn expansion(&self) -> Result<u64, SchemaError> {
        self.expand(0, &mut HashMap::new())
    }

    /// For each subschema, the subschemas that it applies to the same value, itself among them, and
    /// how often.
    ///
    /// # Errors
    /// A reference leads back to itself on the same value, so that a check would never end; or there are
    /// too many of them, as in a long chain of references.
    pub(super) fn in_place(&self) -> Result<Vec<BTreeMap<usize, u64>>, SchemaError> {
        let mut known = BTreeMap::new();
        let mut room = MAX_IN_PLACE;
        for node in 0..self.nodes.len() {
            self.count_in_place(node, &mut known, &mut room)?;
        }
        Ok(known.into_values().flatten().collect())
    }

    /// Subschemas that `node` applies to parts of the value.
    pub(super) fn below(&self, node: usize) -> &[(ValuePart, usize)] {
        &self.node(node).below
    }

    fn add(&mut self, schema: &Value, pointer: &str, depth: usize) -> Result<usize, SchemaError> {
        if depth > MAX_DEPTH {
            return Err(SchemaError::TooDeep);
        }
        if self.nodes.len() >= MAX_SUBSCHEMAS {
            return Err(SchemaError::TooManySubschemas);
        }
        let index = self.nodes.len();
        self.nodes.push(SubschemaNode::default());
        self.names.insert(pointer.to_owned(), index);
        let Value::Object(members) = schema else {
            return Ok(index);
        };
        self.note_names_and_references(members, index)?;
        // Taken out, because the children are added to the same list.
        let mut node = std::mem::take(self.node_mut(index));
        for (keyword, value) in members {
            let pointer = format!("{pointer}/{}", escape(keyword));
            for (key, subschema, applies) in subschemas(keyword, value) {
                let pointer = key.map_or_else(|| pointer.clone(), |key| format!("{pointer}/{key}"));
                let child = self.add(subschema, &pointer, depth + 1)?;
                match applies {
                    AppliesTo::SameValue => node.in_place.push(child),
                    AppliesTo::Part(part) => node.below.push((part, child)),
                    AppliesTo::Nothing => {}
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

    fn expand(&self, index: usize, known: &mut HashMap<usize, u64>) -> Result<u64, SchemaError> {
        if let Some(size) = known.get(&index) {
            return Ok(*size);
        }
        // The size inside a recursion: `depth_limit` bounds its cost.
        known.insert(index, 1);
        let node = self.node(index);
        let mut size = 1_u64;
        for reference in &node.references {
            let target = self.resolve(reference)?;
            size = size.saturating_add(self.expand(target, known)?);
        }
        let below = node.below.iter().map(|(_, child)| child);
        for child in node.in_place.iter().chain(below) {
            size = size.saturating_add(self.expand(*child, known)?);
        }
        known.insert(index, size);
        Ok(size)
    }

    /// Counts what `index` applies to its value. A node is `None` in `known` while it is counted; `room` is
    /// left for the counts of others.
    fn count_in_place(
        &self,
        index: usize,
        known: &mut BTreeMap<usize, Option<BTreeMap<usize, u64>>>,
        room: &mut usize,
    ) -> Result<(), SchemaError> {
        if let Some(Some(_)) = known.get(&index) {
            return Ok(());
        }
        known.insert(index, None);
        let node = self.node(index);
        let mut next = Vec::new();
        for reference in &node.references {
            let target = self.resolve(reference)?;
            if let Some(None) = known.get(&target) {
                return Err(SchemaError::Endless {
                    reference: reference.clone(),
                });
            }
            self.count_in_place(target, known, room)?;
            next.push(target);
        }
        for &child in &node.in_place {
            self.count_in_place(child, known, room)?;
            next.push(child);
        }
        let mut counts = BTreeMap::from([(index, 1_u64)]);
        for (reached, times) in next
            .iter()
            .filter_map(|next| known.get(next))
            .flatten()
            .flatten()
        {
            let count = counts.entry(*reached).or_default();
            *count = count.saturating_add(*times);
        }
        let left = room.checked_sub(counts.len());
        *room = left.ok_or(SchemaError::TooExpensive)?;
        known.insert(index, Some(counts));
        Ok(())
    }

    fn resolve(&self, reference: &str) -> Result<usize, SchemaError> {
        // A reference is a URI, whose fragment may be percent-encoded.
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

    fn node(&self, index: usize) -> &SubschemaNode {
        self.nodes.get(index).expect("edges lead to nodes")
    }

    fn node_mut(&mut self, index: usize) -> &mut SubschemaNode {
        self.nodes.get_mut(index).expect("edges lead to nodes")
    }
}

impl ValuePart {
    /// Any part of the same kind.
    pub(super) fn any_of_its_kind(&self) -> Self {
        match self {
            Self::Member(_) | Self::AnyMember => Self::AnyMember,
            Self::Element(_) | Self::AnyElement => Self::AnyElement,
        }
    }
}

/// Subschemas of a keyword, each with its key as part of a JSON pointer.
fn subschemas<'a>(keyword: &str, value: &'a Value) -> Vec<(Option<String>, &'a Value, AppliesTo)> {
    let by_name = |applies: fn(&str) -> AppliesTo| {
        let members = value.as_object().into_iter().flatten();
        let subschemas = members.filter(|(_, subschema)| is_schema(subschema));
        subschemas
            .map(|(key, subschema)| (Some(escape(key)), subschema, applies(key)))
            .collect()
    };
    let by_place = |applies: fn(usize) -> AppliesTo| {
        let elements = value.as_array().into_iter().flatten().enumerate();
        elements
            .map(|(at, subschema)| (Some(at.to_string()), subschema, applies(at)))
            .collect()
    };
    let single = |applies: AppliesTo| match is_schema(value) {
        true => vec![(None, value, applies)],
        false => Vec::new(),
    };
    match keyword {
        "$defs" | "definitions" => by_name(|_| AppliesTo::Nothing),
        "dependentSchemas" | "dependencies" => by_name(|_| AppliesTo::SameValue),
        "properties" => by_name(|name| AppliesTo::Part(ValuePart::Member(name.to_owned()))),
        "patternProperties" => by_name(|_| AppliesTo::Part(ValuePart::AnyMember)),
        "allOf" | "anyOf" | "oneOf" => by_place(|_| AppliesTo::SameValue),
        "prefixItems" => by_place(|at| AppliesTo::Part(ValuePart::Element(at))),
        "items" if value.is_array() => by_place(|at| AppliesTo::Part(ValuePart::Element(at))),
        "not" | "if" | "then" | "else" => single(AppliesTo::SameValue),
        "additionalProperties" | "unevaluatedProperties" => {
            single(AppliesTo::Part(ValuePart::AnyMember))
        }
        "items" | "additionalItems" | "unevaluatedItems" | "contains" => {
            single(AppliesTo::Part(ValuePart::AnyElement))
        }
        "propertyNames" | "contentSchema" => single(AppliesTo::Nothing),
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

/// Escapes a key for a JSON pointer.
fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
