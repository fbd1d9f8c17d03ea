//! MCP Inspector as a client of our server.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::listener::{Listener, TOOLS};
use crate::our_server::{Signals, everything};
use crate::peer::{npm_script, within};

/// MCP Inspector, on one server.
pub(crate) struct Inspector {
    target: Vec<String>,
    home: tempfile::TempDir,
}

impl Inspector {
    /// Connects by the words of a command line: a URL or a command, and options.
    pub(crate) fn new(target: &[&str]) -> Self {
        Self {
            target: target.iter().map(ToString::to_string).collect(),
            home: tempfile::tempdir().unwrap(),
        }
    }

    /// The result of a request.
    pub(crate) async fn ask(&self, method: &str, args: &[&str]) -> Value {
        let path = "clients/launcher/build/index.js";
        let inspector = npm_script("@modelcontextprotocol/inspector", path)
            .env("HOME", self.home.path())
            .arg("--cli")
            .args(&self.target)
            .args(["--format", "json", "--method", method])
            .args(args);
        let printed = inspector.output(b"").await;
        let answer: Value = serde_json::from_str(&printed).unwrap();
        answer["result"].clone()
    }
}

/// Lists tools, and calls one with arguments and one that notifies.
async fn try_tools(target: &[&str]) {
    let inspector = Inspector::new(target);
    within(async {
        let list = inspector.ask("tools/list", &[]).await;
        let tools = list["tools"].as_array().unwrap();
        let names: Vec<&str> = tools
            .iter()
            .filter_map(|tool| tool["name"].as_str())
            .collect();
        assert_eq!(names, TOOLS);
        let add = ["--tool-name", "add", "--tool-arg", "a=1", "b=2"];
        let sum = inspector.ask("tools/call", &add).await;
        assert_eq!(sum["structuredContent"], json!({"sum": 3}));
        let count = ["--tool-name", "count"];
        let counted = inspector.ask("tools/call", &count).await;
        assert_eq!(
            counted["content"],
            json!([{"type": "text", "text": "counted"}])
        );
    })
    .await;
}

async fn over_http(era: &str) {
    let server = Listener::start(Arc::new(everything(&Signals::default()))).await;
    try_tools(&[&server.url(), "--protocol-era", era]).await;
}

async fn over_stdio(era: &str) {
    let program = env!("CARGO_BIN_EXE_callgate-mcp-peer");
    try_tools(&[program, "everything", "--protocol-era", era]).await;
}

#[tokio::test]
#[ignore = "needs peers: cargo xtask interop"]
async fn inspector_and_our_server_over_http_in_its_old_era() {
    over_http("legacy").await;
}

#[tokio::test]
#[ignore = "needs peers: cargo xtask interop"]
async fn inspector_and_our_server_over_http_in_any_era() {
    over_http("auto").await;
}

#[tokio::test]
#[ignore = "needs peers: cargo xtask interop"]
async fn inspector_and_our_server_over_http_in_the_new_era() {
    over_http("modern").await;
}

#[tokio::test]
#[ignore = "needs peers: cargo xtask interop"]
async fn inspector_and_our_server_over_http_and_sse() {
    let server = Listener::start(Arc::new(everything(&Signals::default()))).await;
    try_tools(&[&server.url(), "--transport", "sse"]).await;
}

#[tokio::test]
#[ignore = "needs peers: cargo xtask interop"]
async fn inspector_and_our_server_over_stdio_in_its_old_era() {
    over_stdio("legacy").await;
}

#[tokio::test]
#[ignore = "needs peers: cargo xtask interop"]
async fn inspector_and_our_server_over_stdio_in_any_era() {
    over_stdio("auto").await;
}

#[tokio::test]
#[ignore = "needs peers: cargo xtask interop"]
async fn inspector_and_our_server_over_stdio_in_the_new_era() {
    over_stdio("modern").await;
}
