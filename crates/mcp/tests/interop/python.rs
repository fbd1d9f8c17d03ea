//! Servers from PyPI as child processes, where `CALLGATE_PEERS_PY` names a virtual environment that
//! has `mcp-server-time` and `mcp-server-git`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use callgate_mcp::client::Client;
use callgate_mcp::transport::child::{Child, ChildConfig, Environment};
use callgate_mcp::wire::tool::CallToolResult;
use serde_json::{Value, json};

const PEERS: &str = "CALLGATE_PEERS_PY";

/// The program `name` of the virtual environment, if there is one.
fn peer(name: &str) -> Option<PathBuf> {
    let Some(environment) = std::env::var_os(PEERS) else {
        eprintln!("not run: {PEERS} does not name a virtual environment with {name}");
        return None;
    };
    let program = Path::new(&environment).join("bin").join(name);
    assert!(program.exists(), "{PEERS} has no {}", program.display());
    Some(program)
}

async fn connect(program: PathBuf, args: &[&str]) -> (Arc<Child>, Client) {
    let child = Child::spawn(&ChildConfig {
        args: args.iter().map(OsString::from).collect(),
        environment: Environment::from_pairs(std::env::vars_os()),
        ..ChildConfig::new("python", program)
    });
    let child = Arc::new(child.unwrap());
    let client = Client::builder(child.clone()).server_name("python").build();
    let about = client.discover().await.unwrap();
    assert!(about.supported_versions.contains(&"2026-07-28".to_owned()));
    (child, client)
}

async fn names(client: &Client) -> Vec<String> {
    let tools = client.list_tools().await.unwrap();
    tools.into_iter().map(|tool| tool.name).collect()
}

fn text(result: &CallToolResult) -> &str {
    assert_ne!(result.is_error, Some(true), "{result:?}");
    result.content[0].as_text().unwrap()
}

#[tokio::test]
async fn our_client_and_mcp_server_time() {
    let Some(program) = peer("mcp-server-time") else {
        return;
    };
    let (child, client) = connect(program, &["--local-timezone", "UTC"]).await;
    assert_eq!(names(&client).await, ["get_current_time", "convert_time"]);
    let arguments = json!({"timezone": "Europe/Vienna"});
    let now = client.call_tool("get_current_time", &arguments).await;
    let now: Value = serde_json::from_str(text(&now.unwrap())).unwrap();
    assert_eq!(now["timezone"], "Europe/Vienna");
    child.close().await;
}

#[tokio::test]
async fn our_client_and_mcp_server_git() {
    let Some(program) = peer("mcp-server-git") else {
        return;
    };
    let repository = tempfile::tempdir().unwrap();
    let path = repository.path().to_str().unwrap();
    let git = Command::new("git").args(["init", "-q", path]).status();
    assert!(git.unwrap().success());
    std::fs::write(repository.path().join("new.txt"), "new").unwrap();

    let (child, client) = connect(program, &["--repository", path]).await;
    assert!(names(&client).await.contains(&"git_status".to_owned()));
    let arguments = json!({"repo_path": path});
    let status = client.call_tool("git_status", &arguments).await.unwrap();
    assert!(text(&status).contains("new.txt"), "{status:?}");
    child.close().await;
}
