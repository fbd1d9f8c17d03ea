//! Values in the `Mcp-*` headers of Streamable HTTP.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::method::Method;

/// The revision of the request.
pub const PROTOCOL_VERSION: &str = "mcp-protocol-version";
/// The method of the request.
pub const METHOD: &str = "mcp-method";
/// The tool, prompt, resource or task of the request.
pub const NAME: &str = "mcp-name";
/// Prefix of the header names of mirrored tool parameters.
pub const PARAM_PREFIX: &str = "mcp-param-";

const OPEN: &str = "=?base64?";
const CLOSE: &str = "?=";

/// The member of the params that [`NAME`] mirrors; `None` for a method that has none.
#[must_use]
pub fn name_member(method: &Method) -> Option<&'static str> {
    method.target_member()
}

/// A header value cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("header value is not valid Base64 of UTF-8")]
#[non_exhaustive]
pub struct HeaderValueError;

/// Writes `value` so that it survives in a header.
#[must_use]
pub fn encode_value(value: &str) -> Cow<'_, str> {
    let plain = value.bytes().all(|byte| matches!(byte, 0x20..=0x7e));
    // Proxies trim spaces around a header value.
    let padded = value.starts_with(' ') || value.ends_with(' ');
    // A plain value that looks encoded would be decoded by the reader.
    let marked = value.starts_with(OPEN) && value.ends_with(CLOSE);
    if plain && !padded && !marked {
        return Cow::Borrowed(value);
    }
    Cow::Owned(format!("{OPEN}{}{CLOSE}", STANDARD.encode(value)))
}

/// Reads what [`encode_value`] wrote; a value without both markers stands for itself.
///
/// # Errors
/// Between the markers is no padded Base64 of UTF-8.
pub fn decode_value(value: &str) -> Result<Cow<'_, str>, HeaderValueError> {
    let Some(encoded) = value
        .strip_prefix(OPEN)
        .and_then(|rest| rest.strip_suffix(CLOSE))
    else {
        return Ok(Cow::Borrowed(value));
    };
    let bytes = STANDARD.decode(encoded).map_err(|_| HeaderValueError)?;
    String::from_utf8(bytes)
        .map(Cow::Owned)
        .map_err(|_| HeaderValueError)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn plain_values_stand_for_themselves() {
        for value in [
            "us-west1",
            "Hello, world",
            "",
            "=?base64?",
            "=?BASE64?SGk=?=",
            "a?=",
        ] {
            assert_eq!(encode_value(value), value);
            assert_eq!(decode_value(value).as_deref(), Ok(value));
        }
    }

    #[test]
    fn other_values_are_wrapped() {
        for (value, header) in [
            (" us", "=?base64?IHVz?="),
            ("us ", "=?base64?dXMg?="),
            ("a\tb", "=?base64?YQli?="),
            ("line\r\n", "=?base64?bGluZQ0K?="),
            ("日本", "=?base64?5pel5pys?="),
            ("=?base64?SGk=?=", "=?base64?PT9iYXNlNjQ/U0drPT89?="),
        ] {
            assert_eq!(encode_value(value), header);
            assert_eq!(decode_value(header).as_deref(), Ok(value));
        }
    }

    #[test]
    fn a_broken_wrapping_is_an_error() {
        for header in [
            "=?base64?SGk?=",
            "=?base64?S_k=?=",
            "=?base64?/w==?=",
            "=?base64?SGk=\n?=",
        ] {
            assert_eq!(decode_value(header), Err(HeaderValueError), "{header}");
        }
    }

    proptest! {
        #[test]
        fn every_value_survives(value: String) {
            let header = encode_value(&value).into_owned();
            prop_assert!(header.bytes().all(|byte| (0x20..=0x7e).contains(&byte)));
            prop_assert_eq!(decode_value(&header).unwrap(), value);
        }
    }
}
