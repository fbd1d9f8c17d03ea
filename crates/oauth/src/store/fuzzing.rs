//! The file of logins without a disk: for the fuzz targets, and for nobody else.

use bytes::Bytes;

use super::document::Document;
use super::login::Login;

/// A file of logins, as far as it can be read.
#[derive(Clone, PartialEq, Eq)]
pub struct LoginFile {
    document: Document,
    is_damaged: bool,
}

impl LoginFile {
    /// Reads the bytes of a file.
    #[must_use]
    pub fn read(bytes: Bytes) -> Self {
        let reading = Document::read(bytes);
        Self {
            document: reading.document,
            is_damaged: reading.damage.is_some(),
        }
    }

    /// Whether something in the bytes had to be left out.
    #[must_use]
    pub fn is_damaged(&self) -> bool {
        self.is_damaged
    }

    /// The bytes to put in the place of those that were read.
    #[must_use]
    pub fn to_bytes(&self) -> Bytes {
        self.document.to_bytes().into()
    }

    /// Every name, and the login under it if it is one.
    #[must_use]
    pub fn logins(&self) -> Vec<(String, Option<Login>)> {
        let entries = self.document.entries();
        entries
            .map(|(name, _)| (name.clone(), self.document.login(&name)))
            .collect()
    }

    /// The same file with `login` under `name`.
    #[must_use]
    pub fn with_login(&self, name: &str, login: &Login) -> Self {
        Self {
            document: self.document.with_login(name, login),
            is_damaged: self.is_damaged,
        }
    }
}
