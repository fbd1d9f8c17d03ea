//! What is sent.

use std::collections::HashSet;

use callgate_mcp::transport::http::client::{Headers, HttpConfig};
use callgate_mcp::{Kind, Origin};

use super::peer::{Peer, call, failure, json, result, run, soon};

#[tokio::test]
async fn sm_c1_every_call_is_its_own_post_of_one_request() {
    let mut peer = Peer::start(|request| json(&request.result("{}"))).await;
    let client = peer.client();
    let calls = (0..8).map(|_| run(&client, call("tools/list", "")));
    for outcome in futures_util::future::join_all(calls).await {
        outcome.unwrap();
    }
    let requests = peer.requests();
    let ids: HashSet<String> = requests
        .iter()
        .map(|request| request.message().id.to_string())
        .collect();
    assert_eq!((requests.len(), ids.len()), (8, 8));
    for request in requests {
        assert_eq!(request.line, "POST /mcp HTTP/1.1");
    }
}

#[tokio::test]
async fn the_params_are_sent_byte_for_byte() {
    let mut peer = Peer::start(|request| json(&request.result("{}"))).await;
    let odd = r#""z":12345678901234567890123, "name":"\u0065cho","arguments":{"n":49E-31,"a":-0},"#;
    let call = call("tools/call", odd);
    let params = call.params().clone();
    result(&peer.client(), call).await;
    assert_eq!(
        peer.request().await.text(),
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params:?}}}"#)
    );
}

#[tokio::test]
async fn a_request_without_a_progress_token_gets_one() {
    let mut peer = Peer::start(|request| json(&request.result("{}"))).await;
    let mut call = call("tools/list", "");
    call.set_params(super::peer::raw(
        r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"},"x":1e2}"#,
    ));
    result(&peer.client(), call).await;
    assert_eq!(
        peer.request().await.message().params.as_str(),
        r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","progressToken":1},"x":1e2}"#
    );
}

#[tokio::test]
async fn a_request_that_cannot_be_framed_is_the_fault_of_the_caller() {
    let mut peer = Peer::start(|request| json(&request.result("{}"))).await;
    let mut call = call("tools/list", "");
    call.set_params(super::peer::raw("{}"));
    let error = failure(&peer.client(), call).await;
    assert_eq!(
        (error.kind(), error.origin()),
        (Kind::InvalidParams, &Origin::Caller)
    );
    assert_eq!(peer.requests().len(), 0);
}

#[tokio::test]
async fn sm_c12_configured_headers_are_on_every_request_and_never_shown() {
    let mut peer = Peer::start(|request| match request.method().as_str() {
        "tools/list" => json(&request.result(
            r#"{"tools":[{"name":"t","inputSchema":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}}]}"#,
        )),
        _ if request.header("mcp-param-a").is_none() => json(&request.error(-32020)),
        _ => json(&request.result("{}")),
    })
    .await;
    let mut config = HttpConfig::new("peer");
    config.headers = Headers::default()
        .with("Authorization", "Bearer top-secret")
        .unwrap();
    let client = peer.client_with(config);
    result(
        &client,
        call("tools/call", r#""name":"t","arguments":{"a":"x"},"#),
    )
    .await;
    let requests = peer.requests();
    assert_eq!(requests.len(), 3);
    for request in requests {
        assert_eq!(request.header("authorization"), Some("Bearer top-secret"));
    }
    let shown = format!("{client:?}");
    assert!(shown.contains(r#""authorization": ***"#), "{shown}");
    assert!(!shown.contains("secret"), "{shown}");
}

#[tokio::test]
async fn a_secret_that_the_server_echoes_is_not_in_the_error() {
    let peer = Peer::always(
        "HTTP/1.1 500 x\r\nwww-authenticate: saw top-secret\r\ncontent-length: 16\r\n\r\nwhat? top-secret",
    )
    .await;
    let mut config = HttpConfig::new("peer");
    config.headers = Headers::default()
        .with("Authorization", "Bearer top-secret")
        .unwrap();
    let error = soon(failure(&peer.client_with(config), call("tools/list", ""))).await;
    let shown = format!("{error} {error:?}");
    assert!(shown.contains("what? ***"), "{shown}");
    assert!(!shown.contains("top-secret"), "{shown}");
}
