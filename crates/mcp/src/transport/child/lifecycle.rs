use std::pin::pin;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join;
use tokio::process::Child as Process;
use tokio::sync::Notify;
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{sleep, timeout};

use super::config::ExitTimeouts;
use super::process_tree::ProcessTree;
use super::stderr_tail::StderrTail;
use super::tree_mark::TreeMark;
use crate::error::Kind;
use crate::transport::CloseReason;
use crate::transport::line::{CloseOnDrop, Link};

/// Runs one child process from its start to its exit. Dropping it ends the whole process tree.
pub(super) struct Lifecycle {
    pub(super) link: Arc<Link>,
    pub(super) tree: Arc<ProcessTree>,
    pub(super) stderr: Arc<StderrTail>,
    pub(super) closing: Arc<Notify>,
    /// Mark of the tree, if it has a supervisor.
    pub(super) mark: Option<TreeMark>,
    pub(super) exit_timeouts: ExitTimeouts,
    pub(super) process: Process,
}

/// Time to read the rest of the streams of a process that has exited. The bytes are in the pipes
/// already; only a descendant that holds a pipe open and is not in the process group makes this
/// take the whole time. Callers wait for it, so it is short.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(200);

/// Time after which a killed process that still runs is reported in the log.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

impl Lifecycle {
    /// Carries the lines of the connection until it is closed, then waits for the process to exit.
    pub(super) async fn run(mut self) {
        // Dropping this future closes the connection too, so that no call waits for a server that is gone.
        let _close = CloseOnDrop(self.link.clone());
        let mut stderr_reader = JoinSet::new();
        if let Some(stream) = self.process.stderr.take() {
            let (stderr, link) = (self.stderr.clone(), self.link.clone());
            // A task of its own, because it must go on while `connect` waits; it ends with this future.
            stderr_reader.spawn(async move {
                stderr
                    .read(stream, &link.name, link.observer.as_ref())
                    .await;
            });
        }
        let (reason, time_left) = self.connect(&mut stderr_reader).await;
        let reason = self.explain(reason);
        // Before the wait for the exit, which may take seconds: callers learn at once that no answer will
        // come.
        self.link.close(&reason);
        if timeout(time_left, self.process.wait()).await.is_err() {
            self.terminate_or_kill().await;
        }
        self.tree.has_exited();
        if let Some(mark) = self.mark_without_supervisor() {
            let _ = spawn_blocking(move || mark.kill_all()).await;
        }
    }

    /// Carries lines until either side closes the connection or the process exits. Returns the
    /// reason, and the time that the process still has to exit by itself.
    async fn connect(&mut self, stderr_reader: &mut JoinSet<()>) -> (CloseReason, Duration) {
        let time_left = self.exit_timeouts.exit;
        let (Some(stdin), Some(stdout)) = (self.process.stdin.take(), self.process.stdout.take())
        else {
            let reason = self.link.closed_by("has no standard input and output");
            return (reason, time_left);
        };
        let mut lines = pin!(self.link.drive(stdout, stdin));
        // A close does not stop the lines at once: calls in flight may be answered while the server exits.
        let closed_here = async {
            self.closing.notified().await;
            sleep(self.exit_timeouts.exit).await;
        };
        tokio::select! {
            reason = &mut lines => {
                // The exit status usually follows the end of the output, and says more. A server
                // that closes its output and stays is given up without it.
                let exit = exit(&mut self.process, &self.tree);
                let exit = join(exit, stderr_reader.join_next());
                let _ = timeout(self.exit_timeouts.status, exit).await;
                (reason, time_left)
            }
            () = exit(&mut self.process, &self.tree) => {
                let rest = join(&mut lines, stderr_reader.join_next());
                let _ = timeout(DRAIN_TIMEOUT, rest).await;
                (self.link.closed_by("exited"), time_left)
            }
            // The time to exit has passed in `closed_here` already, so none is left.
            () = closed_here => (self.link.closed_by("was closed"), Duration::ZERO),
        }
    }

    /// Ends a process that does not exit by itself: SIGTERM first, then SIGKILL.
    async fn terminate_or_kill(&mut self) {
        self.tree.terminate();
        let exit = timeout(self.exit_timeouts.terminate, self.process.wait());
        if exit.await.is_ok() {
            return;
        }
        self.tree.kill();
        if self.mark.is_none() {
            // Where there are no process groups, only the process itself can be killed.
            let _ = self.process.start_kill();
        }
        if timeout(KILL_TIMEOUT, self.process.wait()).await.is_err() {
            tracing::warn!(server = %self.link.name, "the server was killed and still runs");
        }
    }

    /// Adds the exit status and the end of standard error to the reason, as far as they are known.
    fn explain(&mut self, mut reason: CloseReason) -> CloseReason {
        // Looked at without waiting: a server that still runs has no status.
        if let Ok(Some(status)) = self.process.try_wait() {
            if reason.kind() == Kind::Closed {
                // The order in which the streams and the process end is chance: one text for both.
                reason = self.link.closed_by("exited");
            }
            reason = reason.with_exit_status(self.status(status));
        }
        reason.with_stderr(&self.stderr.tail())
    }

    /// Mark of a tree whose supervisor was killed, which leaves it to us to end the tree. It is
    /// returned once.
    #[cfg(unix)]
    fn mark_without_supervisor(&mut self) -> Option<TreeMark> {
        use std::os::unix::process::ExitStatusExt;

        let status = self.process.try_wait().ok().flatten()?;
        self.mark.take_if(|_| status.signal().is_some())
    }

    #[cfg(not(unix))]
    fn mark_without_supervisor(&mut self) -> Option<TreeMark> {
        None
    }

    /// Exit status of the server. A supervisor cannot die by the signal that killed the server, so
    /// it exits with the code that a shell would use.
    #[cfg(unix)]
    fn status(&self, status: ExitStatus) -> ExitStatus {
        use std::os::unix::process::ExitStatusExt;

        match status.code() {
            // Linux numbers its signals from 1 to 64.
            Some(code @ 129..=192) if self.mark.is_some() => ExitStatus::from_raw(code - 128),
            _ => status,
        }
    }

    #[cfg(not(unix))]
    fn status(&self, status: ExitStatus) -> ExitStatus {
        status
    }
}

/// Waits for the process to exit, and stops all signals at once: the streams may take longer to end, and by then
/// the system may have given the process id to another process.
async fn exit(process: &mut Process, tree: &ProcessTree) {
    let _ = process.wait().await;
    tree.has_exited();
}

impl Drop for Lifecycle {
    fn drop(&mut self) {
        self.tree.kill();
        if let Some(mark) = self.mark_without_supervisor() {
            // It blocks, and a drop must not. Without a thread, the parent-death signal has to do.
            let _ = std::thread::Builder::new().spawn(move || mark.kill_all());
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::pipe;
    use std::os::fd::OwnedFd;
    use std::process::{self, Stdio};

    use tokio::process::{ChildStderr, ChildStdout, Command};
    use tokio::task::yield_now;

    use super::*;
    use crate::transport::line::LineConfig;

    /// Runs a process that exits at once, with a stream of the test in place of one of its own, and checks that
    /// its tree is signalled no more while that stream is still read.
    async fn check(replace: fn(&mut Process, OwnedFd)) {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "exit"]).process_group(0);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.stderr(Stdio::piped()).spawn().expect("a shell");
        let (reader, writer) = pipe().expect("a pipe");
        replace(&mut process, reader.into());
        let link = Arc::new(Link::new("s".into(), LineConfig::default(), None));
        let tree = Arc::new(ProcessTree::new(process.id(), false));
        let life = Lifecycle {
            link: link.clone(),
            tree: tree.clone(),
            stderr: Arc::default(),
            closing: Arc::default(),
            mark: None,
            exit_timeouts: ExitTimeouts::default(),
            process,
        };
        let running = tokio::spawn(life.run());
        // The clock stands still as long as there is something to do, so no timeout passes here.
        let begun = std::time::Instant::now();
        while !tree.is_gone() {
            assert!(begun.elapsed() < Duration::from_secs(100));
            yield_now().await;
        }
        assert!(link.close_reason().is_none());
        drop(writer);
        running.await.expect("the task ends");
        let reason = link.close_reason().expect("a reason").to_string();
        assert_eq!(reason, "server `s` exited (exit status: 0)");
    }

    #[tokio::test(start_paused = true)]
    async fn a_process_that_has_exited_is_not_signalled_while_its_streams_are_read() {
        check(|process, stdout| {
            let stdout = process::ChildStdout::from(stdout);
            process.stdout = Some(ChildStdout::from_std(stdout).unwrap());
        })
        .await;
        check(|process, stderr| {
            let stderr = process::ChildStderr::from(stderr);
            process.stderr = Some(ChildStderr::from_std(stderr).unwrap());
        })
        .await;
    }
}
