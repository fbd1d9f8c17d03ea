use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::disk;
use super::document::Document;
use super::error::StoreError;
use super::key_cache::KeyCache;
use super::keychain::Keychain;
use super::lock::Lock;
use super::login::Login;
use crate::registration::ClientInfo;

/// Store of logins in one file, or in the memory of this process.
///
/// A reader sees the file before or after an edit, never between. Edits of all processes are
/// serialized. A file that cannot be read as JSON is kept as `<file>.corrupt-<time>`, and a new one
/// is begun. If the path is a symbolic link, the file that it leads to is the store.
///
/// A file can say that its secrets are sealed with a key in the keychain; then every function that
/// needs them fails without that key, and no login is lost.
#[derive(Debug, Clone)]
pub struct LoginStore {
    pub(super) path: PathBuf,
    pub(super) limits: StoreLimits,
    /// Content of a store without a file.
    pub(super) memory: Option<Memory>,
    /// Keychain with the key of sealed secrets.
    pub(super) keys: Option<Arc<KeyCache>>,
}

/// Shared logins. `Debug` must not show them.
#[derive(Clone)]
pub(super) struct Memory(Arc<Mutex<Document>>);

/// Limits of a [`LoginStore`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreLimits {
    /// Maximum bytes of the file.
    pub bytes: usize,
    /// Maximum wait for another process that edits the file.
    pub edit_wait: Duration,
    /// Maximum wait for another process that refreshes the same tokens.
    pub refresh_wait: Duration,
}

impl Default for StoreLimits {
    fn default() -> Self {
        Self {
            bytes: 4 * 1024 * 1024,
            edit_wait: Duration::from_secs(60),
            refresh_wait: Duration::from_secs(60),
        }
    }
}

impl LoginStore {
    /// Store in the file at `path`, which need not exist yet.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>, limits: StoreLimits) -> Self {
        Self {
            path: path.into(),
            limits,
            memory: None,
            keys: None,
        }
    }

    /// The same store with a keychain, which is asked only if the secrets are sealed.
    #[must_use]
    pub fn with_keychain(mut self, keychain: Arc<dyn Keychain>) -> Self {
        self.keys = Some(Arc::new(KeyCache::new(keychain)));
        self
    }

    /// Store without a file. Its logins end with the last clone of it.
    #[must_use]
    pub(crate) fn in_memory() -> Self {
        Self {
            memory: Some(Memory(Arc::new(Mutex::new(Document::empty())))),
            ..Self::new("", StoreLimits::default())
        }
    }

    /// Login of a server.
    ///
    /// # Errors
    /// The file cannot be read, or other users could read it.
    pub fn login(&self, name: &str) -> Result<Option<Login>, StoreError> {
        let document = self.sealed_document()?;
        // A server without a login needs no key.
        if !document.has(name) {
            return Ok(None);
        }
        Ok(self.opened_or_read_again(document)?.login(name))
    }

    /// Login of a server without its secrets, where these are sealed. The keychain is not asked.
    ///
    /// # Errors
    /// The file cannot be read, or other users could read it.
    pub fn login_without_secrets(&self, name: &str) -> Result<Option<Login>, StoreError> {
        Ok(self.sealed_document()?.login(name))
    }

    /// Names of all servers, in the order of the file.
    ///
    /// # Errors
    /// The file cannot be read, or other users could read it.
    pub fn names(&self) -> Result<Vec<String>, StoreError> {
        let document = self.sealed_document()?;
        Ok(document.entries().map(|(name, _)| name).collect())
    }

    /// Clients that this program has registered under this name, with their issuers.
    ///
    /// # Errors
    /// The file cannot be read, or other users could read it.
    pub(crate) fn registrations(
        &self,
        client_name: Option<&str>,
    ) -> Result<Vec<(String, ClientInfo)>, StoreError> {
        let document = self.document()?;
        let logins = document
            .entries()
            .filter_map(|(name, _)| document.login(&name))
            .filter(|login| login.options.client_name.as_deref() == client_name);
        Ok(logins.filter_map(|it| it.issuer.zip(it.client)).collect())
    }

    /// Edits the login of a server, which starts empty, and returns it.
    ///
    /// When this returns, the login is on the disk; after an error it is unchanged.
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

    /// Deletes the login of a server; returns false if there was none.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn remove(&self, name: &str) -> Result<bool, StoreError> {
        self.edit(|document| {
            let is_there = document.has(name);
            (is_there.then(|| document.without(name)), is_there)
        })
    }

    /// Replaces the file by the result of `edit`, under the lock.
    pub(super) fn edit<T>(
        &self,
        edit: impl FnOnce(&Document) -> (Option<Document>, T),
    ) -> Result<T, StoreError> {
        if let Some(memory) = &self.memory {
            let mut document = memory.lock();
            let (changed, value) = edit(&document);
            *document = changed.unwrap_or_else(|| document.clone());
            return Ok(value);
        }
        let _lock = self.lock()?;
        // Read under the lock, because another process may have edited the file just before.
        let (changed, value) = edit(&self.opened(self.repaired()?)?);
        if let Some(document) = changed {
            self.write(&document)?;
        }
        Ok(value)
    }

    /// Does all that an edit does, except to replace the file.
    pub(super) fn check_writable(&self) -> Result<(), StoreError> {
        if self.memory.is_some() {
            return Ok(());
        }
        let _lock = self.lock()?;
        let document = self.repaired()?;
        // Without the key of a sealed file the new tokens could not be written.
        self.key_of(&document)?;
        let length = document.to_bytes().len() + ROOM;
        self.check_length(length)?;
        disk::check_writable(&self.file()?, length)
    }

    fn lock(&self) -> Result<Lock, StoreError> {
        let path = disk::beside(&self.file()?, ".lock");
        Lock::acquire(&path, self.limits.edit_wait, || {})
    }

    /// File that the path leads to. All that is beside it is shared by all links to it.
    pub(super) fn file(&self) -> Result<PathBuf, StoreError> {
        disk::follow_links(&self.path)
    }

    /// Content of the file, with open secrets.
    pub(super) fn document(&self) -> Result<Document, StoreError> {
        self.opened_or_read_again(self.sealed_document()?)
    }

    fn opened_or_read_again(&self, mut document: Document) -> Result<Document, StoreError> {
        loop {
            let opened = self.opened(document.clone());
            let Err(StoreError::KeyMissing { .. }) = opened else {
                return opened;
            };
            // Another process may have moved the secrets and deleted the key since the file was read.
            let again = self.sealed_document()?;
            if again == document {
                return opened;
            }
            document = again;
        }
    }

    /// Content of the file as it is stored.
    pub(super) fn sealed_document(&self) -> Result<Document, StoreError> {
        if let Some(memory) = &self.memory {
            return Ok(memory.lock().clone());
        }
        let Some(bytes) = disk::read_private(&self.file()?, self.limits.bytes)? else {
            return Ok(Document::empty());
        };
        if let Some(document) = Document::read(bytes) {
            return Ok(document);
        }
        // The file is read again under the lock: another process may have repaired it meanwhile.
        let _lock = self.lock()?;
        self.repaired()
    }

    /// Reads the file, and replaces it if it is damaged. Only the holder of the lock may call this.
    fn repaired(&self) -> Result<Document, StoreError> {
        let file = self.file()?;
        let Some(bytes) = disk::read_private(&file, self.limits.bytes)? else {
            return Ok(Document::empty());
        };
        if let Some(document) = Document::read(bytes.clone()) {
            return Ok(document);
        }
        let copy = disk::keep_damaged(&file, &bytes, unix_time())?;
        self.write(&Document::empty())?;
        tracing::warn!(file = %file.display(), copy = %copy.display(),
            "the login file cannot be read as JSON; it was put aside, and its logins with it");
        Ok(Document::empty())
    }

    fn write(&self, document: &Document) -> Result<(), StoreError> {
        let bytes = self.stored(document)?.to_bytes();
        self.check_length(bytes.len())?;
        disk::replace(&self.file()?, &bytes)
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

impl Memory {
    fn lock(&self) -> MutexGuard<'_, Document> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Memory")
    }
}

/// Reserve for new tokens that are longer than the old ones, in bytes.
const ROOM: usize = 64 * 1024;

fn unix_time() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_secs()
}
