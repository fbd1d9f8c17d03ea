//! Login file without a disk, and messages without a bus, for the fuzz targets only.

use bytes::Bytes;

use super::document::Document;
use super::login::Login;

/// Reads a message of the session bus, and all values that it may have.
#[cfg(all(unix, not(target_os = "macos")))]
pub fn read_bus_message(bytes: &[u8]) {
    super::keychain::read_any(bytes);
}

/// Login file, as far as it can be read.
#[derive(Clone, PartialEq, Eq)]
pub struct LoginFile {
    document: Document,
    is_damaged: bool,
}

impl LoginFile {
    /// Reads the bytes of a file.
    #[must_use]
    pub fn read(bytes: Bytes) -> Self {
        let document = Document::read(bytes);
        Self {
            is_damaged: document.is_none(),
            document: document.unwrap_or(Document::empty()),
        }
    }

    /// Returns true if the bytes are not a login file.
    #[must_use]
    pub fn is_damaged(&self) -> bool {
        self.is_damaged
    }

    /// Bytes that replace the ones that were read.
    #[must_use]
    pub fn to_bytes(&self) -> Bytes {
        self.document.to_bytes().into()
    }

    /// Every name, with its login if the entry holds one.
    #[must_use]
    pub fn logins(&self) -> Vec<(String, Option<Login>)> {
        let entries = self.document.entries();
        entries
            .map(|(name, _)| (name.clone(), self.document.login(&name)))
            .collect()
    }

    /// Copy with `login` under `name`.
    #[must_use]
    pub fn with_login(&self, name: &str, login: &Login) -> Self {
        Self {
            document: self.document.with_login(name, login),
            is_damaged: self.is_damaged,
        }
    }
}
