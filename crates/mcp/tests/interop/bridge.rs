//! Clients and servers of other implementations that meet through us.

use serde_json::{Value, json};

use crate::everything;
use crate::inspector::Inspector;
use crate::listener::Listener;
use crate::peer::within;
use crate::python_client::python_client;
use crate::servers::modern_server;
use crate::upstream::{process, remote};

/// What the Python client asks of server-everything.
fn steps() -> Value {
    json!([
        ["version"],
        ["server"],
        ["call", "echo", {"message": "hello"}],
        ["call", "trigger-long-running-operation", {"duration": 0.2, "steps": 2}],
        ["call", "trigger-elicitation-request", {}],
        ["call", "trigger-sampling-request", {"prompt": "Say something"}],
        ["call", "get-roots-list", {}],
        ["subscribe", "demo://resource/dynamic/text/1", "toggle-subscriber-updates"],
    ])
}

fn expected(version: &str) -> Value {
    let form = "{\n  \"action\": \"accept\",\n  \"content\": {\n    \"name\": \"Ada\"\n  }\n}";
    let message = "{\n  \"model\": \"parrot\",\n  \"role\": \"assistant\",\n  \"content\": \
                   {\n    \"type\": \"text\",\n    \"text\": \"hi\"\n  }\n}";
    let roots = "Current MCP Roots (1 total):\n\n1. Unnamed Root\n   URI: file:///project\n\n\
                 Note: This server demonstrates the roots protocol capability but doesn't actually \
                 access files. The roots are provided by the MCP client and can be used by servers \
                 that need file system access.";
    let done = "Long running operation completed. Duration: 0.2 seconds, Steps: 2.";
    json!([
        version,
        "mcp-servers/everything",
        {"content": ["Echo: hello"]},
        {"content": [done], "progress": [1.0, 2.0]},
        {"content": [
            "\u{2705} User provided the requested information!",
            "User inputs:\n- Name: Ada",
            format!("\nRaw result: {form}"),
        ]},
        {"content": [format!("LLM sampling result: \n{message}")]},
        {"content": [roots]},
        "demo://resource/dynamic/text/1",
    ])
}

async fn python_and_everything(mode: &str, version: &str) {
    let program = everything::program("stdio");
    within(async {
        let server = process(&program.child("everything"));
        let bridge = Listener::start(server.clone()).await;
        let outcomes = python_client(mode, &[&bridge.url()], &steps()).await;
        assert_eq!(outcomes, expected(version));
        server.close().await;
    })
    .await;
}

#[tokio::test]
#[ignore = "needs peers: cargo xtask interop"]
async fn an_old_python_client_meets_server_everything() {
    python_and_everything("legacy", "2025-11-25").await;
}

#[tokio::test]
#[ignore = "needs peers: cargo xtask interop"]
async fn a_new_python_client_meets_server_everything() {
    python_and_everything("auto", "2026-07-28").await;
}

#[tokio::test]
#[ignore = "needs peers: cargo xtask interop"]
async fn an_old_inspector_meets_server_everything() {
    let program = everything::program("stdio");
    within(async {
        let server = process(&program.child("everything"));
        let bridge = Listener::start(server.clone()).await;
        let inspector = Inspector::new(&[&bridge.url(), "--protocol-era", "legacy"]);
        let echo = ["--tool-name", "echo", "--tool-arg", "message=hello"];
        let echo = inspector.ask("tools/call", &echo).await;
        let text = json!([{"type": "text", "text": "Echo: hello"}]);
        assert_eq!(echo["content"], text);
        let list = inspector.ask("resources/list", &[]).await;
        assert_eq!(list["resources"].as_array().map(Vec::len), Some(7));
        server.close().await;
    })
    .await;
}

#[tokio::test]
#[ignore = "needs peers: cargo xtask interop"]
async fn an_old_inspector_meets_a_server_without_old_revisions() {
    let listening = modern_server().await;
    within(async {
        let server = remote(&listening.url("/mcp"));
        let bridge = Listener::start(server).await;
        let inspector = Inspector::new(&[&bridge.url(), "--protocol-era", "legacy"]);
        let greet = ["--tool-name", "greet", "--tool-arg", "name=Ada"];
        let greeting = inspector.ask("tools/call", &greet).await;
        let text = json!([{"type": "text", "text": "Hello, Ada"}]);
        assert_eq!(greeting["content"], text);
    })
    .await;
}
