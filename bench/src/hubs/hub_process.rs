//! A running hub.

use std::ffi::OsString;
use std::fs::File;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use callgate_mcp::client::Client;
use callgate_mcp::upstream::{Era, HttpConfig, Remote};
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::requests::measuring;
use super::{HubKind, server_process};
use crate::process::{Memory, cpu_time_of};

/// Timeout of the exit of a hub, which ends its servers first.
const EXIT_LIMIT: Duration = Duration::from_secs(15);

/// A hub and its servers, which end when this is dropped.
pub struct HubProcess {
    kind: HubKind,
    child: Child,
    port: u16,
    started: Instant,
}

impl HubProcess {
    /// Starts the command for a free port; its output goes to the file `log`.
    ///
    /// `home` is a directory without files of the user.
    pub fn start(
        kind: HubKind,
        command: impl FnOnce(u16) -> Vec<OsString>,
        home: &Path,
        log: &Path,
    ) -> Result<Self> {
        let port = free_port()?;
        let command = command(port);
        let (program, arguments) = command.split_first().context("no command")?;
        let log = File::create(log)?;
        let started = Instant::now();
        let child = Command::new(program)
            .args(arguments)
            .current_dir(home)
            .env("HOME", home)
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("XDG_DATA_HOME")
            .env_remove("XDG_STATE_HOME")
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        Ok(Self {
            kind,
            child,
            port,
            started,
        })
    }

    /// The hub that it is.
    #[must_use]
    pub fn kind(&self) -> HubKind {
        self.kind
    }

    /// Time since the start.
    #[must_use]
    pub fn age(&self) -> Duration {
        self.started.elapsed()
    }

    /// Returns a client of the hub with a connection of its own.
    pub fn client(&self) -> Result<Client> {
        let url = format!("http://127.0.0.1:{}/mcp", self.port);
        let hub = Remote::new(&url, HttpConfig::new(self.kind.to_string()))?;
        let hub = match self.kind {
            // In the newest revision it drops every server that speaks an older one.
            HubKind::Fastmcp => hub.assume(Era::OLD),
            HubKind::Callgate | HubKind::McpHub => hub,
        };
        Ok(measuring(Client::builder(Arc::new(hub))))
    }

    /// Returns the memory of the hub itself, without its servers.
    pub fn memory(&self) -> Result<Memory> {
        Memory::of(&self.child)
    }

    /// Returns the processor time of the hub itself, without its servers.
    pub fn cpu_time(&self) -> Result<Duration> {
        cpu_time_of(&self.child)
    }

    /// Asks the hub to end, and ends all that is left of it and of its servers.
    pub async fn stop(mut self) -> Result<()> {
        let id = self.child.id().and_then(|id| i32::try_from(id).ok());
        if let Some(process) = id.and_then(Pid::from_raw) {
            kill_process(process, Signal::TERM)?;
        }
        if timeout(EXIT_LIMIT, self.child.wait()).await.is_err() {
            self.child.kill().await?;
        }
        Ok(())
    }
}

impl Drop for HubProcess {
    fn drop(&mut self) {
        // Fails only if the hub has ended; best-effort, as a hub that still runs may start another.
        let _ = self.child.start_kill();
        let _ = server_process::kill_all();
    }
}

fn free_port() -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(listener.local_addr()?.port())
}
