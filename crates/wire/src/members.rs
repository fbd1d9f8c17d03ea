use std::borrow::Cow;
use std::ops::Range;

use memchr::memchr3;

use crate::text::{self, LoneSurrogate, RawText};

/// One member of a JSON object, by where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member<'a> {
    raw_key: RawText<'a>,
    /// Position of the key, quotes included.
    pub key_span: Range<usize>,
    /// Position of the value.
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

    /// Compares the key with `name`.
    #[must_use]
    pub fn is(&self, name: &str) -> bool {
        self.raw_key.is(name)
    }
}

/// The members of an object inside a text that is known to be valid JSON.
///
/// Values are skipped, not read, so that a message can be inspected without decoding it.
#[derive(Debug, Clone)]
pub struct Members<'a> {
    bytes: &'a [u8],
    at: usize,
    /// A container inside `bytes` whose end need not be searched.
    known: &'a [u8],
}

impl<'a> Members<'a> {
    /// Walks the object that starts at `at`; anything but an object has no members.
    pub(crate) fn new(bytes: &'a [u8], at: usize) -> Self {
        let at = if bytes.get(at) == Some(&b'{') {
            at + 1
        } else {
            bytes.len()
        };
        let known = &[];
        Self { bytes, at, known }
    }

    /// The same walk, which passes `known`, a value inside the same text, in one step.
    pub(crate) fn beside(self, known: &'a [u8]) -> Self {
        Self { known, ..self }
    }

    /// Passes a key. Its value is next, and must be passed before the next key.
    pub(crate) fn next_key(&mut self) -> Option<(RawText<'a>, Range<usize>)> {
        self.skip_separators();
        if self.peek() != Some(b'"') {
            return None;
        }
        let start = self.at;
        let escaped = self.skip_string();
        let span = start..self.at;
        self.skip_separators();
        let bytes = self.bytes.get(span.start + 1..span.end - 1)?;
        Some((RawText { bytes, escaped }, span))
    }

    /// Skips a value and returns its position.
    pub(crate) fn skip_value(&mut self) -> Range<usize> {
        let start = self.at;
        match self.peek() {
            Some(b'"') => {
                self.skip_string();
            }
            Some(b'{' | b'[') => self.skip_container(),
            _ => self.skip_scalar(),
        }
        start..self.at
    }

    /// Passes a value, showing the members of it that there are.
    pub(crate) fn walk_value(&mut self, mut see: impl FnMut(Member<'a>)) -> Range<usize> {
        if self.peek() != Some(b'{') {
            return self.skip_value();
        }
        let start = self.at;
        let mut inner = Self::new(self.bytes, start);
        inner.by_ref().for_each(&mut see);
        self.at = inner.at + 1;
        start..self.at
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

    /// Skips a string and returns true if it has escapes.
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
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        if std::ptr::eq(rest.as_ptr(), self.known.as_ptr()) {
            self.at += self.known.len();
            return;
        }
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
        }
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
        let (raw_key, key_span) = self.next_key()?;
        let value_span = self.skip_value();
        Some(Member {
            raw_key,
            key_span,
            value_span,
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
