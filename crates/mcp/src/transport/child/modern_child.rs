use std::fmt::Display;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use tokio::process::Command;
use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;

use super::config::{ChildConfig, CloseBy, Supervisor};
use super::environment::Environment;
use super::lifecycle::Lifecycle;
use super::process_tree::ProcessTree;
use super::stderr_tail::StderrTail;
use super::tree_mark::TreeMark;
use super::{program, supervisor};
use crate::error::{Error, Kind};
use crate::service::{BoxFuture, Call, Reply, Service};
use crate::transport::line::Link;
use crate::transport::{CloseReason, ConnectionState};

/// A server of the newest revision that runs as a child process.
///
/// A server of an older revision is not recognized here; see [`Process`](crate::upstream::Process).
///
/// Dropping it ends its whole process tree at once, without waiting; [`ModernChild::close`] ends it
/// step by step. When the process exits, its calls fail with the end of its standard error.
#[derive(Debug)]
pub struct ModernChild {
    pub(crate) link: Arc<Link>,
    tree: Arc<ProcessTree>,
    process_id: Option<u32>,
    stderr: Arc<StderrTail>,
    closing: Arc<Notify>,
    close_by: CloseBy,
    exited: watch::Receiver<()>,
    driver: AbortHandle,
}

impl ModernChild {
    /// Starts the server. Needs a tokio runtime.
    ///
    /// # Errors
    /// The program cannot be found or started; the error names it.
    pub fn spawn(config: &ChildConfig) -> Result<Self, Error> {
        let cannot = |why: &dyn Display| {
            let text = format!("cannot start server `{}`: {why}", config.name);
            Error::new(Kind::Connect, text)
                .from_upstream(&config.name)
                .retry_safe()
        };
        let environment = config
            .environment
            .inherited(config.inherit_env, &config.env);
        let cwd = config.cwd.as_deref().map(|directory| {
            // Absolute, because a relative program is joined to it here but started after the change of
            // directory, where the joined path would name another file.
            let found = std::path::absolute(directory).ok();
            let found = found.filter(|found| found.is_dir());
            found.ok_or_else(|| cannot(&format!("no directory `{}`", directory.display())))
        });
        let cwd = cwd.transpose()?;
        // Looked up here and not by the system: the start of a supervisor succeeds whatever program it is
        // given, so a missing one would be noticed only by its exit.
        let program = program::find(&config.program, environment.get("PATH"), cwd.as_deref())
            .map_err(|error| cannot(&error))?;
        let supervisor = config
            .supervisor
            .as_ref()
            .filter(|_| cfg!(target_os = "linux"));
        let mark = supervisor.map(|_| TreeMark::random());
        let mut command = command(config, &program, &environment, supervisor);
        let process = command
            .envs(mark.as_ref().map(TreeMark::variable))
            .spawn()
            .map_err(|error| cannot(&format!("`{}`: {error}", program.display())))?;

        let link = Arc::new(Link::new(
            config.name.clone(),
            config.line,
            config.observer.clone(),
        ));
        let process_id = process.id();
        let tree = Arc::new(ProcessTree::new(process_id, supervisor.is_some()));
        let stderr = Arc::new(StderrTail::default());
        let closing = Arc::new(Notify::new());
        let (running, exited) = watch::channel(());
        let life = Lifecycle {
            link: link.clone(),
            tree: tree.clone(),
            stderr: stderr.clone(),
            closing: closing.clone(),
            mark,
            exit_timeouts: config.exit_timeouts,
            process,
        };
        let driver = tokio::spawn(async move {
            life.run().await;
            // An aborted task drops it as well, so `close` returns then too.
            drop(running);
        });
        Ok(Self {
            link,
            tree,
            process_id,
            stderr,
            closing,
            close_by: config.close_by,
            exited,
            driver: driver.abort_handle(),
        })
    }

    /// Ends the server: closes its input, waits, sends SIGTERM, waits, and sends SIGKILL.
    ///
    /// Returns when its whole process tree has exited. Calls in flight may still be answered until
    /// then; new ones are refused. Dropping the future does not stop the end of the server.
    ///
    /// With [`CloseBy::Supervisor`] it returns at once, and lines that were not written may be lost.
    pub async fn close(&self) {
        // The end of its input is the one request to exit that the specification has.
        self.link.finish();
        // Only after the end of the input: the supervisor expects a server that exits by itself.
        if self.close_by == CloseBy::Supervisor && self.tree.leave() {
            return;
        }
        // `notify_one` keeps the wake-up if the task does not wait for it yet.
        self.closing.notify_one();
        let mut exited = self.exited.clone();
        // Nothing is ever sent: the channel closes when the process has exited.
        while exited.changed().await.is_ok() {}
    }

    /// State of the connection, which is never `NotConnected`.
    #[must_use]
    pub fn state(&self) -> ConnectionState {
        self.link.state()
    }

    /// Waits until the connection is closed or the process has exited, and returns the reason.
    ///
    /// Dropping the future is safe.
    pub async fn closed(&self) -> CloseReason {
        self.link.closed().await
    }

    /// Id of the process that was started: the supervisor, where the server has one. `None` once its
    /// connection is closed or it has exited, since the system may give the id to another process.
    #[must_use]
    pub fn process_id(&self) -> Option<u32> {
        let is_closed = self.state().close_reason().is_some();
        self.process_id
            .filter(|_| !is_closed && !self.tree.is_gone())
    }

    /// Number of lines from the server that were not messages.
    #[must_use]
    pub fn malformed_lines(&self) -> u64 {
        self.link.malformed_lines()
    }

    /// End of the standard error of the server, up to 64 KiB.
    #[must_use]
    pub fn stderr_tail(&self) -> String {
        self.stderr.text()
    }
}

impl Service for ModernChild {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        Box::pin(self.link.call(call))
    }

    fn notify(&self, notification: Call) -> BoxFuture<'_, ()> {
        Box::pin(async move { self.link.pass_on(notification).await })
    }
}

impl Drop for ModernChild {
    fn drop(&mut self) {
        // At once, because an aborted task is dropped only when the runtime runs it again.
        self.tree.kill();
        self.driver.abort();
    }
}

fn command(
    config: &ChildConfig,
    program: &Path,
    environment: &Environment,
    supervisor: Option<&Supervisor>,
) -> Command {
    let mut command = match supervisor {
        None => Command::new(program),
        Some(supervisor) => {
            let mut command = Command::new(&supervisor.program);
            command
                .args(&supervisor.args)
                .args(supervisor::request(program, &config.exit_timeouts));
            command
        }
    };
    command
        .args(&config.args)
        .env_clear()
        .envs(environment.pairs())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // A killed supervisor cannot end the tree below it: it is asked by a signal instead.
        .kill_on_drop(supervisor.is_none());
    // A group of its own, so that Ctrl-C in the terminal reaches this process only, which then ends
    // the server in order.
    #[cfg(unix)]
    command.process_group(0);
    if let Some(directory) = &config.cwd {
        command.current_dir(directory);
    }
    command
}
