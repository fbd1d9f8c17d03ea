//! Child processes, and how to see that they are gone.

use std::path::PathBuf;
use std::time::Duration;

use callgate_mcp::transport::child::{ChildConfig, Supervisor};
use callgate_mcp::{Error, Reply, Service};
use rustix::fs::{CWD, Mode, mkfifoat};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::unix::pipe;

use crate::stdio_fixture::{META, call, soon};

/// The program that plays all other processes.
pub(crate) const PEER: &str = env!("CARGO_BIN_EXE_callgate-mcp-peer");

/// A child that runs the peer program with these arguments.
pub(crate) fn peer<const N: usize>(args: [&str; N]) -> ChildConfig {
    let mut config = ChildConfig::new("peer", PEER);
    config.args = args.map(Into::into).into();
    // A busy machine takes long to end a process, and tests compare errors that have its status.
    config.exit_timeouts.status = Duration::from_secs(60);
    config
}

pub(crate) fn supervised(mut config: ChildConfig) -> ChildConfig {
    config.supervisor = Some(Supervisor::new(PEER));
    config
}

/// Makes a call that must not hang.
pub(crate) async fn ask(service: &dyn Service) -> Result<Reply, Error> {
    let (call, _) = call("tools/call", &format!(r#"{{"_meta":{META}}}"#));
    soon(service.call(call)).await
}

/// A pipe that the processes of a tree hold open while they live.
pub(crate) struct Signs {
    directory: TempDir,
    reader: BufReader<pipe::Receiver>,
    /// Without a writer of our own the pipe would end before the first process is there.
    own: Option<pipe::Sender>,
}

impl Signs {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("signs");
        mkfifoat(CWD, &path, Mode::from_raw_mode(0o600)).expect("a pipe");
        let reader = pipe::OpenOptions::new()
            .open_receiver(&path)
            .expect("a reader");
        let own = pipe::OpenOptions::new()
            .open_sender(&path)
            .expect("a writer");
        Self {
            directory,
            reader: BufReader::new(reader),
            own: Some(own),
        }
    }

    pub(crate) fn path(&self) -> String {
        let path: PathBuf = self.directory.path().join("signs");
        path.to_str().expect("a plain path").to_owned()
    }

    /// Waits until these processes have reported, in any order.
    pub(crate) async fn born(&mut self, names: &[&str]) {
        let mut seen = Vec::new();
        for _ in names {
            let mut name = String::new();
            soon(self.reader.read_line(&mut name))
                .await
                .expect("the pipe is text");
            seen.push(name.trim_end().to_owned());
        }
        seen.sort();
        assert_eq!(seen, names);
        self.own = None;
    }

    /// Waits until no process is left.
    pub(crate) async fn gone(mut self) {
        let mut rest = String::new();
        soon(self.reader.read_to_string(&mut rest))
            .await
            .expect("the pipe is text");
        assert_eq!(rest, "");
    }
}
