use std::collections::HashMap;
use std::time::Duration;

use callgate_mcp::client::SubscriptionEvent;
use callgate_mcp::router::ToolRoute;
use callgate_mcp::wire::resource::{Resource, ResourceTemplate};
use callgate_mcp::wire::subscription::SubscriptionFilter;

use crate::fake_server::{FakeServer, hub, router, wait_for};

#[tokio::test(start_paused = true)]
async fn a_change_at_one_server_reaches_every_caller_that_listens() {
    let tool = |name: &str| ToolRoute::new(name, "Says yes", || async { "yes" });
    let server = FakeServer::new(router("s").route(tool("a")));
    let (hub, client) = hub(&[("s", &server)]);
    wait_for(&hub, "s", "connected", 1).await;
    let filter = SubscriptionFilter::default().with_tools();
    let mut first = client.listen(&filter).await.unwrap();
    let mut second = client.listen(&filter).await.unwrap();
    server.router.add_tool(tool("b")).unwrap();
    for subscription in [&mut first, &mut second] {
        let event = subscription.next().await.unwrap().unwrap();
        assert_eq!(event, SubscriptionEvent::ToolsListChanged);
    }
}

#[tokio::test(start_paused = true)]
async fn a_watched_resource_is_watched_at_its_server() {
    let resource = || Resource::new("note://1", "one");
    let server = FakeServer::new(router("s").resource(resource(), || async { "text" }));
    let (hub, client) = hub(&[("s", &server)]);
    wait_for(&hub, "s", "connected", 0).await;
    while client.list_resources().await.unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    // However often it is named, it takes one place of the thousand that there are.
    let again = |filter: SubscriptionFilter, _| filter.with_resource("note://0");
    let filter = (0..1_000)
        .fold(SubscriptionFilter::default(), again)
        .with_resource("note://1")
        .with_resource("note://1")
        .with_resource("note://2");
    let mut subscription = client.listen(&filter).await.unwrap();
    let accepted = subscription.accepted().resource_subscriptions.clone();
    assert_eq!(accepted, Some(vec!["note://1".to_owned()]));
    let event = loop {
        server.router.resource_updated("note://1");
        let next = subscription.next();
        let limit = Duration::from_millis(100);
        if let Ok(event) = tokio::time::timeout(limit, next).await {
            break event.unwrap().unwrap();
        }
    };
    let uri = "note://1".to_owned();
    assert_eq!(event, SubscriptionEvent::ResourceUpdated { uri });
}

#[tokio::test(start_paused = true)]
async fn a_resource_of_a_template_or_by_its_address_is_watched_at_its_server() {
    let template = ResourceTemplate::new("note://{id}/raw", "raw");
    let read = |variables: HashMap<String, String>| async move { variables["id"].clone() };
    let server = FakeServer::new(router("s").resource_template(template, read));
    let (hub, client) = hub(&[("s", &server)]);
    wait_for(&hub, "s", "connected", 0).await;
    while client.list_resource_templates().await.unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    let filter = SubscriptionFilter::default()
        .with_resource("note://7/raw")
        .with_resource("mcp://s/note://8/raw")
        .with_resource("other://7");
    let mut subscription = client.listen(&filter).await.unwrap();
    let accepted = subscription.accepted().resource_subscriptions.clone();
    let expect = ["note://7/raw", "mcp://s/note://8/raw"].map(str::to_owned);
    assert_eq!(accepted, Some(expect.to_vec()));
    for (own, exposed) in [
        ("note://7/raw", "note://7/raw"),
        ("note://8/raw", "mcp://s/note://8/raw"),
    ] {
        let event = loop {
            server.router.resource_updated(own);
            let limit = Duration::from_millis(100);
            if let Ok(event) = tokio::time::timeout(limit, subscription.next()).await {
                break event.unwrap().unwrap();
            }
        };
        let uri = exposed.to_owned();
        assert_eq!(event, SubscriptionEvent::ResourceUpdated { uri });
    }
}

#[tokio::test(start_paused = true)]
async fn a_subscription_that_ends_at_once_is_opened_less_and_less_often() {
    let tool = |name: &str| ToolRoute::new(name, "Says yes", || async { "yes" });
    let server = FakeServer::new(router("s").route(tool("a")));
    let (hub, _client) = hub(&[("s", &server)]);
    wait_for(&hub, "s", "connected", 1).await;
    server.end_subscriptions();
    // The one that there was, and one after 1, 2, 4, 8, 16 and 32 seconds.
    tokio::time::sleep(Duration::from_secs(64)).await;
    assert_eq!(server.listens(), 7);
}
