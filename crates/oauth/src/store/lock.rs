use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::access::{for_owner, no_links};
use super::disk::create_directory;
use super::error::StoreError;

/// A lock that one holder has at a time, in this process and all others.
///
/// It ends when it is dropped or its process dies. Its file stays: whoever removed it could let two
/// in at once.
#[derive(Debug)]
pub(super) struct Lock(#[expect(dead_code, reason = "open is what it is for")] File);

impl Lock {
    /// Waits up to `patience` for the lock that the file at `path` stands for.
    pub(super) fn acquire(path: &Path, patience: Duration) -> Result<Self, StoreError> {
        create_directory(path)?;
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        let file = for_owner(no_links(&mut options))
            .open(path)
            .map_err(StoreError::io("open", path))?;
        let start = Instant::now();
        let mut pause = SHORTEST_PAUSE;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self(file)),
                Err(TryLockError::Error(error)) => return Err(StoreError::io("lock", path)(error)),
                Err(TryLockError::WouldBlock) => {}
            }
            let waited = start.elapsed();
            if waited >= patience {
                let path = path.to_owned();
                return Err(StoreError::Busy { path, waited });
            }
            sleep(pause.min(patience - waited));
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

/// Locks cannot be waited for with a time limit, so they are looked at again and again.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(20);
