use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Why the store cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The system refused.
    #[error("cannot {action} `{}`", path.display())]
    Io {
        /// What was being done.
        action: &'static str,
        /// To what.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Others can read the file, or could have written it.
    #[error("`{}` is open to other users (mode {mode:03o}); allow only its owner: chmod 600", path.display())]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// The file belongs to somebody else.
    #[error("`{}` belongs to another user", path.display())]
    ForeignOwner {
        /// The file.
        path: PathBuf,
    },
    /// There is something else in the place of the file.
    #[error("`{}` is not a regular file", path.display())]
    NotAFile {
        /// What should be a file.
        path: PathBuf,
    },
    /// The file is or would become too large.
    #[error("`{}` would have more than {limit} bytes", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The limit in bytes.
        limit: usize,
    },
    /// There is no file to import.
    #[error("`{}` is not there", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// The file is not what it should be, and it is not ours to repair.
    #[error("`{}` does not hold logins", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
    },
    /// Another process has held the lock all the time.
    #[error("`{}` has been locked by another process for {waited:?}", path.display())]
    Busy {
        /// The lock.
        path: PathBuf,
        /// How long we have waited.
        waited: Duration,
    },
}

impl StoreError {
    /// Says what was being done to `path` when the system refused.
    pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io {
            action,
            path,
            source,
        }
    }
}
