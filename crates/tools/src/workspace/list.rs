use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use super::path::relative;
use super::temporary::is_temporary;
use super::{Workspace, WorkspaceError};

/// Number of entries of a page, if the caller names none.
const DEFAULT_LIMIT: usize = 1_000;

/// Maximum number of entries of a page, which is built in memory and sent as one message.
const MAX_LIMIT: usize = 10_000;

/// Part of a listing that is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Page {
    /// The [`Listing::next_cursor`] of the page before; the first page without one.
    pub cursor: Option<String>,
    /// The maximum number of entries, at most 10,000; 1,000 without one.
    pub limit: Option<usize>,
}

/// One page of the entries of a directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Listing {
    /// The path, relative to the workspace.
    pub path: String,
    /// The names in order; those of directories end in `/`.
    pub entries: Vec<String>,
    /// The cursor of the next page, if the directory has more entries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

impl Workspace {
    /// Lists a page of a directory.
    ///
    /// The cursor is the last name of the page before, so entries that come and go meanwhile neither
    /// hide nor repeat others.
    ///
    /// # Errors
    /// The path leads out, or there is no directory at it.
    pub fn list(&self, path: &str, page: &Page) -> Result<Listing, WorkspaceError> {
        let failed = |source| WorkspaceError::io("list", path, source);
        let limit = page.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT);
        // The first names after the cursor and one more, however large the directory is.
        let mut names = BTreeSet::new();
        let root = self.root()?;
        let target = relative(path)?;
        self.check_not_excluded(root, &target, path)?;
        for entry in root.read_dir(target).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            if is_temporary(&name) {
                continue;
            }
            let mut name = name.to_string_lossy().into_owned();
            if entry.file_type().map_err(failed)?.is_dir() {
                name.push('/');
            }
            if page.cursor.as_ref().is_none_or(|cursor| name > *cursor) {
                names.insert(name);
            }
            if names.len() > limit + 1 {
                names.pop_last();
            }
        }
        let has_more = names.len() > limit;
        let entries: Vec<String> = names.into_iter().take(limit).collect();
        Ok(Listing {
            path: path.to_owned(),
            next_cursor: entries.last().filter(|_| has_more).cloned(),
            entries,
        })
    }
}
