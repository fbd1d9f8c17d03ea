use super::document::Document;
use super::error::StoreError;
use super::keychain::KeychainError;
use super::login_store::LoginStore;
use super::seal::SealKey;

/// Place of the secrets of a [`LoginStore`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SecretPlace {
    /// In the file, which only the user can read.
    File,
    /// In the file, sealed with a key in the keychain.
    Keychain,
}

impl LoginStore {
    /// Place of the secrets. The keychain is not asked.
    ///
    /// # Errors
    /// The file cannot be read, or other users could read it.
    pub fn secret_place(&self) -> Result<SecretPlace, StoreError> {
        Ok(match self.sealed_document()?.seal() {
            None => SecretPlace::File,
            Some(_) => SecretPlace::Keychain,
        })
    }

    /// Asks the user to unlock the keychain, if the secrets are sealed and it is locked.
    ///
    /// All other functions fail instead, so that the user is never asked while other processes wait.
    ///
    /// # Errors
    /// The keychain stays locked, or the file cannot be read.
    pub fn unlock(&self) -> Result<(), StoreError> {
        match (self.document(), &self.keys) {
            (
                Err(StoreError::Keychain {
                    action,
                    path,
                    source: KeychainError::Locked,
                }),
                Some(keys),
            ) => {
                tracing::warn!("the keychain is locked; waiting for its dialog");
                let unlocked = keys.keychain.unlock();
                unlocked.map_err(|source| StoreError::Keychain {
                    action,
                    path,
                    source,
                })
            }
            (read, _) => read.map(drop),
        }
    }

    /// Moves the secrets to another place, all in one step; returns false if they were there.
    ///
    /// Crash safe: the file has either the old or the new form. At worst, an unused key stays in the
    /// keychain.
    ///
    /// # Errors
    /// The keychain or the file cannot be read or written; the secrets are where they were then.
    pub fn move_secrets(&self, to: SecretPlace) -> Result<bool, StoreError> {
        if self.secret_place()? == to {
            return Ok(false);
        }
        match to {
            SecretPlace::Keychain => self.seal(),
            SecretPlace::File => self.unseal(),
        }
    }

    fn seal(&self) -> Result<bool, StoreError> {
        let keys = self.keys.as_ref().ok_or_else(|| self.no_keychain("seal"))?;
        // The user may have to unlock the keychain, so this happens before the lock.
        let header = keys.create(&self.path)?;
        let sealed = self.edit(|document| match document.seal() {
            None => (Some(document.with_seal(Some(&header))), true),
            // Another process was faster.
            Some(_) => (None, false),
        });
        // An edit may fail after the file was replaced, when the directory is synced: the key is deleted
        // only if the file is known not to need it.
        let is_needed = |found: Document| found.seal() == Some(Ok(header.clone()));
        if !matches!(sealed, Ok(true)) && self.sealed_document().is_ok_and(|it| !is_needed(it)) {
            keys.remove(&header);
        }
        sealed
    }

    fn unseal(&self) -> Result<bool, StoreError> {
        self.unlock()?;
        let header = self.edit(|document| match document.seal() {
            Some(Ok(header)) => (Some(document.with_seal(None)), Some(header)),
            _ => (None, None),
        })?;
        if let (Some(header), Some(keys)) = (&header, &self.keys) {
            // Only now: a process that was killed before needs the key.
            keys.remove(header);
        }
        Ok(header.is_some())
    }

    /// Document as the program uses it, with open secrets.
    pub(super) fn opened(&self, document: Document) -> Result<Document, StoreError> {
        match self.key_of(&document)? {
            Some(key) => Ok(key.open_all(&document)),
            None => Ok(document),
        }
    }

    /// Document as it is stored, with sealed secrets if it says so.
    pub(super) fn stored(&self, document: &Document) -> Result<Document, StoreError> {
        match self.key_of(document)? {
            Some(key) => key.seal_all(document).map_err(StoreError::Random),
            None => Ok(document.clone()),
        }
    }

    /// Key of a document, if its secrets are sealed.
    pub(super) fn key_of(&self, document: &Document) -> Result<Option<SealKey>, StoreError> {
        let Some(header) = document.seal() else {
            return Ok(None);
        };
        let path = self.path.clone();
        let header = header.map_err(|()| StoreError::UnknownSeal { path })?;
        let keys = self.keys.as_ref().ok_or_else(|| self.no_keychain("open"))?;
        keys.key(&header, &self.path).map(Some)
    }

    fn no_keychain(&self, action: &'static str) -> StoreError {
        StoreError::Keychain {
            action,
            path: self.path.clone(),
            source: KeychainError::Missing("this system has none that Callgate knows".to_owned()),
        }
    }
}
