use std::sync::Arc;

use callgate_wire::Version;

use super::config::UpstreamConfig;
use super::detection::{Detected, Detection, LinkWatcher};
use super::era::Era;
use super::line_detection::{Probe, connect, probe};
use crate::error::{Error, Kind};
use crate::mutex::Mutex;
use crate::service::{BoxFuture, Call, Reply, Service};
use crate::transport::child::{ChildConfig, ModernChild};
use crate::transport::line::Link;
use crate::transport::{CloseReason, ConnectionState};

/// A server of any revision that runs as a child process.
///
/// The first call detects the revision, and all calls share the outcome; a server that speaks both
/// eras is used in that of the first caller. A server that exits when it is probed is started once
/// more and connected to as an old one. A server that exits later fails its calls until
/// [`Process::restart`].
///
/// Dropping it ends its whole process tree at once, without waiting; [`Process::close`] ends it step
/// by step.
///
/// ```no_run
/// # async fn run() -> Result<(), callgate_mcp::Error> {
/// use callgate_mcp::upstream::{ChildConfig, Process};
///
/// let server = Process::spawn(&ChildConfig::new("files", "files-server"))?;
/// loop {
///     let reason = server.closed().await;
///     eprintln!("{reason}");
///     server.restart().await?;
/// }
/// # }
/// ```
pub struct Process {
    detection: Detection,
    running: Arc<Running>,
    assumed: Option<Era>,
    config: UpstreamConfig,
    /// Held while the server is restarted, so that two restarts at once do not start two processes.
    restarting: tokio::sync::Mutex<()>,
}

struct Running {
    current: Mutex<Current>,
    command: ChildConfig,
}

struct Current {
    child: Arc<ModernChild>,
    /// True once the process is closed on purpose: its end is not taken for an answer to the probe.
    is_closing: bool,
}

impl Process {
    /// Starts the server. Needs a tokio runtime.
    ///
    /// # Errors
    /// The program cannot be found or started; the error names it.
    pub fn spawn(command: &ChildConfig) -> Result<Self, Error> {
        let child = ModernChild::spawn(command)?;
        Ok(Self {
            detection: Detection::new(&child.link),
            running: Arc::new(Running {
                current: Mutex::new(Current {
                    child: Arc::new(child),
                    is_closing: false,
                }),
                command: command.clone(),
            }),
            assumed: None,
            config: UpstreamConfig::default(),
            restarting: tokio::sync::Mutex::default(),
        })
    }

    /// Sets timeouts and limits.
    #[must_use]
    pub fn with_config(mut self, config: UpstreamConfig) -> Self {
        self.config = config;
        self
    }

    /// Sets the era of the server, which is not detected then.
    #[must_use]
    pub fn assume(mut self, era: Era) -> Self {
        self.assumed = Some(era);
        self
    }

    /// Revision that the server speaks; `None` until a call has detected it.
    #[must_use]
    pub fn version(&self) -> Option<Version> {
        self.detection.version()
    }

    /// State of the connection.
    #[must_use]
    pub fn state(&self) -> ConnectionState {
        self.detection.state()
    }

    /// Waits until the process has exited, the connection is closed or the detection has failed,
    /// and returns the reason.
    ///
    /// Returns at once if that has happened already. A restart is not a close: then this waits for
    /// the end of the new process. Dropping the future is safe.
    pub async fn closed(&self) -> CloseReason {
        self.detection.closed().await
    }

    /// Starts the server anew, and forgets its revision: the next call detects it again.
    ///
    /// A process that still runs is closed first, as by [`Process::close`]. Calls in flight fail as
    /// they do when a server exits. If the future is dropped, the old process ends, and the new one
    /// may not have been started.
    ///
    /// # Errors
    /// The program cannot be started. The old process has ended, and this can be called again.
    pub async fn restart(&self) -> Result<(), Error> {
        let _restarting = self.restarting.lock().await;
        self.close().await;
        let child = self.running.start(&mut self.running.current.lock())?;
        self.detection.reset(&child.link);
        Ok(())
    }

    /// Ends the server: closes its input, waits, sends SIGTERM, waits, and sends SIGKILL.
    ///
    /// Returns when its whole process tree has exited. Calls in flight may still be answered until
    /// then; new ones are refused. Dropping the future does not stop the end of the server.
    pub async fn close(&self) {
        let child = {
            let mut current = self.running.current.lock();
            current.is_closing = true;
            current.child.clone()
        };
        child.close().await;
    }

    /// Id of the process that was started: the supervisor, where the server has one, and so the root
    /// of its process tree. `None` once it has exited.
    #[must_use]
    pub fn process_id(&self) -> Option<u32> {
        self.running.child().process_id()
    }

    /// The detection for a first client of this older revision, or of the newest one.
    fn detect(
        &self,
        translated_from: Option<Version>,
    ) -> impl FnOnce(LinkWatcher) -> BoxFuture<'static, Result<Detected, Error>> + Send + '_ {
        move |watcher| {
            let (running, assumed) = (self.running.clone(), self.assumed);
            let config = self.config.clone();
            Box::pin(async move {
                running
                    .detect(assumed, translated_from, config, &watcher)
                    .await
            })
        }
    }

    /// Number of lines from the server that were not messages.
    #[must_use]
    pub fn malformed_lines(&self) -> u64 {
        self.running.child().malformed_lines()
    }

    /// End of the standard error of the server, up to 64 KiB.
    #[must_use]
    pub fn stderr_tail(&self) -> String {
        self.running.child().stderr_tail()
    }
}

impl Service for Process {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        let detect = self.detect(call.cx.source.translated_from);
        self.detection
            .call(&self.running.command.name, call, detect)
    }

    fn notify(&self, notification: Call) -> BoxFuture<'_, ()> {
        let detect = self.detect(notification.cx.source.translated_from);
        let name = &self.running.command.name;
        Box::pin(self.detection.notify(name, notification, detect))
    }
}

impl Running {
    async fn detect(
        &self,
        assumed: Option<Era>,
        translated_from: Option<Version>,
        config: UpstreamConfig,
        watcher: &LinkWatcher,
    ) -> Result<Detected, Error> {
        let link = self.child().link.clone();
        match probe(&link, assumed, translated_from, &config).await {
            // Some old servers exit on a request that they do not know.
            Err(error) if error.kind() == Kind::Closed => {
                let link = self.start_again(&link, error)?.link.clone();
                watcher.watch(link.clone());
                connect(&link, Probe::Known(Era::OLD), config).await
            }
            probed => connect(&link, probed?, config).await,
        }
    }

    /// Starts the process that was probed once more after it exited, unless it was closed on purpose.
    fn start_again(&self, probed: &Arc<Link>, closed: Error) -> Result<Arc<ModernChild>, Error> {
        // One lock for the check and the start: a restart at the same time must not be undone. One that is over
        // has started another process already, and stops this detection only at its next wait.
        let mut current = self.current.lock();
        match current.is_closing || !Arc::ptr_eq(&current.child.link, probed) {
            true => Err(closed),
            false => self.start(&mut current),
        }
    }

    /// Starts a new process in the place of the one before.
    fn start(&self, current: &mut Current) -> Result<Arc<ModernChild>, Error> {
        let child = Arc::new(ModernChild::spawn(&self.command)?);
        *current = Current {
            child: child.clone(),
            is_closing: false,
        };
        Ok(child)
    }

    fn child(&self) -> Arc<ModernChild> {
        self.current.lock().child.clone()
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_detection_from_before_a_restart_does_not_replace_the_new_process() {
        let process = Process::spawn(&ChildConfig::new("cat", "/bin/cat")).unwrap();
        let probed = process.running.child().link.clone();
        process.restart().await.unwrap();
        let restarted = process.running.child();
        let exited = Error::new(Kind::Closed, "exited");
        let again = process.running.start_again(&probed, exited);
        assert_eq!(again.unwrap_err().to_string(), "exited");
        assert!(Arc::ptr_eq(&process.running.child(), &restarted));
    }
}
