//! Our client against further servers from npm.

use std::fs;

use callgate_mcp::Service;
use callgate_mcp::upstream::Era;
use callgate_mcp::wire::Version;
use serde_json::json;

use crate::peer::{Listening, node_script, npm_script, within};
use crate::upstream::{process, remote};
use crate::user::{call, client, tools};

#[tokio::test]
#[ignore = "needs peers: cargo xtask interop"]
async fn our_client_and_server_filesystem() {
    let package = "@modelcontextprotocol/server-filesystem";
    let program = npm_script(package, "dist/index.js");
    within(async {
        let dir = tempfile::tempdir().unwrap();
        let note = dir.path().canonicalize().unwrap().join("note.txt");
        fs::write(&note, "remember").unwrap();
        let server = process(&program.arg(dir.path()).child("filesystem"));
        let client = client(server.clone());
        let read = call(&client, "read_text_file", json!({"path": note})).await;
        assert_eq!(read, ["remember"]);
        assert_eq!(server.version(), Some(Version::V2025_11_25));
        server.close().await;
    })
    .await;
}

#[tokio::test]
#[ignore = "needs peers: cargo xtask interop"]
async fn our_client_and_server_memory() {
    let package = "@modelcontextprotocol/server-memory";
    let program = npm_script(package, "dist/index.js");
    within(async {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("memory.jsonl");
        let server = process(&program.env("MEMORY_FILE_PATH", file).child("memory"));
        let client = client(server.clone());
        let ada = json!({"name": "Ada", "entityType": "person", "observations": ["writes"]});
        call(&client, "create_entities", json!({"entities": [ada]})).await;
        let graph = client.call_tool("read_graph", &json!({})).await.unwrap();
        let graph = graph.structured_content.unwrap();
        let graph: serde_json::Value = graph.decode().unwrap();
        assert_eq!(graph, json!({"entities": [ada], "relations": []}));
        assert_eq!(server.version(), Some(Version::V2025_11_25));
        server.close().await;
    })
    .await;
}

async fn try_modern(server: std::sync::Arc<dyn Service>) {
    let client = client(server);
    assert_eq!(tools(&client).await, ["greet"]);
    let greeting = call(&client, "greet", json!({"name": "Ada"})).await;
    assert_eq!(greeting, ["Hello, Ada"]);
}

#[tokio::test]
#[ignore = "needs peers: cargo xtask interop"]
async fn our_client_and_a_server_without_old_revisions_over_stdio() {
    let program = node_script("modern_server.mjs");
    within(async {
        let server = process(&program.arg("stdio").child("modern"));
        try_modern(server.clone()).await;
        assert_eq!(server.version(), Some(Version::V2026_07_28));
        server.close().await;
    })
    .await;
}

#[tokio::test]
#[ignore = "needs peers: cargo xtask interop"]
async fn our_client_and_a_server_without_old_revisions_over_http() {
    let listening = modern_server().await;
    within(async {
        let server = remote(&listening.url("/mcp"));
        try_modern(server.clone()).await;
        assert_eq!(server.era(), Some(Era::Modern));
    })
    .await;
}

/// A server over HTTP that refuses old revisions.
pub(crate) async fn modern_server() -> Listening {
    let program = node_script("modern_server.mjs").arg("http");
    let at = |port: u16| program.clone().arg(port.to_string());
    Listening::start("listening", at).await
}
