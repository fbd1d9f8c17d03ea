//! Files that are replaced in one step.

use std::fs::{self, OpenOptions, Permissions};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::error::CommandError;

/// Mode of a file that is made; one that is there keeps its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileMode {
    /// For the user alone.
    Private,
    /// As other files of the user.
    Usual,
}

/// Writes a file beside and renames it, so that a reader sees the old bytes or the new ones. A file that is there keeps its mode.
pub(crate) fn replace_file(path: &Path, bytes: &[u8], mode: FileMode) -> Result<()> {
    let directory = directory(path);
    let mut file = tempfile::Builder::new()
        .prefix(".callgate-")
        .tempfile_in(directory)?;
    file.write_all(bytes)?;
    match fs::metadata(path) {
        Ok(metadata) => file.as_file().set_permissions(metadata.permissions())?,
        Err(_) if mode == FileMode::Usual => {
            if let Some(usual) = usual_permissions(directory) {
                file.as_file().set_permissions(usual)?;
            }
        }
        Err(_) => {}
    }
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    #[cfg(unix)]
    fs::File::open(directory)?.sync_all()?;
    Ok(())
}

/// Permissions of a file that is made in the usual way: the umask cannot be asked for without changing it.
fn usual_permissions(directory: &Path) -> Option<Permissions> {
    let probe = tempfile::Builder::new()
        .prefix(".callgate-")
        .make_in(directory, |path| {
            OpenOptions::new().write(true).create_new(true).open(path)
        });
    Some(probe.ok()?.as_file().metadata().ok()?.permissions())
}

/// File that `path` leads to, which need not exist.
pub(crate) fn follow_links(path: &Path) -> Result<PathBuf, CommandError> {
    let mut target = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&target) {
            Ok(next) => target = directory(&target).join(next),
            Err(_) => return Ok(target),
        }
    }
    let message = format!("{} is a link in a circle", path.display());
    Err(CommandError::usage(message).hint("remove the link, then run the same command again"))
}

/// Maximum number of links to follow.
const MAX_LINKS: u32 = 40;

/// Directory of a file.
pub(crate) fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn links_in_a_circle_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::os::unix::fs::symlink(&path, &path).unwrap();
        let error = follow_links(&path).unwrap_err().with_hints();
        assert_eq!(
            error,
            format!(
                "{} is a link in a circle\nhint: remove the link, then run the same command again",
                path.display()
            )
        );
    }
}
