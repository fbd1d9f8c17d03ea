use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use callgate_wire::{RawJson, Splice};
use sha2::{Digest, Sha256};

/// Adds a checksum to `entry`, an object.
pub(super) fn seal(entry: &RawJson) -> RawJson {
    let checksum = RawJson::string(&digest(entry));
    Splice::new(entry)
        .set(&[MEMBER], &checksum)
        .finish()
        .expect("an entry is an object")
}

/// Compares the checksum. An entry without one, as in a file of OpenCode, counts as intact.
pub(super) fn is_intact(entry: &RawJson) -> bool {
    entry
        .get(MEMBER)
        .is_none_or(|checksum| checksum.is(&digest(entry)))
}

/// Member with the checksum. OpenCode ignores members that it does not know.
const MEMBER: &str = "checksum";

/// Digest of all members except the checksum, independent of indentation.
fn digest(entry: &RawJson) -> String {
    let bare = Splice::new(entry)
        .remove(&[MEMBER])
        .finish()
        .expect("an entry is an object");
    let digest = Sha256::digest(without_white_space(bare.as_bytes()));
    format!("sha256-{}", BASE64_URL_SAFE_NO_PAD.encode(digest))
}

/// JSON text without the white space between its tokens.
fn without_white_space(json: &[u8]) -> Vec<u8> {
    let mut compact = Vec::with_capacity(json.len());
    let mut is_inside = false;
    let mut is_escaped = false;
    for &byte in json {
        if is_inside {
            is_inside = is_escaped || byte != b'"';
            is_escaped = byte == b'\\' && !is_escaped;
        } else if byte.is_ascii_whitespace() {
            continue;
        } else {
            is_inside = byte == b'"';
        }
        compact.push(byte);
    }
    compact
}

#[cfg(test)]
mod tests {
    use callgate_wire::{Limits, RawJson};

    use super::{is_intact, seal};

    fn json(text: &str) -> RawJson {
        RawJson::parse_strict(text.to_owned().into(), &Limits::default()).expect("JSON")
    }

    #[test]
    fn a_sealed_entry_is_intact_until_it_changes() {
        let sealed = seal(&json(r#"{"a": "x \" {", "b":{ "c":1 }}"#));
        assert_eq!(
            sealed.as_str(),
            r#"{"a": "x \" {", "b":{ "c":1 },"checksum":"sha256-LTuj_bMDx-4VGNVJykKsbkpbWKCZAOa3JSASFxj6T14"}"#
        );
        assert!(is_intact(&sealed));
        assert_eq!(seal(&sealed), sealed);
        for (from, to) in [
            ("x ", "x"),
            ("x", "y"),
            ("1", "2"),
            ("\"c\"", "\"d\""),
            ("sha256-", ""),
        ] {
            assert!(
                !is_intact(&json(&sealed.as_str().replace(from, to))),
                "{from} {to}"
            );
        }
    }

    #[test]
    fn indentation_does_not_matter() {
        let sealed = seal(&json(r#"{"a":"x \\","b":{"c":1}}"#));
        let indented = sealed
            .as_str()
            .replace(",\"", " ,\n\t\"")
            .replace('{', "{ ");
        assert!(is_intact(&json(&indented)));
    }

    #[test]
    fn an_entry_without_checksum_is_taken_as_it_is() {
        assert!(is_intact(&json("{}")));
        assert!(!is_intact(&json(r#"{"checksum":null}"#)));
    }
}
