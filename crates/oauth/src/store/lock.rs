use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::access::{for_owner, no_links};
use super::disk::create_directory;
use super::error::StoreError;

/// Exclusive file lock, between threads and processes.
///
/// It ends when it is dropped or its process dies. The file is never removed: two processes could
/// then lock two files of the same name.
#[derive(Debug)]
pub(super) struct Lock(#[expect(dead_code, reason = "open is what it is for")] File);

impl Lock {
    /// Waits up to `timeout` for the lock on the file at `path`.
    pub(super) fn acquire(path: &Path, timeout: Duration) -> Result<Self, StoreError> {
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
            if waited >= timeout {
                let path = path.to_owned();
                return Err(StoreError::Busy { path, waited });
            }
            sleep(pause.min(timeout - waited));
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

/// Delays between attempts. Systems offer no lock with a time limit, so it is polled.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(20);
