//! Credentials are never shown.

use std::error::Error as _;

use callgate_mcp::transport::http::client::{Credentials, Outgoing, Refused};
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};

use super::keyring::Keyring;
use crate::http_client::peer::{Answer, Peer, Received, failure};
use crate::legacy_remote::old_server::{old_server, tool_call, what};

/// A response that repeats the credentials of its request wherever it can.
fn echo(status: &str, request: &Received) -> Answer {
    let credentials = request.header("authorization").unwrap();
    let token = credentials.strip_prefix("Bearer ").unwrap();
    Answer::Write(
        format!(
            "HTTP/1.1 {status}\r\nwww-authenticate: Bearer token=\"{token}\"\r\ncontent-type: text/{token}\r\ncontent-length: {}\r\n\r\n{credentials}",
            credentials.len()
        )
        .into_bytes(),
    )
}

#[tokio::test]
async fn a_server_that_echoes_them_is_not_quoted() {
    for status in [
        "200 OK",
        "401 Unauthorized",
        "403 Forbidden",
        "500 Internal Server Error",
    ] {
        let modern = Peer::start(move |request| echo(status, request)).await;
        let old = Peer::start(move |request| match what(request).as_str() {
            "tools/call" => echo(status, request),
            _ => old_server(request, |_| unreachable!("everything else is answered")),
        })
        .await;
        let keyring = Keyring::new("top-secret");
        for error in [
            failure(&keyring.client(&modern), tool_call()).await,
            failure(&keyring.remote(&modern), tool_call()).await,
            failure(&keyring.remote(&old), tool_call()).await,
        ] {
            let shown = format!("{error} {error:?} {:?}", error.source());
            assert!(shown.contains("***"), "{shown}");
            assert!(!shown.contains("top-secret"), "{shown}");
        }
    }
}

#[test]
fn the_context_of_an_authorizer_shows_neither_credentials_nor_queries() {
    let credentials = Credentials::none().with(AUTHORIZATION, HeaderValue::from_static("Bearer s"));
    let url = Uri::from_static("https://host:8443/mcp?key=secret");
    let request = Outgoing::new(&Method::POST, &url);
    let (status, headers) = (StatusCode::UNAUTHORIZED, HeaderMap::new());
    let refused = Refused::new(request, &credentials, status, &headers);
    assert_eq!(
        format!("{refused:?}"),
        r#"Refused { request: POST https://host:8443/mcp, credentials: {"authorization"}, status: 401, headers: {}, peer: None, attempt: 1 }"#
    );
    let value = &credentials.headers()[AUTHORIZATION];
    assert_eq!(format!("{value:?}"), "Sensitive");
}
