//! The rules SM-S1 to SM-S19 of the transport, one by one.

use callgate_mcp::transport::http::server::Config;

use super::post::{META, Post};
use super::subject::{RESULT, Subject};

/// The status of the answer, and its body.
async fn answer(request: Post) -> (u16, String) {
    let answer = Subject::start(Config::default()).await.ask(&request).await;
    (answer.status, answer.body)
}

/// The status of the answer, and the code of the error in it.
async fn refusal(request: Post) -> (u16, i64) {
    let (status, body) = answer(request).await;
    let body: serde_json::Value = serde_json::from_str(&body).unwrap();
    (status, body["error"]["code"].as_i64().unwrap())
}

fn result(result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#)
}

#[tokio::test]
async fn sm_s1_one_endpoint_answers_posts() {
    assert_eq!(answer(Post::tool("echo")).await, (200, result(RESULT)));
    for target in ["/", "/mcp/", "/MCP", "/mcp/x", "*"] {
        let other = Post::tool("echo").to(target);
        assert_eq!(answer(other).await, (404, String::new()), "{target}");
    }
    let query = Post::tool("echo").to("/mcp?x=1");
    assert_eq!(answer(query).await.0, 200);
}

#[tokio::test]
async fn sm_s2_a_foreign_origin_is_forbidden() {
    let forbidden = r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"forbidden"}}"#;
    for origin in ["http://evil.example.com", "null", "https://localhost"] {
        let request = Post::tool("echo").set("origin", origin);
        assert_eq!(
            answer(request).await,
            (403, forbidden.to_owned()),
            "{origin}"
        );
    }
}

#[tokio::test]
async fn sm_s3_a_notification_is_accepted_without_a_body() {
    let notification = Post::message(r#"{"jsonrpc":"2.0","method":"notifications/x"}"#);
    assert_eq!(answer(notification.clone()).await, (202, String::new()));
    let bare = notification.without("mcp-protocol-version");
    assert_eq!(answer(bare).await, (202, String::new()));
}

#[tokio::test]
async fn sm_s9_a_required_header_must_be_there_once_and_match() {
    for header in ["mcp-protocol-version", "mcp-method", "mcp-name"] {
        let request = Post::tool("echo");
        assert_eq!(
            refusal(request.clone().without(header)).await,
            (400, -32020)
        );
        for value in ["other", "", "ECHO", "=?base64?ZWNobw?=", "\u{e9}"] {
            let different = request.clone().set(header, value);
            assert_eq!(refusal(different).await, (400, -32020), "{header}: {value}");
        }
    }
    let meta = META;
    let _ = meta;
}
