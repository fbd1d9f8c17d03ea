use std::fmt::{self, Write};

use sha2::{Digest, Sha256};

/// SHA-256 of a content, in hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ContentHash(String);

/// Hash of these bytes.
pub(crate) fn sha256(bytes: &[u8]) -> ContentHash {
    let digest = Sha256::digest(bytes);
    let mut digits = String::with_capacity(64);
    for byte in digest {
        // A string accepts every character.
        let _ = write!(digits, "{byte:02x}");
    }
    ContentHash(digits)
}

impl ContentHash {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
