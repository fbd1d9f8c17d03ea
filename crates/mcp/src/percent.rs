//! Percent-encoding in URIs.

/// Decodes escapes such as `%41`; `None` if one is malformed or the result is not UTF-8.
pub(super) fn decode(text: &str) -> Option<String> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let digits = [bytes.next()?, bytes.next()?];
            if !digits.iter().all(u8::is_ascii_hexdigit) {
                return None;
            }
            let digits = std::str::from_utf8(&digits).ok()?;
            decoded.push(u8::from_str_radix(digits, 16).ok()?);
        } else {
            decoded.push(byte);
        }
    }
    String::from_utf8(decoded).ok()
}

/// Encodes all bytes of a path but letters, digits, `-`, `.`, `_`, `~` and `/`.
pub(super) fn encode_path(path: &str) -> String {
    let mut encoded = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'-' | b'.' | b'_' | b'~' | b'/' => encoded.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => encoded.push(char::from(byte)),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_encoded_and_decoded_again() {
        let path = "a/b c/\u{e9}%.md";
        assert_eq!(encode_path(path), "a/b%20c/%C3%A9%25.md");
        assert_eq!(decode(&encode_path(path)).as_deref(), Some(path));
    }

    #[test]
    fn escapes_become_their_bytes() {
        for (text, expect) in [
            ("plain", Some("plain")),
            ("a%20b%2F", Some("a b/")),
            ("%C3%A9", Some("é")),
            ("%C3", None),
            ("%2", None),
            ("%+1", None),
            ("%zz", None),
        ] {
            assert_eq!(decode(text).as_deref(), expect, "{text}");
        }
    }
}
