use serde_json::Value;

use super::graph::Graph;
use super::growth::depth_limit;

/// The longest schema, in bytes of JSON.
pub(crate) const MAX_BYTES: usize = 64 * 1024;
/// The deepest nesting of subschemas.
pub(super) const MAX_DEPTH: usize = 32;
/// The most subschemas.
pub(super) const MAX_SUBSCHEMAS: usize = 1_000;
/// The most subschemas once every reference is followed.
pub(super) const MAX_EXPANSION: u64 = 10_000;
/// The deepest value that is ever read.
const MAX_VALUE_DEPTH: usize = 128;
/// The longest regular expression, in bytes.
pub(super) const MAX_PATTERN: usize = 1_024;

/// Why a JSON Schema was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// The schema of arguments does not say that they are an object.
    #[error("the root of an input schema must have `\"type\": \"object\"`")]
    NotAnObject,
    /// The schema is longer than the limit.
    #[error("schema has {bytes} bytes, more than {MAX_BYTES}")]
    TooLarge {
        /// The length of the schema.
        bytes: usize,
    },
    /// Subschemas are nested deeper than the limit.
    #[error("schema is nested deeper than {MAX_DEPTH} subschemas")]
    TooDeep,
    /// There are more subschemas than the limit.
    #[error("schema has more than {MAX_SUBSCHEMAS} subschemas")]
    TooManySubschemas,
    /// A regular expression is longer than the limit.
    #[error("pattern has {bytes} bytes, more than {MAX_PATTERN}")]
    PatternTooLong {
        /// The length of the pattern.
        bytes: usize,
    },
    /// Following the references costs more than the limit.
    #[error("schema has more than {MAX_EXPANSION} subschemas when references are followed")]
    TooExpensive,
    /// A reference leads out of the schema, or nowhere.
    #[error("reference `{reference}` does not lead to a place in the schema")]
    Reference {
        /// The reference.
        reference: String,
    },
    /// A reference leads back to itself without looking at anything smaller.
    #[error("reference `{reference}` never ends")]
    Endless {
        /// The reference.
        reference: String,
    },
    /// The schema is not a JSON Schema that we understand.
    #[error("invalid schema: {0}")]
    Invalid(String),
}

/// Bounds what checking something against `schema` may cost, and says how deep it may be nested
/// where the cost grows with the depth.
pub(super) fn admit(schema: &Value, bytes: usize) -> Result<Option<usize>, SchemaError> {
    if bytes > MAX_BYTES {
        return Err(SchemaError::TooLarge { bytes });
    }
    let graph = Graph::new(schema)?;
    graph.refuse_endless()?;
    if graph.expansion()? > MAX_EXPANSION {
        return Err(SchemaError::TooExpensive);
    }
    Ok(depth_limit(&graph, MAX_VALUE_DEPTH))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn admitted(schema: &Value) -> Result<(), SchemaError> {
        admit(schema, schema.to_string().len()).map(drop)
    }

    fn nested(levels: usize) -> Value {
        (0..levels).fold(json!({}), |inner, _| json!({"items": inner}))
    }

    fn wide(subschemas: usize) -> Value {
        json!({"anyOf": vec![json!(true); subschemas]})
    }

    /// Each definition asks for the next one twice.
    fn doubling(levels: usize) -> Value {
        let mut definitions = serde_json::Map::new();
        for level in 0..levels {
            let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
            definitions.insert(format!("d{level}"), json!({"anyOf": [next, next]}));
        }
        definitions.insert(format!("d{levels}"), json!({"type": "string"}));
        json!({"$ref": "#/$defs/d0", "$defs": definitions})
    }

    #[test]
    fn every_limit_is_kept() {
        assert_eq!(admitted(&nested(MAX_DEPTH)), Ok(()));
        assert_eq!(admitted(&nested(MAX_DEPTH + 1)), Err(SchemaError::TooDeep));
        assert_eq!(admitted(&wide(MAX_SUBSCHEMAS - 1)), Ok(()));
        assert_eq!(
            admitted(&wide(MAX_SUBSCHEMAS)),
            Err(SchemaError::TooManySubschemas)
        );
        let pattern = |bytes: usize| json!({"pattern": "a".repeat(bytes)});
        assert_eq!(admitted(&pattern(MAX_PATTERN)), Ok(()));
        assert_eq!(
            admitted(&pattern(MAX_PATTERN + 1)),
            Err(SchemaError::PatternTooLong {
                bytes: MAX_PATTERN + 1
            })
        );
        let long_key = json!({"patternProperties": {"a".repeat(MAX_PATTERN + 1): true}});
        assert_eq!(
            admitted(&long_key),
            Err(SchemaError::PatternTooLong {
                bytes: MAX_PATTERN + 1
            })
        );
        let described = |bytes: usize| json!({"description": "a".repeat(bytes - 18)});
        assert_eq!(admitted(&described(MAX_BYTES)), Ok(()));
        assert_eq!(
            admitted(&described(MAX_BYTES + 1)),
            Err(SchemaError::TooLarge {
                bytes: MAX_BYTES + 1
            })
        );
    }

    #[test]
    fn references_that_multiply_are_refused() {
        assert_eq!(admitted(&doubling(10)), Ok(()));
        assert_eq!(admitted(&doubling(28)), Err(SchemaError::TooExpensive));
    }

    #[test]
    fn references_stay_inside_the_schema() {
        for reference in [
            "https://example.com/schema.json",
            "file:///etc/passwd",
            "other.json",
            "#/$defs/missing",
            "#missing",
            "#/$defs/%zz",
        ] {
            assert_eq!(
                admitted(&json!({"$ref": reference, "$defs": {}})),
                Err(SchemaError::Reference {
                    reference: reference.to_owned()
                })
            );
        }
        for (reference, definitions) in [
            ("#", json!({})),
            ("#/$defs/a", json!({"a": true})),
            ("#/$defs/a~1b%20c", json!({"a/b c": true})),
            ("#named", json!({"a": {"$anchor": "named"}})),
            ("urn:a", json!({"a": {"$id": "urn:a"}})),
        ] {
            let schema = json!({"items": {"$ref": reference}, "$defs": definitions});
            assert_eq!(admitted(&schema), Ok(()), "{reference}");
        }
    }

    #[test]
    fn a_recursion_must_look_at_something_smaller() {
        let tree = json!({"properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}});
        assert_eq!(admitted(&tree), Ok(()));
        for schema in [
            json!({"$ref": "#"}),
            json!({"anyOf": [{"type": "string"}, {"$ref": "#"}]}),
            json!({"$ref": "#/$defs/a", "$defs": {
                "a": {"not": {"$ref": "#/$defs/b"}}, "b": {"$ref": "#/$defs/a"}}}),
        ] {
            assert!(
                matches!(admitted(&schema), Err(SchemaError::Endless { .. })),
                "{schema}"
            );
        }
    }

    #[test]
    fn data_inside_a_schema_is_not_a_schema() {
        let schema = json!({
            "const": {"$ref": "https://example.com"},
            "enum": [{"$ref": "https://example.com"}],
            "default": {"pattern": "a".repeat(2_000)},
            "properties": {"$ref": {"type": "string"}, "pattern": {"type": "string"}}
        });
        assert_eq!(admitted(&schema), Ok(()));
    }
}
