use std::fs::{File, OpenOptions, TryLockError};
use std::time::Duration;

use anyhow::Context;
use tokio::time::{Instant, sleep};

use super::registry::Registry;

/// Exclusive right of one process to decide which servers it starts.
///
/// It is held from the reading of the records of other processes until the record with the decision is written: of
/// processes that start at the same time, or that lose the same owner of their servers, the first one becomes the
/// owner, and the others see its record. It ends when it is dropped or its process dies. The file is never removed:
/// two processes could then lock two files of the same name.
#[derive(Debug)]
pub(crate) struct Turn(#[expect(dead_code, reason = "the lock lives as long as the file")] File);

const FILE: &str = "turn.lock";

/// Pause between two attempts. Systems offer no lock with a time limit.
const PAUSE: Duration = Duration::from_millis(5);

impl Registry {
    /// Waits for the turn of this process; `None` if another process keeps it for longer than `limit`, as one does
    /// that is suspended. Dropping the future is safe.
    pub(crate) async fn turn(&self, limit: Duration) -> anyhow::Result<Option<Turn>> {
        self.create()?;
        let path = self.directory().join(FILE);
        let failed = || format!("cannot lock {}", path.display());
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path).with_context(failed)?;
        let deadline = Instant::now() + limit;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(Turn(file))),
                Err(TryLockError::Error(error)) => return Err(error).with_context(failed),
                Err(TryLockError::WouldBlock) if Instant::now() >= deadline => return Ok(None),
                Err(TryLockError::WouldBlock) => sleep(PAUSE).await,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data_dir::DataDir;

    #[tokio::test]
    async fn one_process_at_a_time_has_the_turn() {
        let directory = tempfile::tempdir().unwrap();
        let registry = Registry::new(&DataDir::locate(Some(directory.path())).unwrap());
        let limit = Duration::ZERO;
        let first = registry.turn(limit).await.unwrap();
        assert!(first.is_some());
        assert!(registry.turn(limit).await.unwrap().is_none());
        drop(first);
        assert!(registry.turn(limit).await.unwrap().is_some());
    }
}
