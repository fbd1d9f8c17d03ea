//! Subscriptions to changes.

use callgate_mcp::router::{Router, ToolRoute};
use callgate_mcp::wire::Id;
use callgate_mcp::wire::implementation::Implementation;
use callgate_mcp::wire::prompt::Prompt;
use callgate_mcp::wire::resource::{Resource, ResourceTemplate};
use callgate_mcp::{Error, Notifications, Reply, Service};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::ask::{Ask, demo_meta, show, shown};

fn demo() -> Router {
    Router::new(Implementation::new("demo", "1.0"))
        .tool("t", "", || async {})
        .prompt(Prompt::new("p", ""), || async { "" })
        .resource(Resource::new("test://r", "r"), || async { "" })
}

struct Listening {
    answer: JoinHandle<Result<Reply, Error>>,
    notifications: Notifications,
}

impl Listening {
    async fn next(&mut self) -> Value {
        shown(&self.notifications.next().await)
    }
}

/// Starts to listen and takes the acknowledgement.
async fn listen(router: &Router, id: &Id, filter: Value) -> (Listening, Value) {
    let mut params = json!({});
    params["notifications"] = filter;
    let (call, notifications) = Ask::new("subscriptions/listen", params).into_call(id);
    let router = router.clone();
    let answer = tokio::spawn(async move { router.call(call).await });
    let mut listening = Listening {
        answer,
        notifications,
    };
    let acknowledged = listening.next().await;
    (listening, acknowledged)
}

fn told(name: &str, id: &Value, more: Value) -> Value {
    let mut params = json!({"_meta": {"io.modelcontextprotocol/subscriptionId": id}});
    if let Value::Object(more) = more {
        params.as_object_mut().unwrap().extend(more);
    }
    json!({"method": format!("notifications/{name}"), "params": params})
}

#[tokio::test]
async fn a_subscription_is_acknowledged_first_and_gets_only_its_events() {
    let router = demo();
    let id = json!("sub-1");
    let filter = json!({"toolsListChanged": true, "resourceSubscriptions": ["test://r"]});
    let (mut listening, acknowledged) = listen(&router, &Id::text("sub-1"), filter.clone()).await;
    assert_eq!(
        acknowledged,
        told(
            "subscriptions/acknowledged",
            &id,
            json!({"notifications": filter})
        )
    );
    router.add_prompt(Prompt::new("q", ""), || async { "" });
    router.resource_updated("test://other");
    router.resource_updated("test://r");
    assert_eq!(
        listening.next().await,
        told("resources/updated", &id, json!({"uri": "test://r"}))
    );
    router.remove_tool("t");
    assert_eq!(
        listening.next().await,
        told("tools/list_changed", &id, json!({}))
    );
}

#[tokio::test]
async fn every_change_of_a_list_is_told() {
    let router = demo();
    let filter = json!({
        "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true
    });
    let (mut listening, _) = listen(&router, &Id::number(7), filter).await;
    let template = || ResourceTemplate::new("test://{x}", "x");
    let changes: [(&str, &dyn Fn()); 8] = [
        ("tools", &|| {
            router
                .add_tool(ToolRoute::new("u", "", || async {}))
                .unwrap();
        }),
        ("tools", &|| assert!(router.remove_tool("u"))),
        ("prompts", &|| {
            router.add_prompt(Prompt::new("q", ""), || async { "" });
        }),
        ("prompts", &|| assert!(router.remove_prompt("q"))),
        ("resources", &|| {
            router.add_resource(Resource::new("a:", "a"), || async { "" });
        }),
        ("resources", &|| assert!(router.remove_resource("a:"))),
        ("resources", &|| {
            router
                .add_resource_template(template(), || async { "" })
                .unwrap();
        }),
        ("resources", &|| {
            assert!(router.remove_resource_template("test://{x}"));
        }),
    ];
    for (list, change) in changes {
        change();
        let expect = told(&format!("{list}/list_changed"), &json!(7), json!({}));
        assert_eq!(listening.next().await, expect);
    }
    // There was nothing to remove, so no change is published.
    assert!(!router.remove_tool("u"));
    router.close_subscriptions();
    listening.answer.await.unwrap().unwrap();
    assert_eq!(listening.notifications.try_next(), None);
}

#[tokio::test]
async fn only_supported_events_are_acknowledged() {
    let everything = json!({
        "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
        "resourceSubscriptions": ["test://r", "test://r"]
    });
    let empty = Router::new(Implementation::new("demo", "1.0"));
    let (_listening, acknowledged) = listen(&empty, &Id::number(1), everything.clone()).await;
    assert_eq!(acknowledged["params"]["notifications"], json!({}));

    let mut expect = everything.clone();
    expect["resourceSubscriptions"] = json!(["test://r"]);
    let (_listening, acknowledged) = listen(&demo(), &Id::number(1), everything).await;
    assert_eq!(acknowledged["params"]["notifications"], expect);

    let no = json!({"toolsListChanged": false});
    let (_listening, acknowledged) = listen(&demo(), &Id::number(1), no).await;
    assert_eq!(acknowledged["params"]["notifications"], json!({}));
}

#[tokio::test]
async fn a_subscription_follows_a_limited_number_of_resources() {
    let uris: Vec<_> = (0..1_001).map(|n| format!("test://{n}")).collect();
    // One that is named again takes no place.
    let asked = [vec![uris[0].clone(); 10], uris.clone()].concat();
    let filter = json!({"resourceSubscriptions": asked});
    let (_listening, acknowledged) = listen(&demo(), &Id::number(1), filter).await;
    let accepted = &acknowledged["params"]["notifications"]["resourceSubscriptions"];
    assert_eq!(accepted, &json!(uris[..1_000]));
}

#[tokio::test]
async fn repeated_events_reach_a_slow_listener_once() {
    let router = demo();
    let filter = json!({"toolsListChanged": true});
    let (mut listening, _) = listen(&router, &Id::number(1), filter).await;
    for _ in 0..1_000 {
        router
            .add_tool(ToolRoute::new("u", "", || async {}))
            .unwrap();
    }
    let change = told("tools/list_changed", &json!(1), json!({}));
    assert_eq!(listening.next().await, change);
    router.close_subscriptions();
    listening.answer.await.unwrap().unwrap();
    assert_eq!(listening.notifications.try_next(), None);
}

#[tokio::test]
async fn closing_ends_every_subscription_with_a_result() {
    let router = demo();
    let (one, _) = listen(&router, &Id::number(1), json!({"toolsListChanged": true})).await;
    let (two, _) = listen(&router, &Id::text("two"), json!({})).await;
    router.close_subscriptions();
    for (listening, id) in [(one, json!(1)), (two, json!("two"))] {
        let mut meta = demo_meta();
        meta["io.modelcontextprotocol/subscriptionId"] = id;
        assert_eq!(
            show(listening.answer.await.unwrap()),
            Ok(json!({"resultType": "complete", "_meta": meta}))
        );
    }
}

#[tokio::test]
async fn subscriptions_are_limited_and_end_when_they_are_dropped() {
    let router = demo().max_subscriptions(1);
    let (first, _) = listen(&router, &Id::number(1), json!({})).await;
    let ask = || Ask::new("subscriptions/listen", json!({"notifications": {}}));
    assert_eq!(
        ask().of(&router).await,
        Err(
            json!({"code": 42900, "message": "subscription limit reached: close one, or try again later"})
        )
    );
    first.answer.abort();
    assert!(first.answer.await.unwrap_err().is_cancelled());
    let (_second, acknowledged) = listen(&router, &Id::number(2), json!({})).await;
    assert_eq!(
        acknowledged["method"],
        "notifications/subscriptions/acknowledged"
    );
}

#[tokio::test]
async fn a_malformed_filter_is_refused() {
    for params in [
        json!({}),
        json!({"notifications": null}),
        json!({"notifications": []}),
        json!({"notifications": {"toolsListChanged": "yes"}}),
        json!({"notifications": {"resourceSubscriptions": "test://r"}}),
    ] {
        let error = Ask::new("subscriptions/listen", params)
            .of(&demo())
            .await
            .unwrap_err();
        assert_eq!(error["code"], -32602);
    }
}
