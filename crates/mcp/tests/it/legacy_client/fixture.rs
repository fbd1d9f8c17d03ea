//! An old server that says and hears exactly what a test wants.

use std::sync::Arc;

use callgate_mcp::transport::line;
use callgate_mcp::upstream::{StreamPair, UpstreamConfig};
use callgate_mcp::wire::{Id, RawJson};
use callgate_mcp::{Call, Caller, Error, Notifications, Reply, Service};
use serde_json::{Value, json};
use tokio::io::{duplex, split};
use tokio::task::JoinHandle;

use crate::stdio_fixture::{RawPeer, call, soon};

/// Everything a client can declare.
pub(crate) const EVERYTHING: &str =
    r#"{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{}}"#;

/// A form to fill in.
pub(crate) const FORM: &str =
    r#"{"message":"Who?","requestedSchema":{"type":"object","properties":{}}}"#;

/// The end of a result of the server.
pub(crate) const TAIL: &str = r#""resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"old","version":"1"}}"#;

/// A connection to a server that nobody has spoken to.
pub(crate) fn stream(config: UpstreamConfig) -> (Arc<StreamPair>, RawPeer) {
    let (ours, theirs) = duplex(1024 * 1024);
    let (reader, writer) = split(ours);
    let stream =
        StreamPair::new("old", reader, writer, line::LineConfig::default()).with_config(config);
    (Arc::new(stream), RawPeer::new(theirs))
}

/// A connection after the handshake with a server of these capabilities.
pub(crate) async fn connect(
    capabilities: &str,
    config: UpstreamConfig,
) -> (Arc<StreamPair>, RawPeer) {
    connect_as("2025-11-25", capabilities, config).await
}

/// A connection after the handshake with a server of this revision.
pub(crate) async fn connect_as(
    version: &str,
    capabilities: &str,
    config: UpstreamConfig,
) -> (Arc<StreamPair>, RawPeer) {
    let (stream, mut peer) = stream(config);
    let discover = start(&stream, request("server/discover", "{}"));
    peer.line().await.expect("a probe");
    peer.send(&error("1", -32601, "what?")).await;
    peer.line().await.expect("a handshake");
    peer.send(&initialized("2", version, capabilities)).await;
    assert_eq!(
        peer.line().await.as_deref(),
        Some(r#"{"jsonrpc":"2.0","method":"notifications/initialized","params":{}}"#)
    );
    outcome(discover).await.expect("the server is there");
    (stream, peer)
}

/// The result of a handshake.
pub(crate) fn initialized(id: &str, version: &str, capabilities: &str) -> String {
    crate::stdio_fixture::result(
        id,
        &format!(
            r#"{{"protocolVersion":"{version}","capabilities":{capabilities},"serverInfo":{{"name":"old","version":"1"}}}}"#
        ),
    )
}

pub(crate) fn error(id: &str, code: i64, message: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"{message}"}}}}"#)
}

/// A request of the server.
pub(crate) fn asks(id: &str, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

/// A call, and what it is told on the way.
pub(crate) struct Request {
    pub(crate) call: Call,
    pub(crate) told: Notifications,
}

/// A request with these params and a client that can do nothing.
pub(crate) fn request(method: &str, params: &str) -> Request {
    let (call, told) = call(method, params);
    Request { call, told }
}

/// A call of the tool `t` by a client with these capabilities.
pub(crate) fn tool_call(capabilities: &str) -> Request {
    request(
        "tools/call",
        &format!(
            r#"{{"name":"t","_meta":{{"io.modelcontextprotocol/clientCapabilities":{capabilities}}}}}"#
        ),
    )
}

impl Request {
    /// The same request by somebody else.
    pub(crate) fn by(mut self, name: &str) -> Self {
        self.call.cx.caller = Caller::named(name);
        self
    }

    /// The same request by nobody in particular.
    pub(crate) fn by_anybody(mut self) -> Self {
        self.call.cx.caller = Caller::Anonymous;
        self
    }

    /// The same request under another id.
    pub(crate) fn with_id(mut self, id: Id) -> Self {
        self.call.cx.id = id;
        self
    }

    /// The next round of the same request, with these answers.
    pub(crate) fn retry(self, asked: &Value, answers: &Value) -> Self {
        let mut params: Value = self.call.params().decode().expect("params are JSON");
        params["requestState"] = asked["requestState"].clone();
        params["inputResponses"] = answers.clone();
        let again = request(self.call.method.as_str(), &params.to_string());
        let mut again = again.with_id(self.call.cx.id);
        again.call.cx.caller = self.call.cx.caller;
        again
    }
}

/// Makes a call beside the test.
pub(crate) fn start<S: Service>(
    service: &Arc<S>,
    request: Request,
) -> JoinHandle<Result<Reply, Error>> {
    let service = service.clone();
    tokio::spawn(async move { service.call(request.call).await })
}

/// Makes a call beside the test; also what it is told on the way.
pub(crate) fn start_told<S: Service>(
    service: &Arc<S>,
    request: Request,
) -> (JoinHandle<Result<Reply, Error>>, Notifications) {
    let service = service.clone();
    let Request { call, told } = request;
    (tokio::spawn(async move { service.call(call).await }), told)
}

pub(crate) async fn outcome(call: JoinHandle<Result<Reply, Error>>) -> Result<Reply, Error> {
    soon(call).await.expect("the call does not panic")
}

/// The result of a call that is done.
pub(crate) async fn complete(call: JoinHandle<Result<Reply, Error>>) -> String {
    match outcome(call).await.expect("the call succeeds") {
        Reply::Complete(result) | Reply::Task(result) => result.as_str().to_owned(),
        other => panic!("not complete: {other:?}"),
    }
}

/// What a call asks its client.
pub(crate) async fn asked(call: JoinHandle<Result<Reply, Error>>) -> Value {
    match outcome(call).await.expect("the call succeeds") {
        Reply::InputRequired(result) => result.decode().expect("a result is JSON"),
        other => panic!("no input is required: {other:?}"),
    }
}

/// The questions of a call that asks its client.
pub(crate) fn questions(asked: &Value) -> Value {
    let questions = asked["inputRequests"].as_object().expect("questions");
    let methods = questions
        .iter()
        .map(|(key, question)| json!([key, question["method"]]));
    methods.collect()
}

/// The next line, as JSON.
pub(crate) async fn heard(peer: &mut RawPeer) -> Value {
    let line = peer.line().await.expect("another line");
    serde_json::from_str(&line).expect("a message")
}

/// The notification that a call was told next.
pub(crate) async fn told(notifications: &mut Notifications) -> (String, RawJson) {
    let notification = soon(notifications.next()).await;
    (notification.method.as_str().to_owned(), notification.params)
}
