//! Servers that run already when a command calls them: behind `callgate serve`, and behind the
//! daemon of mcporter.

use std::ffi::OsString;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

/// Timeout of the start and of the end.
const LIMIT: Duration = Duration::from_secs(60);

/// A `callgate serve` to which commands with the same data directory attach. It ends when this is
/// dropped, and its servers with it.
pub(crate) struct RunningGateway {
    _child: Child,
    // Closed, it would end the process that writes to it.
    _stdout: BufReader<ChildStdout>,
}

impl RunningGateway {
    /// Starts it, and waits until commands can attach.
    pub(crate) async fn start(command: &[OsString], home: &Path) -> Result<Self> {
        let mut child = spawned(command, home)?
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("cannot start `callgate serve`")?;
        let stdout = child.stdout.take().context("standard output is piped")?;
        let mut stdout = BufReader::new(stdout);
        let mut line = String::new();
        timeout(LIMIT, stdout.read_line(&mut line))
            .await
            .context("`callgate serve` does not start")??;
        ensure!(line.contains("listening"), "`callgate serve` ended");
        Ok(Self {
            _child: child,
            _stdout: stdout,
        })
    }
}

/// Runs a command that starts or stops a daemon, which may keep its output open.
pub(crate) async fn control(command: &[OsString], home: &Path) -> Result<()> {
    let status = spawned(command, home)?.kill_on_drop(true).status();
    let status = timeout(LIMIT, status)
        .await
        .with_context(|| format!("{command:?} does not end"))??;
    ensure!(status.success(), "{command:?} failed");
    Ok(())
}

fn spawned(command: &[OsString], home: &Path) -> Result<Command> {
    let (program, arguments) = command.split_first().context("no command")?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(home)
        .env("HOME", home)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    Ok(command)
}
