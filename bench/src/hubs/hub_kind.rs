//! The compared hubs, and their programs.

use std::ffi::OsString;
use std::fmt;
use std::path::Path;

use crate::peers::Peers;

/// One of the compared hubs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HubKind {
    /// `callgate serve`.
    Callgate,
    /// `mcp-hub` from npm.
    McpHub,
    /// The proxy of fastmcp, from PyPI.
    Fastmcp,
}

impl HubKind {
    /// Every hub, in the order of the tables.
    pub const ALL: [Self; 3] = [Self::Callgate, Self::McpHub, Self::Fastmcp];

    /// Returns the command that serves the configuration on a port, as the documentation of the hub
    /// says. `state` is a directory for its files.
    #[must_use]
    pub fn command(
        self,
        programs: &Path,
        peers: &Peers,
        configuration: &Path,
        port: u16,
        state: &Path,
    ) -> Vec<OsString> {
        let configuration = configuration.as_os_str().to_owned();
        let port = port.to_string();
        match self {
            Self::Callgate => vec![
                programs.join("callgate").into(),
                "--data-dir".into(),
                state.into(),
                "serve".into(),
                "--no-auth".into(),
                "--listen".into(),
                format!("127.0.0.1:{port}").into(),
                "--config".into(),
                configuration,
            ],
            Self::McpHub => vec![
                peers.node.program.clone().into(),
                peers.node.modules.join("mcp-hub/dist/cli.js").into(),
                "--port".into(),
                port.into(),
                "--config".into(),
                configuration,
            ],
            Self::Fastmcp => vec![
                peers.python.program("fastmcp").into(),
                "run".into(),
                configuration,
                "--transport".into(),
                "http".into(),
                "--port".into(),
                port.into(),
                "--no-banner".into(),
            ],
        }
    }

    /// Returns the name under which a hub shows a tool of a server.
    #[must_use]
    pub fn exposed_name(self, server: &str, tool: &str) -> String {
        match self {
            Self::Callgate | Self::Fastmcp => format!("{server}_{tool}"),
            Self::McpHub => format!("{server}__{tool}"),
        }
    }
}

impl fmt::Display for HubKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Callgate => "callgate",
            Self::McpHub => "mcp-hub",
            Self::Fastmcp => "fastmcp",
        })
    }
}
