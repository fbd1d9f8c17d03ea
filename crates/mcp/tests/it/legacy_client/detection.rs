use std::sync::Arc;
use std::time::Duration;

use callgate_mcp::upstream::{StreamPair, UpstreamConfig};
use callgate_mcp::wire::Version;
use callgate_mcp::{Kind, Retry};
use serde_json::json;

use super::fixture::{
    Request, TAIL, asks, complete, connect_as, error, heard, initialized, outcome, request, start,
    start_told, stream, told,
};
use crate::stdio_fixture::{RawPeer, json as raw, notification, result};

#[tokio::test]
async fn a_modern_server_is_called_as_it_is() {
    let (stream, mut peer) = stream(UpstreamConfig::default());
    let call = start(&stream, request("tools/call", r#"{"name":"t"}"#));
    let probe = heard(&mut peer).await;
    assert_eq!(
        (
            &probe["method"],
            &probe["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"]
        ),
        (&json!("server/discover"), &json!("2026-07-28"))
    );
    peer.send(&result(
        "1",
        r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}}"#,
    ))
    .await;
    assert_eq!(
        peer.line().await.as_deref(),
        Some(
            r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":2}}}"#
        )
    );
    peer.send(&result("2", r#"{"resultType":"complete","content":[]}"#))
        .await;
    assert_eq!(
        complete(call).await,
        r#"{"resultType":"complete","content":[]}"#
    );
    assert_eq!(stream.version(), Some(Version::V2026_07_28));
}

#[tokio::test]
async fn an_old_server_gets_one_handshake_however_many_call_at_once() {
    let (stream, mut peer) = stream(UpstreamConfig::default());
    assert_eq!(stream.version(), None);
    let calls = [(); 3].map(|()| start(&stream, request("tools/call", r#"{"name":"t"}"#)));
    heard(&mut peer).await;
    peer.send(&error("1", -32000, "not initialized")).await;
    assert_eq!(
        heard(&mut peer).await,
        json!({"jsonrpc":"2.0","id":2,"method":"initialize","params":{
            "protocolVersion":"2025-11-25",
            "capabilities":{
                "elicitation":{"form":{},"url":{}},
                "roots":{},
                "sampling":{"context":{},"tools":{}},
            },
            "clientInfo":{"name":"callgate","version":env!("CARGO_PKG_VERSION")},
        }})
    );
    peer.send(&asks("\"p\"", "ping", "{}")).await;
    assert_eq!(
        heard(&mut peer).await,
        json!({"jsonrpc":"2.0","id":"p","result":{}})
    );
    peer.send(&initialized("2", "2025-06-18", r#"{"tools":{}}"#))
        .await;
    assert_eq!(
        heard(&mut peer).await["method"],
        "notifications/initialized"
    );
    for id in ["3", "4", "5"] {
        assert_eq!(heard(&mut peer).await["method"], "tools/call");
        peer.send(&result(id, r#"{"content":[]}"#)).await;
    }
    for call in calls {
        assert_eq!(complete(call).await, format!(r#"{{"content":[],{TAIL}}}"#));
    }
    assert_eq!(stream.version(), Some(Version::V2025_06_18));
}

#[tokio::test]
async fn no_caller_opens_a_session_on_a_connection_that_all_share() {
    let (stream, mut peer) = stream(UpstreamConfig::default());
    let handshake = outcome(start(&stream, request("initialize", "{}"))).await;
    assert_eq!(handshake.unwrap_err().code(), -32601);
    start(&stream, request("tools/list", "{}"));
    assert_eq!(heard(&mut peer).await["method"], "server/discover");
}

/// A call of the tool `t` that was translated from an older revision.
fn translated_call() -> Request {
    let mut request = request("tools/call", r#"{"name":"t"}"#);
    request.call.cx.source.translated_from = Some(Version::V2025_06_18);
    request
}

#[tokio::test]
async fn an_old_client_that_calls_first_is_served_in_its_own_era() {
    let (stream, mut peer) = stream(UpstreamConfig::default());
    let call = start(&stream, translated_call());
    assert_eq!(heard(&mut peer).await["method"], "initialize");
    peer.send(&initialized("1", "2025-11-25", r#"{"tools":{}}"#))
        .await;
    assert_eq!(
        heard(&mut peer).await["method"],
        "notifications/initialized"
    );
    // The process has settled for its era, and later clients are served in it as well.
    let later = start(&stream, request("tools/call", r#"{"name":"t"}"#));
    for id in ["2", "3"] {
        assert_eq!(heard(&mut peer).await["method"], "tools/call");
        peer.send(&result(id, r#"{"content":[]}"#)).await;
    }
    for call in [call, later] {
        assert_eq!(complete(call).await, format!(r#"{{"content":[],{TAIL}}}"#));
    }
    assert_eq!(stream.version(), Some(Version::V2025_11_25));
}

#[tokio::test]
async fn an_old_client_that_calls_a_modern_server_first_is_served_all_the_same() {
    let refusals = [
        r#"{"code":-32022,"message":"no","data":{"supported":["2026-07-28"]}}"#,
        r#"{"code":-32601,"message":"what?"}"#,
    ];
    for (refusal, is_clear) in refusals.into_iter().zip([true, false]) {
        let (stream, mut peer) = stream(UpstreamConfig::default());
        let call = start(&stream, translated_call());
        assert_eq!(heard(&mut peer).await["method"], "initialize");
        let refused = format!(r#"{{"jsonrpc":"2.0","id":1,"error":{refusal}}}"#);
        peer.send(&refused).await;
        if !is_clear {
            assert_eq!(heard(&mut peer).await["method"], "server/discover");
            peer.send(&result("2", r#"{"supportedVersions":["2026-07-28"]}"#))
                .await;
        }
        let request = heard(&mut peer).await;
        assert_eq!(request["method"], "tools/call");
        let id = request["id"].to_string();
        peer.send(&result(&id, r#"{"resultType":"complete","content":[]}"#))
            .await;
        assert_eq!(
            complete(call).await,
            r#"{"resultType":"complete","content":[]}"#
        );
        assert_eq!(stream.version(), Some(Version::V2026_07_28));
    }
}

#[tokio::test]
async fn a_server_that_refuses_both_eras_is_quoted() {
    let (stream, mut peer) = stream(UpstreamConfig::default());
    let call = start(&stream, translated_call());
    assert_eq!(heard(&mut peer).await["method"], "initialize");
    peer.send(&error("1", -32000, "not today")).await;
    assert_eq!(heard(&mut peer).await["method"], "server/discover");
    peer.send(&error("2", -32601, "what?")).await;
    assert_eq!(
        outcome(call).await.unwrap_err().to_string(),
        "cannot connect to server `old`: it answered `initialize` with an error: not today"
    );
}

#[tokio::test(start_paused = true)]
async fn silence_means_old_and_an_answer_after_the_handshake_changes_nothing() {
    let (stream, mut peer) = silent_until_initialize().await;
    let call = start(&stream, request("tools/call", "{}"));
    peer.send(&initialized("2", "2024-11-05", r#"{"tools":{}}"#))
        .await;
    assert_eq!(
        heard(&mut peer).await["method"],
        "notifications/initialized"
    );
    peer.send(&result("1", r#"{"supportedVersions":["2026-07-28"]}"#))
        .await;
    assert_eq!(heard(&mut peer).await["method"], "tools/call");
    peer.send(&result("3", r#"{"content":[]}"#)).await;
    complete(call).await;
    assert_eq!(stream.version(), Some(Version::V2024_11_05));
}

#[tokio::test(start_paused = true)]
async fn a_late_answer_to_the_probe_counts_while_the_handshake_waits() {
    let (stream, mut peer) = silent_until_initialize().await;
    let call = start(&stream, request("tools/call", "{}"));
    peer.send(&result("1", r#"{"supportedVersions":["2026-07-28"]}"#))
        .await;
    assert_eq!(heard(&mut peer).await["method"], "tools/call");
    peer.send(&initialized("2", "2024-11-05", r#"{"tools":{}}"#))
        .await;
    peer.send(&result("3", r#"{"resultType":"complete","content":[]}"#))
        .await;
    assert_eq!(
        complete(call).await,
        r#"{"resultType":"complete","content":[]}"#
    );
    assert_eq!(stream.version(), Some(Version::V2026_07_28));
    assert_modern_notifications_arrive(&stream, &mut peer, 4).await;
}

#[tokio::test(start_paused = true)]
async fn a_late_refusal_of_the_probe_leaves_the_handshake_alone() {
    let (stream, mut peer) = silent_until_initialize().await;
    let call = start(&stream, request("tools/call", "{}"));
    peer.send(&error("1", -32601, "what?")).await;
    peer.send(&initialized("2", "2025-06-18", r#"{"tools":{}}"#))
        .await;
    assert_eq!(
        heard(&mut peer).await["method"],
        "notifications/initialized"
    );
    assert_eq!(heard(&mut peer).await["method"], "tools/call");
    peer.send(&result("3", r#"{"content":[]}"#)).await;
    complete(call).await;
    assert_eq!(stream.version(), Some(Version::V2025_06_18));
}

#[tokio::test(start_paused = true)]
async fn a_modern_server_that_refuses_the_handshake_is_called_as_it_is() {
    let (stream, mut peer) = silent_until_initialize().await;
    let call = start(&stream, request("tools/call", "{}"));
    peer.send(r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"]}}}"#)
        .await;
    assert_eq!(heard(&mut peer).await["method"], "tools/call");
    peer.send(&result("3", r#"{"resultType":"complete","content":[]}"#))
        .await;
    complete(call).await;
    assert_eq!(stream.version(), Some(Version::V2026_07_28));
    assert_modern_notifications_arrive(&stream, &mut peer, 4).await;
}

/// A server that starts so slowly that the handshake begins before it has answered the probe.
async fn silent_until_initialize() -> (Arc<StreamPair>, RawPeer) {
    let (stream, mut peer) = stream(UpstreamConfig::default());
    let discover = start(&stream, request("server/discover", "{}"));
    assert_eq!(heard(&mut peer).await["method"], "server/discover");
    assert_eq!(heard(&mut peer).await["method"], "initialize");
    discover.abort();
    (stream, peer)
}

/// Checks that progress, logs and subscriptions reach the calls that the server knows by `id` and
/// the number after it.
async fn assert_modern_notifications_arrive(stream: &Arc<StreamPair>, peer: &mut RawPeer, id: u64) {
    let logging = r#"{"_meta":{"progressToken":"mine","io.modelcontextprotocol/logLevel":"info"}}"#;
    let (call, mut of_call) = start_told(stream, request("tools/call", logging));
    assert_eq!(heard(peer).await["id"], id);
    let (listen, mut of_listen) = start_told(stream, request("subscriptions/listen", "{}"));
    assert_eq!(heard(peer).await["id"], id + 1);
    let progress = format!(r#"{{"progressToken":{id},"progress":1}}"#);
    let message = r#"{"level":"error","data":"full"}"#;
    let change = format!(
        r#"{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{}}}}}"#,
        id + 1
    );
    for (method, params) in [
        ("notifications/progress", &*progress),
        ("notifications/message", message),
        ("notifications/tools/list_changed", &*change),
    ] {
        peer.send(&notification(method, params)).await;
    }
    for (method, params) in [
        (
            "notifications/progress",
            r#"{"progressToken":"mine","progress":1}"#,
        ),
        ("notifications/message", message),
    ] {
        assert_eq!(told(&mut of_call).await, (method.to_owned(), raw(params)));
    }
    assert_eq!(
        told(&mut of_listen).await,
        (
            "notifications/tools/list_changed".to_owned(),
            raw(r#"{"_meta":{"io.modelcontextprotocol/subscriptionId":"caller"}}"#)
        )
    );
    drop((call, listen));
}

#[tokio::test]
async fn a_server_that_names_only_old_versions_is_greeted_with_the_best() {
    let (stream, mut peer) = stream(UpstreamConfig::default());
    let call = start(&stream, request("tools/call", "{}"));
    heard(&mut peer).await;
    peer.send(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"no","data":{"supported":["2025-03-26","2024-11-05"]}}}"#)
        .await;
    assert_eq!(
        heard(&mut peer).await["params"]["protocolVersion"],
        "2025-03-26"
    );
    drop(call);
}

#[tokio::test]
async fn an_unknown_version_is_named() {
    let (stream, mut peer) = stream(UpstreamConfig::default());
    let call = start(&stream, request("tools/call", "{}"));
    heard(&mut peer).await;
    peer.send(&error("1", -32601, "what?")).await;
    heard(&mut peer).await;
    peer.send(&initialized("2", "2027-01-01", "{}")).await;
    let error = outcome(call).await.expect_err("no common version");
    assert_eq!(
        (error.kind(), error.retry(), error.to_string()),
        (
            Kind::UnsupportedVersion,
            Retry::Safe,
            "server `old` wants to speak protocol version `2027-01-01`; this client speaks \
             2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05"
                .to_owned()
        )
    );
    let again = outcome(start(&stream, request("tools/call", "{}"))).await;
    assert_eq!(
        again.expect_err("it stays broken").kind(),
        Kind::UnsupportedVersion
    );
}

#[tokio::test]
async fn a_refused_handshake_shows_the_versions_that_the_server_names() {
    let (stream, mut peer) = stream(UpstreamConfig::default());
    let call = start(&stream, request("tools/call", "{}"));
    heard(&mut peer).await;
    peer.send(&error("1", -32601, "what?")).await;
    heard(&mut peer).await;
    peer.send(r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"Unsupported","data":{"supported":["2023-01-01"]}}}"#)
        .await;
    let error = outcome(call).await.expect_err("no common version");
    assert_eq!(
        error.to_string(),
        "cannot connect to server `old`: it answered `initialize` with an error: Unsupported; it speaks 2023-01-01, this client speaks \
         2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05"
    );
}

#[tokio::test(start_paused = true)]
async fn a_handshake_that_is_not_answered_is_given_up_and_never_canceled() {
    let mut config = UpstreamConfig::default();
    config.handshake_timeout = Duration::from_secs(1);
    let (stream, mut peer) = stream(config);
    let call = start(&stream, request("tools/call", "{}"));
    heard(&mut peer).await;
    peer.send(&error("1", -32601, "what?")).await;
    assert_eq!(heard(&mut peer).await["method"], "initialize");
    let error = outcome(call).await.expect_err("the server is silent");
    assert_eq!(error.kind(), Kind::Timeout);
    drop(stream);
    assert_eq!(peer.rest().await, [""; 0]);
}

#[tokio::test]
async fn a_call_that_is_dropped_does_not_stop_the_handshake() {
    let (stream, mut peer) = stream(UpstreamConfig::default());
    let call = start(&stream, request("tools/call", "{}"));
    heard(&mut peer).await;
    call.abort();
    assert!(call.await.is_err());
    peer.send(&error("1", -32601, "what?")).await;
    assert_eq!(heard(&mut peer).await["method"], "initialize");
    peer.send(&initialized("2", "2025-11-25", "{}")).await;
    assert_eq!(
        heard(&mut peer).await["method"],
        "notifications/initialized"
    );
    let discovered = complete(start(&stream, request("server/discover", "{}"))).await;
    assert_eq!(
        discovered,
        r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"old","version":"1"}}}"#
    );
}

#[tokio::test]
async fn several_messages_on_one_line_are_taken_apart() {
    let (stream, mut peer) =
        connect_as("2025-03-26", r#"{"tools":{}}"#, UpstreamConfig::default()).await;
    let request = request("tools/call", r#"{"_meta":{"progressToken":"mine"}}"#);
    let (call, mut notifications) = start_told(&stream, request);
    heard(&mut peer).await;
    let progress = notification(
        "notifications/progress",
        r#"{"progressToken":1,"progress":1}"#,
    );
    peer.send(&format!(
        "[{progress},{}]",
        result("3", r#"{"content":[]}"#)
    ))
    .await;
    complete(call).await;
    assert_eq!(
        told(&mut notifications).await,
        (
            "notifications/progress".to_owned(),
            raw(r#"{"progressToken":"mine","progress":1}"#)
        )
    );
}
