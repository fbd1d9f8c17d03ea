use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::access::{
    self, check_directory, check_owner_only, for_owner, no_links, private_directories,
};
use super::error::StoreError;

/// Reads a file that belongs to this user alone, in a directory that no other user can write to; `None` if
/// there is none.
pub(super) fn read_private(path: &Path, limit: usize) -> Result<Option<Bytes>, StoreError> {
    let Some((file, metadata)) = open(path)? else {
        return Ok(None);
    };
    check_owner_only(&metadata, path)?;
    check_directory(directory(path))?;
    read(file, path, limit).map(Some)
}

/// Reads a file with any permissions; `None` if there is none.
pub(super) fn read_any(path: &Path, limit: usize) -> Result<Option<Bytes>, StoreError> {
    match open(path)? {
        Some((file, _)) => read(file, path, limit).map(Some),
        None => Ok(None),
    }
}

/// Reads a small file with a secret of this user, as the login store reads its own: the file belongs to this
/// user alone, and no other user can write to its directory. `None` if there is none. Links are followed.
///
/// # Errors
/// Others could read or replace the file, it is too large, or the system refuses.
pub fn read_secret_file(path: &Path) -> Result<Option<Bytes>, StoreError> {
    read_private(&follow_links(path)?, MAX_SECRET)
}

/// Maximum bytes of a file with a secret.
const MAX_SECRET: usize = 64 * 1024;

/// Replaces the file by `bytes`, completely or not at all.
///
/// Only the holder of the lock may call this. When it returns, the bytes are on the disk.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    // A fixed name, so that processes that are killed while writing leave one file behind, not
    // many.
    let new = beside(path, ".new");
    remove_if_there(&new)?;
    let written = create_private(&new, bytes)
        .and_then(|()| fs::rename(&new, path).map_err(StoreError::io("replace", path)));
    if written.is_err() {
        // The first error is the useful one.
        let _ = remove_if_there(&new);
    }
    written?;
    sync_directory(path)
}

/// Fails where [`replace`] would fail with so many bytes, best-effort, and changes nothing.
///
/// Only the holder of the lock may call this.
pub(super) fn check_writable(path: &Path, length: usize) -> Result<(), StoreError> {
    let new = beside(path, ".new");
    remove_if_there(&new)?;
    // As long as the real file, because a disk that is full accepts an empty one.
    let created = create_private(&new, &vec![0; length]);
    remove_if_there(&new)?;
    created
}

/// Copies a damaged file, found at `time`, to a name beside it, and returns that name.
///
/// The file may be replaced only after this succeeds.
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

/// Limit for a file that is damaged again and again within one second.
const MAX_COPIES_PER_SECOND: u32 = 100;

fn is_taken(error: &StoreError) -> bool {
    matches!(error, StoreError::Io { source, .. } if source.kind() == ErrorKind::AlreadyExists)
}

/// Creates the directory of `path` with mode 700, or checks that no other user can write to it.
pub(super) fn create_directory(path: &Path) -> Result<(), StoreError> {
    let directory = directory(path);
    private_directories(DirBuilder::new().recursive(true))
        .create(directory)
        .map_err(StoreError::io("create", directory))?;
    check_directory(directory)
}

/// File that `path` leads to, which need not exist.
///
/// Only a link in place of the file itself is followed here; directories are left to the system.
pub(super) fn follow_links(path: &Path) -> Result<PathBuf, StoreError> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        let is_link = match fs::symlink_metadata(&path) {
            Ok(metadata) => metadata.is_symlink(),
            Err(error) if error.kind() == ErrorKind::NotFound => false,
            Err(error) => return Err(StoreError::io("find", &path)(error)),
        };
        if !is_link {
            return Ok(path);
        }
        let target = fs::read_link(&path).map_err(StoreError::io("follow", &path))?;
        // An absolute target replaces the directory.
        path = directory(&path).join(target);
    }
    Err(StoreError::Links { path })
}

/// Maximum number of links to follow. Links may lead in a circle.
const MAX_LINKS: u32 = 40;

/// Path with `suffix` after its file name.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Opens a regular file that is not a symbolic link.
fn open(path: &Path) -> Result<Option<(File, Metadata)>, StoreError> {
    let opened = no_links(OpenOptions::new().read(true)).open(path);
    let file = match opened {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(StoreError::io("open", path))?,
    };
    // From the open file, so that no other process can exchange it between the checks and the read.
    let metadata = file.metadata().map_err(StoreError::io("read", path))?;
    if !metadata.is_file() {
        let path = path.to_owned();
        return Err(StoreError::NotAFile { path });
    }
    Ok(Some((file, metadata)))
}

fn read(file: File, path: &Path, limit: usize) -> Result<Bytes, StoreError> {
    let mut bytes = Vec::new();
    // One byte more tells a file that is too large from one that just fits.
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

/// Creates a file with mode 600 and flushes it to the disk.
fn create_private(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let mut options = OpenOptions::new();
    // Never through a link, which another program may have put there.
    let mut file = for_owner(options.write(true).create_new(true))
        .open(path)
        .map_err(StoreError::io("create", path))?;
    file.write_all(bytes)
        .and_then(|()| file.sync_all())
        .map_err(StoreError::io("write", path))
}

/// Flushes the directory of `path`, so that a rename survives a crash.
fn sync_directory(path: &Path) -> Result<(), StoreError> {
    let directory = directory(path);
    access::sync_directory(directory).map_err(StoreError::io("sync", directory))
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
