use serde::{Deserialize, Serialize};

use super::identity::ProcessIdentity;
use crate::gateway::Status;

/// A running process of this program, as it describes itself in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct InstanceRecord {
    pub(crate) process: ProcessIdentity,
    /// Command that it runs, such as `serve`.
    pub(crate) command: String,
    /// Start in seconds since 1970.
    pub(crate) since: u64,
    /// URL of its endpoint, if it serves over HTTP.
    pub(crate) url: Option<String>,
    /// Credentials that the endpoint accepts.
    pub(crate) auth: EndpointAuth,
    /// The servers that it runs.
    pub(crate) servers: Vec<ServerRecord>,
}

/// Credentials that an endpoint accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EndpointAuth {
    /// The token in the data directory.
    Token,
    /// None are needed.
    Open,
    /// Tokens of an issuer, which this program does not have.
    Issuer,
}

/// A server that a process runs or is connected to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ServerRecord {
    pub(crate) name: String,
    /// Hash of its definition, and of the directory that it starts in if that matters: equal ones are the same server.
    pub(crate) definition: String,
    /// Its process, if it is a program that runs.
    pub(crate) pid: Option<u32>,
    /// Start of that process in seconds since 1970.
    pub(crate) since: Option<u64>,
    /// Number of times that it was started again after it was lost.
    pub(crate) restarts: u64,
    /// State of its connection; processes of earlier versions do not tell.
    #[serde(default)]
    pub(crate) status: Option<Status>,
}

/// Command of a process that serves over HTTP.
pub(crate) const SERVE: &str = "serve";

/// Command of a process that serves its client over standard input and output.
pub(crate) const SERVE_STDIO: &str = "serve --stdio";

impl InstanceRecord {
    /// True if this process can serve others: it has an endpoint, and they have its credentials.
    pub(crate) fn is_gateway(&self) -> bool {
        self.url.is_some() && self.auth != EndpointAuth::Issuer
    }

    /// True if the process serves over HTTP for its own sake, and does not end with a client.
    pub(crate) fn is_serve(&self) -> bool {
        self.command == SERVE
    }

    /// Names of its servers with the hashes of their definitions.
    pub(crate) fn definitions(&self) -> impl Iterator<Item = (&str, &str)> {
        let servers = self.servers.iter();
        servers.map(|server| (server.name.as_str(), server.definition.as_str()))
    }

    /// True if the process only ends a server that a command has left to it.
    pub(crate) fn is_ending(&self) -> bool {
        let mut servers = self.servers.iter();
        servers.any(|server| server.pid == Some(self.process.pid))
    }

    /// True if it has the server with this name and definition.
    pub(crate) fn has(&self, name: &str, definition: &str) -> bool {
        self.server(name, definition).is_some()
    }

    /// The server with this name and definition.
    pub(crate) fn server(&self, name: &str, definition: &str) -> Option<&ServerRecord> {
        let mut servers = self.servers.iter();
        servers.find(|server| server.name == name && server.definition == definition)
    }
}
