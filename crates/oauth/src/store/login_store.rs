use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::disk;
use super::document::{Damage, Document};
use super::error::StoreError;
use super::lock::Lock;
use super::login::Login;

/// The logins in one file.
///
/// A reader sees the file before or after an edit, never between. Edits of all processes happen one
/// after the other. A file that was damaged from outside is kept as `<file>.corrupt-<time>`, and what
/// is left of it is used.
#[derive(Debug, Clone)]
pub struct Store {
    pub(super) path: PathBuf,
    pub(super) limits: Limits,
}

/// How large the file may be and how long others may keep us waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes of the file.
    pub bytes: usize,
    /// How long to wait for another process that edits the file.
    pub edit_wait: Duration,
    /// How long to wait for another process that refreshes the same tokens.
    pub refresh_wait: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            bytes: 4 * 1024 * 1024,
            edit_wait: Duration::from_secs(10),
            refresh_wait: Duration::from_secs(60),
        }
    }
}

impl Store {
    /// The logins in the file at `path`, which need not exist yet.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>, limits: Limits) -> Self {
        Self {
            path: path.into(),
            limits,
        }
    }

    /// The login under the name of a server.
    ///
    /// # Errors
    /// The file cannot be read, or others could read it.
    pub fn login(&self, name: &str) -> Result<Option<Login>, StoreError> {
        Ok(self.document()?.login(name))
    }

    /// The names of all servers in the file, in its order.
    ///
    /// # Errors
    /// The file cannot be read, or others could read it.
    pub fn names(&self) -> Result<Vec<String>, StoreError> {
        Ok(self.document()?.entries().map(|(name, _)| name).collect())
    }

    /// Edits the login under the name of a server, which starts empty, and returns it.
    ///
    /// When this returns, the login is on the disk; after an error it is as it was.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn update(&self, name: &str, edit: impl FnOnce(&mut Login)) -> Result<Login, StoreError> {
        self.edit(|document| {
            let old = document.login(name);
            let mut new = old.clone().unwrap_or_default();
            edit(&mut new);
            let changed = (old.as_ref() != Some(&new)).then(|| document.with_login(name, &new));
            (changed, new)
        })
    }

    /// Forgets everything under the name of a server; says whether there was anything.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn remove(&self, name: &str) -> Result<bool, StoreError> {
        self.edit(|document| {
            let is_there = document.has(name);
            (is_there.then(|| document.without(name)), is_there)
        })
    }

    /// Lets `edit` see the file and say what to put in its place, while no other process edits it.
    pub(super) fn edit<T>(
        &self,
        edit: impl FnOnce(&Document) -> (Option<Document>, T),
    ) -> Result<T, StoreError> {
        let _lock = self.lock()?;
        let (changed, value) = edit(&self.repaired()?);
        if let Some(document) = changed {
            self.write(&document)?;
        }
        Ok(value)
    }

    /// Does all that an edit does, except to put anything in the place of the file.
    pub(super) fn rehearse(&self) -> Result<(), StoreError> {
        let _lock = self.lock()?;
        let length = self.repaired()?.to_bytes().len() + ROOM;
        self.check_length(length)?;
        disk::rehearse(&self.path, length)
    }

    fn lock(&self) -> Result<Lock, StoreError> {
        Lock::acquire(&disk::beside(&self.path, ".lock"), self.limits.edit_wait)
    }

    fn document(&self) -> Result<Document, StoreError> {
        let Some(bytes) = disk::read_private(&self.path, self.limits.bytes)? else {
            return Ok(Document::empty());
        };
        let reading = Document::read(bytes);
        if reading.damage.is_none() {
            return Ok(reading.document);
        }
        let _lock = self.lock()?;
        self.repaired()
    }

    /// Reads the file and replaces it if it is damaged. Only the holder of the lock may call this.
    fn repaired(&self) -> Result<Document, StoreError> {
        let Some(bytes) = disk::read_private(&self.path, self.limits.bytes)? else {
            return Ok(Document::empty());
        };
        let reading = Document::read(bytes.clone());
        if let Some(damage) = reading.damage {
            let copy = disk::keep_damaged(&self.path, &bytes, unix_time())?;
            self.write(&reading.document)?;
            let lost = match damage {
                Damage::File => vec!["all".to_owned()],
                Damage::Logins(names) => names,
            };
            tracing::warn!(file = %self.path.display(), copy = %copy.display(), ?lost,
                "logins were damaged and have been set aside");
        }
        Ok(reading.document)
    }

    fn write(&self, document: &Document) -> Result<(), StoreError> {
        let bytes = document.to_bytes();
        self.check_length(bytes.len())?;
        disk::replace(&self.path, &bytes)
    }

    fn check_length(&self, length: usize) -> Result<(), StoreError> {
        if length <= self.limits.bytes {
            return Ok(());
        }
        Err(StoreError::TooLarge {
            path: self.path.clone(),
            limit: self.limits.bytes,
        })
    }
}

/// How much longer new tokens may be than the old ones, in bytes.
const ROOM: usize = 64 * 1024;

fn unix_time() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_secs()
}
