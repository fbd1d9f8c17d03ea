use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::error::CommandError;
use crate::file_replace::{FileMode, directory, follow_links, replace_file};

/// Maximum bytes of a file of a client. Some keep their history in it.
pub(crate) const MAX_BYTES: usize = 32 * 1024 * 1024;

/// The bytes of a file of a client; `None` if it is not there.
pub(crate) fn read(path: &Path) -> Result<Option<Vec<u8>>, CommandError> {
    let failed = || format!("cannot read {}", path.display());
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.with_context(failed)?,
    };
    let is_file = file.metadata().with_context(failed)?.is_file();
    if !is_file {
        return Err(CommandError::usage(format!(
            "{} is not a file",
            path.display()
        )));
    }
    let mut bytes = Vec::new();
    let limit = MAX_BYTES as u64 + 1;
    file.take(limit)
        .read_to_end(&mut bytes)
        .with_context(failed)?;
    match bytes.len() > MAX_BYTES {
        true => {
            let message = format!("{} has more than {MAX_BYTES} bytes", path.display());
            Err(CommandError::usage(message))
        }
        false => Ok(Some(bytes)),
    }
}

/// The text of a file of a client.
pub(crate) fn text<'b>(path: &Path, bytes: &'b [u8]) -> Result<&'b str, CommandError> {
    str::from_utf8(bytes).map_err(|error| {
        let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        CommandError::usage(format!("{}:{line}: this is not UTF-8 text", path.display()))
    })
}

/// Replaces the bytes of a file, or makes it, in one step: a reader sees the old bytes or the new ones.
///
/// Links are followed and the mode is kept. Nothing is written if the file is no longer as `before`; a program that
/// writes in the short time between this look and the write is best-effort.
pub(crate) fn replace(
    path: &Path,
    before: Option<&[u8]>,
    after: &[u8],
) -> Result<(), CommandError> {
    check_unchanged(path, before)?;
    let target = follow_links(path)?;
    replace_file(&target, after, FileMode::Private)
        .with_context(|| format!("cannot write {}", target.display()))?;
    Ok(())
}

/// Makes the directories that lead to a file, and returns those that were not there, the outermost first.
pub(crate) fn make_directories(path: &Path) -> Result<Vec<PathBuf>, CommandError> {
    let missing = missing_directories(path)?;
    for dir in &missing {
        fs::create_dir(dir).with_context(|| format!("cannot create {}", dir.display()))?;
    }
    Ok(missing)
}

/// Directories that lead to a file and are not there, the outermost first.
pub(crate) fn missing_directories(path: &Path) -> Result<Vec<PathBuf>, CommandError> {
    let target = follow_links(path)?;
    let missing = directory(&target)
        .ancestors()
        .take_while(|dir| !dir.exists());
    let mut missing: Vec<_> = missing.map(Path::to_owned).collect();
    missing.reverse();
    Ok(missing)
}

/// Removes a file that is still as `before`, and the directories that are empty without it. Links are followed, as
/// they were when the file was made: those of the user stay.
pub(crate) fn remove(
    path: &Path,
    before: &[u8],
    directories: &[PathBuf],
) -> Result<(), CommandError> {
    check_unchanged(path, Some(before))?;
    let target = follow_links(path)?;
    fs::remove_file(&target).with_context(|| format!("cannot remove {}", target.display()))?;
    for dir in directories.iter().rev() {
        // A directory with other files in it stays.
        if fs::remove_dir(dir).is_err() {
            break;
        }
    }
    Ok(())
}

fn check_unchanged(path: &Path, before: Option<&[u8]>) -> Result<(), CommandError> {
    if read(path)?.as_deref() == before {
        return Ok(());
    }
    let message = format!("{} was changed by another program just now", path.display());
    Err(CommandError::usage(message).hint("run the same command again"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_too_large_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let file = File::create(&path).unwrap();
        file.set_len(MAX_BYTES as u64).unwrap();
        assert_eq!(
            read(&path).unwrap().map(|bytes| bytes.len()),
            Some(MAX_BYTES)
        );
        file.set_len(MAX_BYTES as u64 + 1).unwrap();
        let error = read(&path).unwrap_err().with_hints();
        assert_eq!(
            error,
            format!("{} has more than {MAX_BYTES} bytes", path.display())
        );
    }

    #[test]
    fn a_file_that_another_program_has_changed_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, "theirs").unwrap();
        let expect = format!(
            "{} was changed by another program just now\nhint: run the same command again",
            path.display()
        );
        for before in [None, Some(&b"ours"[..])] {
            let error = replace(&path, before, b"new").unwrap_err();
            assert_eq!(error.with_hints(), expect);
        }
        assert_eq!(
            remove(&path, b"ours", &[]).unwrap_err().with_hints(),
            expect
        );
        assert_eq!(fs::read(&path).unwrap(), b"theirs");
    }

    #[test]
    fn text_that_is_not_utf_8_is_an_error_with_its_line() {
        let error = text(Path::new("FILE"), b"a\nb\xff").unwrap_err();
        assert_eq!(error.with_hints(), "FILE:2: this is not UTF-8 text");
    }
}
