use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use keyring_core::api::CredentialStoreApi;
use keyring_core::{CredentialStore, Entry, Error};

use super::keychain_trait::{Keychain, KeychainError};
use crate::secret::Secret;

/// Keychain of macOS, or Credential Manager of Windows.
///
/// The system shows its own dialogs where it needs the user.
pub struct NativeKeychain(Arc<CredentialStore>);

/// Name under which these systems list our secrets.
const SERVICE: &str = "callgate";

impl NativeKeychain {
    /// Keychain of this user.
    ///
    /// # Errors
    /// The system has none.
    pub fn new() -> Result<Self, KeychainError> {
        #[cfg(target_os = "macos")]
        let store = apple_native_keyring_store::keychain::Store::new();
        #[cfg(windows)]
        let store = windows_native_keyring_store::Store::new();
        match store {
            Ok(store) => Ok(Self(store)),
            Err(error) => Err(KeychainError::Missing(error.to_string())),
        }
    }

    fn entry(&self, name: &str) -> Result<Entry, KeychainError> {
        let entry = self.0.build(SERVICE, name, None::<&HashMap<&str, &str>>);
        entry.map_err(failed("find the key"))
    }
}

impl fmt::Debug for NativeKeychain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NativeKeychain")
    }
}

impl Keychain for NativeKeychain {
    fn load(&self, name: &str) -> Result<Option<Secret>, KeychainError> {
        match self.entry(name)?.get_password() {
            Ok(text) => Ok(Some(Secret::new(text))),
            Err(Error::NoEntry) => Ok(None),
            Err(error) => Err(failed("read the key")(error)),
        }
    }

    fn save(&self, name: &str, _label: &str, secret: &Secret) -> Result<(), KeychainError> {
        let saved = self.entry(name)?.set_password(secret.expose());
        saved.map_err(failed("store the key"))
    }

    fn remove(&self, name: &str) -> Result<(), KeychainError> {
        match self.entry(name)?.delete_credential() {
            Ok(()) | Err(Error::NoEntry) => Ok(()),
            Err(error) => Err(failed("delete the key")(error)),
        }
    }

    fn unlock(&self) -> Result<(), KeychainError> {
        Ok(())
    }
}

fn failed(action: &'static str) -> impl FnOnce(Error) -> KeychainError {
    move |error| match error {
        Error::NoStorageAccess(_) => KeychainError::Locked,
        error => KeychainError::Failed {
            action,
            reason: error.to_string(),
        },
    }
}
