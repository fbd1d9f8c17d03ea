use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use crate::text::{self, LoneSurrogate, RawText};

/// Limits of the size and depth of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The most bytes one message may have.
    pub bytes: usize,
    /// The most containers that may be open at once.
    pub depth: usize,
    /// The most values in a part where no key may occur twice, such as a request.
    ///
    /// A value of two bytes may take a reader some hundred bytes of memory, and repeated keys are
    /// only found by remembering all keys: without this limit, a small message could cost a lot.
    pub values: usize,
}

impl Limits {
    /// Sets the most bytes one message may have.
    #[must_use]
    pub const fn with_bytes(mut self, bytes: usize) -> Self {
        self.bytes = bytes;
        self
    }

    /// Sets the most containers that may be open at once.
    #[must_use]
    pub const fn with_depth(mut self, depth: usize) -> Self {
        self.depth = depth;
        self
    }

    /// Sets the most values in a part where no key may occur twice.
    #[must_use]
    pub const fn with_values(mut self, values: usize) -> Self {
        self.values = values;
        self
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            bytes: 16 * 1024 * 1024,
            depth: 128,
            values: 50_000,
        }
    }
}

/// Refusal of a text, before any part of it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScanError {
    /// The text has more bytes than the limit.
    #[error("message is longer than {limit} bytes")]
    TooLong {
        /// The limit in bytes.
        limit: usize,
    },
    /// The text is not UTF-8.
    #[error("message is not UTF-8 at byte {at}")]
    Utf8 {
        /// Offset of the first bad byte.
        at: usize,
    },
    /// The text is not JSON.
    #[error("message is not JSON at byte {at}")]
    Syntax {
        /// Offset of the byte that cannot stand there.
        at: usize,
    },
    /// More containers are open than the limit.
    #[error("message is nested deeper than {limit}")]
    TooDeep {
        /// The limit in levels.
        limit: usize,
    },
    /// There are more values than the limit where no key may occur twice.
    #[error("message has more than {limit} values")]
    TooManyValues {
        /// The limit.
        limit: usize,
    },
    /// An object has the same key twice.
    #[error("object has the same key twice at byte {at}")]
    DuplicateKey {
        /// Offset of the second key.
        at: usize,
    },
    /// A key holds half of a surrogate pair and so has no text to compare.
    #[error("key has a lone surrogate at byte {at}")]
    LoneSurrogate {
        /// Offset of the key.
        at: usize,
    },
}

/// Rule for objects that have the same key twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Duplicates {
    Refuse,
    Allow,
}

/// Watches the members of the outer objects while the scan passes them.
pub(crate) trait Outermost {
    /// Sees a key of the outermost object, and rules on duplicates inside its value.
    fn key(&mut self, key: RawText<'_>) -> Duplicates;
    /// Sees the position of the value of the last key of the outermost object.
    fn value(&mut self, span: Range<usize>);
    /// Sees a key of an object inside the outermost one, and its position.
    fn inner_key(&mut self, level: InnerLevel, key: RawText<'_>, at: usize);
    /// Sees the position of the value of the last key at this level.
    fn inner_value(&mut self, level: InnerLevel, span: Range<usize>);
}

/// Level of an object inside the outermost one. Those that are deeper are not watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InnerLevel {
    /// Member of the outermost object.
    Second,
    /// Member of a member.
    Third,
}

/// Checks that `bytes` are one JSON value within `limits`.
pub(crate) fn scan(
    bytes: &[u8],
    limits: &Limits,
    duplicates: Duplicates,
    outermost: &mut impl Outermost,
) -> Result<(), ScanError> {
    // Before anything is read, so that a message over the limit costs nothing.
    if bytes.len() > limits.bytes {
        return Err(ScanError::TooLong {
            limit: limits.bytes,
        });
    }
    // Once for the whole message: strings are then compared and sliced as bytes without checks.
    // Most messages are ASCII, which takes less to see.
    if !bytes.is_ascii()
        && let Err(error) = std::str::from_utf8(bytes)
    {
        return Err(ScanError::Utf8 {
            at: error.valid_up_to(),
        });
    }
    Scanner {
        bytes,
        at: 0,
        limits,
        outside: duplicates,
        inside: duplicates,
        values: 0,
        open: Vec::with_capacity(USUAL_DEPTH),
        keys: Vec::with_capacity(LINEAR_KEYS),
        large: Vec::new(),
        has_controls: None,
    }
    .run(outermost)
}

/// An [`Outermost`] that applies one rule everywhere and remembers nothing.
pub(crate) struct Uniform(pub(crate) Duplicates);

impl Outermost for Uniform {
    fn key(&mut self, _key: RawText<'_>) -> Duplicates {
        self.0
    }
    fn value(&mut self, _span: Range<usize>) {}
    fn inner_key(&mut self, _level: InnerLevel, _key: RawText<'_>, _at: usize) {}
    fn inner_value(&mut self, _level: InnerLevel, _span: Range<usize>) {}
}

/// Objects with more keys than this are checked with a set instead of one by one: comparing few keys
/// is faster than hashing them, and comparing many would let a message cost the square of its size.
const LINEAR_KEYS: usize = 16;

/// Depth that most messages do not exceed.
const USUAL_DEPTH: usize = 8;

/// Length of the beginning of a string that is searched eight bytes at a time. Most strings of a
/// message end there, and a search for longer ones takes a while to begin.
const SHORT_STRING: usize = 64;

/// Open object or array.
struct Container {
    is_object: bool,
    /// True if the keys are in the last of the sets.
    is_large: bool,
    /// Index of the first key among the keys of all open objects.
    first_key: usize,
    /// The [`key_bit`]s of the keys: one without a bit in common with them is new.
    key_bits: u64,
    /// Position of the value that the scan is in.
    value_start: usize,
}

/// Bit that equal keys have in common; few others have it. An escaped key may equal any other, and has
/// all bits.
#[inline(always)]
fn key_bit(key: RawText<'_>) -> u64 {
    if key.escaped {
        return u64::MAX;
    }
    // Keys of one object differ in their length and at their end rather than at their beginning.
    let last = key.bytes.last().copied().unwrap_or_default();
    1 << ((2 * key.bytes.len() + usize::from(last)) % 64)
}

/// State of a scan.
///
/// Its small methods are always inlined: the position then stays in a register, which saves a tenth of
/// the instructions of a small message.
struct Scanner<'a, 'l> {
    bytes: &'a [u8],
    at: usize,
    limits: &'l Limits,
    /// The rule for the outermost object.
    outside: Duplicates,
    /// The rule for its contents, which may differ from member to member.
    inside: Duplicates,
    /// Number of values seen where no key may occur twice.
    values: usize,
    open: Vec<Container>,
    /// Keys of all open objects, innermost last, without those of the large ones.
    keys: Vec<RawText<'a>>,
    /// Keys of the open objects that have many, innermost last.
    large: Vec<HashSet<Cow<'a, str>>>,
    /// True if there are control characters somewhere; known after the first long string.
    has_controls: Option<bool>,
}

impl<'a> Scanner<'a, '_> {
    fn run(&mut self, outermost: &mut impl Outermost) -> Result<(), ScanError> {
        loop {
            self.skip_whitespace();
            if let Some(container) = self.open.last_mut() {
                container.value_start = self.at;
            }
            self.count_value()?;
            if self.enter_value(outermost)? {
                continue;
            }
            // A value has just ended: close containers until another value must follow.
            loop {
                let Some(container) = self.open.last() else {
                    return self.end();
                };
                let span = container.value_start..self.at;
                match (container.is_object, self.open.len()) {
                    (true, 1) => outermost.value(span),
                    (true, 2) => outermost.inner_value(InnerLevel::Second, span),
                    (true, 3) => outermost.inner_value(InnerLevel::Third, span),
                    _ => {}
                }
                if self.next_in_container(outermost)? {
                    break;
                }
            }
        }
    }

    #[inline(always)]
    fn count_value(&mut self) -> Result<(), ScanError> {
        if self.inside == Duplicates::Refuse {
            self.values += 1;
            let limit = self.limits.values;
            if self.values > limit {
                return Err(ScanError::TooManyValues { limit });
            }
        }
        Ok(())
    }

    /// Reads a scalar or an empty container, or enters a container: then a value must follow.
    #[inline(always)]
    fn enter_value(&mut self, outermost: &mut impl Outermost) -> Result<bool, ScanError> {
        match self.peek() {
            Some(b'"') => self.string().map(|_| false),
            Some(b'{') => {
                self.open_container(true)?;
                if self.peek_token() == Some(b'}') {
                    self.close_container();
                    return Ok(false);
                }
                self.member_key(outermost)?;
                Ok(true)
            }
            Some(b'[') => {
                self.open_container(false)?;
                if self.peek_token() == Some(b']') {
                    self.close_container();
                    return Ok(false);
                }
                Ok(true)
            }
            Some(b't') => self.literal(b"true"),
            Some(b'f') => self.literal(b"false"),
            Some(b'n') => self.literal(b"null"),
            Some(b'-' | b'0'..=b'9') => self.number().map(|()| false),
            _ => Err(self.unexpected()),
        }
    }

    /// Passes a comma (then a value must follow) or the end of the innermost container.
    #[inline(always)]
    fn next_in_container(&mut self, outermost: &mut impl Outermost) -> Result<bool, ScanError> {
        let in_object = self.open.last().is_some_and(|last| last.is_object);
        match (self.peek_token(), in_object) {
            (Some(b','), true) => {
                self.at += 1;
                self.skip_whitespace();
                self.member_key(outermost)?;
                Ok(true)
            }
            (Some(b','), false) => {
                self.at += 1;
                Ok(true)
            }
            (Some(b'}'), true) | (Some(b']'), false) => {
                self.close_container();
                Ok(false)
            }
            _ => Err(self.unexpected()),
        }
    }

    #[inline(always)]
    fn open_container(&mut self, is_object: bool) -> Result<(), ScanError> {
        if self.open.len() >= self.limits.depth {
            return Err(ScanError::TooDeep {
                limit: self.limits.depth,
            });
        }
        self.at += 1;
        self.open.push(Container {
            is_object,
            is_large: false,
            first_key: self.keys.len(),
            key_bits: 0,
            value_start: 0,
        });
        Ok(())
    }

    #[inline(always)]
    fn close_container(&mut self) {
        self.at += 1;
        if let Some(container) = self.open.pop() {
            self.keys.truncate(container.first_key);
            if container.is_large {
                self.large.pop();
            }
        }
    }

    #[inline(always)]
    fn member_key(&mut self, outermost: &mut impl Outermost) -> Result<(), ScanError> {
        let start = self.at;
        if self.peek() != Some(b'"') {
            return Err(self.unexpected());
        }
        let key = self.string()?;
        let level = self.open.len();
        let rule = match level {
            1 => self.outside,
            _ => self.inside,
        };
        if rule == Duplicates::Refuse {
            self.remember_key(key, start)?;
        }
        match level {
            1 => self.inside = outermost.key(key),
            2 => outermost.inner_key(InnerLevel::Second, key, start),
            3 => outermost.inner_key(InnerLevel::Third, key, start),
            _ => {}
        }
        if self.peek_token() != Some(b':') {
            return Err(self.unexpected());
        }
        self.at += 1;
        Ok(())
    }

    /// Refuses a key that its object has already.
    #[inline(always)]
    fn remember_key(&mut self, key: RawText<'a>, at: usize) -> Result<(), ScanError> {
        let Some(object) = self.open.last_mut() else {
            return Ok(());
        };
        let bit = key_bit(key);
        // An escaped key is always decoded: it may have no text.
        let may_be_known = key.escaped || object.key_bits & bit != 0;
        object.key_bits |= bit;
        if may_be_known || self.keys.len() - object.first_key >= LINEAR_KEYS {
            return self.compare_key(key, at);
        }
        self.keys.push(key);
        Ok(())
    }

    /// Refuses a key that its object has already, compared with all others of the object.
    #[inline(never)]
    fn compare_key(&mut self, key: RawText<'a>, at: usize) -> Result<(), ScanError> {
        let Some(object) = self.open.last_mut() else {
            return Ok(());
        };
        // Keys are compared decoded: `"a"` and `"\u0061"` are the same key to every reader.
        let text = |key: RawText<'a>| {
            key.decode()
                .map_err(|LoneSurrogate| ScanError::LoneSurrogate { at })
        };
        let siblings = self.keys.get(object.first_key..).unwrap_or_default();
        if !object.is_large && siblings.len() >= LINEAR_KEYS {
            let texts = siblings.iter().map(|sibling| text(*sibling));
            self.large.push(texts.collect::<Result<_, _>>()?);
            object.is_large = true;
        }
        let is_new = if object.is_large
            && let Some(large) = self.large.last_mut()
        {
            large.insert(text(key)?)
        } else if key.escaped {
            let key = text(key)?;
            !siblings.iter().any(|sibling| sibling.is(&key))
        } else {
            !siblings.iter().any(|sibling| sibling.is_raw(key.bytes))
        };
        if !is_new {
            return Err(ScanError::DuplicateKey { at });
        }
        if !object.is_large {
            self.keys.push(key);
        }
        Ok(())
    }

    /// Reads a string and returns the bytes between its quotes.
    #[inline(always)]
    fn string(&mut self) -> Result<RawText<'a>, ScanError> {
        self.at += 1;
        let start = self.at;
        let rest = self.bytes.get(start..).unwrap_or_default();
        let short = rest.get(..SHORT_STRING).unwrap_or(rest);
        self.at += text::plain_words(short);
        let escaped = match self.peek() {
            Some(b'"') => false,
            _ => self.long_string()?,
        };
        let bytes = self.bytes.get(start..self.at).unwrap_or_default();
        self.at += 1;
        Ok(RawText { bytes, escaped })
    }

    /// Passes the rest of a string that is long or has escapes, up to its closing quote. Returns true
    /// if it has escapes.
    #[inline(never)]
    fn long_string(&mut self) -> Result<bool, ScanError> {
        // Most messages are on one line. Then only a quote or a backslash can end the plain part of
        // a string, which takes less to find.
        let bytes = self.bytes;
        let plain_length = match self.has_controls() {
            true => text::plain_length,
            false => text::plain_length_without_controls,
        };
        let mut at = self.at;
        let mut escaped = false;
        loop {
            at += plain_length(bytes.get(at..).unwrap_or_default());
            self.at = at;
            match bytes.get(at) {
                Some(b'"') => return Ok(escaped),
                Some(b'\\') => {
                    let escape = bytes.get(at..).unwrap_or_default();
                    at += text::escape_length(escape).ok_or_else(|| self.unexpected())?;
                    escaped = true;
                }
                _ => return Err(self.unexpected()),
            }
        }
    }

    /// True if there are control characters in the message; searched once.
    fn has_controls(&mut self) -> bool {
        let bytes = self.bytes;
        *self
            .has_controls
            .get_or_insert_with(|| text::has_controls(bytes))
    }

    fn number(&mut self) -> Result<(), ScanError> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), ScanError> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        match self.at == start {
            true => Err(self.unexpected()),
            false => Ok(()),
        }
    }

    fn literal(&mut self, word: &[u8]) -> Result<bool, ScanError> {
        if self
            .bytes
            .get(self.at..)
            .is_some_and(|rest| rest.starts_with(word))
        {
            self.at += word.len();
            Ok(false)
        } else {
            Err(self.unexpected())
        }
    }

    fn end(&mut self) -> Result<(), ScanError> {
        self.skip_whitespace();
        if self.at == self.bytes.len() {
            Ok(())
        } else {
            Err(self.unexpected())
        }
    }

    #[inline(always)]
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Passes white space and returns the byte after it.
    #[inline(always)]
    fn peek_token(&mut self) -> Option<u8> {
        self.skip_whitespace();
        self.peek()
    }

    #[inline(always)]
    fn skip_whitespace(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn unexpected(&self) -> ScanError {
        ScanError::Syntax { at: self.at }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn strict(text: &[u8]) -> Result<(), ScanError> {
        let mut rule = Uniform(Duplicates::Refuse);
        scan(text, &Limits::default(), Duplicates::Refuse, &mut rule)
    }

    #[test]
    fn valid_values_pass() {
        for text in [
            "null",
            " true ",
            "false",
            "0",
            "-0",
            "49E-31",
            "1.5e+10",
            "12345678901234567890123",
            r#""""#,
            r#""\u00e9\n\ud83d\ude00""#,
            r#""\ud800""#,
            "[]",
            "[ ]",
            "{}",
            "{ }",
            r#"[1,[2,{"a":[]}],{}]"#,
            r#"{"a":1,"b":{"a":1}}"#,
            "\t{\r\n\"a\" : [ 1 , 2 ] }\n",
        ] {
            assert_eq!(strict(text.as_bytes()), Ok(()), "{text}");
        }
    }

    #[test]
    fn malformed_values_are_refused_at_the_offending_byte() {
        for (text, at) in [
            ("", 0),
            ("nul", 0),
            ("01", 1),
            ("-", 1),
            ("1.", 2),
            ("1e", 2),
            ("+1", 0),
            (".5", 0),
            ("[1,]", 3),
            ("[1 2]", 3),
            ("{\"a\"}", 4),
            ("{\"a\":1,}", 7),
            ("{a:1}", 1),
            ("[", 1),
            ("{\"a\":1", 6),
            ("\"", 1),
            ("\"\\x\"", 1),
            ("\"\\u12g4\"", 1),
            ("\"a\nb\"", 2),
            ("1 1", 2),
            ("[1}", 2),
            ("{\"a\":1]", 6),
            ("\u{feff}1", 0),
            ("'a'", 0),
        ] {
            assert_eq!(
                strict(text.as_bytes()),
                Err(ScanError::Syntax { at }),
                "{text}"
            );
        }
    }

    #[test]
    fn invalid_utf8_is_refused() {
        assert_eq!(strict(b"\"a\xff\""), Err(ScanError::Utf8 { at: 2 }));
    }

    #[test]
    fn duplicate_keys_are_refused_at_any_depth_and_in_any_spelling() {
        for (text, at) in [
            (r#"{"a":1,"a":2}"#, 7),
            (r#"{"a":1,"\u0061":2}"#, 7),
            (r#"[{"x":{"k":1,"b":2,"k":3}}]"#, 19),
            (r#"{"\/":1,"/":2}"#, 8),
            (r#"{"\/":1,"b":2,"/":3}"#, 14),
            (r#"{"/":1,"b":2,"\/":3}"#, 13),
        ] {
            assert_eq!(
                strict(text.as_bytes()),
                Err(ScanError::DuplicateKey { at }),
                "{text}"
            );
        }
    }

    #[test]
    fn duplicate_keys_are_found_among_many() {
        let mut keys: Vec<String> = (0..1000).map(|n| format!("\"k{n}\":{n}")).collect();
        assert_eq!(strict(format!("{{{}}}", keys.join(",")).as_bytes()), Ok(()));
        keys.push("\"k3\":0".to_owned());
        let text = format!("{{{}}}", keys.join(","));
        let at = text.rfind("\"k3\"").unwrap();
        assert_eq!(strict(text.as_bytes()), Err(ScanError::DuplicateKey { at }));
    }

    #[test]
    fn a_key_with_a_lone_surrogate_is_refused() {
        assert_eq!(
            strict(br#"{"\ud800":1}"#),
            Err(ScanError::LoneSurrogate { at: 1 })
        );
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(strict(nested(128).as_bytes()), Ok(()));
        assert_eq!(
            strict(nested(129).as_bytes()),
            Err(ScanError::TooDeep { limit: 128 })
        );
    }

    #[test]
    fn the_number_of_values_is_bounded_where_keys_are_compared() {
        // The array is a value too.
        let array = |elements: usize| format!("[{}]", vec!["0"; elements].join(","));
        let limit = Limits::default().values;
        assert_eq!(strict(array(limit - 1).as_bytes()), Ok(()));
        let many = array(limit);
        assert_eq!(
            strict(many.as_bytes()),
            Err(ScanError::TooManyValues { limit })
        );
        let mut rule = Uniform(Duplicates::Allow);
        let lenient = scan(
            many.as_bytes(),
            &Limits::default(),
            Duplicates::Allow,
            &mut rule,
        );
        assert_eq!(lenient, Ok(()));
    }

    #[test]
    fn size_is_bounded() {
        let limits = Limits {
            bytes: 4,
            ..Limits::default()
        };
        let mut rule = Uniform(Duplicates::Allow);
        assert!(scan(b"1234", &limits, Duplicates::Allow, &mut rule).is_ok());
        assert_eq!(
            scan(b"12345", &limits, Duplicates::Allow, &mut rule),
            Err(ScanError::TooLong { limit: 4 })
        );
    }

    proptest! {
        #[test]
        fn agrees_with_serde_json_on_syntax(text in "[\\[\\]{}\",:0-9eE.+\\-a-z\\\\ \n]{0,24}") {
            let mut rule = Uniform(Duplicates::Allow);
            let ours = scan(text.as_bytes(), &Limits::default(), Duplicates::Allow, &mut rule);
            let theirs = serde_json::from_str::<&serde_json::value::RawValue>(&text);
            prop_assert_eq!(ours.is_ok(), theirs.is_ok(), "{:?} {:?}", ours, theirs);
        }
    }
}
