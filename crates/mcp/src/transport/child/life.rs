use std::pin::pin;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join;
use tokio::process::Child as Process;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::config::Patience;
use super::last_words::LastWords;
use super::tree::Tree;
use crate::error::Kind;
use crate::transport::line::{End, EndOnDrop, Link};

/// One child from its start to its end. Dropping it ends the whole process tree.
pub(super) struct Life {
    pub(super) link: Arc<Link>,
    pub(super) tree: Arc<Tree>,
    pub(super) words: Arc<LastWords>,
    pub(super) closing: Arc<Notify>,
    pub(super) supervised: bool,
    pub(super) patience: Patience,
    pub(super) process: Process,
}

/// How long a child that is leaving may take to say the rest.
const PARTING: Duration = Duration::from_millis(500);

/// How long the system may take to end a killed process.
const DYING: Duration = Duration::from_secs(5);

/// How the connection to the child ended.
enum Leaving {
    /// It has been given time already, and used it up.
    Late(End),
    Early(End),
}

impl Life {
    /// Carries the connection until it is over, then sees the process off.
    pub(super) async fn live(mut self) {
        let _end = EndOnDrop(self.link.clone());
        let mut listening = JoinSet::new();
        if let Some(stderr) = self.process.stderr.take() {
            let words = self.words.clone();
            listening.spawn(async move { words.listen(stderr).await });
        }
        let leaving = self.talk(&mut listening).await;
        let (Leaving::Late(end) | Leaving::Early(end)) = &leaving;
        let end = self.explain(end);
        self.link.end(&end);

        let patience = match leaving {
            Leaving::Late(_) => Duration::ZERO,
            Leaving::Early(_) => self.patience.exit,
        };
        if timeout(patience, self.process.wait()).await.is_err() {
            self.put_down().await;
        }
        self.tree.has_exited();
    }

    /// Carries lines until either side ends the connection or the process is gone.
    async fn talk(&mut self, listening: &mut JoinSet<()>) -> Leaving {
        let (Some(stdin), Some(stdout)) = (self.process.stdin.take(), self.process.stdout.take())
        else {
            return Leaving::Early(self.link.closed("has no standard input and output"));
        };
        let mut talking = pin!(self.link.drive(stdout, stdin));
        let out_of_patience = async {
            self.closing.notified().await;
            sleep(self.patience.exit).await;
        };
        tokio::select! {
            end = &mut talking => {
                let parting = join(self.process.wait(), listening.join_next());
                // Whatever is not known by then is left out of the error.
                let _ = timeout(PARTING, parting).await;
                Leaving::Early(end)
            }
            _ = self.process.wait() => {
                // Its descendants may keep the streams open for ever.
                let parting = join(&mut talking, listening.join_next());
                let _ = timeout(PARTING, parting).await;
                Leaving::Early(self.link.closed("exited"))
            }
            () = out_of_patience => Leaving::Late(self.link.closed("was closed")),
        }
    }

    /// Ends a process that does not go by itself.
    async fn put_down(&mut self) {
        self.tree.terminate();
        if timeout(self.patience.terminate, self.process.wait())
            .await
            .is_ok()
        {
            return;
        }
        self.tree.kill();
        if !self.supervised {
            // Where there are no process groups, this is all that can be done.
            let _ = self.process.start_kill();
        }
        if timeout(DYING, self.process.wait()).await.is_err() {
            tracing::warn!(server = %self.link.name(), "a killed server does not die");
        }
    }

    /// The end of the connection with what is known about the process.
    fn explain(&mut self, end: &End) -> End {
        let mut end = end.clone();
        if let Ok(Some(status)) = self.process.try_wait() {
            if end.kind == Kind::Closed {
                // Whether its streams or the process ended first is chance.
                end = self.link.closed("exited");
            }
            end.message = format!("{} ({})", end.message, self.status(status));
        }
        let tail = self.words.tail();
        if !tail.is_empty() {
            end.message = format!("{}, last words:\n{tail}", end.message);
        }
        end
    }

    /// A supervisor cannot die of the same signal as its program, so it exits like a shell.
    #[cfg(unix)]
    fn status(&self, status: ExitStatus) -> ExitStatus {
        use std::os::unix::process::ExitStatusExt;

        match status.code() {
            Some(code @ 129..=192) if self.supervised => ExitStatus::from_raw(code - 128),
            _ => status,
        }
    }

    #[cfg(not(unix))]
    fn status(&self, status: ExitStatus) -> ExitStatus {
        status
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        self.tree.kill();
    }
}
