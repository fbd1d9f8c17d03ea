use std::collections::BTreeMap;

use callgate_mcp::wire::{Kind, RawJson};

/// Integers up to this one are the same number however they are written.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// A text that is the same for equal JSON values, whatever their spaces, order of members and escapes.
pub(crate) fn canonical(value: &RawJson) -> String {
    let mut text = String::with_capacity(value.as_bytes().len());
    write(value, &mut text);
    text
}

fn write(value: &RawJson, text: &mut String) {
    match value.kind() {
        Kind::Object => {
            let members: BTreeMap<String, RawJson> =
                value.members_besides(&[]).into_iter().collect();
            text.push('{');
            for (key, value) in &members {
                text.push_str(RawJson::string(key).as_str());
                text.push(':');
                write(value, text);
                text.push(',');
            }
            text.push('}');
        }
        Kind::Array => {
            text.push('[');
            for element in value.elements() {
                write(&element, text);
                text.push(',');
            }
            text.push(']');
        }
        Kind::String => match value.text() {
            Some(string) => text.push_str(RawJson::string(&string).as_str()),
            None => text.push_str(value.as_str()),
        },
        Kind::Number => match value.as_str().parse::<f64>() {
            Ok(number) if number.abs() <= EXACT => text.push_str(&number.to_string()),
            // More digits than a float holds.
            _ => text.push_str(value.as_str()),
        },
        Kind::Bool | Kind::Null => text.push_str(value.as_str()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_have_one_text() {
        let form = |text: &str| canonical(&serde_json::from_str(text).unwrap());
        for (a, b) in [
            (r#"{"a":1,"b":[true]}"#, r#"{ "b": [ true ], "a": 1.0 }"#),
            (r#""\u0061""#, r#""a""#),
            ("[1e3]", "[1000]"),
        ] {
            assert_eq!(form(a), form(b));
        }
        for (a, b) in [
            ("1", r#""1""#),
            ("[1,2]", "[2,1]"),
            ("[1,[2]]", "[1,2]"),
            ("{}", "[]"),
            ("12345678901234567890123", "12345678901234567890124"),
        ] {
            assert_ne!(form(a), form(b));
        }
    }
}
