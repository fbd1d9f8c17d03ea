use std::io;
use std::path::Path;
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use tokio::sync::Semaphore;

use super::excluded::Excluded;
use super::job::MAX_JOBS;

/// A directory that tools may use; clones share the handle.
#[derive(Debug, Clone)]
pub struct Workspace {
    pub(super) dir: Arc<Dir>,
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
            jobs: Arc::new(Semaphore::new(MAX_JOBS)),
            excluded: Excluded::default(),
        })
    }
}
