//! Who may ask.

use callgate_mcp::transport::http::server::{Auth, BearerToken, HttpServerConfig};

use super::post::Post;
use super::subject::Subject;

async fn guarded() -> Subject {
    let mut config = HttpServerConfig::default();
    config.auth = Auth::Bearer(BearerToken::new("s3cret-token", "operator"));
    Subject::start(config).await
}

#[tokio::test]
async fn the_bearer_of_the_token_acts_for_its_principal() {
    let subject = guarded().await;
    for credentials in ["Bearer s3cret-token", "bearer s3cret-token"] {
        let request = Post::tool("caller").set("authorization", credentials);
        let answer = subject.ask(&request).await;
        assert_eq!(
            answer.body,
            r#"{"jsonrpc":"2.0","id":1,"result":"Principal(\"operator\")"}"#
        );
    }
}

#[tokio::test]
async fn callers_without_the_token_are_refused() {
    let subject = guarded().await;
    let request = Post::tool("caller");
    let mut refused = vec![
        request.clone(),
        request
            .clone()
            .and("authorization", "Bearer s3cret-token")
            .and("authorization", "Bearer s3cret-token"),
    ];
    for credentials in [
        "",
        "Bearer",
        "Bearer ",
        "Bearer s3cret-toke",
        "Bearer s3cret-tokens",
        "Bearer S3cret-token",
        "Bearer  s3cret-token",
        "Bearer s3cret-token, Bearer x",
        "Basic s3cret-token",
        "s3cret-token",
    ] {
        refused.push(request.clone().set("authorization", credentials));
    }
    for request in refused {
        let answer = subject.ask(&request).await;
        assert_eq!(
            (
                answer.status,
                answer.header("www-authenticate"),
                answer.body.as_str()
            ),
            (401, Some("Bearer"), ""),
            "{request:?}"
        );
    }
    assert_eq!(subject.seen.calls(), 0);
}

#[tokio::test]
async fn sm_s19_a_token_is_asked_for_after_origin_and_method_and_before_the_body() {
    let subject = guarded().await;
    // Each step repairs one fault of the request before it.
    let origin = Post::message("{")
        .by("PUT")
        .set("origin", "http://evil.example.com")
        .set("content-type", "text/plain");
    let method = origin.clone().without("origin");
    let token = method.clone().by("POST");
    let content_type = token.clone().set("authorization", "Bearer s3cret-token");
    for (request, status) in [
        (origin, 403),
        (method, 405),
        (token, 401),
        (content_type, 415),
    ] {
        let seen = subject.ask(&request).await.status;
        assert_eq!(seen, status, "{request:?}");
    }
}

#[tokio::test]
async fn an_empty_token_admits_no_caller() {
    let mut config = HttpServerConfig::default();
    config.auth = Auth::Bearer(BearerToken::new("", "operator"));
    let subject = Subject::start(config).await;
    let request = Post::tool("caller").set("authorization", "Bearer ");
    assert_eq!(subject.ask(&request).await.status, 401);
}

#[tokio::test]
async fn without_a_token_everybody_is_anonymous() {
    let subject = Subject::start(HttpServerConfig::default()).await;
    let answer = subject.ask(&Post::tool("caller")).await;
    assert_eq!(
        answer.body,
        r#"{"jsonrpc":"2.0","id":1,"result":"Anonymous"}"#
    );
}

#[test]
fn the_token_is_not_shown() {
    let auth = Auth::Bearer(BearerToken::new("s3cret-token", "operator"));
    assert_eq!(
        format!("{auth:?}"),
        r#"Bearer(BearerToken { principal: Some("operator"), .. })"#
    );
}
