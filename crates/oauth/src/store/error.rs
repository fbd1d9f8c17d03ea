use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::keychain::KeychainError;

/// Error of the [`LoginStore`](super::LoginStore).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A system call failed.
    #[error("cannot {action} `{}`", path.display())]
    Io {
        /// Action that failed.
        action: &'static str,
        /// Path that it was applied to.
        path: PathBuf,
        /// Error of the system.
        #[source]
        source: io::Error,
    },
    /// Other users can read or write the file.
    #[error("`{}` is open to other users (mode {mode:03o}); allow only its owner: chmod 600", path.display())]
    Exposed {
        /// Path of the file.
        path: PathBuf,
        /// Permissions of the file.
        mode: u32,
    },
    /// Other users can replace the files of the directory.
    #[error("other users can write to the directory `{}` (mode {mode:03o}); allow only its owner: chmod 700", path.display())]
    ExposedDirectory {
        /// Path of the directory.
        path: PathBuf,
        /// Permissions of the directory.
        mode: u32,
    },
    /// The file or the directory belongs to another user.
    #[error("`{}` belongs to another user", path.display())]
    ForeignOwner {
        /// Path of the file or the directory.
        path: PathBuf,
    },
    /// The path names something other than a regular file.
    #[error("`{}` is not a regular file", path.display())]
    NotAFile {
        /// Path of the file.
        path: PathBuf,
    },
    /// Symbolic links lead in a circle, or there are too many of them.
    #[error("`{}` is a link that leads nowhere", path.display())]
    Links {
        /// Path of the last link.
        path: PathBuf,
    },
    /// The file is or would become too large.
    #[error("`{}` would have more than {limit} bytes", path.display())]
    TooLarge {
        /// Path of the file.
        path: PathBuf,
        /// Limit in bytes.
        limit: usize,
    },
    /// The file to import does not exist.
    #[error("`{}` does not exist", path.display())]
    Missing {
        /// Path of the file.
        path: PathBuf,
    },
    /// The file to import is malformed. It belongs to another program, so it is not repaired.
    #[error("`{}` is not a login file", path.display())]
    Malformed {
        /// Path of the file.
        path: PathBuf,
    },
    /// The file to import has sealed secrets.
    #[error("the secrets in `{}` are sealed with a key in a keychain", path.display())]
    SealedSource {
        /// Path of the file.
        path: PathBuf,
    },
    /// The keychain does not give or take the key of sealed secrets.
    #[error("cannot {action} the logins in `{}`", path.display())]
    Keychain {
        /// Action that failed: `open` or `seal`.
        action: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// Error of the keychain.
        #[source]
        source: KeychainError,
    },
    /// The secrets of the file are sealed, and their key is not in the keychain.
    #[error("cannot open the logins in `{}`: their key is not in the keychain", path.display())]
    KeyMissing {
        /// Path of the file.
        path: PathBuf,
    },
    /// The secrets of the file are sealed with another key than the one in the keychain.
    #[error("cannot open the logins in `{}`: the keychain has another key", path.display())]
    WrongKey {
        /// Path of the file.
        path: PathBuf,
    },
    /// The secrets of the file are sealed in a way that this version does not know.
    #[error("cannot open the logins in `{}`: another version of this program sealed them", path.display())]
    UnknownSeal {
        /// Path of the file.
        path: PathBuf,
    },
    /// The system has no random numbers.
    #[error("the operating system returned no random bytes")]
    Random(#[source] getrandom::Error),
    /// Another process has held the lock for too long.
    #[error("`{}` has been locked by another process for {waited:?}", path.display())]
    Busy {
        /// Path of the lock file.
        path: PathBuf,
        /// Time spent waiting.
        waited: Duration,
    },
}

impl StoreError {
    /// Returns true if the same operation may succeed in a moment, without the user.
    pub(crate) fn is_passing(&self) -> bool {
        !matches!(
            self,
            Self::Keychain { .. }
                | Self::KeyMissing { .. }
                | Self::WrongKey { .. }
                | Self::UnknownSeal { .. }
        )
    }

    /// Names the action and the path of a system error.
    pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io {
            action,
            path,
            source,
        }
    }
}
