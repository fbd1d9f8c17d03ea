use std::fmt;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::raw::{Kind, RawJson};

/// A JSON number, kept byte for byte: `1`, `1.0` and `1e0` stay as they are.
///
/// Two numbers are equal when their bytes are.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "RawJson")]
pub struct Number(RawJson);

/// A value is not a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected a number")]
#[non_exhaustive]
pub struct NumberError;

impl Number {
    /// The number; JSON has no infinities and no NaN.
    #[must_use]
    pub fn from_f64(number: f64) -> Option<Self> {
        let raw = RawJson::encode(&number).ok()?;
        Self::try_from(raw).ok()
    }

    /// The number as a float, the nearest if there is no equal one.
    #[must_use]
    pub fn as_f64(&self) -> f64 {
        self.0
            .as_str()
            .parse()
            .expect("every JSON number is a Rust float")
    }

    /// The number, if it is written as a non-negative integer that fits.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        self.0.as_str().parse().ok()
    }

    /// The number, if it is written as an integer that fits.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        self.0.as_str().parse().ok()
    }
}

impl TryFrom<RawJson> for Number {
    type Error = NumberError;

    fn try_from(raw: RawJson) -> Result<Self, NumberError> {
        match raw.kind() {
            Kind::Number => Ok(Self(raw)),
            _ => Err(NumberError),
        }
    }
}

impl From<u64> for Number {
    fn from(number: u64) -> Self {
        Self(RawJson::trusted(Bytes::from(number.to_string())))
    }
}

impl From<i64> for Number {
    fn from(number: i64) -> Self {
        Self(RawJson::trusted(Bytes::from(number.to_string())))
    }
}

impl From<u32> for Number {
    fn from(number: u32) -> Self {
        u64::from(number).into()
    }
}

impl From<i32> for Number {
    fn from(number: i32) -> Self {
        i64::from(number).into()
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_keeps_its_text() {
        for text in ["1", "1.0", "49E-31", "-0", "12345678901234567890123"] {
            let number: Number = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&number).unwrap(), text);
        }
        for text in ["\"1\"", "null", "true", "[]", "{}"] {
            assert!(serde_json::from_str::<Number>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_number_is_read_as_the_type_that_fits() {
        let number = |text: &str| serde_json::from_str::<Number>(text).unwrap();
        assert_eq!(number("7").as_u64(), Some(7));
        assert_eq!(number("-7").as_u64(), None);
        assert_eq!(number("-7").as_i64(), Some(-7));
        assert_eq!(number("7.0").as_i64(), None);
        assert_eq!(number("7e1").as_f64(), 70.0);
        assert_eq!(Number::from_f64(0.5), Some(number("0.5")));
        assert_eq!(Number::from_f64(f64::NAN), None);
    }
}
