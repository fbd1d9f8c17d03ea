use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use callgate_wire::Version;

use super::config::Config;
use super::era::{Era, probe};
use super::identity::Identity;
use super::speaker::{Broken, Found, Speaker, meet};
use crate::error::{Error, Kind};
use crate::service::{BoxFuture, Call, Reply, Service};
use crate::transport::child::{Child, ChildConfig};

/// A server of any revision that runs as a child process.
///
/// The first call finds out which revision it speaks, and all calls share what was found. A server
/// that dies when asked is started once more, and spoken to as an old one. A server of the newest
/// revision is then called like any [`Child`].
///
/// Dropping it ends its whole process tree at once, without waiting; [`Process::close`] lets it go in
/// peace.
pub struct Process {
    speaker: Speaker,
    running: Arc<Running>,
    assumed: Option<Era>,
    config: Config,
}

struct Running {
    child: Mutex<Arc<Child>>,
    command: ChildConfig,
}

impl Process {
    /// Starts the server. Needs a tokio runtime.
    ///
    /// # Errors
    /// The program cannot be found or started; the error names it.
    pub fn spawn(command: &ChildConfig, config: Config) -> Result<Self, Error> {
        let child = Child::spawn(command)?;
        Ok(Self {
            speaker: Speaker::default(),
            running: Arc::new(Running {
                child: Mutex::new(Arc::new(child)),
                command: command.clone(),
            }),
            assumed: None,
            config,
        })
    }

    /// The same server, of which the era is known already: it is not asked.
    #[must_use]
    pub fn assume(mut self, era: Era) -> Self {
        self.assumed = Some(era);
        self
    }

    /// The revision that the server speaks; `None` until a call has found out.
    #[must_use]
    pub fn version(&self) -> Option<Version> {
        self.speaker.version()
    }

    /// Lets the server go: ends its input, waits, asks it to terminate, and in the end kills it.
    ///
    /// Returns when it is gone with its whole tree. Calls in flight may still be answered while
    /// the server takes its time; new ones are refused. Dropping the future changes nothing.
    pub async fn close(&self) {
        let child = self.running.child();
        child.close().await;
    }

    /// How many lines from the server were not messages.
    #[must_use]
    pub fn malformed_lines(&self) -> u64 {
        self.running.child().malformed_lines()
    }

    /// The end of what the server wrote to standard error, up to 64 KiB.
    #[must_use]
    pub fn stderr_tail(&self) -> String {
        self.running.child().stderr_tail()
    }
}

impl Service for Process {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        self.speaker.call(call, || {
            let (running, assumed, config) = (self.running.clone(), self.assumed, self.config);
            async move { running.find(assumed, config).await }
        })
    }
}

impl Running {
    async fn find(&self, assumed: Option<Era>, config: Config) -> Found {
        let found = self.try_find(assumed, config).await;
        found.unwrap_or_else(|error| Found::Broken(Broken::new(&self.command.name, &error)))
    }

    async fn try_find(&self, assumed: Option<Era>, config: Config) -> Result<Found, Error> {
        let identity = Identity::of_everybody();
        let child = self.child();
        let (child, era) = match assumed {
            Some(era) => (child, era),
            None => match probe(child.link(), &identity, &config).await {
                Ok(era) => (child, era),
                // Some old servers die of what they do not know.
                Err(error) if error.kind() == Kind::Closed => (self.restart()?, Era::OLD),
                Err(error) => return Err(error),
            },
        };
        let link = child.link().clone();
        meet(&link, child, era, &identity, config).await
    }

    /// Starts the server anew.
    fn restart(&self) -> Result<Arc<Child>, Error> {
        let child = Arc::new(Child::spawn(&self.command)?);
        *self.lock() = child.clone();
        Ok(child)
    }

    fn child(&self) -> Arc<Child> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Arc<Child>> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
