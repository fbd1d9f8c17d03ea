//! Who may ask where a verifier decides, and what everybody may read.

use callgate_mcp::transport::http::server::{Document, HttpServerConfig};

use super::badges::{DOCUMENT, DOCUMENTS, INVALID, NARROW, WHERE, guarded};
use super::post::Post;
use super::subject::Subject;

fn bearing(token: &str) -> Post {
    Post::tool("caller").set("authorization", &format!("Bearer {token}"))
}

#[tokio::test]
async fn the_caller_comes_from_the_verifier() {
    let subject = Subject::start(guarded()).await;
    for (token, caller) in [("ann-1", "ann"), ("ann-2", "ann"), ("bob-1", "bob")] {
        let answer = subject.ask(&bearing(token)).await;
        let expect = format!(r#"{{"jsonrpc":"2.0","id":1,"result":"Principal(\"{caller}\")"}}"#);
        assert_eq!((answer.status, answer.body), (200, expect));
    }
}

#[tokio::test]
async fn callers_without_a_valid_token_are_refused_with_the_reason() {
    let subject = Subject::start(guarded()).await;
    let with = |credentials| Post::tool("caller").set("authorization", credentials);
    for (request, status, challenge) in [
        (Post::tool("caller"), 401, WHERE),
        (
            bearing("ann-1").and("authorization", "Bearer ann-1"),
            401,
            WHERE,
        ),
        (with(""), 401, WHERE),
        (with("Bearer"), 401, WHERE),
        (with("Bearer\tann-1"), 401, WHERE),
        (with("Basic ann-1"), 401, WHERE),
        (with("DPoP ann-1"), 401, WHERE),
        (with("ann-1"), 401, WHERE),
        (with("Bearer  ann-1"), 401, INVALID),
        (bearing("eve-1"), 401, INVALID),
        (bearing("ann"), 401, INVALID),
        (bearing("ann-narrow"), 403, NARROW),
    ] {
        let answer = subject.ask(&request).await;
        assert_eq!(
            (
                answer.status,
                answer.header("www-authenticate"),
                answer.body.as_str()
            ),
            (status, Some(challenge), ""),
            "{request:?}"
        );
    }
    assert_eq!(subject.seen.calls(), 0);
}

#[tokio::test]
async fn a_token_that_cannot_be_verified_now_is_not_called_invalid() {
    let subject = Subject::start(guarded()).await;
    let answer = subject.ask(&bearing("ann-unknown")).await;
    let message = r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"tokens cannot be verified at the moment"}}"#;
    assert_eq!(
        (
            answer.status,
            answer.header("www-authenticate"),
            answer.body.as_str()
        ),
        (503, None, message)
    );
    assert_eq!(subject.seen.calls(), 0);
}

#[tokio::test]
async fn everybody_may_read_the_documents_from_any_page() {
    let subject = Subject::start(guarded()).await;
    let plain = Post::message("").without("content-type");
    let from_elsewhere = plain
        .clone()
        .set("origin", "https://evil.example")
        .set("sec-fetch-site", "cross-site");
    for path in DOCUMENTS {
        for request in [&plain, &from_elsewhere] {
            for target in [path.to_owned(), format!("{path}?x=1")] {
                let request = request.clone().to(&target);
                let answer = subject.ask(&request.clone().by("GET")).await;
                let head = [
                    answer.header("content-type"),
                    answer.header("access-control-allow-origin"),
                ];
                assert_eq!(
                    (answer.status, head, answer.body.as_str()),
                    (200, [Some("application/json"), Some("*")], DOCUMENT)
                );
                let mut peer = subject.connect().await;
                peer.send(request.by("HEAD").bytes(subject.address)).await;
                let head = peer.head().await;
                let length = DOCUMENT.len().to_string();
                assert_eq!(
                    (head.status, head.header("content-length")),
                    (200, Some(length.as_str()))
                );
                // What follows is the next response, not a body.
                peer.send(bearing("ann-1").bytes(subject.address)).await;
                assert_eq!(peer.answer().await.status, 200);
            }
        }
        for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
            let answer = subject.ask(&plain.clone().to(path).by(method)).await;
            assert_eq!(
                (answer.status, answer.header("allow")),
                (405, Some("GET, HEAD"))
            );
        }
    }
}

#[tokio::test]
async fn a_document_is_read_under_the_name_of_the_server_only() {
    let subject = Subject::start(guarded()).await;
    let request = Post::message("").by("GET").to(DOCUMENTS[0]);
    for (host, status) in [("evil.example", 403), ("a b", 400), ("", 400)] {
        let answer = subject.ask(&request.clone().set("host", host)).await;
        assert_eq!(answer.status, status, "{host}");
    }
    let twice = request.and("host", "localhost").and("host", "localhost");
    assert_eq!(subject.ask(&twice).await.status, 400);
}

#[tokio::test]
async fn no_document_takes_the_place_of_the_endpoint() {
    let mut config = guarded();
    config.documents = vec![Document::new(HttpServerConfig::default().path, DOCUMENT)];
    let subject = Subject::start(config).await;
    let request = Post::message("").by("GET");
    let status = if cfg!(feature = "legacy") { 401 } else { 405 };
    assert_eq!(subject.ask(&request).await.status, status);
    assert_eq!(subject.ask(&bearing("ann-1")).await.status, 200);
}

/// Where there is something, and ways to spell it that others have been fooled by.
const TARGETS: &[&str] = &[
    "/mcp",
    "/mcp/",
    "/mcp?access_token=ann-1",
    "/mcp?sessionId=1",
    "//mcp",
    "/MCP",
    "/mcp;x",
    "/mcp%2f",
    "/./mcp",
    "/",
    "/sse",
    "/messages",
    "/metrics",
    "/healthz",
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-protected-resource/mcp",
    "/.well-known/oauth-protected-resource/other",
    "/.well-known/oauth-protected-resource/../../mcp",
    "/.well-known/oauth-protected-resource%2f..%2f..%2fmcp",
    "/.well-known/oauth-authorization-server",
    "/.well-known/",
];

const METHODS: &[&str] = &[
    "POST", "GET", "HEAD", "DELETE", "PUT", "PATCH", "OPTIONS", "TRACE",
];

/// Headers that let somebody in elsewhere.
const MAGIC: &[(&str, &str)] = &[
    ("authorization", "Bearer eve-1"),
    ("authorization", "Bearer "),
    ("authorization", "Basic YW5uOjE="),
    ("authorization", "Bearer ann-narrow"),
    ("proxy-authorization", "Bearer ann-1"),
    ("cookie", "access_token=ann-1"),
    ("x-access-token", "ann-1"),
    ("x-api-key", "ann-1"),
    ("x-authorization", "Bearer ann-1"),
    ("x-forwarded-for", "127.0.0.1"),
    ("x-forwarded-user", "ann"),
    ("x-real-ip", "127.0.0.1"),
    ("x-remote-user", "ann"),
    ("forwarded", "for=127.0.0.1"),
    ("x-original-url", "/.well-known/oauth-protected-resource"),
    ("x-rewrite-url", "/.well-known/oauth-protected-resource"),
    ("x-http-method-override", "GET"),
    ("mcp-session-id", "1"),
    ("x-middleware-subrequest", "1"),
];

#[tokio::test]
async fn without_a_good_token_nothing_but_the_documents_can_be_had() {
    let subject = Subject::start(guarded()).await;
    let mut peer = subject.connect().await;
    let mut readable = 0;
    for target in TARGETS {
        for method in METHODS {
            let request = Post::tool("caller").to(target).by(method);
            let magic = MAGIC
                .iter()
                .map(|(name, value)| request.clone().set(name, value));
            for request in magic.chain([request.clone()]) {
                peer.send(request.bytes(subject.address)).await;
                let status = match *method {
                    "HEAD" => peer.head().await.status,
                    _ => peer.answer().await.status,
                };
                let is_document = DOCUMENTS.contains(target) && matches!(*method, "GET" | "HEAD");
                assert_eq!(status < 401, is_document, "{status} {request:?}");
                readable += usize::from(is_document);
            }
        }
    }
    assert_eq!(readable, 2 * 2 * (MAGIC.len() + 1));
    assert_eq!(subject.seen.calls(), 0);
}
