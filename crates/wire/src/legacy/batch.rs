//! Several messages in one array, as 2025-03-26 has them.

use std::fmt;

use serde::Deserializer as _;
use serde::de::{Error as _, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::raw::RawJson;

/// A value is not an array, or one with too many elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an array, or one with too many elements")]
#[non_exhaustive]
pub struct SplitError;

/// The elements of an array of at most `most`, sharing its buffer.
///
/// A longer array is given up at the first element too many, so that it costs no more than `most`.
///
/// # Errors
/// The value is not such an array.
pub fn split(array: &RawJson, most: usize) -> Result<Vec<RawJson>, SplitError> {
    serde_json::Deserializer::from_slice(array.as_bytes())
        .deserialize_seq(Elements { array, most })
        .map_err(|_| SplitError)
}

struct Elements<'a> {
    array: &'a RawJson,
    most: usize,
}

impl<'de> Visitor<'de> for Elements<'_> {
    type Value = Vec<RawJson>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Vec<RawJson>, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = access.next_element::<&'de RawValue>()? {
            if elements.len() == self.most {
                return Err(A::Error::custom("too many elements"));
            }
            elements.push(self.array.part(element.get().as_bytes()));
        }
        Ok(elements)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;

    fn check(text: &'static str, most: usize, expect: Result<&[&str], SplitError>) {
        let array = RawJson::parse(text.into(), &Limits::default()).unwrap();
        let seen = split(&array, most);
        let seen: Result<Vec<&str>, _> = seen
            .as_ref()
            .map(|elements| elements.iter().map(RawJson::as_str).collect())
            .map_err(|error| *error);
        assert_eq!(seen.as_deref(), expect.as_ref().copied(), "{text}");
    }

    #[test]
    fn an_array_falls_into_its_elements_up_to_the_limit() {
        check("[]", 0, Ok(&[]));
        check(
            r#"[ {"a": 1.0} , [2],3 ]"#,
            3,
            Ok(&[r#"{"a": 1.0}"#, "[2]", "3"]),
        );
        check("[1,2,3]", 2, Err(SplitError));
        check("{}", 2, Err(SplitError));
    }
}
