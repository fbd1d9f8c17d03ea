//! A client on the Python SDK of our server.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::listener::{Listener, TOOLS};
use crate::our_server::{Signals, everything};
use crate::peer::{python_script, within};

/// Has the client do `steps`, and returns what came of each.
pub(crate) async fn python_client(mode: &str, target: &[&str], steps: &Value) -> Value {
    let client = python_script("mcp_client.py").arg(mode).args(target);
    let printed = client.output(steps.to_string().as_bytes()).await;
    serde_json::from_str(&printed).unwrap()
}

async fn try_everything(mode: &str, target: &[&str], version: &str) {
    let mut steps = json!([
        ["version"],
        ["server"],
        ["tools"],
        ["call", "add", {"a": 1, "b": 2}],
        ["call", "count", {}],
        ["call", "greet", {}],
        ["call", "quote", {}],
        ["call", "roots", {}],
        ["call", "fail", {}],
        ["read", "note:1"],
        ["prompt", "essay", {"topic": "rust"}],
        ["subscribe", "note:1", "touch"],
    ]);
    let mut expected = json!([
        version,
        "ours",
        TOOLS,
        {"content": ["{\"sum\":3}"], "structured": {"sum": 3}},
        {"content": ["counted"], "progress": [1.0, 2.0, 3.0]},
        {"content": ["Hello, Ada"]},
        {"content": ["parrot says hi"]},
        {"content": ["file:///project"]},
        {"content": ["no"], "isError": true},
        ["remember"],
        ["Write about rust"],
        "note:1",
    ]);
    if version != "2026-07-28" {
        steps.as_array_mut().unwrap().push(json!(["ping"]));
        expected.as_array_mut().unwrap().push(json!("pong"));
    }
    let outcomes = within(python_client(mode, target, &steps)).await;
    assert_eq!(outcomes, expected);
}

async fn over_http(mode: &str, version: &str) {
    let server = Listener::start(Arc::new(everything(&Signals::default()))).await;
    try_everything(mode, &[&server.url()], version).await;
}

async fn over_stdio(mode: &str, version: &str) {
    let program = env!("CARGO_BIN_EXE_callgate-mcp-peer");
    try_everything(mode, &[program, "everything"], version).await;
}

#[tokio::test]
#[ignore = "needs peers: cargo xtask interop"]
async fn a_python_client_and_our_server_over_http_in_its_old_mode() {
    over_http("legacy", "2025-11-25").await;
}

#[tokio::test]
#[ignore = "needs peers: cargo xtask interop"]
async fn a_python_client_and_our_server_over_http_in_its_new_mode() {
    over_http("auto", "2026-07-28").await;
}

#[tokio::test]
#[ignore = "needs peers: cargo xtask interop"]
async fn a_python_client_and_our_server_over_http_and_sse() {
    let server = Listener::start(Arc::new(everything(&Signals::default()))).await;
    let target = format!("sse+{}", server.url());
    try_everything("legacy", &[&target], "2025-11-25").await;
}

#[tokio::test]
#[ignore = "needs peers: cargo xtask interop"]
async fn a_python_client_and_our_server_over_stdio_in_its_old_mode() {
    over_stdio("legacy", "2025-11-25").await;
}

#[tokio::test]
#[ignore = "needs peers: cargo xtask interop"]
async fn a_python_client_and_our_server_over_stdio_in_its_new_mode() {
    over_stdio("auto", "2026-07-28").await;
}
