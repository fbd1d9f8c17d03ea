use std::sync::Arc;

use callgate_mcp::wire::{Method, Notification, RawJson};
use callgate_mcp::{Call, Error, Reply, Service};
use tokio::sync::{mpsc, oneshot};

use super::fixture::{discoverable, error, limited, old_client, old_client_with, request};
use crate::stdio_fixture::{SendOnDrop, json, notification, result, soon};

/// The upstream end of one subscription.
struct Subscription {
    call: Call,
    /// Ends it.
    end: oneshot::Sender<Result<Reply, Error>>,
}

impl Subscription {
    fn filter(&self) -> RawJson {
        self.call.params().get("notifications").unwrap()
    }

    async fn say(&self, method: &str, member: &str) {
        let id = &self.call.cx.id;
        let params =
            format!(r#"{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}{member}}}"#);
        let notification = Notification {
            method: Method::new(method),
            params: json(&params),
        };
        self.call.cx.notify.send(notification).await;
    }

    async fn acknowledge(&self, accepted: &str) {
        let member = format!(r#","notifications":{accepted}"#);
        self.say("notifications/subscriptions/acknowledged", &member)
            .await;
    }

    async fn updated(&self, uri: &str) {
        self.say(
            "notifications/resources/updated",
            &format!(r#","uri":"{uri}""#),
        )
        .await;
    }
}

type Subscriptions = mpsc::Receiver<Subscription>;

/// A service whose subscriptions are in the hands of the test, and how many are open.
fn subscribable() -> (Arc<dyn Service>, Subscriptions, mpsc::Receiver<()>) {
    let (sender, subscriptions) = mpsc::channel(16);
    let (dropped, drops) = mpsc::channel(16);
    let service = discoverable(move |call| {
        let (sender, guard) = (sender.clone(), SendOnDrop(dropped.clone()));
        async move {
            let _guard = guard;
            let (end, ended) = oneshot::channel();
            sender.send(Subscription { call, end }).await.unwrap();
            ended.await.unwrap_or_else(|_| Err(Error::internal("gone")))
        }
    });
    (service, subscriptions, drops)
}

const LISTS: &str =
    r#"{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true}"#;

fn with_uris(uris: &str) -> String {
    format!(
        r#"{{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":{uris}}}"#
    )
}

fn subscribe(id: &str, uri: &str) -> String {
    request(id, "resources/subscribe", &format!(r#"{{"uri":"{uri}"}}"#))
}

#[tokio::test]
async fn changes_of_lists_reach_a_client_that_is_ready_without_the_name_of_a_subscription() {
    let (service, mut subscriptions, _drops) = subscribable();
    let (mut peer, _server) = old_client(service, "2025-06-18", "{}").await;
    let upstream = soon(subscriptions.recv()).await.unwrap();
    assert_eq!(upstream.filter(), json(LISTS));
    upstream.acknowledge(LISTS).await;
    upstream.say("notifications/tools/list_changed", "").await;
    assert_eq!(
        peer.line().await,
        Some(notification("notifications/tools/list_changed", "{}"))
    );
}

#[tokio::test]
async fn hc_9_a_subscription_is_answered_when_it_is_acknowledged_and_replaces_the_one_before() {
    let (service, mut subscriptions, mut drops) = subscribable();
    let (mut peer, _server) = old_client(service, "2025-06-18", "{}").await;
    let first = soon(subscriptions.recv()).await.unwrap();
    first.acknowledge(LISTS).await;

    peer.send(&subscribe("1", "a:1")).await;
    let second = soon(subscriptions.recv()).await.unwrap();
    assert_eq!(second.filter(), json(&with_uris(r#"["a:1"]"#)));
    // Not yet: the old subscription goes on until the new one is acknowledged.
    first.say("notifications/prompts/list_changed", "").await;
    assert_eq!(
        peer.line().await,
        Some(notification("notifications/prompts/list_changed", "{}"))
    );
    second.acknowledge(&with_uris(r#"["a:1"]"#)).await;
    assert_eq!(peer.line().await, Some(result("1", "{}")));
    soon(drops.recv()).await.unwrap();
    second.updated("a:1").await;
    assert_eq!(
        peer.line().await,
        Some(notification(
            "notifications/resources/updated",
            r#"{"uri":"a:1"}"#
        ))
    );

    peer.send(&request("2", "resources/unsubscribe", r#"{"uri":"a:1"}"#))
        .await;
    let third = soon(subscriptions.recv()).await.unwrap();
    assert_eq!(third.filter(), json(LISTS));
    third.acknowledge(LISTS).await;
    assert_eq!(peer.line().await, Some(result("2", "{}")));
    soon(drops.recv()).await.unwrap();
}

#[tokio::test]
async fn hc_9_a_list_is_read_once_its_changes_are_heard() {
    let (service, mut subscriptions, _drops) = subscribable();
    let (mut peer, _server) = old_client(service, "2025-11-25", "{}").await;
    let listen = soon(subscriptions.recv()).await.unwrap();
    peer.send(&request("1", "tools/list", "{}")).await;
    peer.send(&request("2", "tools/call", r#"{"name":"t"}"#))
        .await;
    let next = soon(subscriptions.recv()).await.unwrap();
    assert_eq!(next.call.method.as_str(), "tools/call");
    listen.acknowledge(LISTS).await;
    let next = soon(subscriptions.recv()).await.unwrap();
    assert_eq!(next.call.method.as_str(), "tools/list");
}

#[tokio::test(start_paused = true)]
async fn hc_9_a_list_is_read_in_the_end_even_if_changes_are_not_heard() {
    let (service, mut subscriptions, _drops) = subscribable();
    let (mut peer, _server) = old_client(service, "2025-11-25", "{}").await;
    let _listen = soon(subscriptions.recv()).await.unwrap();
    for id in ["1", "2"] {
        peer.send(&request(id, "tools/list", "{}")).await;
        let list = soon(subscriptions.recv()).await.unwrap();
        assert_eq!(list.call.method.as_str(), "tools/list");
    }
}

#[tokio::test]
async fn hc_9_a_resource_that_is_not_acknowledged_is_an_error_and_all_else_stays() {
    let (service, mut subscriptions, mut drops) = subscribable();
    let (mut peer, _server) = old_client(service, "2025-06-18", "{}").await;
    let first = soon(subscriptions.recv()).await.unwrap();
    first.acknowledge(LISTS).await;
    peer.send(&subscribe("1", "a:1")).await;
    let second = soon(subscriptions.recv()).await.unwrap();
    second.acknowledge(LISTS).await;
    assert_eq!(
        peer.line().await,
        Some(error(
            "1",
            r#"{"code":-32602,"message":"the server does not tell of changes of `a:1`"}"#
        ))
    );
    soon(drops.recv()).await.unwrap();
    first.say("notifications/tools/list_changed", "").await;
    assert_eq!(
        peer.line().await,
        Some(notification("notifications/tools/list_changed", "{}"))
    );
}

#[tokio::test(start_paused = true)]
async fn hc_9_after_a_gap_everything_may_have_changed() {
    let (service, mut subscriptions, _drops) = subscribable();
    let (mut peer, _server) = old_client(service, "2025-06-18", "{}").await;
    let first = soon(subscriptions.recv()).await.unwrap();
    first.acknowledge(LISTS).await;
    peer.send(&subscribe("1", "a:1")).await;
    let second = soon(subscriptions.recv()).await.unwrap();
    second.acknowledge(&with_uris(r#"["a:1"]"#)).await;
    assert_eq!(peer.line().await, Some(result("1", "{}")));

    second.end.send(Err(Error::internal("lost"))).unwrap();
    let third = soon(subscriptions.recv()).await.unwrap();
    assert_eq!(third.filter(), json(&with_uris(r#"["a:1"]"#)));
    third
        .acknowledge(r#"{"toolsListChanged":true,"resourceSubscriptions":["a:1"]}"#)
        .await;
    assert_eq!(
        peer.lines(2).await,
        [
            notification("notifications/tools/list_changed", "{}"),
            notification("notifications/resources/updated", r#"{"uri":"a:1"}"#),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_service_without_subscriptions_is_asked_once() {
    let (service, mut subscriptions, _drops) = subscribable();
    let (mut peer, _server) = old_client(service, "2025-06-18", "{}").await;
    let only = soon(subscriptions.recv()).await.unwrap();
    let unknown = Error::method_not_found(&Method::new("subscriptions/listen"));
    only.end.send(Err(unknown)).unwrap();
    tokio::time::sleep(std::time::Duration::from_secs(600)).await;
    assert!(subscriptions.try_recv().is_err());
    peer.send(&request("1", "ping", "{}")).await;
    assert_eq!(peer.line().await, Some(result("1", "{}")));
}

#[tokio::test]
async fn a_session_watches_as_many_resources_as_it_may() {
    let (service, mut subscriptions, _drops) = subscribable();
    let config = limited(|legacy| legacy.subscriptions = 1);
    let (mut peer, _server) = old_client_with(service, "2025-06-18", "{}", config).await;
    let first = soon(subscriptions.recv()).await.unwrap();
    first.acknowledge(LISTS).await;
    peer.send(&subscribe("1", "a:1")).await;
    let second = soon(subscriptions.recv()).await.unwrap();
    second.acknowledge(&with_uris(r#"["a:1"]"#)).await;
    assert_eq!(peer.line().await, Some(result("1", "{}")));
    peer.send(&subscribe("2", "a:1")).await;
    peer.send(&subscribe("3", "a:2")).await;
    peer.send(&request("4", "resources/subscribe", "{}")).await;
    let mut seen = peer.lines(3).await;
    seen.sort();
    assert_eq!(
        seen,
        [
            result("2", "{}"),
            error(
                "3",
                r#"{"code":42900,"message":"a session may subscribe to 1 resources"}"#
            ),
            error("4", r#"{"code":-32602,"message":"`uri` must be a string"}"#),
        ]
    );
}
