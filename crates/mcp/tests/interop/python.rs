//! Our client against servers from PyPI.

use std::process::Command;

use callgate_mcp::upstream::Era;
use callgate_mcp::wire::Version;
use serde_json::{Value, json};

use crate::peer::{python_program, within};
use crate::upstream::{process, process_of};
use crate::user::{call, client, tools};

#[tokio::test]
#[ignore = "needs peers: cargo xtask interop"]
async fn our_client_and_mcp_server_time() {
    let program = python_program("mcp-server-time");
    within(async {
        let server = process(&program.args(["--local-timezone", "UTC"]).child("time"));
        let client = client(server.clone());
        assert_eq!(tools(&client).await, ["get_current_time", "convert_time"]);
        let now = json!({"timezone": "Europe/Vienna"});
        let now = call(&client, "get_current_time", now).await;
        let now: Value = serde_json::from_str(&now[0]).unwrap();
        assert_eq!(now["timezone"], "Europe/Vienna");
        assert_eq!(server.version(), Some(Version::V2026_07_28));
        server.close().await;
    })
    .await;
}

#[tokio::test]
#[ignore = "needs peers: cargo xtask interop"]
async fn our_client_and_mcp_server_time_in_each_old_revision() {
    let program = python_program("mcp-server-time");
    let command = program.args(["--local-timezone", "UTC"]).child("time");
    within(async {
        for version in Version::ALL.iter().filter(|version| !version.is_modern()) {
            let server = process_of(Era::Old(*version), &command);
            let client = client(server.clone());
            assert_eq!(tools(&client).await, ["get_current_time", "convert_time"]);
            assert_eq!(server.version(), Some(*version));
            server.close().await;
        }
    })
    .await;
}

#[tokio::test]
#[ignore = "needs peers: cargo xtask interop"]
async fn our_client_and_mcp_server_git() {
    let program = python_program("mcp-server-git");
    let repository = tempfile::tempdir().unwrap();
    let path = repository.path().to_str().unwrap();
    let git = Command::new("git").args(["init", "-q", path]).status();
    assert!(git.unwrap().success());
    std::fs::write(repository.path().join("new.txt"), "new").unwrap();

    within(async {
        let server = process(&program.args(["--repository", path]).child("git"));
        let client = client(server.clone());
        let status = call(&client, "git_status", json!({"repo_path": path})).await;
        assert!(status[0].contains("new.txt"), "{status:?}");
        assert_eq!(server.version(), Some(Version::V2026_07_28));
        server.close().await;
    })
    .await;
}
