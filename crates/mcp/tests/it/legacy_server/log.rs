use std::sync::Arc;

use callgate_mcp::Service;
use callgate_mcp::wire::{Method, Notification};

use super::fixture::{discoverable, error, old_client, request};
use crate::stdio_fixture::{complete, json, notification, result};

/// Logs at every level and says which level it was asked for.
fn talkative() -> Arc<dyn Service> {
    discoverable(|call| async move {
        for level in ["debug", "info", "warning", "emergency"] {
            let message = Notification {
                method: Method::new("notifications/message"),
                params: json(&format!(r#"{{"level":"{level}","data":1}}"#)),
            };
            call.cx.notify.send(message).await;
        }
        let level = call
            .params()
            .at(&["_meta", "io.modelcontextprotocol/logLevel"])
            .unwrap();
        complete(&format!(r#"{{"resultType":"complete","asked":{level:?}}}"#))
    })
}

fn message(level: &str) -> String {
    notification(
        "notifications/message",
        &format!(r#"{{"level":"{level}","data":1}}"#),
    )
}

#[tokio::test]
async fn hc_8_the_level_of_the_session_goes_with_each_request_and_filters_log_messages() {
    let (mut peer, _server) = old_client(talkative(), "2025-06-18", "{}").await;
    peer.send(&request("1", "tools/call", "{}")).await;
    assert_eq!(
        peer.lines(4).await,
        [
            message("info"),
            message("warning"),
            message("emergency"),
            result("1", r#"{"asked":"info"}"#),
        ]
    );
    peer.send(&request("2", "logging/setLevel", r#"{"level":"critical"}"#))
        .await;
    peer.send(&request("3", "tools/call", "{}")).await;
    assert_eq!(
        peer.lines(3).await,
        [
            result("2", "{}"),
            message("emergency"),
            result("3", r#"{"asked":"critical"}"#),
        ]
    );
}

#[tokio::test]
async fn a_level_that_does_not_exist_is_refused_and_changes_nothing() {
    let (mut peer, _server) = old_client(talkative(), "2025-06-18", "{}").await;
    peer.send(&request("1", "logging/setLevel", r#"{"level":"loud"}"#))
        .await;
    assert_eq!(
        peer.line().await,
        Some(error(
            "1",
            r#"{"code":-32602,"message":"`level` must be a level"}"#
        ))
    );
    peer.send(&request("2", "tools/call", "{}")).await;
    assert_eq!(peer.lines(4).await[3], result("2", r#"{"asked":"info"}"#));
}
