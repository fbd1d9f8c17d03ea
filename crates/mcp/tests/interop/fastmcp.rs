//! Our client against a server on fastmcp, which speaks every revision on every transport.

use std::sync::Arc;

use callgate_mcp::Service;
use callgate_mcp::client::Client;
use callgate_mcp::upstream::Era;
use callgate_mcp::wire::{Map, Version};
use serde_json::json;

use crate::peer::{Listening, python_script, within};
use crate::upstream::{process, process_of, remote, remote_of};
use crate::user::{call, client, logged, progress, tools};

const SCRIPT: &str = "fastmcp_server.py";

async fn try_everything(server: Arc<dyn Service>) -> Client {
    let client = client(server);
    let about = client.discover().await.unwrap();
    assert_eq!(about.instructions.as_deref(), Some("Try everything"));
    assert_eq!(tools(&client).await, ["add", "count", "greet", "fail"]);
    let sum = client.call_tool("add", &json!({"a": 1, "b": 2})).await;
    let sum = sum.unwrap().structured_content.unwrap();
    assert_eq!(sum.as_str(), r#"{"result":3}"#);
    assert_eq!(progress(&client, "count", json!({})).await, [1.0, 2.0, 3.0]);
    assert_eq!(logged(&client, "count", json!({})).await, 3);
    let failed = client.call_tool("fail", &json!({})).await.unwrap();
    assert_eq!(failed.is_error, Some(true));

    let topic = Map::from_iter([("topic", "rust".to_owned())]);
    let prompt = client.get_prompt("essay", topic).await.unwrap();
    let text = prompt.messages[0].content.as_text();
    assert_eq!(text, Some("Write about rust"));
    assert_eq!(client.list_resources().await.unwrap()[0].uri, "note://1");
    let templates = client.list_resource_templates().await.unwrap();
    assert_eq!(templates[0].uri_template, "note://{number}/copy");
    let copy = client.read_resource("note://7/copy").await.unwrap();
    assert_eq!(copy.contents[0].uri(), "note://7/copy");
    client
}

/// Only in its old era can the server ask.
async fn try_everything_old(server: Arc<dyn Service>) {
    let client = try_everything(server).await;
    let greeting = call(&client, "greet", json!({})).await;
    assert_eq!(greeting, ["Hello, Ada"]);
}

#[tokio::test]
#[ignore = "needs peers: cargo xtask interop"]
async fn our_client_and_a_fastmcp_server_over_stdio() {
    let program = python_script(SCRIPT);
    within(async {
        let command = program.arg("stdio").child("fastmcp");
        let server = process(&command);
        try_everything(server.clone()).await;
        assert_eq!(server.version(), Some(Version::V2026_07_28));
        server.close().await;

        let server = process_of(Era::OLD, &command);
        try_everything_old(server.clone()).await;
        assert_eq!(server.version(), Some(Version::V2025_11_25));
        server.close().await;
    })
    .await;
}

/// The server over HTTP.
async fn listening(mode: &str) -> Listening {
    let program = python_script(SCRIPT).arg(mode);
    let at = |port: u16| program.clone().arg(port.to_string());
    Listening::start("Uvicorn running on", at).await
}

#[tokio::test]
#[ignore = "needs peers: cargo xtask interop"]
async fn our_client_and_a_fastmcp_server_over_http() {
    let listening = listening("http").await;
    within(async {
        let url = listening.url("/mcp");
        let server = remote(&url);
        try_everything(server.clone()).await;
        assert_eq!(server.era(), Some(Era::Modern));
        try_everything_old(remote_of(Era::OLD, &url)).await;
    })
    .await;
}

#[tokio::test]
#[ignore = "needs peers: cargo xtask interop"]
async fn our_client_and_a_fastmcp_server_without_sessions() {
    let listening = listening("stateless").await;
    within(async {
        let url = listening.url("/mcp");
        let server = remote(&url);
        try_everything(server.clone()).await;
        assert_eq!(server.era(), Some(Era::Modern));
        try_everything(remote_of(Era::OLD, &url)).await;
    })
    .await;
}

#[tokio::test]
#[ignore = "needs peers: cargo xtask interop"]
async fn our_client_and_a_fastmcp_server_over_http_and_sse() {
    let listening = listening("sse").await;
    within(async {
        let server = remote(&listening.url("/sse"));
        try_everything_old(server.clone()).await;
        assert_eq!(server.era(), Some(Era::OLD));
    })
    .await;
}
