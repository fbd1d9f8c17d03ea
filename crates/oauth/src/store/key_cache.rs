use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::error::StoreError;
use super::keychain::{Keychain, KeychainError};
use super::seal::{SealHeader, SealKey};

/// Keychain of a store, and the key that was read from it last.
#[derive(Debug)]
pub(super) struct KeyCache {
    pub(super) keychain: Arc<dyn Keychain>,
    last: Mutex<Option<CachedKey>>,
}

/// Key with its name. `Debug` must not show it.
struct CachedKey(String, SealKey);

impl KeyCache {
    pub(super) fn new(keychain: Arc<dyn Keychain>) -> Self {
        Self {
            keychain,
            last: Mutex::default(),
        }
    }

    /// Key of the file at `path`, which has this seal. The keychain is asked once for each process.
    pub(super) fn key(&self, header: &SealHeader, path: &Path) -> Result<SealKey, StoreError> {
        // The lock is held while the keychain answers, so that many threads ask once.
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(CachedKey(name, key)) = &*last
            && *name == header.key
        {
            return Ok(key.clone());
        }
        let path = || path.to_owned();
        let text = self.keychain.load(&header.key);
        let text = text.map_err(|source| StoreError::Keychain {
            action: "open",
            path: path(),
            source,
        })?;
        let text = text.ok_or_else(|| StoreError::KeyMissing { path: path() })?;
        let key = SealKey::read(&text).filter(|key| header.fits(key));
        let key = key.ok_or_else(|| StoreError::WrongKey { path: path() })?;
        *last = Some(CachedKey(header.key.clone(), key.clone()));
        Ok(key)
    }

    /// Stores a new key in the keychain, which the user may have to unlock.
    pub(super) fn create(&self, path: &Path) -> Result<SealHeader, StoreError> {
        let (header, _, text) = SealHeader::generate().map_err(StoreError::Random)?;
        let label = format!("Callgate: key of {}", path.display());
        let save = || self.keychain.save(&header.key, &label, &text);
        let saved = match save() {
            Err(KeychainError::Locked) => self.keychain.unlock().and_then(|()| save()),
            saved => saved,
        };
        saved.map_err(|source| StoreError::Keychain {
            action: "seal",
            path: path.to_owned(),
            source,
        })?;
        // The key is read back before anything is sealed with it.
        match self.key(&header, path) {
            Ok(_) => Ok(header),
            Err(error) => {
                self.remove(&header);
                Err(error)
            }
        }
    }

    /// Deletes a key that no file needs. One that stays does no harm.
    pub(super) fn remove(&self, header: &SealHeader) {
        if let Err(error) = self.keychain.remove(&header.key) {
            tracing::warn!(%error, "a key that is not needed any more stays in the keychain");
        }
    }
}

impl std::fmt::Debug for CachedKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("CachedKey").field(&self.0).finish()
    }
}
