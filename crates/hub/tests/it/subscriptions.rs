use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use callgate_hub::reconnect::Start;
use callgate_hub::{Hub, ItemNames};
use callgate_mcp::client::{Subscription, SubscriptionEvent};
use callgate_mcp::router::ToolRoute;
use callgate_mcp::wire::resource::{Resource, ResourceTemplate};
use callgate_mcp::wire::subscription::SubscriptionFilter;
use callgate_mcp::{Client, Router};

use crate::fake_server::{FakeServer, hub, router, server_name, wait_for};

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
    silence(&mut subscription).await;
    server.router.resource_updated("note://1");
    assert_eq!(updated(&mut subscription).await, "note://1");
}

#[tokio::test(start_paused = true)]
async fn a_change_before_the_server_has_accepted_the_subscription_is_told() {
    let (server, _hub, client) = with_notes(&["note://1"]).await;
    server.hold_subscriptions(true);
    let filter = SubscriptionFilter::default().with_resource("note://1");
    let mut subscription = client.listen(&filter).await.unwrap();
    // The caller reads here what changes next.
    tokio::time::sleep(Duration::from_secs(1)).await;
    server.router.resource_updated("note://1");
    server.hold_subscriptions(false);
    assert_eq!(updated(&mut subscription).await, "note://1");
}

#[tokio::test(start_paused = true)]
async fn a_change_while_the_server_was_away_is_told() {
    let (server, hub, client) = with_notes(&["note://1"]).await;
    let filter = SubscriptionFilter::default().with_resource("note://1");
    let mut subscription = client.listen(&filter).await.unwrap();
    silence(&mut subscription).await;
    server.go_down();
    wait_for(&hub, "s", "failed", 1).await;
    server.crash();
    assert_eq!(updated(&mut subscription).await, "note://1");
}

#[tokio::test(start_paused = true)]
async fn a_change_during_the_replacement_of_a_subscription_is_not_lost() {
    let (server, hub, client) = with_notes(&["note://1", "note://2"]).await;
    let listen = |uri| SubscriptionFilter::default().with_resource(uri);
    let mut first = client.listen(&listen("note://1")).await.unwrap();
    silence(&mut first).await;
    server.hold_subscriptions(true);
    let listens = server.listens();
    let _second = client.listen(&listen("note://2")).await.unwrap();
    while server.listens() == listens {
        tokio::task::yield_now().await;
    }
    // The earlier subscription gets both and is not read any more.
    let tool = ToolRoute::new("new", "Says yes", || async { "yes" });
    server.router.add_tool(tool).unwrap();
    server.router.resource_updated("note://1");
    server.hold_subscriptions(false);
    assert_eq!(updated(&mut first).await, "note://1");
    let listed = wait_for(&hub, "s", "connected", 2);
    assert!(tokio::time::timeout(LIMIT, listed).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn callers_that_come_one_after_the_other_cause_few_lists() {
    let uris: Vec<String> = (0..100).map(|number| format!("note://{number}")).collect();
    let uris: Vec<&str> = uris.iter().map(String::as_str).collect();
    let (server, _hub, client) = with_notes(&uris).await;
    let lists = server.requests("tools/list");
    let mut subscriptions = Vec::new();
    for uri in uris {
        let filter = SubscriptionFilter::default().with_resource(uri);
        subscriptions.push(client.listen(&filter).await.unwrap());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    tokio::time::sleep(LIMIT).await;
    // Each is a replacement, in five seconds.
    assert!(server.listens() > 100);
    let lists = server.requests("tools/list") - lists;
    assert!((1..=3).contains(&lists), "{lists}");
}

#[tokio::test(start_paused = true)]
async fn a_resource_is_watched_at_the_server_that_offers_it_now() {
    let (old, hub, client) = with_notes(&["note://1"]).await;
    let filter = SubscriptionFilter::default().with_resource("note://1");
    let mut subscription = client.listen(&filter).await.unwrap();
    silence(&mut subscription).await;
    // The servers move to another hub, which is one server here.
    assert!(hub.remove(&server_name("s")).await);
    let new = notes(&["note://1"]);
    let mut config = new.config("other hub");
    config.item_names = ItemNames::Own;
    hub.add(config).unwrap();
    assert_eq!(updated(&mut subscription).await, "note://1");
    silence(&mut subscription).await;
    new.router.resource_updated("note://1");
    assert_eq!(updated(&mut subscription).await, "note://1");
    // And back.
    assert!(hub.remove(&server_name("other hub")).await);
    hub.add(old.config("s")).unwrap();
    assert_eq!(updated(&mut subscription).await, "note://1");
    silence(&mut subscription).await;
    old.router.resource_updated("note://1");
    assert_eq!(updated(&mut subscription).await, "note://1");
}

#[tokio::test(start_paused = true)]
async fn a_server_whose_resource_is_watched_is_in_use() {
    let server = notes(&["note://1"]);
    let (hub, client) = hub(&[]);
    let mut config = server.config("s");
    config.start = Start::OnFirstUse;
    config.idle_stop = Some(Duration::from_secs(60));
    hub.add(config).unwrap();
    wait_for(&hub, "s", "idle", 0).await;
    let filter = SubscriptionFilter::default().with_resource("mcp://s/note://1");
    let mut subscription = client.listen(&filter).await.unwrap();
    // Without a call.
    assert_eq!(updated(&mut subscription).await, "mcp://s/note://1");
    tokio::time::sleep(Duration::from_secs(60 * 60)).await;
    server.router.resource_updated("note://1");
    assert_eq!(updated(&mut subscription).await, "mcp://s/note://1");
    assert_eq!(server.connects(), 1);
    drop(subscription);
    let stopped = wait_for(&hub, "s", "idle", 1);
    assert!(tokio::time::timeout(LIMIT, stopped).await.is_ok());
}

/// Time within which an event comes, or never does.
const LIMIT: Duration = Duration::from_secs(120);

/// A server with a tool and these resources.
fn notes(uris: &[&str]) -> FakeServer {
    let tool = ToolRoute::new("a", "Says yes", || async { "yes" });
    let add = |router: Router, uri: &&str| {
        router.resource(Resource::new(*uri, "note"), || async { "text" })
    };
    FakeServer::new(uris.iter().fold(router("s").route(tool), add))
}

/// The same server as `s` of a hub that has listed it.
async fn with_notes(uris: &[&str]) -> (FakeServer, Arc<Hub>, Client) {
    let server = notes(uris);
    let (hub, client) = hub(&[("s", &server)]);
    while !hub.status(&server_name("s")).unwrap().listed {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    (server, hub, client)
}

/// The resource in the next event.
async fn updated(subscription: &mut Subscription) -> String {
    let event = tokio::time::timeout(LIMIT, subscription.next()).await;
    match event.expect("an event comes").unwrap().unwrap() {
        SubscriptionEvent::ResourceUpdated { uri } => uri,
        other => panic!("{other:?}"),
    }
}

/// Takes events until none comes any more.
async fn silence(subscription: &mut Subscription) {
    while tokio::time::timeout(LIMIT, subscription.next())
        .await
        .is_ok()
    {}
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
    silence(&mut subscription).await;
    for (own, exposed) in [
        ("note://7/raw", "note://7/raw"),
        ("note://8/raw", "mcp://s/note://8/raw"),
    ] {
        server.router.resource_updated(own);
        assert_eq!(updated(&mut subscription).await, exposed);
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
