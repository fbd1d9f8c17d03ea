//! The peers that `cargo xtask interop` installs, found by environment variables:
//! `CALLGATE_PEERS_PY` names a virtual environment, `CALLGATE_PEERS_NODE` a Node.js and
//! `CALLGATE_PEERS_NPM` the directory of its packages, and `CALLGATE_PEERS_CLIENTS` that of the clients.
//!
//! The tests need them: they are marked as ignored, and fail without them.

use std::env;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Interpreters of our own scripts.
#[derive(Debug, Clone)]
pub(crate) struct Peers {
    python: PathBuf,
    node: PathBuf,
    packages: PathBuf,
}

/// A peer that is a server, until this is dropped.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    url: String,
}

impl Peers {
    pub(crate) fn find() -> Self {
        Self {
            python: location("CALLGATE_PEERS_PY").join("bin/python"),
            node: location("CALLGATE_PEERS_NODE"),
            packages: location("CALLGATE_PEERS_NPM"),
        }
    }

    /// A script for Node.js, run where the npm packages are.
    pub(crate) fn node(&self, script: &str) -> Command {
        let mut command = Command::new(&self.node);
        command.arg(path(script)).current_dir(&self.packages);
        command
    }

    /// The directory of Node.js, which some clients are written for.
    pub(crate) fn node_dir(&self) -> &Path {
        self.node.parent().unwrap()
    }

    /// The program of a client.
    pub(crate) fn client(&self, name: &str) -> PathBuf {
        location("CALLGATE_PEERS_CLIENTS")
            .join("node_modules/.bin")
            .join(name)
    }

    /// A script for the Python of the virtual environment.
    pub(crate) fn python(&self, script: &str) -> Command {
        let mut command = Command::new(&self.python);
        command.arg(path(script));
        command
    }
}

impl Server {
    /// Starts `command` and waits for its line `listening on URL`; its complaints go to `log`.
    pub(crate) fn start(command: &mut Command, log: &Path) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(log).unwrap())
            .spawn()
            .unwrap();
        let stdout = child.stdout.take().unwrap();
        let mut server = Self {
            child,
            url: String::new(),
        };
        let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
        let found = lines.find_map(|line| line.strip_prefix("listening on ").map(str::to_owned));
        server.url = found.unwrap_or_else(|| {
            let said = std::fs::read_to_string(log).unwrap();
            panic!("{command:?} does not listen:\n{said}")
        });
        // It must never wait for a reader.
        std::thread::spawn(move || lines.for_each(drop));
        server
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn stop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

fn location(variable: &str) -> PathBuf {
    let found = env::var_os(variable);
    let found = found.unwrap_or_else(|| panic!("no {variable}: run `cargo xtask interop`"));
    PathBuf::from(found)
}

fn path(script: &str) -> PathBuf {
    let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop/peers");
    peers.join(script)
}
