//! Headers of calls of tools that no client has listed.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use callgate_mcp::layer::HeaderParamCache;
use callgate_mcp::transport::http::server::{HttpServerConfig, Listener};
use callgate_mcp::{BoxFuture, Call, Error, Reply, Service};

use super::peer::Peer;
use super::post::Post;

/// A server with two pages of tools, or whose list fails.
struct Tools {
    lists: AtomicUsize,
    failure: Option<fn() -> Error>,
}

const FIRST: &str = r#"{"tools":[{"name":"plain"}],"nextCursor":"2"}"#;
const SECOND: &str = r#"{"tools":[{"name":"echo","inputSchema":{"properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}],"nextCursor":null}"#;

impl Service for Tools {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        let result = match (call.method.as_str(), call.params().get("cursor")) {
            ("tools/list", cursor) => {
                self.lists.fetch_add(1, Ordering::Relaxed);
                // In the revision of the call, and without the progress that it asks for.
                assert_eq!(call.cx.peer().version().as_str(), "2026-07-28");
                assert_eq!(call.cx.peer().progress_token(), None);
                match (self.failure, cursor) {
                    (Some(failure), _) => return Box::pin(async move { Err(failure()) }),
                    (None, None) => FIRST,
                    (None, Some(_)) => SECOND,
                }
            }
            _ => r#"{"content":[]}"#,
        };
        let result = serde_json::from_str(result).unwrap();
        Box::pin(async { Ok(Reply::Complete(result)) })
    }
}

/// Serves the tools, and returns the number of lists too.
async fn serve(failure: Option<fn() -> Error>) -> (SocketAddr, Arc<Tools>) {
    let tools = Arc::new(Tools {
        lists: AtomicUsize::new(0),
        failure,
    });
    let cache = Arc::new(HeaderParamCache::new(tools.clone()));
    let mut config = HttpServerConfig::default();
    config.header_params = Some(cache.header_params());
    config.list_unknown_tools = true;
    let server = Listener::bind(([127, 0, 0, 1], 0).into(), cache, config);
    let server = server.await.unwrap();
    let address = server.local_addr().unwrap();
    tokio::spawn(server.run());
    (address, tools)
}

/// Status of a call of `tool` in the region `us`, and the code of its error.
async fn call(server: SocketAddr, tool: &str, region: Option<&str>) -> (u16, Option<i64>) {
    let members = format!(r#""name":"{tool}","arguments":{{"region":"us"}}"#);
    let post = Post::request("tools/call", &members).set("mcp-name", tool);
    let post = match region {
        Some(region) => post.set("mcp-param-region", region),
        None => post,
    };
    let mut peer = Peer::connect(server).await;
    peer.send(post.bytes(server)).await;
    let answer = peer.answer().await;
    let body: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
    (answer.status, body["error"]["code"].as_i64())
}

#[tokio::test]
async fn the_first_call_of_a_tool_is_checked_although_no_client_has_listed_it() {
    for region in [None, Some("eu")] {
        let (server, tools) = serve(None).await;
        let refused = (400, Some(-32020));
        assert_eq!(call(server, "echo", region).await, refused);
        assert_eq!(call(server, "echo", region).await, refused);
        assert_eq!(call(server, "echo", Some("us")).await, (200, None));
        assert_eq!(call(server, "plain", region).await, (200, None));
        // One list of two pages is enough for all tools that it names.
        assert_eq!(tools.lists.load(Ordering::Relaxed), 2);
    }
}

#[tokio::test]
async fn a_tool_that_the_list_does_not_name_is_left_to_the_service() {
    let (server, _tools) = serve(None).await;
    assert_eq!(call(server, "hidden", None).await, (200, None));
    let (server, _tools) = serve(Some(|| Error::custom(-32601, "no tools"))).await;
    assert_eq!(call(server, "hidden", None).await, (200, None));
}

#[tokio::test]
async fn a_call_is_not_let_through_if_the_tools_cannot_be_listed() {
    let (server, _tools) = serve(Some(|| Error::internal("broken"))).await;
    assert_eq!(call(server, "echo", None).await, (200, Some(-32603)));
    let (server, _tools) = serve(Some(|| panic!("on demand"))).await;
    assert_eq!(call(server, "echo", None).await, (200, Some(-32603)));
}
