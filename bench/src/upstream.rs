//! Parts of the measured clients and relays: their arguments, and the clients of the floor and of
//! the official SDK.

use std::borrow::Cow;
use std::process::Stdio;

use ::rmcp::model::{ClientConfig, ProtocolVersion};
use ::rmcp::service::{ClientLifecycleMode, ClientServiceExt, RoleClient, RunningService};
use ::rmcp::transport::StreamableHttpClientTransport;
use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::payload::{INITIALIZE, INITIALIZED};
use crate::workload::{Era, Shape};

/// Arguments of a measured client: the kind, the revision, the shape, the server and the number of
/// calls.
#[derive(Debug)]
pub struct ClientArguments {
    /// Kind of client.
    pub kind: String,
    /// Revision of the server.
    pub era: Era,
    /// Tool and size of the calls.
    pub shape: Shape,
    /// URL, or the words of a command.
    pub server: Vec<String>,
    /// Number of calls.
    pub calls: u64,
}

impl ClientArguments {
    /// Reads the arguments of this process.
    pub fn read() -> Result<Self> {
        let mut words: Vec<String> = std::env::args().skip(1).collect();
        let calls = words.pop().context("the number of calls is missing")?;
        ensure!(
            words.len() > 3,
            "usage: KIND REVISION SHAPE SERVER... CALLS"
        );
        let server = words.split_off(3);
        let mut words = words.into_iter();
        let mut next = || words.next().unwrap_or_default();
        Ok(Self {
            kind: next(),
            era: if next() == Era::Session.version() {
                Era::Session
            } else {
                Era::Stateless
            },
            shape: next().parse()?,
            server,
            calls: calls.parse()?,
        })
    }

    /// URL of the server.
    pub fn url(&self) -> Result<&str> {
        Ok(self.server.first().context("no URL")?)
    }

    /// Starts the server and returns its pipes.
    pub fn spawn(&self) -> Result<(Child, ChildStdin, ChildStdout)> {
        let (program, arguments) = self.server.split_first().context("no command")?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let stdin = child.stdin.take().context("standard input is piped")?;
        let stdout = child.stdout.take().context("standard output is piped")?;
        Ok((child, stdin, stdout))
    }
}

/// Returns the lifecycle of an rmcp client.
#[must_use]
pub fn lifecycle(era: Era) -> ClientLifecycleMode {
    match era {
        Era::Stateless => ClientLifecycleMode::Discover {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        },
        Era::Session => ClientLifecycleMode::Initialize,
    }
}

/// Connects an rmcp client over HTTP.
pub async fn rmcp_http(url: &str, era: Era) -> Result<RunningService<RoleClient, ClientConfig>> {
    let transport = StreamableHttpClientTransport::from_uri(url);
    let client = ClientConfig::default().serve_with_lifecycle(transport, lifecycle(era));
    Ok(client.await?)
}

/// The floor of an HTTP client: one connection, one request at a time.
pub struct BareHttp {
    sender: SendRequest<Full<Bytes>>,
    authority: String,
    session: Option<String>,
}

impl BareHttp {
    /// Connects, and opens a session if the era has them.
    pub async fn connect(url: &str, era: Era) -> Result<Self> {
        let authority = url
            .strip_prefix("http://")
            .and_then(|rest| rest.split('/').next())
            .context("a URL of loopback")?
            .to_owned();
        let stream = TcpStream::connect(&authority).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        let mut client = Self {
            sender,
            authority,
            session: None,
        };
        if era == Era::Session {
            let opened = client.send("initialize", "", INITIALIZE.into()).await?;
            let session = opened
                .headers()
                .get("mcp-session-id")
                .context("a session")?;
            client.session = Some(session.to_str()?.to_owned());
            opened.into_body().collect().await?;
            let name = "notifications/initialized";
            let accepted = client.send(name, "", INITIALIZED.into()).await?;
            accepted.into_body().collect().await?;
        }
        Ok(client)
    }

    /// Sends a message and returns the body of the answer.
    pub async fn post(&mut self, method: &str, name: &str, body: Bytes) -> Result<Bytes> {
        let response = self.send(method, name, body).await?;
        ensure!(response.status() == StatusCode::OK, "{}", response.status());
        Ok(response.into_body().collect().await?.to_bytes())
    }

    async fn send(
        &mut self,
        method: &str,
        name: &str,
        body: Bytes,
    ) -> Result<Response<hyper::body::Incoming>> {
        let mut request = Request::post("/mcp")
            .header(HOST, &self.authority)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream");
        request = match &self.session {
            None => request
                .header("mcp-protocol-version", Era::Stateless.version())
                .header("mcp-method", method)
                .header("mcp-name", name),
            Some(session) => request
                .header("mcp-protocol-version", Era::Session.version())
                .header("mcp-session-id", session),
        };
        self.sender.ready().await?;
        Ok(self
            .sender
            .send_request(request.body(Full::new(body))?)
            .await?)
    }
}

/// Result of a tool, read by the floor of a client.
#[derive(Debug, Deserialize)]
pub struct ToolResult<'a> {
    /// Content of the result.
    #[serde(borrow)]
    pub content: Vec<ToolContent<'a>>,
}

/// Content of a tool, read by the floor of a client.
#[derive(Debug, Deserialize)]
pub struct ToolContent<'a> {
    /// Text of the content.
    #[serde(borrow)]
    pub text: Cow<'a, str>,
}

/// Envelope of an answer.
#[derive(Debug, Deserialize)]
pub struct Answer<'a> {
    /// Id of the request.
    #[serde(borrow)]
    pub id: &'a RawValue,
    /// Result of the request.
    #[serde(borrow)]
    pub result: &'a RawValue,
}
