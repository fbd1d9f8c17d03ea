use cap_std::fs::FileType;

use super::WorkspaceError;

/// Refuses all but regular files, with a text that names the kind.
pub(super) fn check_is_file(path: &str, kind: FileType) -> Result<(), WorkspaceError> {
    if kind.is_file() {
        return Ok(());
    }
    Err(WorkspaceError::NotAFile {
        path: path.to_owned(),
        kind: if kind.is_dir() {
            "a directory"
        } else if kind.is_symlink() {
            "a symbolic link"
        } else {
            special(kind)
        },
    })
}

#[cfg(unix)]
fn special(kind: FileType) -> &'static str {
    use cap_std::fs::FileTypeExt;

    if kind.is_fifo() {
        "a named pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

#[cfg(not(unix))]
fn special(_kind: FileType) -> &'static str {
    "of another kind"
}
