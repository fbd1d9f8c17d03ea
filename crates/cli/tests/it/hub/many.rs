use std::process::{Command, Stdio};

use serde_json::{Map, json};

use super::setup::{is_running, wait_for};
use crate::fixture::Home;

#[test]
fn fifty_servers_answer_many_calls_with_one_process_each() {
    let home = Home::new();
    let mut servers = Map::new();
    for number in 0..50 {
        servers.insert(format!("s{number}"), home.workspace_server());
    }
    home.configure(&json!(servers));
    let serving = home.serve(&["--no-auth"]);
    wait_for("the start", || home.processes().len() == 50);
    let pids: Vec<u64> = home
        .processes()
        .iter()
        .map(|process| process["pid"].as_u64().unwrap())
        .collect();
    // A thousand calls in flight: twenty at each server, of which curl sends all at once.
    let mut curl = Command::new("curl");
    curl.args([
        "-s",
        "--parallel",
        "--parallel-immediate",
        "--parallel-max",
        "300",
    ]);
    for number in 0..1_000 {
        let body = json!({
            "jsonrpc": "2.0", "id": number, "method": "tools/call",
            "params": { "name": format!("s{}_workspace_list", number % 50), "arguments": {} },
        });
        curl.args(["-H", "Content-Type: application/json", "-d"]);
        curl.arg(body.to_string()).arg(&serving.url).arg("--next");
    }
    curl.args(["-s", "-H", "Content-Type: application/json", "-d"]);
    curl.arg(r#"{"jsonrpc":"2.0","id":"last","method":"tools/list"}"#);
    let output = curl
        .arg(&serving.url)
        .stderr(Stdio::null())
        .output()
        .unwrap();
    let answers = String::from_utf8(output.stdout).unwrap();
    let answered = answers.matches(r#""entries":[]}"#).count();
    assert_eq!(
        answered,
        1_000,
        "{}",
        answers.chars().take(500).collect::<String>()
    );
    let after: Vec<u64> = home
        .processes()
        .iter()
        .map(|process| process["pid"].as_u64().unwrap())
        .collect();
    assert_eq!(after, pids);
    drop(serving);
    wait_for("the end of all processes", || {
        !pids.iter().any(|pid| is_running(*pid))
    });
}
