use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::process;

/// Outer limit of a start, which only a server that hangs reaches, however busy the machine is.
const START_LIMIT: Duration = Duration::from_secs(600);

/// A server that runs until this is dropped.
pub(crate) struct Background {
    child: Child,
    url: String,
}

impl Background {
    /// Starts `command` and waits for its line `listening on URL` on standard output.
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        let shown = process::shown(command);
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start `{shown}`"))?;
        let stdout = child.stdout.take().context("stdout is piped")?;
        let mut server = Self {
            child,
            url: String::new(),
        };
        let (sender, receiver) = mpsc::channel();
        // Reads to the end, so that the server never blocks on a full pipe.
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        let deadline = Instant::now() + START_LIMIT;
        let mut said = String::new();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let line = match receiver.recv_timeout(left) {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) => bail!(
                    "`{shown}` did not print `listening on URL` within {START_LIMIT:?} but:\n{said}"
                ),
                Err(RecvTimeoutError::Disconnected) => {
                    bail!(
                        "`{shown}` ended before it printed `listening on URL`, but printed:\n{said}"
                    )
                }
            };
            if let Some((_, url)) = line.split_once("listening on ") {
                server.url = url.split_whitespace().next().unwrap_or_default().to_owned();
                return Ok(server);
            }
            said = said + &line + "\n";
        }
    }

    /// Id of the process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// URL of the server.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        // Fails only if the server has ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::Background;

    #[test]
    fn a_server_that_does_not_start_is_quoted() {
        let start = |script| Background::start(Command::new("sh").args(["-c", script]));
        let server = start("echo one moment; echo listening on http://127.0.0.1:1/mcp gladly");
        assert_eq!(server.unwrap().url(), "http://127.0.0.1:1/mcp");
        let error = start("echo the port is taken").err().unwrap();
        assert_eq!(
            error.to_string(),
            "`sh -c echo the port is taken` ended before it printed `listening on URL`, but printed:\n\
             the port is taken\n"
        );
    }
}
