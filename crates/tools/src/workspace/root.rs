use std::io;
use std::path::{self, Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use tokio::sync::Semaphore;

use super::WorkspaceError;
use super::excluded::Excluded;
use super::job::MAX_JOBS;

/// A directory that tools may use; clones share the handle.
#[derive(Debug, Clone)]
pub struct Workspace {
    dir: Arc<Dir>,
    path: Arc<PathBuf>,
    pub(super) jobs: Arc<Semaphore>,
    pub(super) excluded: Excluded,
}

impl Workspace {
    /// Opens the directory at `path`.
    ///
    /// # Errors
    /// There is no directory at `path`, or it may not be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        let dir = Dir::open_ambient_dir(path, ambient_authority())?;
        Ok(Self {
            dir: Arc::new(dir),
            path: Arc::new(path::absolute(path)?),
            jobs: Arc::new(Semaphore::new(MAX_JOBS)),
            excluded: Excluded::default(),
        })
    }

    /// The directory, if it is still the one at its path.
    ///
    /// Work in a directory that was removed or renamed away would be lost or go to a wrong place.
    /// The one that took its place is not opened: it may be a link to anywhere.
    pub(super) fn root(&self) -> Result<&Dir, WorkspaceError> {
        if is_replaced(&self.dir, &self.path) {
            return Err(WorkspaceError::Replaced);
        }
        Ok(&self.dir)
    }
}

#[cfg(unix)]
fn is_replaced(dir: &Dir, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;

    use cap_std::fs::MetadataExt as _;

    let Ok(opened) = dir.dir_metadata() else {
        return true;
    };
    match path.metadata() {
        // The handle keeps the number of its inode from being used again.
        Ok(found) => (found.dev(), found.ino()) != (opened.dev(), opened.ino()),
        Err(error) => matches!(
            error.kind(),
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
        ),
    }
}

/// Elsewhere a directory that is open cannot be removed or renamed.
#[cfg(not(unix))]
fn is_replaced(_dir: &Dir, _path: &Path) -> bool {
    false
}
