//! JSON with comments and commas at the end, as a tree with positions.

use callgate_mcp::wire::{Limits, RawJson};
use jsonc_parser::ast::{Object, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::mistake::Mistake;

/// Maximum bytes of a configuration.
pub(super) const MAX_BYTES: usize = 4 * 1024 * 1024;

/// The mark that some editors of Windows put at the beginning of a file.
pub(super) const BYTE_ORDER_MARK: char = '\u{feff}';

/// Comments and commas at the end are accepted, and nothing else that JSON does not have.
pub(crate) fn parse_options() -> ParseOptions {
    ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

/// Parses a text; `None` if it holds nothing but space and comments.
pub(super) fn parse(text: &str) -> Result<Option<Value<'_>>, Mistake> {
    if text.len() > MAX_BYTES {
        return Err(whole(format!("the file has more than {MAX_BYTES} bytes")));
    }
    match parse_to_ast(text, &CollectOptions::default(), &parse_options()) {
        Ok(parsed) => Ok(parsed.value),
        Err(error) => {
            let cause = error.kind().to_string();
            let mut letters = cause.chars();
            let first = letters.next().map(|first| first.to_ascii_lowercase());
            let cause: String = first.into_iter().chain(letters).collect();
            let column = error.column_display();
            Err(Mistake {
                line: error.line_display(),
                hint: Some(
                    "check the commas, quotes and brackets there and just before".to_owned(),
                ),
                ..whole(format!("this is not JSON: {cause} at column {column}"))
            })
        }
    }
}

/// A mistake that is about the text as a whole.
pub(super) fn whole(message: String) -> Mistake {
    Mistake {
        line: 1,
        key: String::new(),
        message,
        hint: None,
    }
}

/// Line of a value or key, from 1.
pub(super) fn line_of(text: &str, node: &impl Ranged) -> usize {
    let before = text.as_bytes().get(..node.start()).unwrap_or_default();
    1 + before.iter().filter(|byte| **byte == b'\n').count()
}

/// The value as JSON without comments; `None` for a number that JSON does not have.
pub(super) fn raw(value: &Value<'_>) -> Option<RawJson> {
    let mut json = String::new();
    write(value, &mut json);
    RawJson::parse_strict(json.into(), &Limits::default()).ok()
}

/// The members of an object as pairs.
pub(super) fn members<'a, 'b>(
    object: &'b Object<'a>,
) -> impl Iterator<Item = (&'b str, &'b Value<'a>)> {
    let pairs = object.properties.iter();
    pairs.map(|property| (property.name.as_str(), &property.value))
}

fn write(value: &Value<'_>, json: &mut String) {
    match value {
        Value::StringLit(text) => json.push_str(RawJson::string(&text.value).as_str()),
        Value::NumberLit(number) => json.push_str(number.value),
        Value::BooleanLit(literal) => json.push_str(if literal.value { "true" } else { "false" }),
        Value::NullKeyword(_) => json.push_str("null"),
        Value::Array(array) => {
            json.push('[');
            for (index, element) in array.elements.iter().enumerate() {
                if index > 0 {
                    json.push(',');
                }
                write(element, json);
            }
            json.push(']');
        }
        Value::Object(object) => {
            json.push('{');
            for (index, (name, value)) in members(object).enumerate() {
                if index > 0 {
                    json.push(',');
                }
                json.push_str(RawJson::string(name).as_str());
                json.push(':');
                write(value, json);
            }
            json.push('}');
        }
    }
}
