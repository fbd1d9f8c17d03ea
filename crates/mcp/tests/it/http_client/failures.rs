//! Answers that are no good.

use std::error::Error as _;

use callgate_mcp::transport::http::client::{HttpConfig, HttpFailure, HttpLimits};
use callgate_mcp::{Error, Kind, Origin, Retry};
use futures_util::future::join;

use super::peer::{
    Answer, CHUNKS_END, Peer, SSE_HEAD, call, chunk, event, failure, http, json, result,
};

fn summary(error: &Error) -> (Kind, String) {
    assert_eq!(error.origin(), &Origin::Upstream("peer".into()));
    assert_eq!(error.retry(), Retry::Never);
    (error.kind(), error.to_string())
}

/// What becomes of a call that is answered with these bytes.
async fn answered(bytes: &str) -> Error {
    let peer = Peer::always(bytes).await;
    failure(&peer.client(), call("tools/list", "")).await
}

fn plain(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\n\r\n{body}")
}

#[tokio::test]
async fn errors_of_the_server_are_relayed_raw_with_any_status() {
    const ERROR: &str =
        r#"{"message":"no","code":-32021,"data":{"n":12345678901234567890123},"x":49E-31}"#;
    for (status, id) in [
        ("200 OK", "1"),
        ("400 Bad Request", "1"),
        ("400 Bad Request", "null"),
        ("400 Bad Request", r#""server-error""#),
        ("403 Forbidden", "1"),
        ("404 Not Found", "1"),
        ("429 Too Many Requests", "1"),
        ("500 Internal Server Error", "1"),
    ] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{ERROR}}}"#);
        let error = answered(&plain(status, "content-type: application/json\r\n", &body)).await;
        assert_eq!(
            summary(&error),
            (Kind::Rpc, "no".to_owned()),
            "{status} {id}"
        );
        assert_eq!(error.raw().unwrap().as_str(), ERROR);
        assert_eq!(error.code(), -32021);
    }
}

#[tokio::test]
async fn refused_credentials_keep_their_challenge() {
    const CHALLENGE: &str = r#"Bearer resource_metadata="https://host/prm", scope="a b""#;
    let rpc = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Unauthorized"}}"#;
    for (status, body) in [
        ("401 Unauthorized", ""),
        ("401 Unauthorized", rpc),
        ("403 Forbidden", r#"{"error":"insufficient_scope"}"#),
        ("403 Forbidden", rpc),
    ] {
        let headers = format!("www-authenticate: {CHALLENGE}\r\n");
        let error = answered(&plain(status, &headers, body)).await;
        assert_eq!(error.kind(), Kind::Unauthorized, "{status} {body}");
        let source = error.source().unwrap();
        let failure = source.downcast_ref::<HttpFailure>().unwrap();
        assert_eq!(failure.status.to_string(), status[..3]);
        assert_eq!(failure.www_authenticate, [CHALLENGE]);
        assert_eq!(failure.body_excerpt, body);
    }
}

#[tokio::test]
async fn sm_c11_statuses_without_a_message_are_clear_errors() {
    for (status, kind) in [
        ("400 Bad Request", Kind::Protocol),
        ("401 Unauthorized", Kind::Unauthorized),
        ("403 Forbidden", Kind::Unauthorized),
        ("404 Not Found", Kind::Protocol),
        ("405 Method Not Allowed", Kind::Protocol),
        ("413 Payload Too Large", Kind::TooLarge),
        ("429 Too Many Requests", Kind::Busy),
        ("431 Request Header Fields Too Large", Kind::TooLarge),
        ("500 Internal Server Error", Kind::Protocol),
        ("502 Bad Gateway", Kind::Connect),
    ] {
        let error = answered(&plain(
            status,
            "content-type: text/html\r\n",
            "<p>\nOops</p>",
        ))
        .await;
        let text = format!(
            "server `peer` answered with HTTP status {status} with content type `text/html`: <p> Oops</p>"
        );
        assert_eq!(summary(&error), (kind, text));
    }
}

#[tokio::test]
async fn a_success_without_a_message_is_a_violation() {
    let cases = [
        (
            plain("202 Accepted", "", ""),
            "server `peer` accepted the request but will not answer it",
        ),
        (
            plain("204 No Content", "", ""),
            "server `peer` answered with HTTP status 204 No Content without a content type",
        ),
        (
            plain("200 OK", "content-type: text/html\r\n", "<h1>Login</h1>"),
            "server `peer` answered with HTTP status 200 OK with content type `text/html`: <h1>Login</h1>",
        ),
        (
            plain("200 OK", "content-type: application/jsonp\r\n", "{}"),
            "server `peer` answered with HTTP status 200 OK with content type `application/jsonp`: {}",
        ),
        (
            plain(
                "200 OK",
                "content-type: application/json\r\ncontent-encoding: gzip\r\n",
                "x",
            ),
            "server `peer` answered with HTTP status 200 OK with content type `application/json`: x",
        ),
        (
            plain("200 OK", "content-type: application/json\r\n", "{"),
            "server `peer` sent a malformed message: message is not JSON at byte 1",
        ),
        (
            plain(
                "200 OK",
                "content-type: application/json\r\n",
                r#"{"jsonrpc":"2.0","method":"x"}"#,
            ),
            "server `peer` answered with a message that is no response",
        ),
        (
            plain(
                "200 OK",
                "content-type: application/json\r\n",
                r#"{"jsonrpc":"2.0","id":2,"result":{}}"#,
            ),
            "server `peer` answered with id 2 instead of 1",
        ),
        (
            plain(
                "200 OK",
                "content-type: application/json\r\n",
                r#"[{"jsonrpc":"2.0","id":1,"result":{}}]"#,
            ),
            "server `peer` sent a malformed message: message must be a JSON object; batches are not supported",
        ),
        (
            format!("{SSE_HEAD}{}{CHUNKS_END}", chunk(&event("nonsense"))),
            "server `peer` sent a malformed message: message is not JSON at byte 0",
        ),
        (
            format!(
                "{SSE_HEAD}{}{CHUNKS_END}",
                chunk(&event(r#"{"jsonrpc":"2.0","id":"1","result":{}}"#))
            ),
            r#"server `peer` answered with id "1" instead of 1"#,
        ),
    ];
    for (answer, text) in cases {
        assert_eq!(
            summary(&answered(&answer).await),
            (Kind::Protocol, text.to_owned())
        );
    }
}

#[tokio::test]
async fn a_server_that_does_not_speak_http_is_told_apart() {
    let error = answered("220 mail.example ESMTP\r\n").await;
    let text = "server `peer` sent a malformed HTTP response: invalid HTTP version parsed";
    assert_eq!(summary(&error), (Kind::Protocol, text.to_owned()));
}

#[tokio::test]
async fn a_response_head_over_the_limit_is_refused() {
    let header = format!("x: {}\r\n", "y".repeat(16 * 1024));
    let error = answered(&plain("200 OK", &header, "")).await;
    let text = "server `peer` sent a malformed HTTP response: message head is too large";
    assert_eq!(summary(&error), (Kind::Protocol, text.to_owned()));
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let mut elsewhere = Peer::start(|request| json(&request.result("{}"))).await;
    for status in [
        "301 Moved Permanently",
        "302 Found",
        "303 See Other",
        "307 Temporary Redirect",
        "308 Permanent Redirect",
    ] {
        let location = format!("location: {}?secret=1\r\n", elsewhere.url);
        let error = answered(&plain(status, &location, "")).await;
        let origin = elsewhere.url.trim_end_matches("/mcp");
        let text = format!(
            "server `peer` answered with HTTP status {status}, a redirect to {origin}, which is not followed"
        );
        assert_eq!(summary(&error), (Kind::Protocol, text));
    }
    assert_eq!(elsewhere.requests().len(), 0);
    assert_eq!(elsewhere.connections(), 0);
}

fn small_limits() -> HttpConfig {
    let mut config = HttpConfig::new("peer");
    config.limits = {
        let mut limits = HttpLimits::default();
        limits.json = 64;
        limits.event = 64;
        limits.error = 16;
        limits
    };
    config
}

#[tokio::test]
async fn a_message_over_the_limit_is_refused() {
    // With its envelope of 34 bytes, the first is just small enough.
    let fits = r#"{"a":"1234567890123456789012"}"#;
    let over = r#"{"a":"12345678901234567890123"}"#;
    let peer = Peer::start(move |request| json(&request.result(fits))).await;
    assert_eq!(
        result(&peer.client_with(small_limits()), call("tools/list", "")).await,
        fits
    );

    let text = (
        Kind::TooLarge,
        "server `peer` sent a response larger than 64 bytes".to_owned(),
    );
    let announced = Peer::start(move |request| json(&request.result(over))).await;
    let error = failure(
        &announced.client_with(small_limits()),
        call("tools/list", ""),
    )
    .await;
    assert_eq!(summary(&error), text);

    let head = SSE_HEAD.replace("text/event-stream", "application/json");
    let unannounced = Peer::start(move |request| {
        Answer::Write(format!("{head}{}", chunk(&request.result(over))).into_bytes())
    })
    .await;
    let error = failure(
        &unannounced.client_with(small_limits()),
        call("tools/list", ""),
    )
    .await;
    assert_eq!(summary(&error), text);
}

#[tokio::test]
async fn an_event_over_the_limit_is_refused() {
    for stream in [chunk(&event(&"x".repeat(64))), chunk(&"x".repeat(65))] {
        let peer = Peer::always(&format!("{SSE_HEAD}{stream}")).await;
        let error = failure(&peer.client_with(small_limits()), call("tools/list", "")).await;
        assert_eq!(
            summary(&error),
            (
                Kind::TooLarge,
                "server `peer` sent an event larger than 64 bytes".to_owned()
            )
        );
    }
}

#[tokio::test]
async fn only_the_beginning_of_an_error_is_read() {
    let endless = SSE_HEAD
        .replace("200 OK", "500 Oops")
        .replace("text/event-stream", "text/plain")
        + &chunk("0123456789")
        + &chunk("0123456789");
    let peer = Peer::always(&endless).await;
    let error = failure(&peer.client_with(small_limits()), call("tools/list", "")).await;
    let text = "server `peer` answered with HTTP status 500 Internal Server Error with content type `text/plain`: 0123456789012345";
    assert_eq!(summary(&error), (Kind::Protocol, text.to_owned()));
}

#[tokio::test]
async fn an_error_is_told_although_its_body_never_ends() {
    let stalled = plain("500 Oops", "content-type: text/plain\r\n", "half").replace("4\r", "9\r");
    let mut peer = Peer::always(&stalled).await;
    let client = peer.client();
    let asked = async {
        peer.request().await;
        tokio::time::pause();
    };
    let (error, ()) = join(failure(&client, call("tools/list", "")), asked).await;
    let text = "server `peer` answered with HTTP status 500 Internal Server Error with content type `text/plain`: half";
    assert_eq!(summary(&error), (Kind::Protocol, text.to_owned()));
}

#[tokio::test]
async fn a_message_that_is_nested_too_deep_is_refused() {
    let deep = "[".repeat(200) + &"]".repeat(200);
    let peer =
        Peer::start(move |request| http("200 OK", "application/json", &request.result(&deep)))
            .await;
    let error = failure(&peer.client(), call("tools/list", "")).await;
    assert_eq!(
        summary(&error),
        (
            Kind::Protocol,
            "server `peer` sent a malformed message: message is nested deeper than 128".to_owned()
        )
    );
}
