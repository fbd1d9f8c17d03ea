//! The configured servers.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::server_process;
use crate::peers::{Node, Peers, Python};

/// Servers of one configuration, all over stdio.
#[derive(Debug)]
pub struct ServerSet {
    pub(super) servers: Vec<ConfiguredServer>,
}

/// A tool of one server, called with the same arguments each time.
#[derive(Debug, Clone, PartialEq)]
pub struct Probe {
    /// Name of the server in the configuration.
    pub server: String,
    /// Name of the tool at the server.
    pub tool: &'static str,
    /// Arguments of the call.
    pub arguments: Value,
}

/// One server.
#[derive(Debug)]
pub(super) struct ConfiguredServer {
    pub(super) name: String,
    pub(super) command: PathBuf,
    pub(super) arguments: Vec<String>,
    environment: Vec<(&'static str, String)>,
    probe: Option<(&'static str, Value)>,
}

impl ServerSet {
    /// Names 14 servers: ten that answer a small call, among them three of each kind on Node.js,
    /// and four that are listed only. `directory` holds the files that they work on.
    pub fn new(peers: &Peers, directory: &Path) -> Result<Self> {
        let files = directory.join("files");
        std::fs::create_dir_all(&files)?;
        let files = files.display().to_string();
        let node = |number, kind: &'static str, arguments: &[&str]| {
            on_node(&peers.node, number, kind, arguments)
        };
        let mut servers = Vec::new();
        for number in 1..=3 {
            let everything = node(number, "everything", &["stdio"]);
            servers.push(everything.probe("echo", json!({"message": "hello"})));
            let filesystem = node(number, "filesystem", &[&files]);
            servers.push(filesystem.probe("list_allowed_directories", json!({})));
            let memory = node(number, "memory", &[]);
            let graph = format!("{files}/memory{number}.jsonl");
            servers.push(memory.environment("MEMORY_FILE_PATH", graph));
        }
        let python = |number, kind: &str| on_python(&peers.python, number, kind);
        for number in 1..=2 {
            let time = python(number, "time");
            servers.push(time.probe("get_current_time", json!({"timezone": "UTC"})));
            servers.push(on_fastmcp(&peers.python, number).probe("add", json!({"a": 1, "b": 2})));
        }
        servers.push(python(1, "git"));
        for server in &servers {
            let program = &server.command;
            ensure!(program.exists(), "{} is missing", program.display());
        }
        Ok(Self { servers })
    }

    /// Number of servers.
    #[must_use]
    pub fn count(&self) -> usize {
        self.servers.len()
    }

    /// Names of the servers.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.servers.iter().map(|server| &*server.name)
    }

    /// Configuration in the form that all hubs read.
    #[must_use]
    pub fn configuration(&self) -> Value {
        let servers = self.servers.iter().map(|server| {
            let environment: serde_json::Map<_, _> = server
                .variables()
                .map(|(name, value)| (name.to_owned(), Value::from(value)))
                .collect();
            let entry = json!({
                "command": server.command,
                "args": server.arguments,
                "env": environment,
            });
            (server.name.clone(), entry)
        });
        let servers: serde_json::Map<_, _> = servers.collect();
        json!({"mcpServers": servers})
    }

    /// Calls of the servers that answer a small call.
    #[must_use]
    pub fn probes(&self) -> Vec<Probe> {
        let probes = self.servers.iter().filter_map(|server| {
            let (tool, arguments) = server.probe.clone()?;
            let server = server.name.clone();
            Some(Probe {
                server,
                tool,
                arguments,
            })
        });
        probes.collect()
    }
}

impl ConfiguredServer {
    fn new(name: String, command: PathBuf, arguments: Vec<String>) -> Self {
        Self {
            name,
            command,
            arguments,
            environment: Vec::new(),
            probe: None,
        }
    }

    /// Variables that the server gets, those that mark its process included.
    pub(super) fn variables(&self) -> impl Iterator<Item = (&'static str, String)> {
        let marks = server_process::marks(&self.name);
        marks.into_iter().chain(self.environment.iter().cloned())
    }

    fn probe(mut self, tool: &'static str, arguments: Value) -> Self {
        self.probe = Some((tool, arguments));
        self
    }

    fn environment(mut self, name: &'static str, value: String) -> Self {
        self.environment.push((name, value));
        self
    }
}

fn on_node(node: &Node, number: u32, kind: &str, arguments: &[&str]) -> ConfiguredServer {
    let script = format!("@modelcontextprotocol/server-{kind}/dist/index.js");
    let script = node.modules.join(script).display().to_string();
    let rest = arguments.iter().map(|&argument| argument.to_owned());
    let arguments = std::iter::once(script).chain(rest).collect();
    ConfiguredServer::new(format!("{kind}{number}"), node.program.clone(), arguments)
}

fn on_python(python: &Python, number: u32, kind: &str) -> ConfiguredServer {
    let program = python.program(&format!("mcp-server-{kind}"));
    ConfiguredServer::new(format!("{kind}{number}"), program, Vec::new())
}

fn on_fastmcp(python: &Python, number: u32) -> ConfiguredServer {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("crates");
    let script = root.join("mcp/tests/interop/peers/fastmcp_server.py");
    let arguments = vec![script.display().to_string(), "stdio".to_owned()];
    ConfiguredServer::new(
        format!("fastmcp{number}"),
        python.program("python"),
        arguments,
    )
}
