use std::fmt::Display;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use tokio::process::Command;
use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;

use super::config::{ChildConfig, Supervisor};
use super::environment::Environment;
use super::last_words::LastWords;
use super::life::Life;
use super::tree::Tree;
use super::{program, supervisor};
use crate::error::{Error, Kind};
use crate::service::{BoxFuture, Call, Reply, Service};
use crate::transport::line::Link;

/// A server that runs as a child process.
///
/// Dropping it ends its whole process tree at once, without waiting; [`Child::close`] lets it go in
/// peace. When the server dies, its calls fail with the end of what it wrote to standard error.
#[derive(Debug)]
pub struct Child {
    link: Arc<Link>,
    tree: Arc<Tree>,
    words: Arc<LastWords>,
    closing: Arc<Notify>,
    gone: watch::Receiver<()>,
    driver: AbortHandle,
}

impl Child {
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
            let found = std::path::absolute(directory).ok();
            let found = found.filter(|found| found.is_dir());
            found.ok_or_else(|| cannot(&format!("no directory `{}`", directory.display())))
        });
        let cwd = cwd.transpose()?;
        let program = program::find(&config.program, environment.get("PATH"), cwd.as_deref())
            .map_err(|error| cannot(&error))?;
        let supervisor = config
            .supervisor
            .as_ref()
            .filter(|_| cfg!(target_os = "linux"));
        let process = command(config, &program, &environment, supervisor)
            .spawn()
            .map_err(|error| cannot(&format!("`{}`: {error}", program.display())))?;

        let link = Arc::new(Link::new(config.name.clone(), config.line));
        let tree = Arc::new(Tree::new(process.id(), supervisor.is_some()));
        let words = Arc::new(LastWords::default());
        let closing = Arc::new(Notify::new());
        let (alive, gone) = watch::channel(());
        let life = Life {
            link: link.clone(),
            tree: tree.clone(),
            words: words.clone(),
            closing: closing.clone(),
            supervised: supervisor.is_some(),
            patience: config.patience,
            process,
        };
        let driver = tokio::spawn(async move {
            life.live().await;
            drop(alive);
        });
        Ok(Self {
            link,
            tree,
            words,
            closing,
            gone,
            driver: driver.abort_handle(),
        })
    }

    /// Lets the server go: ends its input, waits, asks it to terminate, and in the end kills it.
    ///
    /// Returns when it is gone with its whole tree. Calls in flight may still be answered while
    /// the server takes its time; new ones are refused. Dropping the future changes nothing.
    pub async fn close(&self) {
        self.link.finish();
        self.closing.notify_one();
        let mut gone = self.gone.clone();
        // Nothing is ever sent: the channel closes when the server is gone.
        while gone.changed().await.is_ok() {}
    }

    /// The lines to and from the server.
    pub(crate) fn link(&self) -> &Arc<Link> {
        &self.link
    }

    /// How many lines from the server were not messages.
    #[must_use]
    pub fn malformed_lines(&self) -> u64 {
        self.link.malformed_lines()
    }

    /// The end of what the server wrote to standard error, up to 64 KiB.
    #[must_use]
    pub fn stderr_tail(&self) -> String {
        self.words.text()
    }
}

impl Service for Child {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        Box::pin(self.link.call(call))
    }
}

impl Drop for Child {
    fn drop(&mut self) {
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
                .args(supervisor::request(program));
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
        // A supervisor that is killed cannot end anything.
        .kill_on_drop(supervisor.is_none());
    // Signals of the terminal are for us: we decide when the server goes.
    #[cfg(unix)]
    command.process_group(0);
    if let Some(directory) = &config.cwd {
        command.current_dir(directory);
    }
    command
}
