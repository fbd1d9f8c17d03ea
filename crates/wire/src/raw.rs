use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use bytes::{Bytes, BytesMut};
use memchr::{memchr, memchr2};
use serde::de::{DeserializeOwned, Error as _};
use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::cursor::Cursor;
use crate::decode::{DecodeError, RAW_VALUE, decode};
use crate::members::{Member, Members};
use crate::scan::{Duplicates, Limits, ScanError, Uniform, scan};
use crate::splice::Splice;
use crate::text::{self, RawText};

/// One valid JSON value as the bytes it arrived in.
///
/// Cloning and slicing share the buffer. Whatever is not looked at is not changed: numbers, key
/// order, white space and unknown members come out as they went in.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RawJson(Bytes);

/// Kind of a JSON value.
///
/// Complete: JSON has no other values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "JSON has no other values")]
pub enum Kind {
    /// `{…}`
    Object,
    /// `[…]`
    Array,
    /// `"…"`
    String,
    /// A number.
    Number,
    /// `true` or `false`.
    Bool,
    /// `null`
    Null,
}

impl RawJson {
    /// Takes one JSON value; the same key twice in an object is passed on as it is.
    ///
    /// # Errors
    /// The reason why the text was refused.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "the buffer becomes the value"
    )]
    pub fn parse(bytes: Bytes, limits: &Limits) -> Result<Self, ScanError> {
        Self::parse_with(&bytes, limits, Duplicates::Allow)
    }

    /// Takes one JSON value in which no object has the same key twice.
    ///
    /// # Errors
    /// The reason why the text was refused.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "the buffer becomes the value"
    )]
    pub fn parse_strict(bytes: Bytes, limits: &Limits) -> Result<Self, ScanError> {
        Self::parse_with(&bytes, limits, Duplicates::Refuse)
    }

    fn parse_with(
        bytes: &Bytes,
        limits: &Limits,
        duplicates: Duplicates,
    ) -> Result<Self, ScanError> {
        scan(bytes, limits, duplicates, &mut Uniform(duplicates))?;
        Ok(Self::trimmed(bytes))
    }

    /// Writes `value` as JSON.
    ///
    /// # Errors
    /// Fails only where `value`'s own `Serialize` does.
    pub fn encode<T: Serialize + ?Sized>(value: &T) -> Result<Self, DecodeError> {
        Ok(Self(Bytes::from(serde_json::to_vec(value)?)))
    }

    /// Writes `value`, an object, with the members of the object `more` after its own.
    ///
    /// # Errors
    /// One of the two is not an object, or the `Serialize` of `value` fails.
    pub fn encode_with<T: Serialize + ?Sized>(
        value: &T,
        more: &RawJson,
    ) -> Result<Self, DecodeError> {
        let mut bytes = Vec::with_capacity(256 + more.0.len());
        serde_json::to_writer(&mut bytes, value)?;
        Self::with_more(bytes, more)
    }

    /// The object in `bytes`, with the members of the object `more` after its own.
    ///
    /// # Errors
    /// One of the two is not an object.
    pub(crate) fn with_more(mut bytes: Vec<u8>, more: &RawJson) -> Result<Self, DecodeError> {
        let Some(members) = more
            .0
            .strip_prefix(b"{")
            .filter(|_| bytes.starts_with(b"{"))
        else {
            return Err(DecodeError::custom("expected an object"));
        };
        bytes.pop();
        if bytes.trim_ascii_end() != b"{" && members.trim_ascii_start() != b"}" {
            bytes.push(b',');
        }
        bytes.extend_from_slice(members);
        Ok(Self(Bytes::from(bytes)))
    }

    /// Writes `text` as a JSON string.
    #[must_use]
    pub fn string(text: &str) -> Self {
        let mut bytes = Vec::with_capacity(text.len() + 2);
        text::write_string(&mut bytes, text);
        Self(Bytes::from(bytes))
    }

    /// The object without members.
    #[must_use]
    pub const fn empty_object() -> Self {
        Self(Bytes::from_static(b"{}"))
    }

    /// The value `null`.
    #[must_use]
    pub const fn null() -> Self {
        Self(Bytes::from_static(b"null"))
    }

    /// Wraps bytes that a scan or an encoder of this crate has shown to be one JSON value.
    pub(crate) fn trusted(bytes: Bytes) -> Self {
        Self(bytes)
    }

    fn trimmed(bytes: &Bytes) -> Self {
        Self(bytes.slice_ref(bytes.trim_ascii()))
    }

    /// Reads the value as a `T`.
    ///
    /// # Errors
    /// The value does not have the shape of a `T`.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, DecodeError> {
        decode(&self.0)
    }

    /// The bytes of the value, without white space around it.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The text of the value.
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("a scanned value is UTF-8")
    }

    /// The shared buffer of the value.
    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        self.0
    }

    /// Kind of the value.
    #[must_use]
    pub fn kind(&self) -> Kind {
        Kind::of(self.0.first().copied())
    }

    /// The position of the value itself, for reading it in one pass.
    #[must_use]
    pub fn cursor(&self) -> Cursor<'_> {
        Cursor::new(&self.0, 0)
    }

    /// The members of an object, in order; none for any other value.
    #[must_use]
    pub fn members(&self) -> Members<'_> {
        Members::new(&self.0, 0)
    }

    /// The members of an object whose keys are none of `keys`.
    #[must_use]
    pub fn members_besides(&self, keys: &[&str]) -> Vec<(String, RawJson)> {
        let others = self
            .members()
            .filter(|member| !keys.iter().any(|key| member.is(key)));
        others
            .filter_map(|member| Some((member.key().ok()?.into_owned(), self.value_of(&member))))
            .collect()
    }

    /// The object with these members, each in the place of one with the same key.
    #[must_use]
    pub fn with_members(&self, members: &[(String, RawJson)]) -> RawJson {
        members.iter().fold(self.clone(), |object, (key, value)| {
            let spliced = Splice::new(&object).set(&[key], value).finish();
            spliced.unwrap_or(object)
        })
    }

    /// The object with one more member at its end. The caller knows that it has no member `key`:
    /// nothing is searched. `None` if this is no object.
    #[must_use]
    pub fn with_appended(&self, key: &str, value: &RawJson) -> Option<RawJson> {
        let members = self.0.strip_prefix(b"{")?.strip_suffix(b"}")?;
        let mut out = Vec::with_capacity(self.0.len() + key.len() + value.0.len() + 4);
        out.push(b'{');
        out.extend_from_slice(members);
        if !members.trim_ascii().is_empty() {
            out.push(b',');
        }
        text::write_string(&mut out, key);
        out.push(b':');
        out.extend_from_slice(&value.0);
        out.push(b'}');
        Some(Self(Bytes::from(out)))
    }

    /// The member `key` of an object, sharing the buffer.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<RawJson> {
        let member = self.members().find(|member| member.is(key))?;
        Some(self.value_of(&member))
    }

    /// The members `keys` of an object, found in one pass that ends with the last of them.
    ///
    /// A reader of several members should take them with this rather than with one [`Self::get`]
    /// each: every call passes over the values before the member, which may be large. For any other
    /// order, see [`Self::cursor`]; for the params of requests, [`RawParams`](crate::RawParams).
    #[must_use]
    pub fn pick<const N: usize>(&self, keys: [&str; N]) -> [Option<RawJson>; N] {
        let mut found = [const { None }; N];
        let mut missing = N;
        for member in self.members() {
            if missing == 0 {
                break;
            }
            if let Some(slot) = wanted(&keys, &mut found, |key| member.is(key)) {
                *slot = Some(self.value_of(&member));
                missing -= 1;
            }
        }
        found
    }

    /// The member found by following `path` from object to object.
    #[must_use]
    pub fn at(&self, path: &[&str]) -> Option<RawJson> {
        path.iter()
            .try_fold(self.clone(), |value, key| value.get(key))
    }

    /// The value of a member that [`Self::members`] gave.
    #[must_use]
    pub fn value_of(&self, member: &Member<'_>) -> RawJson {
        self.slice(member.value_span.clone())
    }

    /// The elements of an array, in order; none for any other value.
    #[must_use]
    pub fn elements(&self) -> Vec<RawJson> {
        let Ok(elements) = serde_json::from_slice::<Vec<&RawValue>>(&self.0) else {
            return Vec::new();
        };
        elements
            .iter()
            .map(|value| self.part(value.get().as_bytes()))
            .collect()
    }

    /// The text of a string value; `None` for other values and for half a surrogate pair.
    #[must_use]
    pub fn text(&self) -> Option<Cow<'_, str>> {
        self.raw_text()?.decode().ok()
    }

    /// True if this is the string `text`.
    #[must_use]
    pub fn is(&self, text: &str) -> bool {
        self.raw_text().is_some_and(|raw| raw.is(text))
    }

    /// The same value on one line: line breaks between tokens become spaces.
    #[must_use]
    pub fn to_line(&self) -> RawJson {
        if memchr2(b'\n', b'\r', &self.0).is_none() {
            return self.clone();
        }
        let mut line = BytesMut::from(self.0.as_ref());
        to_line(&mut line);
        Self(line.freeze())
    }

    fn raw_text(&self) -> Option<RawText<'_>> {
        let bytes = self.0.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        let escaped = memchr(b'\\', bytes).is_some();
        Some(RawText { bytes, escaped })
    }

    /// The value that `bytes`, a slice of this one's, is.
    pub(crate) fn part(&self, bytes: &[u8]) -> RawJson {
        Self(self.0.slice_ref(bytes))
    }

    pub(crate) fn slice(&self, span: Range<usize>) -> RawJson {
        Self(self.0.slice(span))
    }
}

/// Turns the line breaks between the tokens of a JSON text into spaces; it has no others.
pub(crate) fn to_line(text: &mut [u8]) {
    for byte in text.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')) {
        *byte = b' ';
    }
}

impl Kind {
    /// Kind of the valid value that starts with `first`.
    pub(crate) fn of(first: Option<u8>) -> Self {
        match first {
            Some(b'{') => Self::Object,
            Some(b'[') => Self::Array,
            Some(b'"') => Self::String,
            Some(b't' | b'f') => Self::Bool,
            Some(b'n') => Self::Null,
            _ => Self::Number,
        }
    }
}

impl DecodeError {
    /// The member of `value` that could not be read, as a JSON pointer; empty if it is the
    /// value itself.
    ///
    /// Best-effort: a reader that takes a value in whole before it looks inside is reported at that
    /// value, and the items of an array are not distinguished.
    #[must_use]
    pub fn pointer_in(&self, value: &RawJson) -> String {
        let mut at = self.position();
        let mut pointer = String::new();
        let mut value = value.clone();
        loop {
            let mut members = value.members();
            let Some(member) = members.find(|member| {
                let span = &member.value_span;
                span.contains(&at)
            }) else {
                return pointer;
            };
            let key = member.key().unwrap_or_default();
            pointer.push('/');
            pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
            at -= member.value_span.start;
            value = value.value_of(&member);
        }
    }
}

impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // As `serde_json` writes its own `RawValue`, which cannot be made of checked text without
        // checking that again.
        let mut raw = serializer.serialize_struct(RAW_VALUE, 1)?;
        raw.serialize_field(RAW_VALUE, self.as_str())?;
        raw.end()
    }
}

impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Ok(Self(Bytes::from(Box::<str>::from(raw).into_string())))
    }
}

/// The empty slot of the key that `is_key` knows.
fn wanted<'f>(
    keys: &[&str],
    found: &'f mut [Option<RawJson>],
    is_key: impl Fn(&str) -> bool,
) -> Option<&'f mut Option<RawJson>> {
    let (_, slot) = keys.iter().zip(found).find(|(key, _)| is_key(key))?;
    slot.is_none().then_some(slot)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> RawJson {
        RawJson::parse(Bytes::copy_from_slice(text.as_bytes()), &Limits::default()).unwrap()
    }

    #[test]
    fn a_member_is_appended_to_an_object() {
        for (text, expect) in [
            ("{}", Some(r#"{"k":"v"}"#)),
            ("{ }", Some(r#"{ "k":"v"}"#)),
            (r#"{"a":{}}"#, Some(r#"{"a":{},"k":"v"}"#)),
            ("[]", None),
            ("1", None),
        ] {
            let seen = raw(text).with_appended("k", &RawJson::string("v"));
            assert_eq!(seen, expect.map(raw), "{text}");
        }
    }

    #[test]
    fn unread_members_are_not_changed() {
        let text = r#"{"z":12345678901234567890123,"a":[49E-31,-0],"z2":{"\u0061":"\ud800"}}"#;
        assert_eq!(raw(&format!(" {text}\n")).as_str(), text);
        assert_eq!(raw(text).get("a").unwrap().as_str(), "[49E-31,-0]");
        assert_eq!(raw(text).at(&["z2", "a"]).unwrap().text(), None);
        assert!(raw(r#""a\u0062""#).is("ab"));
        assert!(!raw(r#""a\u0062""#).is(r"a\u0062"));
        assert!(!raw("1").is("1"));
        assert_eq!(serde_json::to_string(&raw(text)).unwrap(), text);
        assert_eq!(
            serde_json::from_str::<RawJson>(text).unwrap().as_str(),
            text
        );
    }

    #[test]
    fn several_members_are_picked_in_one_pass() {
        let [name, missing, first] = raw(r#"{"a":1,"name":"x","a":2}"#).pick(["name", "no", "a"]);
        assert_eq!(
            (name, missing, first),
            (Some(raw("\"x\"")), None, Some(raw("1")))
        );
    }

    #[test]
    fn the_member_that_cannot_be_read_is_named() {
        #[derive(Debug, Deserialize)]
        #[expect(dead_code, reason = "only its errors are looked at")]
        struct Outer {
            #[serde(rename = "a/b", default)]
            number: i32,
            inner: Option<Inner>,
            #[serde(default)]
            list: Vec<u8>,
        }
        #[derive(Debug, Deserialize)]
        #[expect(dead_code, reason = "only its errors are looked at")]
        struct Inner {
            text: String,
        }
        for (text, expect) in [
            (r#"{"a/b":3000000000}"#, "/a~1b"),
            ("{\n\"z\":{},\r\n\"a/b\" : \"x\" }", "/a~1b"),
            (r#"{"a/b":[]}"#, "/a~1b"),
            (r#"{"a/b":1,"inner":{"z":1,"text":null}}"#, "/inner/text"),
            (r#"{"inner":{"z":1}}"#, "/inner"),
            (r#"{"list":[1,256]}"#, "/list"),
            ("[[]]", ""),
        ] {
            let value = raw(text);
            let error = value.decode::<Outer>().unwrap_err();
            assert_eq!(error.pointer_in(&value), expect, "{text}: {error}");
        }
    }

    #[test]
    fn a_value_fits_on_one_line_without_changing_its_strings() {
        let line = raw("{\n\"a\":\r\n\"x\\ny\"}").to_line();
        assert_eq!(line.as_str(), "{ \"a\":  \"x\\ny\"}");
    }

    #[test]
    fn an_object_is_written_with_the_members_of_another() {
        for (value, more, expect) in [
            (r#"{"a":1}"#, r#"{"b":2}"#, Some(r#"{"a":1,"b":2}"#)),
            (r#"{"a":1}"#, "{}", Some(r#"{"a":1}"#)),
            ("{}", r#"{"b":2}"#, Some(r#"{"b":2}"#)),
            ("{}", "{}", Some("{}")),
            (r#"{"a":1}"#, "{ }", Some(r#"{"a":1 }"#)),
            ("{ }", r#"{"b":2}"#, Some(r#"{ "b":2}"#)),
            ("[1]", r#"{"b":2}"#, None),
            ("{}", "[2]", None),
        ] {
            let written = RawJson::encode_with(&raw(value), &raw(more)).ok();
            assert_eq!(written, expect.map(raw), "{value} {more}");
        }
    }

    #[test]
    fn elements_share_the_buffer() {
        let list = raw("[1, {\"a\":[2]} ,\"x\"]");
        let elements: Vec<_> = list
            .elements()
            .iter()
            .map(|e| e.as_str().to_owned())
            .collect();
        assert_eq!(elements, ["1", "{\"a\":[2]}", "\"x\""]);
        assert_eq!(raw("{}").elements(), []);
    }
}
