use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fs::{File, TryLockError};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::PathBuf;

use cap_std::fs::{Dir, DirEntry, FileType, OpenOptions};

use super::{Workspace, WorkspaceError};

/// Maximum number of entries that are looked at for temporary files, so that a huge workspace does not keep the disk busy.
const MAX_SWEPT: usize = 100_000;

const PREFIX: &str = ".callgate-write-";
const SUFFIX: &str = ".tmp";
const DIGITS: usize = 16;

/// File beside the one that is written, which takes its place at the end. Dropping it removes it.
///
/// It is locked as long as it is written, so that no other process takes it for a leftover.
pub(super) struct TemporaryFile<'d> {
    pub(super) file: File,
    dir: &'d Dir,
    name: String,
}

impl<'d> TemporaryFile<'d> {
    pub(super) fn create(dir: &'d Dir) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        loop {
            let random = RandomState::new().hash_one(());
            let name = format!("{PREFIX}{random:0DIGITS$x}{SUFFIX}");
            let file = dir.open_with(&name, &options)?.into_std();
            // Only another process that sweeps right now locks a file that was just created, or has removed it.
            let swept = matches!(file.try_lock(), Err(TryLockError::WouldBlock))
                || !dir.try_exists(&name)?;
            let created = Self { file, dir, name };
            if !swept {
                return Ok(created);
            }
        }
    }

    /// Takes the place of the file `name`, if there is one.
    pub(super) fn replace(self, name: &OsStr) -> io::Result<()> {
        self.dir.rename(&self.name, self.dir, name)
    }
}

impl Drop for TemporaryFile<'_> {
    fn drop(&mut self) {
        // After a rename there is none.
        let _ = self.dir.remove_file(&self.name);
    }
}

impl Workspace {
    /// Removes the temporary files of writes whose process was killed, and returns their number.
    ///
    /// Best-effort: it looks at 100,000 entries at most, those near the root first.
    /// Leftovers beyond them stay, but no tool lists or reads them.
    ///
    /// # Errors
    /// The workspace was replaced.
    pub fn remove_temporary_files(&self) -> Result<usize, WorkspaceError> {
        self.sweep(MAX_SWEPT)
    }

    /// Looks at `limit` entries, those near the root first.
    fn sweep(&self, limit: usize) -> Result<usize, WorkspaceError> {
        let mut directories = VecDeque::from([PathBuf::from(".")]);
        let (mut looked_at, mut removed) = (0, 0);
        let root = self.root()?;
        while let Some(path) = directories.pop_front() {
            let Ok(entries) = root.read_dir(&path) else {
                continue;
            };
            for entry in entries.filter_map(Result::ok) {
                looked_at += 1;
                if looked_at > limit {
                    return Ok(removed);
                }
                let (name, kind) = (entry.file_name(), entry.file_type());
                if kind.as_ref().is_ok_and(FileType::is_dir) {
                    directories.push_back(path.join(name));
                } else if is_temporary(&name)
                    && kind.as_ref().is_ok_and(FileType::is_file)
                    && remove_unlocked(&entry).is_ok()
                {
                    removed += 1;
                }
            }
        }
        Ok(removed)
    }
}

/// Removes a file, unless a process writes it.
fn remove_unlocked(entry: &DirEntry) -> io::Result<()> {
    // Locked until it is gone, so that a process that has just created it notices.
    let file = entry.open()?.into_std();
    file.try_lock()?;
    entry.remove_file()
}

/// True for the names of temporary files, which no tool shows.
pub(super) fn is_temporary(name: &OsStr) -> bool {
    let digits = name
        .to_str()
        .and_then(|name| name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX));
    digits.is_some_and(|digits| {
        digits.len() == DIGITS && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_names_of_temporary_files_are_recognized() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(directory.path()).unwrap();
        let root = workspace.root().unwrap();
        let file = TemporaryFile::create(root).unwrap();
        assert!(is_temporary(OsStr::new(&file.name)), "{}", file.name);
        // A file that is still written is no leftover.
        assert_eq!(workspace.remove_temporary_files().unwrap(), 0);
        let path = directory.path().join(&file.name);
        assert!(path.exists());
        drop(file);
        assert!(!path.exists());
        for name in ["a.tmp", ".callgate-write-.tmp", ".callgate-write-0123"] {
            assert!(!is_temporary(Path::new(name).as_os_str()), "{name}");
        }
    }

    #[test]
    fn only_so_many_entries_are_looked_at_and_those_near_the_root_first() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(directory.path()).unwrap();
        let name = format!("{PREFIX}0123456789abcdef{SUFFIX}");
        let near = directory.path().join(&name);
        let far = directory.path().join("a").join(&name);
        std::fs::create_dir(directory.path().join("a")).unwrap();
        for file in [&near, &far] {
            std::fs::write(file, "half").unwrap();
        }
        assert_eq!(workspace.sweep(2).unwrap(), 1);
        assert_eq!((near.exists(), far.exists()), (false, true));
        assert_eq!(workspace.sweep(2).unwrap(), 1);
        assert!(!far.exists());
    }
}
