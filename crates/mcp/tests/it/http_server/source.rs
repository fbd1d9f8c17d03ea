//! Origin and trace context of requests, as services see them.

use std::sync::Arc;

use callgate_mcp::transport::http::server::{HttpServerConfig, Listener};
use callgate_mcp::wire::RawJson;
use callgate_mcp::{Reply, Service};

use super::peer::Peer;
use super::post::Post;
use crate::stdio_fixture::service;

/// Answers with the source and the trace context of each call.
pub(super) fn told() -> Arc<dyn Service> {
    service(|call| async move {
        let source = &call.cx.source;
        let trace = call.cx.trace();
        let told = serde_json::json!({
            "transport": format!("{:?}", source.transport),
            "ip": source.address.map(|address| address.ip().to_string()),
            "conversation": source.conversation.as_deref(),
            "trace": [trace.traceparent, trace.tracestate, trace.baggage],
        });
        Ok(Reply::Complete(RawJson::encode(&told).unwrap()))
    })
}

/// The result in a response.
pub(super) fn result(body: &str) -> serde_json::Value {
    let mut body: serde_json::Value = serde_json::from_str(body).unwrap();
    body["result"].take()
}

async fn ask(request: &Post) -> serde_json::Value {
    let address = ([127, 0, 0, 1], 0).into();
    let server = Listener::bind(address, told(), HttpServerConfig::default()).await;
    let server = server.unwrap();
    let address = server.local_addr().unwrap();
    let running = tokio::spawn(server.run());
    let mut peer = Peer::connect(address).await;
    peer.send(request.bytes(address)).await;
    let answer = peer.answer().await;
    running.abort();
    result(&answer.body)
}

#[tokio::test]
async fn a_request_has_an_address_and_is_in_no_conversation() {
    let told = ask(&Post::tool("t")).await;
    let expect = serde_json::json!({
        "transport": "Http",
        "ip": "127.0.0.1",
        "conversation": null,
        "trace": [null, null, null],
    });
    assert_eq!(told, expect);
}

#[tokio::test]
async fn the_trace_context_of_the_headers_counts_where_the_metadata_has_none() {
    let traced = |request: Post| {
        request
            .set("traceparent", "00-1-2-01")
            .and("tracestate", "a=1")
            .and("tracestate", "b=2")
            .and("baggage", "k=v")
    };
    let told = ask(&traced(Post::tool("t"))).await;
    assert_eq!(
        told["trace"],
        serde_json::json!(["00-1-2-01", "a=1,b=2", "k=v"])
    );

    let twice = traced(Post::tool("t")).and("traceparent", "00-3-4-01");
    assert_eq!(
        ask(&twice).await["trace"],
        serde_json::json!([null, "a=1,b=2", "k=v"])
    );

    let meta = r#"{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"traceparent":"00-5-6-01","io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    let both = traced(Post::message(meta).set("mcp-method", "x"));
    assert_eq!(
        ask(&both).await["trace"],
        serde_json::json!(["00-5-6-01", null, null])
    );
}

#[cfg(feature = "legacy")]
mod sessions {
    use callgate_mcp::SessionLimits;

    use super::*;

    const HANDSHAKE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"old","version":"1"}}}"#;
    const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}"#;

    /// Discoverable, and otherwise [`told`].
    fn discoverable() -> Arc<dyn Service> {
        let told = told();
        service(move |call| {
            let told = told.clone();
            async move {
                match call.method.as_str() {
                    "server/discover" => crate::stdio_fixture::complete(
                        r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"ttlMs":0,"cacheScope":"private"}"#,
                    ),
                    _ => told.call(call).await,
                }
            }
        })
    }

    #[tokio::test]
    async fn the_requests_of_an_old_session_share_a_key_that_is_no_secret() {
        let mut config = HttpServerConfig::default();
        config.sessions = Some(SessionLimits::default());
        let address = ([127, 0, 0, 1], 0).into();
        let server = Listener::bind(address, discoverable(), config).await;
        let server = server.unwrap();
        let address = server.local_addr().unwrap();
        let running = tokio::spawn(server.run());
        let ask = async |request: Post| {
            let mut peer = Peer::connect(address).await;
            peer.send(request.bytes(address)).await;
            peer.answer().await
        };
        let old = |body: &str| Post::message(body).set("mcp-protocol-version", "2025-11-25");

        let mut keys = Vec::new();
        for _ in 0..2 {
            let opened = ask(old(HANDSHAKE)).await;
            let id = opened.header("mcp-session-id").unwrap().to_owned();
            for _ in 0..2 {
                let call = old(CALL).set("mcp-session-id", &id).set("baggage", "k=v");
                let told = result(&ask(call).await.body);
                assert_eq!(told["ip"], "127.0.0.1");
                assert_eq!(told["trace"][2], "k=v");
                let key = told["conversation"].as_str().unwrap().to_owned();
                assert!(!id.contains(&key) && !key.contains(&id));
                keys.push(key);
            }
        }
        assert_eq!(keys[0], keys[1]);
        assert_eq!(keys[2], keys[3]);
        assert_ne!(keys[0], keys[2]);

        let alone = result(&ask(old(CALL)).await.body);
        assert_eq!(alone["conversation"], serde_json::Value::Null);
        running.abort();
    }
}
