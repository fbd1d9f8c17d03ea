use std::sync::Arc;

use callgate_hub::{Hub, ServerName};
use callgate_mcp::router::ToolRoute;
use callgate_mcp::wire::resource::Resource;
use callgate_mcp::wire::subscription::SubscriptionFilter;
use callgate_mcp::{BoxFuture, Call, Client, Error, Reply, Service};

use crate::fake_server::{FakeServer, hub, router, wait_for};

/// The hub without its private servers.
struct Shared(Arc<Hub>);

impl Service for Shared {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        self.0.call_shared(call)
    }
}

/// A server with a tool and a resource.
fn server(tool: &str, uri: &str) -> FakeServer {
    let tool = ToolRoute::new(tool, "Says yes", || async { "yes" });
    let resource = Resource::new(uri, "one");
    FakeServer::new(
        router("s")
            .route(tool)
            .resource(resource, || async { "text" }),
    )
}

async fn tools(client: &Client) -> Vec<String> {
    let tools = client.list_tools().await.unwrap();
    tools.into_iter().map(|tool| tool.name).collect()
}

async fn resources(client: &Client) -> Vec<String> {
    let resources = client.list_resources().await.unwrap();
    resources.into_iter().map(|it| it.uri).collect()
}

#[tokio::test(start_paused = true)]
async fn a_private_server_is_not_shared() {
    let (open, private) = (server("a", "note://open"), server("b", "note://private"));
    let (hub, client) = hub(&[("open", &open)]);
    let mut config = private.config("private");
    config.private = true;
    hub.add(config).unwrap();
    wait_for(&hub, "open", "connected", 1).await;
    wait_for(&hub, "private", "connected", 1).await;
    while resources(&client).await.len() < 2 {
        tokio::task::yield_now().await;
    }
    let shared = Client::builder(Arc::new(Shared(hub.clone()))).build();
    assert_eq!(tools(&client).await, ["open_a", "private_b"]);
    assert_eq!(tools(&shared).await, ["open_a"]);
    assert_eq!(resources(&shared).await, ["note://open"]);

    let no_arguments = serde_json::json!({});
    assert!(client.call_tool("private_b", &no_arguments).await.is_ok());
    assert!(shared.call_tool("open_a", &no_arguments).await.is_ok());
    let refused = shared.call_tool("private_b", &no_arguments).await;
    assert_eq!(refused.unwrap_err().to_string(), "unknown tool `private_b`");
    for uri in ["note://private", "mcp://private/note://private"] {
        assert!(client.read_resource(uri).await.is_ok(), "{uri}");
        assert!(shared.read_resource(uri).await.is_err(), "{uri}");
    }
    let filter = SubscriptionFilter::default()
        .with_resource("note://open")
        .with_resource("note://private");
    let subscription = shared.listen(&filter).await.unwrap();
    let accepted = subscription.accepted().resource_subscriptions.clone();
    assert_eq!(accepted, Some(vec!["note://open".to_owned()]));

    // A server that takes its place is shared.
    let name = ServerName::new("private").unwrap();
    assert!(hub.remove(&name).await);
    hub.add(private.config("private")).unwrap();
    wait_for(&hub, "private", "connected", 1).await;
    assert_eq!(tools(&shared).await, ["open_a", "private_b"]);
}
