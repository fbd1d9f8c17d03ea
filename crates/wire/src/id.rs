use std::fmt;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::raw::{Kind, RawJson};

/// A request id or progress token: a string or an integer, kept byte for byte.
///
/// Two ids are equal when their bytes are, so `1` and `"1"` differ. A peer must get back the bytes it
/// sent: clients compare ids as they wrote them, and not every language reads a large integer exactly.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "RawJson")]
pub struct Id(RawJson);

/// An id is neither a string nor an integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("id must be a string or an integer")]
#[non_exhaustive]
pub struct IdError;

impl Id {
    /// The id with this number.
    #[must_use]
    pub fn number(number: u64) -> Self {
        Self(RawJson::trusted(Bytes::from(number.to_string())))
    }

    /// The id with this text.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self(RawJson::string(text))
    }

    /// The id as JSON.
    #[must_use]
    pub fn as_raw(&self) -> &RawJson {
        &self.0
    }

    /// The number, if this is a non-negative integer that fits.
    #[must_use]
    pub fn as_number(&self) -> Option<u64> {
        match self.0.kind() {
            Kind::Number => self.0.as_str().parse().ok(),
            _ => None,
        }
    }

    /// The number of one of our own requests, as its peer wrote it: some turn numbers into strings.
    #[must_use]
    pub fn echoed_number(&self) -> Option<u64> {
        self.as_number().or_else(|| self.0.text()?.parse().ok())
    }
}

impl TryFrom<RawJson> for Id {
    type Error = IdError;

    fn try_from(raw: RawJson) -> Result<Self, IdError> {
        let is_integer = || {
            let bytes = raw.as_bytes();
            bytes
                .strip_prefix(b"-")
                .unwrap_or(bytes)
                .iter()
                .all(u8::is_ascii_digit)
        };
        match raw.kind() {
            Kind::String => Ok(Self(raw)),
            Kind::Number if is_integer() => Ok(Self(raw)),
            _ => Err(IdError),
        }
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;

    #[test]
    fn strings_and_integers_are_ids_and_nothing_else_is() {
        let id = |text: &'static str| {
            Id::try_from(
                RawJson::parse(Bytes::from_static(text.as_bytes()), &Limits::default()).unwrap(),
            )
            .map(|id| id.to_string())
        };
        for text in [
            "1",
            "-7",
            "0",
            "123456789012345678901234567890",
            r#""a\u0062""#,
            r#""""#,
        ] {
            assert_eq!(id(text), Ok(text.to_owned()));
        }
        for text in ["1.0", "1e2", "null", "true", "[]", "{}"] {
            assert_eq!(id(text), Err(IdError), "{text}");
        }
    }

    #[test]
    fn the_number_of_our_own_request_may_come_back_as_a_string() {
        for (id, number, echoed) in [
            (Id::number(4), Some(4), Some(4)),
            (Id::text("4"), None, Some(4)),
            (Id::text("four"), None, None),
        ] {
            assert_eq!((id.as_number(), id.echoed_number()), (number, echoed));
        }
    }
}
