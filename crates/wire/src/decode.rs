//! Decoding of scanned values into types.
//!
//! `serde_json` checks the text again while it reads it, byte by byte, and collects a string with
//! escapes in a buffer that grows. The text of a [`RawJson`](crate::RawJson) was checked before, so
//! this reader searches for the end of a string and decodes it into a string of the right size:
//! large arguments and results, which are mostly text, take a third of the instructions.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::{BorrowedStrDeserializer, CowStrDeserializer, MapDeserializer};
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use crate::cursor::Cursor;
use crate::raw::Kind;
use crate::text::RawText;

/// A value does not have the shape its reader expects.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unexpected JSON shape: {message}")]
pub struct DecodeError {
    message: String,
    /// Position of the value in the text, if it is known.
    at: Option<usize>,
}

/// Reads the valid JSON value `bytes` as a `T`.
pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, DecodeError> {
    let mut reader = Reader {
        cursor: Cursor::new(bytes, 0),
        depth: 0,
    };
    T::deserialize(&mut reader)
}

/// Maximum depth that a value may be decoded with: types may refer to themselves, and each level
/// takes space on the stack. It is the limit of `serde_json` too.
const MAX_DEPTH: usize = 128;

/// Name by which `serde_json` passes the text of a value on: as a struct or map with this one key.
pub(crate) const RAW_VALUE: &str = "$serde_json::private::RawValue";

struct Reader<'de> {
    cursor: Cursor<'de>,
    depth: usize,
}

impl<'de> Reader<'de> {
    fn number<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, DecodeError> {
        let text = self.cursor.scalar();
        let digits = std::str::from_utf8(text).unwrap_or_default();
        if let Ok(number) = digits.parse() {
            return visitor.visit_u64(number);
        }
        // As an integer it would lose its sign.
        if digits != "-0"
            && let Ok(number) = digits.parse()
        {
            return visitor.visit_i64(number);
        }
        // Others are rare, and some types of `serde_json` can be told to keep all digits. The number is
        // read first, so that the reader of `serde_json` is not compiled for each type that we read.
        let number: serde_json::Number = serde_json::from_slice(text)?;
        number.deserialize_any(visitor).map_err(DecodeError::from)
    }

    fn map<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, DecodeError> {
        let mut members = Items::enter(self)?;
        let value = visitor.visit_map(&mut members)?;
        members.leave()?;
        Ok(value)
    }

    fn seq<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, DecodeError> {
        let mut elements = Items::enter(self)?;
        let value = visitor.visit_seq(&mut elements)?;
        elements.leave()?;
        Ok(value)
    }

    /// Passes a value and returns its text.
    fn value(&mut self) -> Result<&'de str, DecodeError> {
        let span = self.cursor.skip();
        let bytes = self.cursor.bytes().get(span).unwrap_or_default();
        std::str::from_utf8(bytes).map_err(DecodeError::custom)
    }

    fn any<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.cursor.kind() {
            Kind::String => visit_text(self.cursor.string(), visitor),
            Kind::Object => self.map(visitor),
            Kind::Array => self.seq(visitor),
            Kind::Number => self.number(visitor),
            Kind::Bool => visitor.visit_bool(self.cursor.scalar() == b"true"),
            Kind::Null => {
                self.cursor.skip();
                visitor.visit_unit()
            }
        }
    }

    /// Runs `read` on the next value, and adds its position to an error that has none.
    fn located<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        let at = self.cursor.position();
        read(self).map_err(|error| DecodeError {
            at: error.at.or(Some(at)),
            ..error
        })
    }
}

impl<'de> Deserializer<'de> for &mut Reader<'de> {
    type Error = DecodeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.located(|reader| reader.any(visitor))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        if self.cursor.kind() == Kind::Null {
            self.cursor.skip();
            return visitor.visit_none();
        }
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        if name != RAW_VALUE {
            return visitor.visit_newtype_struct(self);
        }
        let text = BorrowedStrDeserializer::new(self.value()?);
        let name = BorrowedStrDeserializer::new(RAW_VALUE);
        visitor.visit_map(MapDeserializer::new(std::iter::once((name, text))))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        self.located(|reader| match reader.cursor.kind() {
            Kind::Object => {
                let mut variant = Items::enter(reader)?;
                let value = visitor.visit_enum(&mut variant)?;
                variant.leave()?;
                Ok(value)
            }
            Kind::String => visit_variant(reader.cursor.string(), visitor),
            _ => Err(DecodeError::custom("expected a string or an object")),
        })
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.cursor.skip();
        visitor.visit_unit()
    }

    /// The bytes of a string may be no text, such as those of half a surrogate pair.
    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.located(|reader| {
            let mut value = serde_json::Deserializer::from_str(reader.value()?);
            value.deserialize_bytes(visitor).map_err(DecodeError::from)
        })
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_i128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.located(|reader| {
            let mut value = serde_json::Deserializer::from_str(reader.value()?);
            value.deserialize_i128(visitor).map_err(DecodeError::from)
        })
    }

    fn deserialize_u128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.located(|reader| {
            let mut value = serde_json::Deserializer::from_str(reader.value()?);
            value.deserialize_u128(visitor).map_err(DecodeError::from)
        })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string unit unit_struct seq tuple
        tuple_struct map struct identifier
    }
}

/// Members of an object or elements of an array, from the opening bracket to the closing one.
struct Items<'r, 'de> {
    reader: &'r mut Reader<'de>,
    is_ended: bool,
}

impl<'r, 'de> Items<'r, 'de> {
    fn enter(reader: &'r mut Reader<'de>) -> Result<Self, DecodeError> {
        if reader.depth == MAX_DEPTH {
            return Err(DecodeError::custom("the value is nested too deeply"));
        }
        reader.depth += 1;
        reader.cursor.enter();
        Ok(Self {
            reader,
            is_ended: false,
        })
    }

    /// Passes the end; items that the type did not take are an error.
    fn leave(mut self) -> Result<(), DecodeError> {
        if self.has_next() {
            return Err(DecodeError::custom("there are too many items"));
        }
        self.reader.depth -= 1;
        Ok(())
    }

    /// False at the end, which is passed once.
    fn has_next(&mut self) -> bool {
        self.is_ended = self.is_ended || self.reader.cursor.leave();
        !self.is_ended
    }
}

impl<'de> SeqAccess<'de> for Items<'_, 'de> {
    type Error = DecodeError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, DecodeError> {
        if !self.has_next() {
            return Ok(None);
        }
        seed.deserialize(&mut *self.reader).map(Some)
    }
}

impl<'de> MapAccess<'de> for Items<'_, 'de> {
    type Error = DecodeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, DecodeError> {
        if !self.has_next() {
            return Ok(None);
        }
        let key = self.reader.cursor.next_key();
        let key = key.ok_or_else(|| DecodeError::custom("an object has a key without text"))?;
        seed.deserialize(Key(key)).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<T::Value, DecodeError> {
        seed.deserialize(&mut *self.reader)
    }
}

/// An object with one member is a variant of an enumeration and its contents.
impl<'de> EnumAccess<'de> for &mut Items<'_, 'de> {
    type Error = DecodeError;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, Self), DecodeError> {
        let variant = self.next_key_seed(seed)?;
        let variant = variant.ok_or_else(|| DecodeError::custom("expected a variant"))?;
        Ok((variant, self))
    }
}

impl<'de> VariantAccess<'de> for &mut Items<'_, 'de> {
    type Error = DecodeError;

    fn unit_variant(self) -> Result<(), DecodeError> {
        self.next_value()
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(
        self,
        seed: T,
    ) -> Result<T::Value, DecodeError> {
        self.next_value_seed(seed)
    }

    fn tuple_variant<V: Visitor<'de>>(
        self,
        _len: usize,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        self.reader.deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        self.reader.deserialize_any(visitor)
    }
}

/// Key of an object. Numbers and truth values that are keys are read from its text.
struct Key<'de>(RawText<'de>);

impl<'de> Key<'de> {
    fn number<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        let mut number = serde_json::Deserializer::from_slice(self.0.as_bytes());
        let value = number.deserialize_any(visitor)?;
        number.end()?;
        Ok(value)
    }
}

macro_rules! number_keys {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
            self.number(visitor)
        }
    )*};
}

impl<'de> Deserializer<'de> for Key<'de> {
    type Error = DecodeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visit_text(self.0, visitor)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.0.as_bytes() {
            b"true" => visitor.visit_bool(true),
            b"false" => visitor.visit_bool(false),
            _ => visit_text(self.0, visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        visit_variant(self.0, visitor)
    }

    number_keys! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
        deserialize_f32 deserialize_f64
    }

    forward_to_deserialize_any! {
        str string char bytes byte_buf unit unit_struct seq tuple tuple_struct map struct
        identifier ignored_any
    }
}

fn visit_text<'de, V: Visitor<'de>>(
    text: RawText<'de>,
    visitor: V,
) -> Result<V::Value, DecodeError> {
    match text.decode().map_err(DecodeError::custom)? {
        Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
        Cow::Owned(text) => visitor.visit_string(text),
    }
}

/// A string is a variant of an enumeration without contents.
fn visit_variant<'de, V: Visitor<'de>>(
    text: RawText<'de>,
    visitor: V,
) -> Result<V::Value, DecodeError> {
    let name = text.decode().map_err(DecodeError::custom)?;
    visitor.visit_enum(CowStrDeserializer::new(name))
}

impl DecodeError {
    /// The reason, without the words that introduce it.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Position in the text of the value that could not be read.
    pub(crate) fn position(&self) -> usize {
        self.at.unwrap_or_default()
    }
}

impl Error for DecodeError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self {
            message: message.to_string(),
            at: None,
        }
    }
}

impl From<serde_json::Error> for DecodeError {
    fn from(error: serde_json::Error) -> Self {
        let text = error.to_string();
        // Lines and columns count from the value that `serde_json` was given, which is a part.
        let message = text.rsplit_once(" at line ").map(|(message, _)| message);
        Self::custom(message.unwrap_or(&text))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fmt::Debug;

    use proptest::prelude::*;
    use serde::Deserialize;
    use serde_json::Value;
    use serde_json::value::RawValue;

    use super::*;
    use crate::{Limits, RawJson};

    #[derive(Debug, PartialEq, Deserialize)]
    enum Shape {
        Unit,
        Newtype(String),
        Tuple(u8, f64),
        Struct { side: Option<i8> },
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Everything {
        text: String,
        #[serde(default)]
        letter: Option<char>,
        shape: Option<Shape>,
        pair: Option<(bool, ())>,
        list: Option<Vec<Shape>>,
        by_number: Option<BTreeMap<i64, u128>>,
        by_truth: Option<BTreeMap<bool, f32>>,
        by_shape: Option<BTreeMap<Name, Wrapped>>,
    }

    #[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Name {
        A,
        B,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Wrapped(Value);

    fn scanned(text: &str) -> RawJson {
        RawJson::parse(text.to_owned().into(), &Limits::default()).unwrap()
    }

    /// The value that `serde_json` reads, or none where that refuses it.
    fn check<T: DeserializeOwned + Debug + PartialEq>(text: &str) {
        let expect = serde_json::from_str::<T>(text).ok();
        assert_eq!(scanned(text).decode::<T>().ok(), expect, "{text}");
    }

    #[test]
    fn values_are_read_as_serde_json_reads_them() {
        for text in [
            r#"{"text":"a"}"#,
            r#"{ "text" : "a\n\u00e9\ud83d\ude00" , "letter" : "\u00e9" , "more" : [ { } ] }"#,
            r#"{"text":"","shape":"Unit"}"#,
            r#"{"text":"","shape":{"Unit":null}}"#,
            r#"{"text":"","shape":{"Newtype":"x\"y"}}"#,
            r#"{"text":"","shape":{"Tuple":[255,-0]}}"#,
            r#"{"text":"","shape":{"Struct":{"side":-128}}}"#,
            r#"{"text":"","list":[{"Newtype":"a"},"Unit" , {"Struct":{}}],"pair":[true,null]}"#,
            r#"{"text":"","by_number":{"-9":1,"7":340282366920938463463374607431768211455}}"#,
            r#"{"text":"","by_truth":{"true":1.5,"false":1e-3}}"#,
            r#"{"text":"","by_shape":{"a":{"n":[1,-1,1.0,18446744073709551616]},"\u0062":null}}"#,
            r#"["a",null,"Unit",null,null,null,null,null]"#,
        ] {
            assert!(serde_json::from_str::<Everything>(text).is_ok(), "{text}");
            check::<Everything>(text);
            check::<Value>(text);
        }
    }

    #[test]
    fn values_of_another_shape_are_refused() {
        for text in [
            "{}",
            "[]",
            "null",
            r#"{"text":1}"#,
            r#"{"text":"\ud800"}"#,
            r#"{"text":"a","text":"b"}"#,
            r#"{"text":"","letter":"ab"}"#,
            r#"{"text":"","shape":"Newtype"}"#,
            r#"{"text":"","shape":"Other"}"#,
            r#"{"text":"","shape":7}"#,
            r#"{"text":"","shape":{}}"#,
            r#"{"text":"","shape":{"Unit":null,"Newtype":"a"}}"#,
            r#"{"text":"","shape":{"Tuple":[1,2,3]}}"#,
            r#"{"text":"","shape":{"Tuple":[256,2]}}"#,
            r#"{"text":"","pair":[true]}"#,
            r#"{"text":"","pair":[true,null,null]}"#,
            r#"{"text":"","by_number":{"x":1}}"#,
            r#"{"text":"","by_number":{"1,2":1}}"#,
            r#"{"text":"","by_truth":{"yes":1}}"#,
            r#"{"text":"","by_shape":{"c":1}}"#,
        ] {
            assert!(serde_json::from_str::<Everything>(text).is_err(), "{text}");
            check::<Everything>(text);
        }
    }

    #[test]
    fn the_text_of_a_value_is_kept_byte_for_byte() {
        let text = r#"{"n" : 1.50, "b":[ ]}"#;
        let raw: Box<RawValue> = scanned(text).decode().unwrap();
        assert_eq!(raw.get(), text);
        let parts: BTreeMap<String, RawJson> = scanned(text).decode().unwrap();
        assert_eq!(parts["n"].as_str(), "1.50");
        assert_eq!(parts["b"].as_str(), "[ ]");
    }

    #[test]
    fn the_depth_of_a_decoded_value_is_bounded() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let limits = Limits {
            depth: 1_000_000,
            ..Limits::default()
        };
        let decode = |depth: usize| {
            let value = RawJson::parse(nested(depth).into(), &limits).unwrap();
            value.decode::<Value>().map(|_| ())
        };
        assert_eq!(decode(MAX_DEPTH), Ok(()));
        let error = decode(MAX_DEPTH + 1).unwrap_err();
        assert_eq!(error.message(), "the value is nested too deeply");
        assert!(decode(100_000).is_err());
    }

    #[test]
    fn an_error_says_what_was_expected() {
        for (text, message) in [
            (
                r#"{"text":[]}"#,
                "invalid type: sequence, expected a string",
            ),
            ("{}", "missing field `text`"),
            (r#"{"text":"","by_number":{"7":-1}}"#, "number out of range"),
        ] {
            let error = scanned(text).decode::<Everything>().unwrap_err();
            assert_eq!(error.message(), message, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_value_is_read_as_serde_json_reads_it(
            text in r#"[\[\]{}",:0-9eE.+\-tfn ralse\\ub]{0,24}"#,
            string: String,
            number: f64,
            integer: i64,
        ) {
            let rest = serde_json::json!({ "s": string, "f": number, "i": [integer, [string]] });
            for text in [text, rest.to_string()] {
                let Ok(value) = RawJson::parse(text.clone().into(), &Limits::default()) else {
                    continue;
                };
                let ours = value.decode::<Value>().ok();
                let theirs = serde_json::from_str::<Value>(&text).ok();
                prop_assert_eq!(ours, theirs, "{}", text);
            }
        }
    }
}
