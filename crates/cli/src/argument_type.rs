use std::cell::Cell;

use callgate_mcp::wire::{Kind, RawJson};

use crate::canonical_json::canonical;
use crate::render::schema::at_pointer;

/// Types of JSON Schema.
const TYPES: [&str; 7] = [
    "string", "integer", "number", "boolean", "object", "array", "null",
];

/// Maximum schemas that are read for one argument; a hostile one may refer to itself in many ways.
const MAX_SCHEMAS: usize = 200;

/// Type of one argument of a tool, as far as `type`, `enum` and `const` tell it, also behind `anyOf`, `oneOf`, `allOf`
/// and references within the schema.
///
/// Everything else, and what is behind the limit, is left to the server.
pub(crate) struct ArgumentType<'a> {
    schema: RawJson,
    /// Schema of all arguments, in which references are looked up.
    root: &'a RawJson,
    /// Schemas that may still be read.
    left: Cell<usize>,
}

#[derive(Clone, Copy)]
enum Candidate<'a> {
    Value(&'a RawJson),
    /// Any value of a type.
    Type(&'a str),
}

impl<'a> ArgumentType<'a> {
    /// Type of the argument `key`; `None` if the schema does not name it.
    pub(crate) fn of(key: &str, root: &'a RawJson) -> Option<Self> {
        Some(Self {
            schema: root.at(&["properties", key])?,
            root,
            left: Cell::new(MAX_SCHEMAS),
        })
    }

    /// True if the argument may have this value.
    pub(crate) fn takes(&self, value: &RawJson) -> bool {
        self.allows(&self.schema, Candidate::Value(value))
    }

    /// Types that the argument may have.
    pub(crate) fn types(&self) -> Vec<&'static str> {
        let mut types = TYPES.to_vec();
        types.retain(|name| self.allows(&self.schema, Candidate::Type(name)));
        // Every integer is a number.
        if types.contains(&"number") {
            types.retain(|name| *name != "integer");
        }
        types
    }

    fn allows(&self, schema: &RawJson, candidate: Candidate<'_>) -> bool {
        let left = self.left.get();
        if left == 0 || !schema.is_object() {
            return schema.kind() != Kind::Bool || schema.as_str() == "true";
        }
        self.left.set(left - 1);
        let [kind, values, constant, reference, any, one, all] =
            schema.pick(["type", "enum", "const", "$ref", "anyOf", "oneOf", "allOf"]);
        let names: Vec<String> = match &kind {
            Some(one) if one.kind() == Kind::String => one.decode().into_iter().collect(),
            Some(many) => many.decode().unwrap_or_default(),
            None => Vec::new(),
        };
        let values: Vec<RawJson> = match constant {
            Some(constant) => vec![constant],
            None => values.iter().flat_map(RawJson::elements).collect(),
        };
        let target = reference.as_ref().and_then(RawJson::text);
        let target = target.and_then(|name| at_pointer(self.root, name.strip_prefix('#')?));
        let parts = |list: Option<RawJson>| list.map(|list| list.elements()).unwrap_or_default();
        let is_one_of = |list: Vec<RawJson>| {
            list.is_empty() || list.iter().any(|it| self.allows(it, candidate))
        };
        (names.is_empty() || names.iter().any(|name| candidate.has_type(name)))
            && (values.is_empty() || candidate.is_among(&values))
            && target.is_none_or(|target| self.allows(&target, candidate))
            && is_one_of(parts(any))
            && is_one_of(parts(one))
            && parts(all).iter().all(|it| self.allows(it, candidate))
    }
}

impl Candidate<'_> {
    fn has_type(self, name: &str) -> bool {
        match self {
            Self::Value(value) => has_type(value, name),
            Self::Type(own) => own == name || (own == "integer" && name == "number"),
        }
    }

    fn is_among(self, values: &[RawJson]) -> bool {
        match self {
            Self::Value(value) => {
                let form = canonical(value);
                let mut values = values.iter().filter(|it| it.kind() == value.kind());
                values.any(|it| canonical(it) == form)
            }
            Self::Type(name) => values.iter().any(|value| has_type(value, name)),
        }
    }
}

/// True if the value is of the type; a number with a fraction is taken for an integer too, and left to the server.
pub(crate) fn has_type(value: &RawJson, name: &str) -> bool {
    match value.kind() {
        Kind::Object => name == "object",
        Kind::Array => name == "array",
        Kind::String => name == "string",
        Kind::Number => matches!(name, "number" | "integer"),
        Kind::Bool => name == "boolean",
        Kind::Null => name == "null",
    }
}
