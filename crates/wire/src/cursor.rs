use std::ops::Range;

use memchr::{memchr, memchr3};

use crate::raw::Kind;
use crate::text::{self, RawText};

/// Position in a valid JSON value, for readers that pass over it once and decode nothing.
///
/// Each method passes one token or value. Nothing is checked, because the text was scanned before;
/// a call that does not fit the next value gives a wrong answer, but does not panic.
///
/// ```
/// # use callgate_wire::{Kind, Limits, RawJson};
/// let value = RawJson::parse(r#"{"a":[1,"x"],"b":null}"#.into(), &Limits::default())?;
/// let mut cursor = value.cursor();
/// cursor.enter();
/// assert!(cursor.next_key().is_some_and(|key| key.is("a")));
/// cursor.enter();
/// assert!(cursor.next_element());
/// assert_eq!(cursor.scalar(), b"1");
/// assert!(cursor.next_element() && cursor.string().is("x") && !cursor.next_element());
/// assert!(cursor.next_key().is_some_and(|key| key.is("b")));
/// assert_eq!(cursor.kind(), Kind::Null);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    /// Kind of the next value.
    #[must_use]
    pub fn kind(&self) -> Kind {
        Kind::of(self.peek())
    }

    /// Passes the opening bracket of an object or array.
    pub fn enter(&mut self) {
        self.at += 1;
    }

    /// Passes a key, after which its value is next; or the end of the object.
    pub fn next_key(&mut self) -> Option<RawText<'a>> {
        match self.key() {
            Some((key, _)) => Some(key),
            None => {
                self.at += 1;
                None
            }
        }
    }

    /// Passes the comma before the next element; or the end of the array, and returns false.
    pub fn next_element(&mut self) -> bool {
        self.skip_separators();
        let is_end = matches!(self.peek(), Some(b']') | None);
        self.at += usize::from(is_end);
        !is_end
    }

    /// Passes the end of the object or array, if it is next.
    pub(crate) fn leave(&mut self) -> bool {
        self.skip_separators();
        let is_end = matches!(self.peek(), Some(b'}' | b']') | None);
        self.at += usize::from(is_end);
        is_end
    }

    /// Passes a string.
    pub fn string(&mut self) -> RawText<'a> {
        let span = self.skip();
        let text = span.start.saturating_add(1)..span.end.saturating_sub(1);
        let bytes = self.bytes.get(text).unwrap_or_default();
        let escaped = memchr(b'\\', bytes).is_some();
        RawText { bytes, escaped }
    }

    /// Passes a number, `true`, `false` or `null`.
    pub fn scalar(&mut self) -> &'a [u8] {
        let span = self.skip();
        self.bytes.get(span).unwrap_or_default()
    }

    /// Passes a value of any kind and returns its position.
    pub fn skip(&mut self) -> Range<usize> {
        let start = self.at;
        match self.peek() {
            Some(b'"') => self.skip_string(),
            Some(b'{' | b'[') => self.skip_container(),
            _ => self.skip_scalar(),
        }
        start..self.at
    }

    /// Passes a value if it is `known`, which must end by itself, as an object does: a number may
    /// also be the beginning of another one.
    pub(crate) fn pass(&mut self, known: &[u8]) -> Option<Range<usize>> {
        let start = self.at;
        let is_known = self.bytes.get(start..)?.starts_with(known);
        is_known.then(|| {
            self.at += known.len();
            start..self.at
        })
    }

    /// Passes a key, if one is next; its position includes the quotes.
    pub(crate) fn key(&mut self) -> Option<(RawText<'a>, Range<usize>)> {
        self.skip_separators();
        if self.peek() != Some(b'"') {
            return None;
        }
        let start = self.at;
        let escaped = self.skip_key();
        let span = start..self.at;
        self.skip_separators();
        let bytes = self.bytes.get(span.start + 1..span.end - 1)?;
        Some((RawText { bytes, escaped }, span))
    }

    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    pub(crate) fn position(&self) -> usize {
        self.at
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_separators(&mut self) {
        // The text is valid, so commas and colons need not be told apart.
        while matches!(
            self.peek(),
            Some(b' ' | b'\t' | b'\n' | b'\r' | b',' | b':')
        ) {
            self.at += 1;
        }
    }

    fn skip_string(&mut self) {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        // Most strings are short: one word of eight bytes has their end.
        let word = rest.get(1..9).unwrap_or_default();
        let plain = text::plain_length(word);
        self.at += match word.get(plain) {
            Some(b'"') => plain + 2,
            _ => text::string_length(rest),
        };
    }

    /// Skips a key and returns true if it has escapes.
    fn skip_key(&mut self) -> bool {
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
                // As a whole: brackets within a string do not count.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_passed_token_by_token() {
        let text = " {\"a\" : [ ] , \"\\u0062\":[1 , -2e3,[[]], \"\\\"]\" ] ,\"c\": { } }".trim();
        let mut cursor = Cursor::new(text.as_bytes(), 0);
        assert_eq!(cursor.kind(), Kind::Object);
        cursor.enter();
        assert!(cursor.next_key().unwrap().is("a"));
        cursor.enter();
        assert!(!cursor.next_element());
        assert!(cursor.next_key().unwrap().is("b"));
        assert_eq!(cursor.kind(), Kind::Array);
        cursor.enter();
        assert!(cursor.next_element());
        assert_eq!(cursor.scalar(), b"1");
        assert!(cursor.next_element());
        assert_eq!(cursor.scalar(), b"-2e3");
        assert!(cursor.next_element());
        let span = cursor.skip();
        assert_eq!(&text[span], "[[]]");
        assert!(cursor.next_element());
        assert!(cursor.string().is("\"]"));
        assert!(!cursor.next_element());
        assert!(cursor.next_key().unwrap().is("c"));
        cursor.enter();
        assert_eq!(cursor.next_key(), None);
        assert_eq!(cursor.next_key(), None);
        assert_eq!(cursor.position(), text.len());
    }

    #[test]
    fn a_call_that_does_not_fit_the_value_does_not_panic() {
        for text in ["", "1", "\"", "[", "{\"a\"", "{\"a\":", "true", "\"\\"] {
            for act in 0..6 {
                let mut cursor = Cursor::new(text.as_bytes(), 0);
                for _ in 0..3 {
                    match act {
                        0 => cursor.enter(),
                        1 => assert!(cursor.next_key().is_none_or(|key| key.bytes.len() < 2)),
                        2 => assert!(!cursor.next_element() || cursor.position() < text.len()),
                        3 => assert!(cursor.string().bytes.len() <= text.len()),
                        4 => assert!(cursor.scalar().len() <= text.len()),
                        _ => assert!(cursor.skip().len() <= text.len()),
                    }
                }
            }
        }
    }
}
