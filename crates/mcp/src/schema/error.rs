use callgate_wire::RawJson;

/// Maximum size of a schema, in bytes of JSON. A schema beyond this limit or one of those below is refused.
pub(crate) const MAX_BYTES: usize = 64 * 1024;
/// Maximum nesting of subschemas.
pub(super) const MAX_DEPTH: usize = 32;
/// Maximum number of subschemas.
pub(super) const MAX_SUBSCHEMAS: usize = 1_000;
/// Maximum number of subschemas once every reference is followed.
pub(super) const MAX_EXPANSION: u64 = 10_000;
/// Maximum size of a regular expression, in bytes.
pub(super) const MAX_PATTERN: usize = 1_024;

/// Refusal of a JSON Schema.
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
    #[error("reference `{reference}` refers to itself")]
    Endless {
        /// The reference.
        reference: String,
    },
    /// The schema is not a JSON Schema that we understand.
    #[error("invalid schema: {0}")]
    Invalid(String),
}

/// Checks that the root of an input schema says that it is an object, as the protocol demands.
pub(super) fn check_root(schema: &RawJson) -> Result<(), SchemaError> {
    match schema.get("type") {
        Some(root) if root.is("object") => Ok(()),
        _ => Err(SchemaError::NotAnObject),
    }
}
