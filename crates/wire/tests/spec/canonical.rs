//! One text for each JSON value.

use callgate_wire::{Kind, RawJson};

/// The value with sorted keys and no white space; numbers keep their text.
pub(crate) fn canonical(value: &RawJson) -> String {
    match value.kind() {
        Kind::Object => {
            let mut members: Vec<_> = value
                .members()
                .map(|member| {
                    let key = serde_json::to_string(&member.key().unwrap()).unwrap();
                    format!("{key}:{}", canonical(&value.value_of(&member)))
                })
                .collect();
            members.sort();
            format!("{{{}}}", members.join(","))
        }
        Kind::Array => {
            let elements: Vec<_> = value.elements().iter().map(canonical).collect();
            format!("[{}]", elements.join(","))
        }
        Kind::String => serde_json::to_string(&value.text().unwrap()).unwrap(),
        Kind::Number | Kind::Bool | Kind::Null => value.as_str().to_owned(),
    }
}
