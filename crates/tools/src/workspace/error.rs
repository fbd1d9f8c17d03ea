use std::io;

use tokio::task::JoinError;

/// Failure of an operation on a file of the workspace.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkspaceError {
    /// No path was given.
    #[error("path is required")]
    NoPath,
    /// The path leads out of the workspace.
    #[error("path escapes workspace: {0}")]
    Escapes(String),
    /// The path leads into a directory that no tool may use.
    #[error("tools cannot use the data directory of Callgate: {0}")]
    Excluded(String),
    /// The file is larger than a tool reads or writes.
    #[error("file is larger than {limit} bytes: {path}")]
    TooLarge {
        /// The file.
        path: String,
        /// The limit in bytes.
        limit: u64,
    },
    /// The file is not UTF-8 text.
    #[error("file is not UTF-8 text: {0}")]
    NotText(String),
    /// The path names something that is not a regular file.
    #[error("not a file: {path} is {kind}")]
    NotAFile {
        /// The path.
        path: String,
        /// The kind of file, with its article.
        kind: &'static str,
    },
    /// The path names a link to a file that does not exist.
    #[error("the target of the link {0} does not exist; write it by its own path")]
    NoTarget(String),
    /// The path has a name of temporary files.
    #[error("name is reserved for files that are being written: {0}")]
    Reserved(String),
    /// The directory is no longer at its path.
    #[error(
        "the workspace directory was removed, renamed or replaced; \
         restart the server to use the one that is there now"
    )]
    Replaced,
    /// The operating system refused.
    #[error("failed to {action} {path}: {source}")]
    Io {
        /// The operation.
        action: &'static str,
        /// The file.
        path: String,
        /// The cause.
        source: io::Error,
    },
    /// The work on the file was canceled, because the process ends.
    #[error("the work on the file was canceled: {0}")]
    Canceled(#[source] JoinError),
}

impl WorkspaceError {
    /// Distinguishes an escape, which the directory handle refuses, from other failures.
    pub(super) fn io(action: &'static str, path: &str, source: io::Error) -> Self {
        // The handle refuses `..` and links that lead out with a permission error of its own,
        // which has no code of the operating system.
        if source.kind() == io::ErrorKind::PermissionDenied && source.raw_os_error().is_none() {
            return Self::Escapes(path.to_owned());
        }
        Self::Io {
            action,
            path: path.to_owned(),
            source,
        }
    }
}
