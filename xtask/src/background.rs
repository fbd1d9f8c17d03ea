use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};

use crate::process;

const START_LIMIT: Duration = Duration::from_secs(120);

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
                if let Some((_, url)) = line.split_once("listening on ") {
                    let url = url.split_whitespace().next().unwrap_or_default().to_owned();
                    let _ = sender.send(url);
                }
            }
        });
        server.url = receiver.recv_timeout(START_LIMIT).map_err(|_| {
            anyhow!("`{shown}` ended or was silent for {START_LIMIT:?} before printing `listening on URL`")
        })?;
        Ok(server)
    }

    /// Where the server listens.
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
