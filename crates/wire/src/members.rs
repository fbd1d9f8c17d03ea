use std::borrow::Cow;
use std::ops::Range;

use memchr::memchr3;

use crate::text::{self, LoneSurrogate, RawText};

/// One member of a JSON object, by where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member<'a> {
    raw_key: RawText<'a>,
    /// Where the key stands, quotes included.
    pub key_span: Range<usize>,
    /// Where the value stands.
    pub value_span: Range<usize>,
}

impl<'a> Member<'a> {
    /// The key as text.
    ///
    /// # Errors
    /// A key with half of a surrogate pair has no text.
    pub fn key(&self) -> Result<Cow<'a, str>, LoneSurrogate> {
        self.raw_key.decode()
    }

    /// Whether the key is `name`.
    #[must_use]
    pub fn is(&self, name: &str) -> bool {
        self.raw_key.is(name)
    }
}

/// The members of an object inside a text that is known to be valid JSON.
///
/// Values are skipped, not read: this is how a message is peeked at without decoding it.
#[derive(Debug, Clone)]
pub struct Members<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Members<'a> {
    /// Walks the object that starts at `at`; anything but an object has no members.
    pub(crate) fn new(bytes: &'a [u8], at: usize) -> Self {
        let at = if bytes.get(at) == Some(&b'{') {
            at + 1
        } else {
            bytes.len()
        };
        Self { bytes, at }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_separators(&mut self) {
        while matches!(
            self.peek(),
            Some(b' ' | b'\t' | b'\n' | b'\r' | b',' | b':')
        ) {
            self.at += 1;
        }
    }

    /// Passes a string and says whether it has escapes.
    fn skip_string(&mut self) -> bool {
        self.at += 1;
        let mut escaped = false;
        while let Some(rest) = self.bytes.get(self.at..) {
            self.at += text::plain_length(rest);
            match self.peek() {
                Some(b'\\') => {
                    self.at += 2;
                    escaped = true;
                }
                _ => {
                    self.at += 1;
                    break;
                }
            }
        }
        escaped
    }

    fn skip_container(&mut self) {
        let mut depth = 0_usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => {
                    self.skip_string();
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return;
            }
            self.skip_to_structure();
        }
    }

    /// Jumps over numbers, literals and white space inside a container.
    fn skip_to_structure(&mut self) {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let skipped = rest
            .iter()
            .position(|byte| matches!(byte, b'"' | b'{' | b'[' | b'}' | b']'))
            .unwrap_or(rest.len());
        self.at += skipped;
    }

    fn skip_scalar(&mut self) {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let end = memchr3(b',', b'}', b']', rest).unwrap_or(rest.len());
        let scalar = rest.get(..end).unwrap_or_default();
        self.at += scalar.trim_ascii_end().len();
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = Member<'a>;

    fn next(&mut self) -> Option<Member<'a>> {
        self.skip_separators();
        if self.peek() != Some(b'"') {
            self.at = self.bytes.len();
            return None;
        }
        let key_start = self.at;
        let escaped = self.skip_string();
        let key_span = key_start..self.at;
        self.skip_separators();
        let value_start = self.at;
        match self.peek()? {
            b'"' => {
                self.skip_string();
            }
            b'{' | b'[' => self.skip_container(),
            _ => self.skip_scalar(),
        }
        let bytes = self.bytes.get(key_span.start + 1..key_span.end - 1)?;
        let raw_key = RawText { bytes, escaped };
        Some(Member {
            raw_key,
            key_span,
            value_span: value_start..self.at,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &[(&str, &str)]) {
        let seen: Vec<_> = Members::new(text.as_bytes(), 0)
            .map(|member| (member.key().unwrap().into_owned(), &text[member.value_span]))
            .collect();
        let expect: Vec<_> = expect
            .iter()
            .map(|(key, value)| ((*key).to_owned(), *value))
            .collect();
        assert_eq!(seen, expect, "{text}");
    }

    #[test]
    fn members_come_in_order_with_their_bytes() {
        check("{}", &[]);
        check("[1]", &[]);
        check("3", &[]);
        check(r#"{"a":1}"#, &[("a", "1")]);
        check(
            "{ \"a\" : -0 ,\n\"b\":\"x\\\"}y\" , \"c\" : [1, \"]\", {}] ,\"d\":{\"a\":{}},\"e\":null }",
            &[
                ("a", "-0"),
                ("b", r#""x\"}y""#),
                ("c", r#"[1, "]", {}]"#),
                ("d", r#"{"a":{}}"#),
                ("e", "null"),
            ],
        );
        check(r#"{"\u0061":true}"#, &[("a", "true")]);
    }

    #[test]
    fn a_key_is_compared_as_text() {
        let member = Members::new(br#"{"\u0061":true}"#, 0).next().unwrap();
        assert!(member.is("a"));
        assert!(!member.is("\\u0061"));
    }
}
