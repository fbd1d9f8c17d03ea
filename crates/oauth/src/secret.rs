use std::fmt;

use serde::{Deserialize, Deserializer};
use subtle::ConstantTimeEq;

/// Secret text: a token, a client secret, a code verifier.
///
/// `Debug` prints `***`, there is no `Display`, and comparisons take a time that depends on the
/// length alone.
#[derive(Clone)]
pub struct Secret(Box<str>);

impl Secret {
    /// Wraps `text`.
    pub fn new(text: impl Into<Box<str>>) -> Self {
        Self(text.into())
    }

    /// Text, to be sent or stored.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_bytes().ct_eq(other.0.as_bytes()).into()
    }
}

impl Eq for Secret {}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::new)
    }
}

#[cfg(test)]
mod tests {
    use super::Secret;

    #[test]
    fn debug_shows_nothing() {
        assert_eq!(format!("{:?}", Some(Secret::new("hunter2"))), "Some(***)");
    }

    #[test]
    fn secrets_are_equal_when_their_text_is() {
        assert_eq!(Secret::new("a"), Secret::new("a"));
        assert_ne!(Secret::new("a"), Secret::new("b"));
        assert_ne!(Secret::new("a"), Secret::new("ab"));
    }
}
