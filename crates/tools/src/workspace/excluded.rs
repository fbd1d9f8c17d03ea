use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::{Dir, Metadata};

use super::{Workspace, WorkspaceError};

impl Workspace {
    /// Keeps `directory` from every tool, wherever it lies and however a path leads into it.
    ///
    /// Directories are compared by their identity and not by name, so links, other spellings and other
    /// letters of a name lead nowhere. Files directly in it are refused under other names too. Best-effort
    /// against a process that changes links meanwhile; only on Unix, where directories have an identity.
    #[must_use]
    pub fn excluding(mut self, directory: &Path) -> Self {
        self.excluded = Arc::from([&self.excluded[..], &[directory.to_owned()]].concat());
        self
    }

    /// Refuses a path that leads into an excluded directory.
    pub(super) fn check_not_excluded(
        &self,
        root: &Dir,
        target: &Path,
        path: &str,
    ) -> Result<(), WorkspaceError> {
        let excluded: Vec<_> = self.excluded.iter().filter_map(|it| of_path(it)).collect();
        if excluded.is_empty() {
            return Ok(());
        }
        // A file that is yet to be written has the nearest directory that is there.
        let mut nearest = target
            .ancestors()
            .map(|it| match it.as_os_str().is_empty() {
                true => Path::new("."),
                false => it,
            });
        let real = nearest.find_map(|it| match root.canonicalize(it) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            found => Some(found),
        });
        // What cannot be resolved cannot be opened either.
        let Some(Ok(real)) = real else {
            return Ok(());
        };
        let above = real.ancestors().filter(|it| !it.as_os_str().is_empty());
        for directory in above.chain([Path::new(".")]) {
            let found = root.metadata(directory).ok().and_then(|it| of(&it));
            if found.is_some_and(|found| excluded.contains(&found)) {
                return Err(WorkspaceError::Excluded(path.to_owned()));
            }
        }
        Ok(())
    }

    /// Refuses an open file that is in an excluded directory under another name.
    pub(super) fn check_not_excluded_file(
        &self,
        file: &Metadata,
        path: &str,
    ) -> Result<(), WorkspaceError> {
        if self.excluded.is_empty() || !has_names(file) {
            return Ok(());
        }
        let files = self.excluded.iter().filter_map(|it| it.read_dir().ok());
        let mut files = files.flatten().filter_map(Result::ok);
        let own = of(file);
        match files.any(|entry| own.is_some() && of_path(&entry.path()) == own) {
            true => Err(WorkspaceError::Excluded(path.to_owned())),
            false => Ok(()),
        }
    }
}

/// Directories that no tool may use.
pub(super) type Excluded = Arc<[PathBuf]>;

/// Device and number of a file.
type Identity = (u64, u64);

#[cfg(unix)]
fn of(metadata: &Metadata) -> Option<Identity> {
    use cap_std::fs::MetadataExt as _;

    Some((metadata.dev(), metadata.ino()))
}

#[cfg(unix)]
fn of_path(path: &Path) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt as _;

    let metadata = path.metadata().ok()?;
    Some((metadata.dev(), metadata.ino()))
}

/// True if the file has more than one name.
#[cfg(unix)]
fn has_names(metadata: &Metadata) -> bool {
    use cap_std::fs::MetadataExt as _;

    metadata.nlink() > 1
}

#[cfg(not(unix))]
fn of(_metadata: &Metadata) -> Option<Identity> {
    None
}

#[cfg(not(unix))]
fn of_path(_path: &Path) -> Option<Identity> {
    None
}

#[cfg(not(unix))]
fn has_names(_metadata: &Metadata) -> bool {
    false
}
