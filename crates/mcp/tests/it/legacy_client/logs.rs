use std::time::Duration;

use callgate_mcp::Notifications;
use callgate_mcp::upstream::UpstreamConfig;
use serde_json::json;
use tokio::time::Instant;

use super::fixture::{
    Request, complete, connect, error, heard, request, start_told, told, tool_call,
};
use crate::stdio_fixture::{notification, result};

const LOGS: &str = r#"{"tools":{},"logging":{}}"#;

fn at_level(level: &str) -> Request {
    let params =
        format!(r#"{{"name":"t","_meta":{{"io.modelcontextprotocol/logLevel":"{level}"}}}}"#);
    request("tools/call", &params)
}

fn log(level: &str) -> String {
    let params = format!(r#"{{"level":"{level}","data":"{level}"}}"#);
    notification("notifications/message", &params)
}

/// The levels of the log messages that a call was told.
fn levels(mut told: Notifications) -> Vec<String> {
    let mut levels = Vec::new();
    while let Some(notification) = told.try_next() {
        let level = notification.params.get("level").expect("a level");
        levels.push(level.text().expect("a name").into_owned());
    }
    levels
}

#[tokio::test]
async fn the_level_is_set_when_the_most_verbose_that_is_wanted_changes() {
    let (stream, mut peer) = connect(LOGS, UpstreamConfig::default()).await;
    let set = |id: u32, level: &str| json!({"jsonrpc":"2.0","id":id,"method":"logging/setLevel","params":{"level":level}});
    let (warnings, told_warnings) = start_told(&stream, at_level("warning"));
    assert_eq!(heard(&mut peer).await, set(3, "warning"));
    peer.send(&result("3", "{}")).await;
    assert_eq!(heard(&mut peer).await["id"], 4);

    let (infos, told_infos) = start_told(&stream, at_level("info"));
    assert_eq!(heard(&mut peer).await, set(5, "info"));
    peer.send(&result("5", "{}")).await;
    assert_eq!(heard(&mut peer).await["id"], 6);

    // Errors are wanted already.
    let (errors, told_errors) = start_told(&stream, at_level("error"));
    assert_eq!(heard(&mut peer).await["method"], "tools/call");
    let (silent, told_silent) = start_told(&stream, tool_call("{}"));
    assert_eq!(heard(&mut peer).await["method"], "tools/call");

    for level in ["debug", "info", "warning", "error", "unheard-of"] {
        peer.send(&log(level)).await;
    }
    for (id, call) in [("4", warnings), ("6", infos), ("7", errors), ("8", silent)] {
        peer.send(&result(id, r#"{"content":[]}"#)).await;
        complete(call).await;
    }
    assert_eq!(levels(told_warnings), ["warning", "error", "unheard-of"]);
    assert_eq!(
        levels(told_infos),
        ["info", "warning", "error", "unheard-of"]
    );
    assert_eq!(levels(told_errors), ["error", "unheard-of"]);
    assert_eq!(levels(told_silent), [""; 0]);

    let (alone, _) = start_told(&stream, at_level("error"));
    assert_eq!(heard(&mut peer).await, set(9, "error"));
    peer.send(&result("9", "{}")).await;
    assert_eq!(heard(&mut peer).await["id"], 10);
    peer.send(&result("10", r#"{"content":[]}"#)).await;
    complete(alone).await;
}

#[tokio::test]
async fn a_server_without_logs_is_not_told_a_level() {
    let (stream, mut peer) = connect(r#"{"tools":{}}"#, UpstreamConfig::default()).await;
    let (call, _) = start_told(&stream, at_level("debug"));
    assert_eq!(heard(&mut peer).await["method"], "tools/call");
    peer.send(&result("3", r#"{"content":[]}"#)).await;
    complete(call).await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_says_if_it_set_a_level_delays_calls_once() {
    let mut config = UpstreamConfig::default();
    config.handshake_timeout = Duration::from_secs(60);
    let (stream, mut peer) = connect(LOGS, config).await;
    let mut heard = async || heard(&mut peer).await["method"].clone();
    let (impatient, _) = start_told(&stream, at_level("info"));
    assert_eq!(heard().await, "logging/setLevel");
    // The call of a client that waits for less than the timeout.
    impatient.abort();
    let mut calls = Vec::new();
    for level in ["info", "debug", "info"] {
        calls.push(start_told(&stream, at_level(level)));
    }
    assert_eq!(heard().await, "notifications/cancelled");
    for _ in &calls {
        assert_eq!(heard().await, "tools/call");
    }
    let begun = Instant::now();
    let _late = start_told(&stream, at_level("warning"));
    assert_eq!(heard().await, "tools/call");
    assert_eq!(begun.elapsed(), Duration::ZERO);
}

#[tokio::test]
async fn a_server_that_refuses_a_level_is_not_asked_for_it_again() {
    let (stream, mut peer) = connect(LOGS, UpstreamConfig::default()).await;
    let _first = start_told(&stream, at_level("info"));
    assert_eq!(heard(&mut peer).await["method"], "logging/setLevel");
    peer.send(&error("3", -32601, "what?")).await;
    assert_eq!(heard(&mut peer).await["method"], "tools/call");
    let _second = start_told(&stream, at_level("info"));
    assert_eq!(heard(&mut peer).await["method"], "tools/call");
    let _third = start_told(&stream, at_level("debug"));
    assert_eq!(heard(&mut peer).await["method"], "logging/setLevel");
}

#[tokio::test]
async fn hc_8_log_messages_that_may_concern_another_caller_are_dropped() {
    let (stream, mut peer) = connect(LOGS, UpstreamConfig::default()).await;
    let (ada, mut told_ada) = start_told(&stream, at_level("info").by("ada"));
    assert_eq!(heard(&mut peer).await["method"], "logging/setLevel");
    peer.send(&result("3", "{}")).await;
    assert_eq!(heard(&mut peer).await["id"], 4);
    peer.send(&log("notice")).await;
    told(&mut told_ada).await;
    let (bob, told_bob) = start_told(&stream, tool_call("{}").by("bob"));
    assert_eq!(heard(&mut peer).await["id"], 5);
    peer.send(&log("warning")).await;
    peer.send(&result("5", r#"{"content":[]}"#)).await;
    complete(bob).await;
    peer.send(&log("error")).await;
    peer.send(&result("4", r#"{"content":[]}"#)).await;
    complete(ada).await;
    assert_eq!(levels(told_bob), [""; 0]);
    assert_eq!(levels(told_ada), ["error"]);
}
