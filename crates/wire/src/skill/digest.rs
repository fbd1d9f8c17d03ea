use std::fmt;

use serde::{Deserialize, Serialize};

/// Prefix that names the algorithm.
const PREFIX: &str = "sha256:";

/// SHA-256 digest of the bytes of a file, written as `sha256:` and 64 lowercase hexadecimal digits.
///
/// It comes from the same server as the file, so it proves that the two belong together and not
/// that either of them can be trusted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest([u8; 32]);

/// The text of a digest has another form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a digest must be `sha256:` and 64 lowercase hexadecimal digits")]
#[non_exhaustive]
pub struct DigestError;

impl Digest {
    /// The digest that has these bytes.
    #[must_use]
    pub const fn new(sha256: [u8; 32]) -> Self {
        Self(sha256)
    }

    /// Reads the text of a digest.
    ///
    /// # Errors
    /// The text has another form.
    pub fn parse(text: &str) -> Result<Self, DigestError> {
        let digits = text.strip_prefix(PREFIX).ok_or(DigestError)?.as_bytes();
        let mut bytes = [0; 32];
        if digits.len() != 2 * bytes.len() {
            return Err(DigestError);
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = pair.iter().try_fold(0, |value, digit| match digit {
                b'0'..=b'9' => Ok(value << 4 | (digit - b'0')),
                b'a'..=b'f' => Ok(value << 4 | (digit - b'a' + 10)),
                _ => Err(DigestError),
            })?;
        }
        Ok(Self(bytes))
    }
}

impl TryFrom<String> for Digest {
    type Error = DigestError;

    fn try_from(text: String) -> Result<Self, DigestError> {
        Self::parse(&text)
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PREFIX)?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_written_in_one_form_only() {
        let digits = "00ff".repeat(16);
        let text = format!("sha256:{digits}");
        let digest = Digest::parse(&text).unwrap();
        assert_eq!(digest.to_string(), text);
        for wrong in [
            digits.clone(),
            format!("sha512:{digits}"),
            format!("SHA256:{digits}"),
            format!("sha256:{}", digits.to_uppercase()),
            format!("sha256:{digits}00"),
            "sha256:".to_owned(),
            format!("sha256:{}", "é".repeat(32)),
        ] {
            assert_eq!(Digest::parse(&wrong), Err(DigestError), "{wrong}");
        }
    }
}
