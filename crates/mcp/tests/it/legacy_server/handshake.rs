use callgate_mcp::transport::line::LineConfig;
use callgate_mcp::wire::RawJson;
use callgate_mcp::{Error, Reply};

use super::fixture::{ASKABLE, discoverable, error, initialize, old_client, request};
use crate::stdio_fixture::{self, META, RawPeer, complete, json, result, service, soon};

/// Answers with what the service was told of the client.
fn mirror() -> std::sync::Arc<dyn callgate_mcp::Service> {
    discoverable(|call| async move {
        Ok(Reply::Complete(
            call.params().get("_meta").unwrap_or_else(RawJson::null),
        ))
    })
}

#[tokio::test]
async fn a_handshake_is_answered_from_server_discover() {
    for (version, completions) in [
        ("2024-11-05", ""),
        ("2025-03-26", r#""completions":{},"#),
        ("2025-06-18", r#""completions":{},"#),
        ("2025-11-25", r#""completions":{},"#),
    ] {
        let (mut peer, _server) = RawPeer::of_server(mirror(), LineConfig::default());
        peer.send(&initialize(version, "{}")).await;
        let expect = format!(
            r#"{{"protocolVersion":"{version}","capabilities":{{"logging":{{}},{completions}"prompts":{{"listChanged":true}},"resources":{{"subscribe":true,"listChanged":true}},"tools":{{"listChanged":true}}}},"serverInfo":{{"name":"files","version":"3"}},"instructions":"Be kind."}}"#
        );
        assert_eq!(peer.line().await, Some(result(r#""hello""#, &expect)));
    }
}

#[tokio::test]
async fn hc_19_a_handshake_that_names_the_newest_or_an_unknown_revision_gets_the_last_old_one() {
    for version in ["2026-07-28", "1999-01-01"] {
        let (mut peer, _server) = RawPeer::of_server(mirror(), LineConfig::default());
        peer.send(&initialize(version, "{}")).await;
        let opened = json(&peer.line().await.unwrap());
        let spoken = opened.at(&["result", "protocolVersion"]);
        assert_eq!(spoken, Some(json(r#""2025-11-25""#)));
    }
}

#[tokio::test]
async fn client_info_of_the_handshake_goes_with_each_request() {
    let (mut peer, _server) = old_client(mirror(), "2025-06-18", ASKABLE).await;
    peer.send(&request(
        "1",
        "x",
        r#"{"_meta":{"progressToken":7,"traceparent":"00-a","io.modelcontextprotocol/clientInfo":"forged"}}"#,
    ))
    .await;
    assert_eq!(
        peer.line().await,
        Some(result(
            "1",
            r#"{"progressToken":7,"traceparent":"00-a","io.modelcontextprotocol/clientInfo":{"name":"old","version":"1"},"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{},"sampling":{},"elicitation":{"form":{}}},"io.modelcontextprotocol/logLevel":"info"}"#
        ))
    );
}

#[tokio::test]
async fn before_a_handshake_a_client_can_only_ping() {
    let (mut peer, _server) = RawPeer::of_server(mirror(), LineConfig::default());
    peer.send(&request("1", "ping", "{}")).await;
    peer.send(&request("2", "tools/list", "{}")).await;
    peer.send("[]").await;
    assert_eq!(
        peer.lines(3).await,
        [
            result("1", "{}"),
            error(
                "2",
                r#"{"code":-32602,"message":"params must have the object `_meta`; a client of an older revision must send `initialize` first"}"#
            ),
            r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"message must be a JSON object; batches are not supported"}}"#.to_owned(),
        ]
    );
}

#[tokio::test]
async fn requests_of_both_eras_share_a_process() {
    let (mut peer, _server) = old_client(mirror(), "2025-03-26", "{}").await;
    peer.send(&stdio_fixture::request("1", "x")).await;
    assert_eq!(peer.line().await, Some(result("1", META)));
    peer.send(&request("2", "server/discover", "{}")).await;
    peer.send(&request("3", "ping", "{}")).await;
    assert_eq!(
        peer.lines(2).await,
        [
            error(
                "2",
                r#"{"code":-32601,"message":"method `server/discover` not found"}"#
            ),
            result("3", "{}")
        ]
    );
}

#[tokio::test]
async fn requests_wait_for_the_answer_to_the_handshake() {
    let (mut peer, server) = RawPeer::of_server(
        service(|call| async move {
            tokio::task::yield_now().await;
            match call.method.as_str() {
                "server/discover" => complete(super::fixture::DISCOVERED),
                _ => complete(r#"{"resultType":"complete","tools":[]}"#),
            }
        }),
        LineConfig::default(),
    );
    let lines = [
        initialize("2025-11-25", "{}"),
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned(),
        request("1", "tools/list", "{}"),
        String::new(),
    ];
    peer.send_bytes(lines.join("\n").as_bytes()).await;
    peer.finish().await;
    let answers = peer.rest().await;
    assert!(answers[0].contains("protocolVersion"), "{answers:?}");
    assert_eq!(answers[1..], [result("1", r#"{"tools":[]}"#)]);
    soon(server).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_handshake_that_fails_opens_nothing() {
    let broken = service(|_| async { Err(Error::internal("no idea")) });
    let (mut peer, _server) = RawPeer::of_server(broken, LineConfig::default());
    peer.send(&request("1", "initialize", "{}")).await;
    let refused = peer.line().await.unwrap();
    assert!(
        refused.starts_with(
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"malformed params of the handshake"#
        ),
        "{refused}"
    );
    peer.send(&initialize("2025-11-25", "{}")).await;
    peer.send(&request("2", "ping", "{}")).await;
    let expect = [
        error(r#""hello""#, r#"{"code":-32603,"message":"no idea"}"#),
        result("2", "{}"),
    ];
    let mut seen = peer.lines(2).await;
    seen.sort();
    let mut expect = expect.to_vec();
    expect.sort();
    assert_eq!(seen, expect);
}

#[tokio::test]
async fn old_revisions_can_be_turned_off() {
    let mut config = LineConfig::default();
    config.sessions = None;
    let (mut peer, _server) = RawPeer::of_server(mirror(), config);
    peer.send(&initialize("2025-11-25", "{}")).await;
    assert_eq!(
        peer.line().await,
        Some(error(
            r#""hello""#,
            r#"{"code":-32602,"message":"params must have the object `_meta`"}"#
        ))
    );
}
