use tokio::task::spawn_blocking;

use super::{Workspace, WorkspaceError};

/// Maximum number of file operations at once, including those whose results have not been taken yet.
pub(super) const MAX_JOBS: usize = 8;

impl Workspace {
    /// Runs file work on the blocking threads, as soon as fewer than [`MAX_JOBS`] are running.
    ///
    /// Dropping the future does not stop work that has begun.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, WorkspaceError> + Send + 'static,
    ) -> Result<T, WorkspaceError> {
        let turn = self.jobs.clone().acquire_owned().await;
        let turn = turn.expect("the semaphore is never closed");
        let workspace = self.clone();
        // The permit is part of the result: it is released when that is taken, or dropped because its caller has gone.
        let job = spawn_blocking(move || (work(&workspace), turn));
        match job.await {
            Ok((done, _turn)) => done,
            Err(error) => Err(WorkspaceError::Canceled(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::pin::Pin;
    use std::sync::mpsc::{TryRecvError, channel};
    use std::sync::{Arc, RwLock};
    use std::task::{Context, Waker};

    use super::*;

    #[tokio::test]
    async fn results_that_are_not_taken_hold_up_the_next_jobs() {
        let workspace = Workspace::open(Path::new(".")).unwrap();
        let (begun, begins) = channel();
        // Keeps the jobs from ending before all have been looked at.
        let gate = Arc::new(RwLock::new(()));
        let closed = gate.write().unwrap();
        let mut jobs: Vec<Pin<Box<_>>> = (0..=MAX_JOBS)
            .map(|number| {
                let (begun, gate) = (begun.clone(), gate.clone());
                Box::pin(workspace.run(move |_| {
                    begun.send(number).unwrap();
                    drop(gate.read());
                    Ok(number)
                }))
            })
            .collect();
        let mut cx = Context::from_waker(Waker::noop());
        for job in &mut jobs {
            assert!(job.as_mut().poll(&mut cx).is_pending());
        }
        drop(closed);
        let mut first: Vec<usize> = begins.iter().take(MAX_JOBS).collect();
        first.sort_unstable();
        assert_eq!(first, Vec::from_iter(0..MAX_JOBS));
        assert_eq!(begins.try_recv(), Err(TryRecvError::Empty));

        for (number, job) in jobs.into_iter().enumerate() {
            assert_eq!(job.await.unwrap(), number);
        }
        assert_eq!(begins.try_recv(), Ok(MAX_JOBS));
    }
}
