//! The headers of a request.

use callgate_mcp::wire::header::decode_value;

use super::peer::{Peer, call, json, raw, result};

#[tokio::test]
async fn sm_c2_both_response_types_are_accepted() {
    let mut peer = Peer::start(|request| json(&request.result("{}"))).await;
    result(&peer.client(), call("tools/list", "")).await;
    let request = peer.request().await;
    assert_eq!(
        [request.header("accept"), request.header("content-type")],
        [
            Some("application/json, text/event-stream"),
            Some("application/json")
        ]
    );
}

#[tokio::test]
async fn sm_c3_the_version_header_is_that_of_the_metadata() {
    let mut peer = Peer::start(|request| json(&request.result("{}"))).await;
    let client = peer.client();
    for version in ["2026-07-28", "2099-01-01"] {
        let mut call = call("tools/list", "");
        call.set_params(raw(&format!(
            r#"{{"_meta":{{"io.modelcontextprotocol/protocolVersion":"{version}"}}}}"#
        )));
        result(&client, call).await;
        let request = peer.request().await;
        assert_eq!(request.header("mcp-protocol-version"), Some(version));
    }
}

#[tokio::test]
async fn sm_c4_the_method_header_is_the_method() {
    let mut peer = Peer::start(|request| json(&request.result("{}"))).await;
    let client = peer.client();
    for method in ["server/discover", "tools/list", "vendor/unknown"] {
        result(&client, call(method, "")).await;
        assert_eq!(peer.request().await.header("mcp-method"), Some(method));
    }
}

#[tokio::test]
async fn sm_c5_the_name_header_is_the_target() {
    let mut peer = Peer::start(|request| json(&request.result("{}"))).await;
    let client = peer.client();
    for (method, members, name) in [
        ("tools/call", r#""name":"echo","#, Some("echo")),
        ("prompts/get", r#""name":"größe","#, Some("größe")),
        (
            "resources/read",
            r#""uri":"file:///a b","#,
            Some("file:///a b"),
        ),
        ("tasks/get", r#""taskId":" t","#, Some(" t")),
        (
            "tasks/update",
            r#""taskId":"t\r\nx: y","#,
            Some("t\r\nx: y"),
        ),
        (
            "tasks/cancel",
            r#""taskId":"=?base64?eA==?=","#,
            Some("=?base64?eA==?="),
        ),
        ("tools/list", r#""name":"echo","#, None),
    ] {
        result(&client, call(method, members)).await;
        let request = peer.request().await;
        let seen = request
            .header("mcp-name")
            .map(|name| decode_value(name).unwrap());
        assert_eq!(seen.as_deref(), name, "{method}");
    }
}

#[tokio::test]
async fn sm_c11_there_is_no_session_and_nothing_but_posts() {
    let mut peer = Peer::start(|request| {
        let body = request.result("{}");
        super::peer::Answer::Write(
            format!(
                "HTTP/1.1 200 OK\r\nMcp-Session-Id: s1\r\nSet-Cookie: a=b\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            )
            .into_bytes(),
        )
    })
    .await;
    let client = peer.client();
    for _ in 0..2 {
        result(&client, call("tools/list", "")).await;
    }
    drop(client);
    for request in peer.requests() {
        assert_eq!(request.line, "POST /mcp HTTP/1.1");
        let mut names: Vec<_> = request
            .headers
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        names.sort_unstable();
        assert_eq!(
            names,
            [
                "accept",
                "content-length",
                "content-type",
                "host",
                "mcp-method",
                "mcp-protocol-version",
                "user-agent"
            ]
        );
    }
}
