//! Servers that are built without the feature `legacy`, and old clients that meet them.

use callgate_mcp::transport::line::LineConfig;

use crate::stdio_fixture::{self, RawPeer, complete, result, service};

const HANDSHAKE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"old","version":"1"}}}"#;

const LIST: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;

/// The error that answers a handshake.
const UNSUPPORTED: &str = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"protocol version `2025-11-25` is not supported: this server speaks only 2026-07-28, because it was built without the feature `legacy`","data":{"supported":["2026-07-28"],"requested":"2025-11-25"}}}"#;

const HINT: &str =
    ": this server speaks only 2026-07-28, because it was built without the feature `legacy`";

#[tokio::test]
async fn an_old_client_on_stdio_learns_which_revision_is_spoken() {
    let echo = service(|_| async { complete("{}") });
    let (mut peer, _server) = RawPeer::of_server(echo, LineConfig::default());
    peer.send(HANDSHAKE).await;
    peer.send(LIST).await;
    peer.send("[]").await;
    peer.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        .await;
    peer.send(&stdio_fixture::request("3", "x")).await;
    let no_meta = format!(
        r#"{{"jsonrpc":"2.0","id":2,"error":{{"code":-32602,"message":"params must have the object `_meta`{HINT}"}}}}"#
    );
    let batch = r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"message must be a JSON object; batches are not supported"}}"#;
    assert_eq!(
        peer.lines(4).await,
        [UNSUPPORTED, &no_meta, batch, &result("3", "{}")]
    );
}

#[cfg(feature = "http-server")]
#[tokio::test]
async fn an_old_client_over_http_learns_which_revision_is_spoken() {
    use crate::http_server::post::Post;
    use crate::http_server::subject::Subject;

    let subject = Subject::start(Default::default()).await;
    let old = |body: &str| Post::message(body).without("mcp-protocol-version");
    let answer = subject.ask(&old(HANDSHAKE)).await;
    assert_eq!((answer.status, answer.body.as_str()), (400, UNSUPPORTED));
    let versioned = old(HANDSHAKE).set("mcp-protocol-version", "2025-11-25");
    assert_eq!(subject.ask(&versioned).await.body, UNSUPPORTED);

    let answer = subject.ask(&old(LIST)).await;
    let no_header = format!(
        r#"{{"jsonrpc":"2.0","id":2,"error":{{"code":-32020,"message":"header `mcp-protocol-version` is missing{HINT}","data":{{"supported":["2026-07-28"]}}}}}}"#
    );
    assert_eq!((answer.status, answer.body), (400, no_header));

    for method in ["GET", "DELETE"] {
        let answer = subject.ask(&old("").by(method)).await;
        assert_eq!(answer.status, 405, "{method}");
        assert_eq!(answer.header("allow"), Some("POST"));
    }
}
