use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, Metadata};

use super::{Workspace, WorkspaceError};

impl Workspace {
    /// Keeps `directory` from every tool, wherever it lies and however a path leads into it.
    ///
    /// Directories are compared by their identity and not by name, so links, other spellings and other
    /// letters of a name lead nowhere. Files directly in it are refused under other names too. A directory
    /// that is made later is excluded from then on, and one that is renamed stays excluded. Best-effort
    /// against a process that changes links meanwhile; only on Unix, where directories have an identity.
    #[must_use]
    pub fn excluding(mut self, directory: &Path) -> Self {
        let directory = Arc::new(ExcludedDirectory::new(directory));
        self.excluded = Arc::from([&self.excluded[..], &[directory]].concat());
        self
    }

    /// Refuses a path that leads into an excluded directory.
    pub(super) fn check_not_excluded(
        &self,
        root: &Dir,
        target: &Path,
        path: &str,
    ) -> Result<(), WorkspaceError> {
        let excluded: Vec<_> = self
            .excluded
            .iter()
            .flat_map(|it| it.identities())
            .collect();
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
        let Some(own) = of(file) else {
            return Ok(());
        };
        match self.excluded.iter().any(|it| it.has_file(own)) {
            true => Err(WorkspaceError::Excluded(path.to_owned())),
            false => Ok(()),
        }
    }
}

/// Directories that no tool may use.
pub(super) type Excluded = Arc<[Arc<ExcludedDirectory>]>;

/// A directory that no tool may use.
#[derive(Debug)]
pub(super) struct ExcludedDirectory {
    path: PathBuf,
    /// All directories that were found at the path: one that was renamed has its secrets still.
    found: Mutex<Vec<Arc<FoundDirectory>>>,
}

/// A directory that was found at the path of an excluded one.
#[derive(Debug)]
struct FoundDirectory {
    identity: Identity,
    /// Keeps its number from being used again, and lists its files wherever it is. Absent if it may not be
    /// opened.
    handle: Option<Dir>,
}

/// Device and number of a file.
type Identity = (u64, u64);

/// Maximum number of directories that are remembered for one path; later ones are excluded only while they
/// are there.
const MAX_FOUND: usize = 16;

impl ExcludedDirectory {
    fn new(path: &Path) -> Self {
        let directory = Self {
            path: path.to_owned(),
            found: Mutex::default(),
        };
        // Before the first call: it may be renamed until then.
        directory.look();
        directory
    }

    fn identities(&self) -> Vec<Identity> {
        self.look().iter().map(|it| it.identity).collect()
    }

    /// True if a file directly in the directory has this identity.
    fn has_file(&self, own: Identity) -> bool {
        let found = self.look();
        let handles = found.iter().filter_map(|it| it.handle.as_ref());
        let entries = handles.filter_map(|it| it.entries().ok()).flatten();
        let mut files = entries.filter_map(|entry| of(&entry.ok()?.metadata().ok()?));
        // A handle does not follow links out of the directory, and a path does.
        let at_path = self.path.read_dir().into_iter().flatten();
        let mut at_path = at_path.filter_map(|entry| of_path(&entry.ok()?.path()));
        files.any(|file| file == own) || at_path.any(|file| file == own)
    }

    /// All directories that were found so far, the one that is at the path now among them.
    fn look(&self) -> Vec<Arc<FoundDirectory>> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(identity) = of_path(&self.path) else {
            return found.clone();
        };
        if found.iter().any(|it| it.identity == identity) {
            return found.clone();
        }
        let handle = Dir::open_ambient_dir(&self.path, ambient_authority()).ok();
        // The handle may be one of another directory, if it was replaced just now.
        let opened = handle.as_ref().and_then(|it| of(&it.dir_metadata().ok()?));
        let new = Arc::new(FoundDirectory {
            identity: opened.unwrap_or(identity),
            handle,
        });
        if found.len() < MAX_FOUND {
            found.push(new);
            return found.clone();
        }
        found.iter().cloned().chain([new]).collect()
    }
}

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
