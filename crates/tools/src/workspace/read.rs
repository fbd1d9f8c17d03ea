use std::io::Read;

use cap_std::fs::OpenOptions;
use schemars::JsonSchema;
use serde::Serialize;

use super::kind::check_is_file;
use super::path::relative;
use super::{Workspace, WorkspaceError};

/// Maximum bytes of a file that is read or written: its text becomes part of a model's context, where more is of no use.
pub(super) const LIMIT: u64 = 1024 * 1024;

/// A file and its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct File {
    /// The path, relative to the workspace.
    pub path: String,
    /// The text.
    pub content: String,
    /// The size in bytes.
    pub size: u64,
}

impl Workspace {
    /// Reads a text file.
    ///
    /// # Errors
    /// The path leads out, or the file is missing, too large or not text.
    pub fn read(&self, path: &str) -> Result<File, WorkspaceError> {
        let failed = |source| WorkspaceError::io("read", path, source);
        let root = self.root()?;
        let target = relative(path)?;
        self.check_not_excluded(root, &target, path)?;
        // Before it is opened: a device or a pipe may notice that.
        let found = root.metadata(&target).map_err(failed)?;
        check_is_file(path, found.file_type())?;
        let opened = root.open_with(target, &for_reading());
        let file = opened.map_err(failed)?;
        // Asked of the open handle too, so that nothing can be swapped in between.
        let metadata = file.metadata().map_err(failed)?;
        check_is_file(path, metadata.file_type())?;
        self.check_not_excluded_file(&metadata, path)?;
        let too_large = || WorkspaceError::TooLarge {
            path: path.to_owned(),
            limit: LIMIT,
        };
        if metadata.len() > LIMIT {
            return Err(too_large());
        }
        let mut bytes = Vec::new();
        // One byte more than the limit shows a file that grew meanwhile.
        file.take(LIMIT + 1)
            .read_to_end(&mut bytes)
            .map_err(failed)?;
        let size = bytes.len() as u64;
        if size > LIMIT {
            return Err(too_large());
        }
        let content =
            String::from_utf8(bytes).map_err(|_| WorkspaceError::NotText(path.to_owned()))?;
        Ok(File {
            path: path.to_owned(),
            content,
            size,
        })
    }
}

/// Options that open any kind of file at once: a named pipe would wait for a writer.
fn for_reading() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
        cap_std::fs::OpenOptionsExt::custom_flags(&mut options, flags);
    }
    options
}
