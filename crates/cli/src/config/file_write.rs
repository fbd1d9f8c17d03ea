//! Edits of files: one at a time, and complete or not at all.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::text::MAX_BYTES;
use crate::error::CommandError;
use crate::file_replace::{FileMode, directory, follow_links, replace_file};

/// Replaces the text of the file at `path`, which need not exist, by that of `edit`; `None` leaves it.
///
/// Links are followed. Other calls for the same file wait, also those of other processes; a program that does not
/// know the lock, such as an editor, does not.
pub(crate) fn edit_file(
    path: &Path,
    mode: FileMode,
    edit: impl FnOnce(Option<&str>) -> Result<Option<String>, CommandError>,
) -> Result<(), CommandError> {
    let target = follow_links(path)?;
    create_directory(&target, mode)?;
    let _lock = Lock::acquire(&target)?;
    let before = read(&target)?;
    let Some(after) = edit(before.as_deref())? else {
        return Ok(());
    };
    if before.as_deref() != Some(after.as_str()) {
        replace_file(&target, after.as_bytes(), mode)
            .with_context(|| format!("cannot write {}", target.display()))?;
    }
    Ok(())
}

fn read(path: &Path) -> Result<Option<String>, CommandError> {
    let failed = || format!("cannot read {}", path.display());
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.with_context(failed)?,
    };
    let mut text = String::new();
    file.take(MAX_BYTES as u64 + 1)
        .read_to_string(&mut text)
        .with_context(failed)?;
    match text.len() > MAX_BYTES {
        true => Err(CommandError::usage(format!(
            "{} has more than {MAX_BYTES} bytes",
            path.display()
        ))),
        false => Ok(Some(text)),
    }
}

fn create_directory(path: &Path, mode: FileMode) -> Result<()> {
    let directory = directory(path);
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    if mode == FileMode::Private {
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    }
    builder
        .create(directory)
        .with_context(|| format!("cannot create {}", directory.display()))
}

/// Lock beside a file, which exists only while it is held, so that no file is left in a project.
struct Lock {
    path: PathBuf,
    file: File,
}

/// Time to wait for another edit.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

const PAUSE: Duration = Duration::from_millis(5);

impl Lock {
    fn acquire(target: &Path) -> Result<Self, CommandError> {
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let path = directory(target).join(format!(".{name}.callgate-lock"));
        let failed = || format!("cannot lock {}", target.display());
        let start = Instant::now();
        loop {
            let mut options = OpenOptions::new();
            let file = options.write(true).create(true).truncate(false).open(&path);
            let file = file.with_context(failed)?;
            match file.try_lock() {
                // The holder before has removed the file that was locked here: the lock has no effect.
                Ok(()) if !is_at(&file, &path) => continue,
                Ok(()) => return Ok(Self { path, file }),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(error).with_context(failed)?,
            }
            if start.elapsed() >= LOCK_TIMEOUT {
                let message = format!("another process edits {}", target.display());
                return Err(CommandError::usage(message).hint("try again when it has ended"));
            }
            sleep(PAUSE);
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Removed before it is unlocked: the next holder sees that its file is gone, and makes another.
        let _ = fs::remove_file(&self.path);
        let _ = self.file.unlock();
    }
}

/// True if the open file is the one at `path`.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), fs::metadata(path)) {
        (Ok(open), Ok(there)) => (open.dev(), open.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

/// A file that is open cannot be removed here.
#[cfg(not(unix))]
fn is_at(_file: &File, _path: &Path) -> bool {
    true
}
