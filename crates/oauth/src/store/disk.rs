use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use rustix::fs::OFlags;

use super::error::StoreError;

/// Reads a file that only its owner, and that is us, has access to; `None` if there is none.
pub(super) fn read_private(path: &Path, limit: usize) -> Result<Option<Bytes>, StoreError> {
    let Some((file, mode, owner)) = open(path)? else {
        return Ok(None);
    };
    let path = path.to_owned();
    if mode & 0o077 != 0 {
        return Err(StoreError::Exposed { path, mode });
    }
    if owner != rustix::process::geteuid().as_raw() {
        return Err(StoreError::ForeignOwner { path });
    }
    read(file, &path, limit).map(Some)
}

/// Reads a file, whoever has access to it; `None` if there is none.
pub(super) fn read_any(path: &Path, limit: usize) -> Result<Option<Bytes>, StoreError> {
    match open(path)? {
        Some((file, _, _)) => read(file, path, limit).map(Some),
        None => Ok(None),
    }
}

/// Puts `bytes` in the place of the file, or leaves the file as it is.
///
/// Only the holder of the lock may call this. When it returns, the bytes are on the disk.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    // One name is enough, and whoever was killed while writing leaves but one file behind.
    let new = beside(path, ".new");
    remove_if_there(&new)?;
    let written = create_private(&new, bytes)
        .and_then(|()| fs::rename(&new, path).map_err(StoreError::io("replace", path)));
    if written.is_err() {
        // The first error says more than this one would.
        let _ = remove_if_there(&new);
    }
    written?;
    sync_directory(path)
}

/// Keeps a copy of a damaged file, found at `time`, beside it and returns its name.
///
/// Only when this succeeds may the file be replaced.
pub(super) fn keep_damaged(path: &Path, bytes: &[u8], time: u64) -> Result<PathBuf, StoreError> {
    let mut copy = beside(path, &format!(".corrupt-{time}"));
    let mut created = create_private(&copy, bytes);
    for number in 1..MAX_COPIES_PER_SECOND {
        if !created.as_ref().is_err_and(is_taken) {
            break;
        }
        copy = beside(path, &format!(".corrupt-{time}-{number}"));
        created = create_private(&copy, bytes);
    }
    created?;
    sync_directory(path)?;
    Ok(copy)
}

/// More than one is only for damage that comes back within a second.
const MAX_COPIES_PER_SECOND: u32 = 100;

fn is_taken(error: &StoreError) -> bool {
    matches!(error, StoreError::Io { source, .. } if source.kind() == ErrorKind::AlreadyExists)
}

/// Creates the directory of `path`, for its owner alone, unless it is there.
pub(super) fn create_directory(path: &Path) -> Result<(), StoreError> {
    let directory = directory(path);
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
        .map_err(StoreError::io("create", directory))
}

/// The path with `suffix` after its file name.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Opens a regular file that is not a symbolic link, and says its permissions and its owner.
fn open(path: &Path) -> Result<Option<(File, u32, u32)>, StoreError> {
    // Opening a pipe would wait for a writer.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(i32::try_from(flags.bits()).expect("flags fit"))
        .open(path);
    let file = match opened {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(StoreError::io("open", path))?,
    };
    let metadata = file.metadata().map_err(StoreError::io("read", path))?;
    if !metadata.is_file() {
        let path = path.to_owned();
        return Err(StoreError::NotAFile { path });
    }
    Ok(Some((file, metadata.mode() & 0o7777, metadata.uid())))
}

fn read(file: File, path: &Path, limit: usize) -> Result<Bytes, StoreError> {
    let mut bytes = Vec::new();
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    file.take(most)
        .read_to_end(&mut bytes)
        .map_err(StoreError::io("read", path))?;
    if bytes.len() > limit {
        let path = path.to_owned();
        return Err(StoreError::TooLarge { path, limit });
    }
    Ok(bytes.into())
}

/// Creates a file that nobody else could open at any time, and waits until it is on the disk.
fn create_private(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(StoreError::io("create", path))?;
    file.write_all(bytes)
        .and_then(|()| file.sync_all())
        .map_err(StoreError::io("write", path))
}

/// Makes the names in the directory of `path` last.
fn sync_directory(path: &Path) -> Result<(), StoreError> {
    let directory = directory(path);
    File::open(directory)
        .and_then(|directory| directory.sync_all())
        .map_err(StoreError::io("sync", directory))
}

fn remove_if_there(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(StoreError::io("remove", path)(error))
        }
        _ => Ok(()),
    }
}

fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{MAX_COPIES_PER_SECOND, is_taken, keep_damaged};

    #[test]
    fn copies_of_damaged_files_are_never_overwritten() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("a.json");
        for number in 0..MAX_COPIES_PER_SECOND {
            let text = number.to_string();
            let copy = keep_damaged(&path, text.as_bytes(), 7).expect("a name is free");
            assert_eq!(fs::read_to_string(copy).expect("it is there"), text);
        }
        let error = keep_damaged(&path, b"one more", 7).expect_err("no name is free");
        assert!(is_taken(&error), "{error:?}");
        let first = directory.path().join("a.json.corrupt-7");
        assert_eq!(fs::read_to_string(first).expect("it is there"), "0");
        keep_damaged(&path, b"one more", 8).expect("a second later there is room");
    }
}
