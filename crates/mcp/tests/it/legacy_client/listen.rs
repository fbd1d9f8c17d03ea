use callgate_mcp::Kind;
use callgate_mcp::upstream::UpstreamConfig;
use callgate_mcp::wire::Id;
use serde_json::json;

use super::fixture::{
    Request, complete, connect, error, heard, outcome, request, start, start_told, told,
};
use crate::stdio_fixture::{json as raw, notification, result};

const CHANGES: &str = r#"{"tools":{"listChanged":true},"prompts":{},"resources":{"subscribe":true,"listChanged":true}}"#;

fn listen(id: Id, filter: &str) -> Request {
    request(
        "subscriptions/listen",
        &format!(r#"{{"notifications":{filter}}}"#),
    )
    .with_id(id)
}

fn acknowledged(id: &str, filter: &str) -> (String, callgate_mcp::wire::RawJson) {
    (
        "notifications/subscriptions/acknowledged".to_owned(),
        raw(&format!(
            r#"{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}},"notifications":{filter}}}"#
        )),
    )
}

#[tokio::test]
async fn changes_go_to_every_listen_that_wants_them_under_its_own_id() {
    let (stream, mut peer) = connect(CHANGES, UpstreamConfig::default()).await;
    let everything =
        r#"{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true}"#;
    let (_one, mut first) = start_told(&stream, listen(Id::number(7), everything));
    let (_two, mut second) = start_told(
        &stream,
        listen(Id::text("7"), r#"{"toolsListChanged":true}"#),
    );
    // The server does not tell changes of its prompts.
    assert_eq!(
        told(&mut first).await,
        acknowledged(
            "7",
            r#"{"toolsListChanged":true,"resourcesListChanged":true}"#
        )
    );
    assert_eq!(
        told(&mut second).await,
        acknowledged("\"7\"", r#"{"toolsListChanged":true}"#)
    );
    peer.send(&notification("notifications/resources/list_changed", "{}"))
        .await;
    let changed = |what: &str, id: &str| {
        (
            format!("notifications/{what}/list_changed"),
            raw(&format!(
                r#"{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}"#
            )),
        )
    };
    assert_eq!(told(&mut first).await, changed("resources", "7"));
    peer.send(&notification("notifications/tools/list_changed", "{}"))
        .await;
    assert_eq!(told(&mut first).await, changed("tools", "7"));
    assert_eq!(told(&mut second).await, changed("tools", "\"7\""));
}

#[tokio::test]
async fn hc_9_a_resource_is_subscribed_by_the_first_and_unsubscribed_by_the_last() {
    let (stream, mut peer) = connect(CHANGES, UpstreamConfig::default()).await;
    let (one, mut first) = start_told(
        &stream,
        listen(Id::number(1), r#"{"resourceSubscriptions":["a:1","a:1"]}"#),
    );
    assert_eq!(
        heard(&mut peer).await,
        json!({"jsonrpc":"2.0","id":3,"method":"resources/subscribe","params":{"uri":"a:1"}})
    );
    // Nothing is acknowledged before the server has agreed.
    assert!(first.try_next().is_none());
    peer.send(&result("3", "{}")).await;
    assert_eq!(
        told(&mut first).await,
        acknowledged("1", r#"{"resourceSubscriptions":["a:1"]}"#)
    );
    let (two, mut second) = start_told(
        &stream,
        listen(Id::number(2), r#"{"resourceSubscriptions":["a:1","a:2"]}"#),
    );
    assert_eq!(heard(&mut peer).await["params"], json!({"uri":"a:2"}));
    peer.send(&error("4", -32002, "no such resource")).await;
    assert_eq!(
        told(&mut second).await,
        acknowledged("2", r#"{"resourceSubscriptions":["a:1"]}"#)
    );
    peer.send(&notification(
        "notifications/resources/updated",
        r#"{"uri":"a:1"}"#,
    ))
    .await;
    for (told_one, id) in [(&mut first, 1), (&mut second, 2)] {
        assert_eq!(
            told(told_one).await,
            (
                "notifications/resources/updated".to_owned(),
                raw(&format!(
                    r#"{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}},"uri":"a:1"}}"#
                ))
            )
        );
    }
    one.abort();
    assert!(one.await.is_err());
    two.abort();
    assert!(two.await.is_err());
    assert_eq!(
        heard(&mut peer).await,
        json!({"jsonrpc":"2.0","id":5,"method":"resources/unsubscribe","params":{"uri":"a:1"}})
    );
    drop(stream);
}

#[tokio::test]
async fn a_subscription_ends_with_the_connection() {
    let (stream, mut peer) = connect(CHANGES, UpstreamConfig::default()).await;
    let (listening, mut notifications) = start_told(
        &stream,
        listen(Id::number(1), r#"{"toolsListChanged":true}"#),
    );
    told(&mut notifications).await;
    peer.finish().await;
    let end = r#"{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":1}}"#;
    assert_eq!(complete(listening).await, end);
    // Afterwards there is nothing to listen to.
    let late = start(
        &stream,
        listen(Id::number(1), r#"{"toolsListChanged":true}"#),
    );
    assert_eq!(complete(late).await, end);
}

#[tokio::test]
async fn subscriptions_are_bounded() {
    let mut config = UpstreamConfig::default();
    config.subscriptions = 1;
    let (stream, _peer) = connect(CHANGES, config).await;
    let (_first, mut notifications) = start_told(&stream, listen(Id::number(1), "{}"));
    assert_eq!(told(&mut notifications).await, acknowledged("1", "{}"));
    let second = outcome(start(&stream, listen(Id::number(2), "{}"))).await;
    assert_eq!(second.expect_err("there is no room").kind(), Kind::Busy);
}

#[tokio::test]
async fn one_caller_cannot_take_the_subscriptions_of_all_others() {
    let mut config = UpstreamConfig::default();
    config.subscriptions_per_caller = 1;
    let (stream, _peer) = connect(CHANGES, config).await;
    let (_first, mut of_ada) = start_told(&stream, listen(Id::number(1), "{}").by("ada"));
    assert_eq!(told(&mut of_ada).await, acknowledged("1", "{}"));
    let second = outcome(start(&stream, listen(Id::number(2), "{}").by("ada"))).await;
    assert_eq!(second.expect_err("her share is used").kind(), Kind::Busy);
    let (_third, mut of_bob) = start_told(&stream, listen(Id::number(3), "{}").by("bob"));
    assert_eq!(told(&mut of_bob).await, acknowledged("3", "{}"));
}

#[tokio::test]
async fn an_unknown_notification_goes_to_every_listen_of_an_only_caller() {
    let (stream, mut peer) = connect(CHANGES, UpstreamConfig::default()).await;
    let news = "notifications/vendor/news";
    let tagged = |id: &str| {
        let meta = format!(r#"{{"io.modelcontextprotocol/subscriptionId":{id}}}"#);
        (
            news.to_owned(),
            raw(&format!(r#"{{"n":1,"_meta":{meta}}}"#)),
        )
    };
    let (_one, mut first) = start_told(&stream, listen(Id::number(7), "{}").by("ann"));
    let tools = r#"{"toolsListChanged":true}"#;
    let (_two, mut second) = start_told(&stream, listen(Id::number(8), tools).by("ann"));
    assert_eq!(told(&mut first).await, acknowledged("7", "{}"));
    assert_eq!(told(&mut second).await, acknowledged("8", tools));
    peer.send(&notification(news, r#"{"n":1}"#)).await;
    assert_eq!(told(&mut first).await, tagged("7"));
    assert_eq!(told(&mut second).await, tagged("8"));

    // With a stream of another caller, it might be about that one.
    let (_other, mut third) = start_told(&stream, listen(Id::number(9), "{}").by("bob"));
    assert_eq!(told(&mut third).await, acknowledged("9", "{}"));
    peer.send(&notification(news, r#"{"n":2}"#)).await;
    peer.send(&notification("notifications/tools/list_changed", "{}"))
        .await;
    assert_eq!(
        told(&mut second).await.0,
        "notifications/tools/list_changed"
    );
    assert_eq!((first.try_next(), third.try_next()), (None, None));
}
