use schemars::JsonSchema;
use serde::Serialize;

use super::path::relative;
use super::{Workspace, WorkspaceError};

/// Maximum number of entries of a listing, which is built in memory and sent as one message.
pub(super) const LIMIT: usize = 10_000;

/// The entries of a directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Listing {
    /// The path, relative to the workspace.
    pub path: String,
    /// The names in order; those of directories end in `/`.
    pub entries: Vec<String>,
    /// True if the directory has more entries than are listed.
    pub truncated: bool,
}

impl Workspace {
    /// Lists a directory.
    ///
    /// # Errors
    /// The path leads out, or there is no directory at it.
    pub fn list(&self, path: &str) -> Result<Listing, WorkspaceError> {
        let failed = |source| WorkspaceError::io("list", path, source);
        let target = relative(path)?;
        self.check_not_excluded(&self.dir, &target, path)?;
        let mut entries = Vec::new();
        let mut truncated = false;
        for entry in self.dir.read_dir(target).map_err(failed)? {
            if entries.len() == LIMIT {
                truncated = true;
                break;
            }
            let entry = entry.map_err(failed)?;
            let mut name = entry.file_name().to_string_lossy().into_owned();
            if entry.file_type().map_err(failed)?.is_dir() {
                name.push('/');
            }
            entries.push(name);
        }
        entries.sort_unstable();
        Ok(Listing {
            path: path.to_owned(),
            entries,
            truncated,
        })
    }
}
