use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, Result};

use super::program::Server;

/// A connection that sends what an attacker would.
pub(super) struct Client(TcpStream);

/// Head of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) status: u16,
    pub(super) retry_after: Option<String>,
}

/// Time limit of one answer, on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(120);

impl Client {
    pub(super) fn connect(server: &Server) -> Result<Self> {
        let stream = TcpStream::connect(server.address())?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(Self(stream))
    }

    /// Sends a request of the newest revision.
    pub(super) fn send(&mut self, server: &Server, method: &str, params: &str) -> Result<()> {
        self.write(&modern(server, method, params))
    }

    /// Sends a request of the newest revision without the last byte of its body.
    pub(super) fn send_unfinished(&mut self, server: &Server) -> Result<()> {
        let request = modern(server, "tools/list", r#""a":1"#);
        self.write(request.strip_suffix('}').unwrap_or(&request))
    }

    /// Sends a handshake of an older revision.
    pub(super) fn send_handshake(&mut self, server: &Server) -> Result<()> {
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}"#;
        self.write(&post(server, "", body))
    }

    fn write(&mut self, request: &str) -> Result<()> {
        Ok(self.0.write_all(request.as_bytes())?)
    }

    /// The head of the next answer, or `None` if the connection is closed without one.
    pub(super) fn head(&mut self) -> Result<Option<Head>> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            match self.0.read(&mut byte) {
                Ok(0) => return Ok(None),
                Ok(_) => head.extend_from_slice(&byte),
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
        Head::read(&String::from_utf8_lossy(&head))
            .context("the answer has no status")
            .map(Some)
    }
}

/// A request of the newest revision.
fn modern(server: &Server, method: &str, params: &str) -> String {
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let body =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params},{meta}}}}}"#);
    let name = match method {
        "tools/call" => "mcp-name: workspace_read\r\n",
        _ => "",
    };
    let headers = format!("mcp-protocol-version: 2026-07-28\r\nmcp-method: {method}\r\n{name}");
    post(server, &headers, &body)
}

fn post(server: &Server, headers: &str, body: &str) -> String {
    let (address, token, length) = (server.address(), &server.token, body.len());
    format!(
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\
         accept: application/json, text/event-stream\r\ncontent-type: application/json\r\n\
         {headers}content-length: {length}\r\n\r\n{body}"
    )
}

impl Head {
    fn read(head: &str) -> Option<Self> {
        let mut lines = head.lines();
        let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
        let retry_after = lines.find_map(|line| line.strip_prefix("retry-after: "));
        Some(Self {
            status,
            retry_after: retry_after.map(str::to_owned),
        })
    }
}
