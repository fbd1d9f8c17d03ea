//! The peers that `cargo xtask interop` installs, found by environment variables:
//! `CALLGATE_PEERS_PY` names a virtual environment, `CALLGATE_PEERS_NODE` a Node.js and
//! `CALLGATE_PEERS_NPM` the directory of its packages.
//!
//! Tests that need them are marked as ignored, and fail without them.

use std::env;
use std::ffi::{OsStr, OsString};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use callgate_mcp::transport::child::{ChildConfig, Environment};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, sink};
use tokio::process::{Child, ChildStderr, Command};
use tokio::time::timeout;

/// The most time that a peer may take for anything.
const PATIENCE: Duration = Duration::from_secs(120);

/// How to start a peer.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    program: PathBuf,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    cwd: Option<PathBuf>,
}

/// A program of the virtual environment.
pub(crate) fn python_program(name: &str) -> Program {
    let venv = location("CALLGATE_PEERS_PY");
    Program::new(venv.join("bin").join(name))
}

/// One of our own scripts, run by the Python of the virtual environment.
pub(crate) fn python_script(name: &str) -> Program {
    python_program("python").arg(script(name))
}

/// A script of an npm package.
pub(crate) fn npm_script(package: &str, path: &str) -> Program {
    let packages = location("CALLGATE_PEERS_NPM");
    let script = packages.join("node_modules").join(package).join(path);
    assert!(script.exists(), "{} is missing", script.display());
    node().arg(script)
}

/// One of our own scripts, run by Node.js where the npm packages are.
pub(crate) fn node_script(name: &str) -> Program {
    Program {
        cwd: Some(location("CALLGATE_PEERS_NPM")),
        ..node().arg(script(name))
    }
}

fn node() -> Program {
    Program::new(location("CALLGATE_PEERS_NODE"))
}

fn location(variable: &str) -> PathBuf {
    let found = env::var_os(variable);
    let found = found.unwrap_or_else(|| panic!("no {variable}: run `cargo xtask interop`"));
    PathBuf::from(found)
}

fn script(name: &str) -> PathBuf {
    let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop/peers");
    peers.join(name)
}

impl Program {
    fn new(program: PathBuf) -> Self {
        assert!(program.exists(), "{} is missing", program.display());
        Self {
            program,
            args: Vec::new(),
            env: Vec::new(),
            cwd: None,
        }
    }

    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    pub(crate) fn args<A: AsRef<OsStr>>(self, args: impl IntoIterator<Item = A>) -> Self {
        args.into_iter().fold(self, Self::arg)
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.env.push((name.into(), value.as_ref().to_owned()));
        self
    }

    /// The peer as a server on its standard streams.
    pub(crate) fn child(self, name: &str) -> ChildConfig {
        let mut config = ChildConfig::new(name, self.program);
        config.args = self.args;
        config.env = self.env;
        config.cwd = self.cwd;
        config.environment = Environment::from_pairs(env::vars_os());
        config
    }

    /// Runs a peer that is a client, and returns what it printed; anything but success is a
    /// failure.
    pub(crate) async fn output(self, input: &[u8]) -> String {
        let mut child = self.command().stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(input).await.unwrap();
        drop(stdin);
        let output = timeout(PATIENCE, child.wait_with_output()).await;
        let output = output.expect("a client comes to an end").unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{self:?} failed:\n{stderr}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(&self.args)
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        if let Some(cwd) = &self.cwd {
            command.current_dir(cwd);
        }
        command
    }
}

/// A peer that is a server over HTTP, until this is dropped.
pub(crate) struct Listening {
    child: Child,
    port: u16,
}

impl Listening {
    /// Starts `program` for a port, and waits until its standard error has a line with `ready`.
    ///
    /// No peer says which port it took, so each attempt picks one that was free a moment before.
    pub(crate) async fn start(ready: &str, program: impl Fn(u16) -> Program) -> Self {
        let mut said = String::new();
        for _ in 0..3 {
            let port = free_port();
            if let Some(child) = try_start(ready, &program(port), &mut said).await {
                return Self { child, port };
            }
        }
        panic!("no server got ready:\n{said}");
    }

    /// Ends the server and starts it again, for the same port.
    pub(crate) async fn restart(&mut self, ready: &str, program: impl Fn(u16) -> Program) {
        self.child.kill().await.unwrap();
        let mut said = String::new();
        let child = try_start(ready, &program(self.port), &mut said).await;
        self.child = child.expect("the port is still free");
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap().port()
}

async fn try_start(ready: &str, program: &Program, said: &mut String) -> Option<Child> {
    let mut child = program.command().stdout(Stdio::null()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let waiting = wait_for(ready, &mut stderr, said);
    let is_ready = timeout(PATIENCE, waiting).await == Ok(true);
    // It must never wait for a reader.
    tokio::spawn(async move { tokio::io::copy(&mut stderr, &mut sink()).await });
    is_ready.then_some(child)
}

/// Whether a line with `ready` comes; what comes before is added to `said`.
async fn wait_for(ready: &str, stderr: &mut BufReader<ChildStderr>, said: &mut String) -> bool {
    let mut line = Vec::new();
    while matches!(stderr.read_until(b'\n', &mut line).await, Ok(1..)) {
        let text = String::from_utf8_lossy(&line);
        if text.contains(ready) {
            return true;
        }
        said.push_str(&text);
        line.clear();
    }
    false
}

/// Waits for a test that talks to a peer, but not for ever.
pub(crate) async fn within<T>(test: impl Future<Output = T>) -> T {
    timeout(PATIENCE, test).await.expect("peers answer")
}
