use std::io::{self, Write};
use std::path::{Path, PathBuf};

use cap_std::fs::Dir;
use schemars::JsonSchema;
use serde::Serialize;

use super::kind::check_is_file;
use super::path::{check_names, relative};
use super::read::LIMIT;
use super::temporary::TemporaryFile;
use super::{Workspace, WorkspaceError};

/// Result of a write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Written {
    /// The path, relative to the workspace.
    pub path: String,
    /// The number of bytes.
    pub bytes: u64,
}

impl Workspace {
    /// Writes a text file whole, with the directories that lead to it.
    ///
    /// A reader sees the old text or the new one, never a part, even after a crash: the text is
    /// written beside the file and then takes its place. A link stays, and its target is written.
    ///
    /// # Errors
    /// The path leads out, names something that is not a regular file, the text is larger than what
    /// could be read again, or the file system refuses.
    pub fn write(&self, path: &str, content: &str) -> Result<Written, WorkspaceError> {
        let failed = |source| WorkspaceError::io("write", path, source);
        let root = self.root()?;
        let target = relative(path)?;
        self.check_not_excluded(root, &target, path)?;
        let bytes = content.len() as u64;
        if bytes > LIMIT {
            return Err(WorkspaceError::TooLarge {
                path: path.to_owned(),
                limit: LIMIT,
            });
        }
        let target = follow(root, target, path)?;
        let Some(name) = target.file_name() else {
            return Err(WorkspaceError::NotAFile {
                path: path.to_owned(),
                kind: "a directory",
            });
        };
        let parent = open_or_create(root, parent(&target)).map_err(failed)?;
        // Looked at once more: only a regular file is replaced, whatever has appeared meanwhile.
        let existing = found(parent.symlink_metadata(name)).map_err(failed)?;
        let temporary = TemporaryFile::create(&parent).map_err(failed)?;
        let mut file = &temporary.file;
        if let Some(existing) = existing {
            check_is_file(path, existing.file_type())?;
            let permissions = existing.permissions().into_std(file);
            permissions
                .and_then(|permissions| file.set_permissions(permissions))
                .map_err(failed)?;
        }
        file.write_all(content.as_bytes()).map_err(failed)?;
        file.sync_all().map_err(failed)?;
        temporary.replace(name).map_err(failed)?;
        sync(&parent).map_err(failed)?;
        Ok(Written {
            path: path.to_owned(),
            bytes,
        })
    }
}

/// The file that a link leads to; other paths stay as they are.
fn follow(root: &Dir, target: PathBuf, path: &str) -> Result<PathBuf, WorkspaceError> {
    let failed = |source| WorkspaceError::io("write", path, source);
    let existing = found(root.symlink_metadata(&target)).map_err(failed)?;
    if !existing.is_some_and(|existing| existing.is_symlink()) {
        return Ok(target);
    }
    let target = found(root.canonicalize(target)).map_err(failed)?;
    let target = target.ok_or_else(|| WorkspaceError::NoTarget(path.to_owned()))?;
    check_names(&target, path)?;
    Ok(target)
}

/// Opens a directory and creates it if there is none, in a way that survives a crash.
fn open_or_create(root: &Dir, path: &Path) -> io::Result<Dir> {
    if let Some(opened) = found(root.open_dir(path))? {
        return Ok(opened);
    }
    root.create_dir_all(path)?;
    let mut created = path;
    while created != Path::new(".") {
        created = parent(created);
        sync(&root.open_dir(created)?)?;
    }
    root.open_dir(path)
}

/// Writes the names of a directory to the disk.
fn sync(directory: &Dir) -> io::Result<()> {
    // Other systems do not open directories as files.
    if !cfg!(unix) {
        return Ok(());
    }
    // Opened anew: the handle only names the directory.
    match directory.open(".")?.sync_all() {
        // Some network file systems cannot do so, and do not need it.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        synced => synced,
    }
}

fn parent(path: &Path) -> &Path {
    path.parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

fn found<T>(outcome: io::Result<T>) -> io::Result<Option<T>> {
    match outcome {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        outcome => outcome.map(Some),
    }
}
