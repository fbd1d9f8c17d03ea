use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
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
pub(super) struct Lock(File);

impl Lock {
    /// Waits up to `timeout` for the lock on the file at `path`. If that takes long, `on_wait` is
    /// called, once.
    pub(super) fn acquire(
        path: &Path,
        timeout: Duration,
        on_wait: impl FnOnce(),
    ) -> Result<Self, StoreError> {
        create_directory(path)?;
        let mut options = OpenOptions::new();
        // Not truncated: the file has the record of the last failed refresh.
        options.read(true).write(true).create(true).truncate(false);
        let file = for_owner(no_links(&mut options))
            .open(path)
            .map_err(StoreError::io("open", path))?;
        let start = Instant::now();
        let mut pause = SHORTEST_PAUSE;
        let mut on_wait = Some(on_wait);
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
            if waited >= LONG_WAIT
                && let Some(on_wait) = on_wait.take()
            {
                on_wait();
            }
            sleep(pause.min(timeout - waited));
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Record in the lock file, up to `limit` bytes.
    pub(super) fn record(&self, limit: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut file = &self.0;
        file.rewind()?;
        file.take(limit as u64).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Replaces the record in the lock file. A crash may damage it, so it must not be needed.
    pub(super) fn set_record(&self, bytes: &[u8]) -> io::Result<()> {
        let mut file = &self.0;
        file.set_len(0)?;
        file.rewind()?;
        file.write_all(bytes)
    }
}

/// Wait after which the user may wonder.
const LONG_WAIT: Duration = Duration::from_secs(2);
/// Delays between attempts. Systems offer no lock with a time limit, so it is polled.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(20);
