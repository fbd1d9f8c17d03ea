use std::fmt::Debug;

use crate::secret::Secret;

/// Keychain that keeps secrets by name, for this user.
///
/// All functions block: call them from a blocking thread.
pub trait Keychain: Debug + Send + Sync {
    /// Secret with this name, without asking the user.
    ///
    /// # Errors
    /// The keychain is locked, missing or failed.
    fn load(&self, name: &str) -> Result<Option<Secret>, KeychainError>;

    /// Stores a secret, without asking the user. `label` is for people who look through their
    /// keychain.
    ///
    /// # Errors
    /// The keychain is locked, missing or failed.
    fn save(&self, name: &str, label: &str, secret: &Secret) -> Result<(), KeychainError>;

    /// Deletes a secret, if it is there.
    ///
    /// # Errors
    /// The keychain is locked, missing or failed.
    fn remove(&self, name: &str) -> Result<(), KeychainError>;

    /// Asks the user to unlock the keychain, if it is locked, and waits for that.
    ///
    /// # Errors
    /// It stays locked, is missing, or failed.
    fn unlock(&self) -> Result<(), KeychainError>;
}

/// Error of a [`Keychain`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeychainError {
    /// The user has to unlock the keychain.
    #[error("the keychain is locked")]
    Locked,
    /// No keychain can be reached.
    #[error("no keychain was found: {0}")]
    Missing(String),
    /// The keychain refused an operation.
    #[error("the keychain cannot {action}: {reason}")]
    Failed {
        /// Action that failed.
        action: &'static str,
        /// Error of the keychain.
        reason: String,
    },
}
