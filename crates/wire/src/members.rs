use std::borrow::Cow;
use std::ops::Range;

use crate::cursor::Cursor;
use crate::raw::Kind;
use crate::text::{LoneSurrogate, RawText};

/// Member of a JSON object, with its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member<'a> {
    pub(crate) raw_key: RawText<'a>,
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
        let RawText { bytes, escaped } = self.raw_key;
        // Most keys differ in length.
        (escaped || bytes.len() == name.len()) && self.raw_key.is(name)
    }
}

/// The members of an object inside a text that is known to be valid JSON.
///
/// Values are skipped, not read, so that a message can be inspected without decoding it.
#[derive(Debug, Clone)]
pub struct Members<'a> {
    cursor: Cursor<'a>,
}

impl<'a> Members<'a> {
    /// Walks the object that starts at `at`; anything but an object has no members.
    pub(crate) fn new(bytes: &'a [u8], at: usize) -> Self {
        let at = if bytes.get(at) == Some(&b'{') {
            at + 1
        } else {
            bytes.len()
        };
        let cursor = Cursor::new(bytes, at);
        Self { cursor }
    }

    /// Passes a key. Its value is next, and must be passed before the next key.
    pub(crate) fn next_key(&mut self) -> Option<(RawText<'a>, Range<usize>)> {
        self.cursor.key()
    }

    /// Skips a value and returns its position.
    pub(crate) fn skip_value(&mut self) -> Range<usize> {
        self.cursor.skip()
    }

    /// Passes a value if it is `known`, which must end by itself, as an object does.
    pub(crate) fn pass(&mut self, known: &[u8]) -> Option<Range<usize>> {
        self.cursor.pass(known)
    }

    /// Passes a value, showing the members of it that there are.
    pub(crate) fn walk_value(&mut self, see: impl FnMut(Member<'a>)) -> Range<usize> {
        if self.cursor.kind() != Kind::Object {
            return self.cursor.skip();
        }
        let start = self.cursor.position();
        let mut inner = Self::new(self.cursor.bytes(), start);
        inner.by_ref().for_each(see);
        self.cursor = inner.cursor;
        self.cursor.enter();
        start..self.cursor.position()
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
