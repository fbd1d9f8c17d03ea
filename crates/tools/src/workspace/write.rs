use std::io::{self, Write};
use std::path::Path;

use cap_std::fs::{Dir, Metadata};
use cap_tempfile::TempFile;
use schemars::JsonSchema;
use serde::Serialize;

use super::path::relative;
use super::read::LIMIT;
use super::{Workspace, WorkspaceError};

/// Result of a write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Written {
    /// The path, relative to the workspace.
    pub path: String,
    /// The number of bytes.
    pub bytes: u64,
}

impl Workspace {
    /// Writes a text file whole, with the directories that lead to it.
    ///
    /// A reader sees the old text or the new one, never a part: the text is written beside the file
    /// and then takes its place.
    ///
    /// # Errors
    /// The path leads out, names a directory, the text is larger than what could be read again, or
    /// the file system refuses.
    pub fn write(&self, path: &str, content: &str) -> Result<Written, WorkspaceError> {
        let failed = |source| WorkspaceError::io("write", path, source);
        let target = relative(path)?;
        self.check_not_excluded(&self.dir, &target, path)?;
        let bytes = content.len() as u64;
        if bytes > LIMIT {
            return Err(WorkspaceError::TooLarge {
                path: path.to_owned(),
                limit: LIMIT,
            });
        }
        let Some(name) = target.file_name() else {
            return Err(WorkspaceError::NotAFile(path.to_owned()));
        };
        let parent = target
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new("."));
        let parent = self.open_or_create(parent).map_err(failed)?;
        let existing = parent.symlink_metadata(name).ok();
        if existing.as_ref().is_some_and(Metadata::is_dir) {
            return Err(WorkspaceError::NotAFile(path.to_owned()));
        }
        let mut file = TempFile::new(&parent).map_err(failed)?;
        if let Some(existing) = existing.filter(Metadata::is_file) {
            file.as_file()
                .set_permissions(existing.permissions())
                .map_err(failed)?;
        }
        file.write_all(content.as_bytes()).map_err(failed)?;
        file.as_file().sync_all().map_err(failed)?;
        file.replace(name).map_err(failed)?;
        Ok(Written {
            path: path.to_owned(),
            bytes,
        })
    }

    fn open_or_create(&self, path: &Path) -> io::Result<Dir> {
        match self.dir.open_dir(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.dir.create_dir_all(path)?;
                self.dir.open_dir(path)
            }
            opened => opened,
        }
    }
}
