use std::time::Duration;

use callgate_mcp::client::{Backoff, Client, ListenOptions, ResubscribePolicy, SubscriptionEvent};
use callgate_mcp::wire::subscription::SubscriptionFilter;
use callgate_mcp::wire::{Method, Notification};
use callgate_mcp::{Call, Error, Kind, Reply};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

use crate::client_scripted::{Scripted, Step, error, failure, notify, raw, result, silence, step};

const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
const TOOLS: &str = "notifications/tools/list_changed";

fn filter() -> SubscriptionFilter {
    SubscriptionFilter::new().with_tools().with_resource("a:1")
}

/// The part of the filter that the server of these tests honors.
fn accepted() -> SubscriptionFilter {
    SubscriptionFilter::new().with_tools()
}

fn tagged(call: &Call, params: &Value) -> Value {
    let id: Value = call.cx.id.as_raw().decode().unwrap();
    let mut params = params.clone();
    params["_meta"] = json!({"io.modelcontextprotocol/subscriptionId": id});
    params
}

async fn say(call: &Call, method: &str, params: &Value) {
    notify(&call.cx.notify, method, &tagged(call, params)).await;
}

async fn acknowledge(call: &Call) {
    let params = json!({"notifications": {"toolsListChanged": true}});
    say(call, ACKNOWLEDGED, &params).await;
}

fn graceful(call: &Call) -> Result<Reply, Error> {
    let result = tagged(call, &json!({"resultType": "complete"}));
    Ok(Reply::Complete(raw(&result)))
}

fn lost() -> Error {
    Error::new(Kind::Closed, "connection lost")
}

/// Acknowledges, announces a change of the tools, and then ends with `end`.
fn brief<F>(end: F) -> Step
where
    F: FnOnce(&Call) -> Result<Reply, Error> + Send + Sync + 'static,
{
    step(move |call| async move {
        acknowledge(&call).await;
        say(&call, TOOLS, &json!({})).await;
        end(&call)
    })
}

/// Returns the events of a subscription until it is over.
async fn events(client: &Client, options: ListenOptions) -> Vec<Result<SubscriptionEvent, String>> {
    let mut subscription = client.listen_with(&filter(), options).await.unwrap();
    assert_eq!(subscription.accepted(), &accepted());
    let mut received = Vec::new();
    while let Some(event) = subscription.next().await {
        received.push(event.map_err(|error| error.to_string()));
    }
    assert!(subscription.next().await.is_none());
    received
}

#[tokio::test]
async fn events_come_typed_after_the_acknowledgment() {
    let task = json!({
        "taskId": "t", "status": "working", "ttlMs": null,
        "createdAt": "2026-07-28T00:00:00Z", "lastUpdatedAt": "2026-07-28T00:00:00Z",
    });
    let changed = task.clone();
    let server = Scripted::new([step(move |call| async move {
        // Notifications before the acknowledgment, or of another subscription, are ignored.
        say(&call, TOOLS, &json!({})).await;
        acknowledge(&call).await;
        let other = json!({"_meta": {"io.modelcontextprotocol/subscriptionId": "other"}});
        notify(&call.cx.notify, TOOLS, &other).await;
        say(&call, TOOLS, &json!({})).await;
        say(&call, "notifications/prompts/list_changed", &json!({})).await;
        say(&call, "notifications/resources/list_changed", &json!({})).await;
        say(
            &call,
            "notifications/resources/updated",
            &json!({"uri": "a:1/x"}),
        )
        .await;
        say(&call, "notifications/resources/updated", &json!({"uri": 7})).await;
        say(&call, "notifications/tasks", &changed).await;
        notify(&call.cx.notify, "vendor/news", &json!({"n": 1})).await;
        graceful(&call)
    })]);
    let events = events(&server.client(), ListenOptions::default()).await;
    assert_eq!(
        events,
        [
            SubscriptionEvent::ToolsListChanged,
            SubscriptionEvent::PromptsListChanged,
            SubscriptionEvent::ResourcesListChanged,
            SubscriptionEvent::ResourceUpdated {
                uri: "a:1/x".to_owned()
            },
            SubscriptionEvent::Gap,
            SubscriptionEvent::Task(
                serde_json::from_value::<callgate_mcp::wire::task::TaskNotificationParams>(task)
                    .unwrap()
                    .task
            ),
            SubscriptionEvent::Other(Notification {
                method: Method::new("vendor/news"),
                params: raw(&json!({"n": 1})),
            }),
        ]
        .map(Ok)
    );
    let params = json!({
        "notifications": {"toolsListChanged": true, "resourceSubscriptions": ["a:1"]},
    });
    assert_eq!(
        server.asked(),
        [("subscriptions/listen".to_owned(), params)]
    );
}

#[tokio::test]
async fn a_server_may_end_a_subscription_by_canceling_it() {
    let server = Scripted::new([step(|call| async move {
        acknowledge(&call).await;
        let id: Value = call.cx.id.as_raw().decode().unwrap();
        say(&call, "notifications/cancelled", &json!({"requestId": id})).await;
        std::future::pending().await
    })]);
    assert_eq!(events(&server.client(), ListenOptions::default()).await, []);
}

#[tokio::test]
async fn dropping_a_subscription_ends_it() {
    let server = Scripted::new([step(|call| async move {
        acknowledge(&call).await;
        std::future::pending().await
    })]);
    let subscription = server.client().listen(&filter()).await.unwrap();
    assert_eq!(server.cancelled(), 0);
    drop(subscription);
    assert_eq!(server.cancelled(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_subscription_that_is_not_acknowledged_is_an_error() {
    let check = async |answer: Step, kind: Kind, message: &str| {
        let server = Scripted::new([answer]);
        let failed = server.client().listen(&filter()).await.unwrap_err();
        assert_eq!(
            (failed.kind(), failed.to_string()),
            (kind, message.to_owned())
        );
    };
    let message = "the subscription was not acknowledged for 30s";
    check(silence(), Kind::Timeout, message).await;
    let message = "the subscription ended before it was acknowledged";
    check(result(json!({})), Kind::Protocol, message).await;
    check(
        error(-32601, "method not found"),
        Kind::Rpc,
        "method not found",
    )
    .await;
    check(
        step(|_| async { Err(lost()) }),
        Kind::Closed,
        "connection lost",
    )
    .await;
}

#[tokio::test]
async fn a_refused_revision_is_followed_by_another_try() {
    let server = Scripted::new([
        failure(json!({"code": -32022, "message": "m", "data": {"supported": ["2026-07-28"]}})),
        brief(graceful),
    ]);
    let events = events(&server.client(), ListenOptions::default()).await;
    assert_eq!(events, [Ok(SubscriptionEvent::ToolsListChanged)]);
}

#[tokio::test(start_paused = true)]
async fn a_lost_subscription_is_made_again_and_reports_the_gap() {
    let server = Scripted::new([
        brief(|_| Err(lost())),
        step(|_| async { Err(Error::new(Kind::Connect, "refused")) }),
        brief(graceful),
    ]);
    let started = Instant::now();
    let events = events(&server.client(), ListenOptions::default()).await;
    assert_eq!(
        events,
        [
            SubscriptionEvent::ToolsListChanged,
            SubscriptionEvent::Gap,
            SubscriptionEvent::ToolsListChanged
        ]
        .map(Ok)
    );
    // Half of each wait is random: 250 to 500 ms, then 500 to 1000 ms.
    let waited = started.elapsed().as_millis();
    assert!((750..=1510).contains(&waited), "{waited}");
}

#[tokio::test(start_paused = true)]
async fn a_subscription_that_keeps_failing_gives_up() {
    let options = ListenOptions::default().with_retries(2);
    let server = Scripted::new([
        brief(|_| Err(lost())),
        brief(|_| Err(lost())),
        step(|_| async { Err(Error::new(Kind::Connect, "refused")) }),
    ]);
    let events = events(&server.client(), options).await;
    assert_eq!(
        events,
        [
            Ok(SubscriptionEvent::ToolsListChanged),
            Ok(SubscriptionEvent::Gap),
            Ok(SubscriptionEvent::ToolsListChanged),
            Err("refused".to_owned()),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_subscription_that_lasted_may_be_lost_as_often_again() {
    let lasting = || {
        step(|call| async move {
            acknowledge(&call).await;
            sleep(Duration::from_secs(60)).await;
            Err(lost())
        })
    };
    let options = ListenOptions::default().with_retries(1);
    let server = Scripted::new([lasting(), lasting(), lasting(), brief(graceful)]);
    let events = events(&server.client(), options).await;
    assert_eq!(
        events,
        [
            SubscriptionEvent::Gap,
            SubscriptionEvent::Gap,
            SubscriptionEvent::Gap,
            SubscriptionEvent::ToolsListChanged
        ]
        .map(Ok)
    );
}

#[tokio::test(start_paused = true)]
async fn a_lost_subscription_is_opened_again_ten_times_after_half_a_second_to_half_a_minute() {
    let (tell, mut attempts) = mpsc::unbounded_channel();
    let refused = |_| {
        let tell = tell.clone();
        step(|_| async move {
            tell.send(Instant::now()).unwrap();
            Err(lost())
        })
    };
    let server = Scripted::new(
        [brief(|_| Err(lost()))]
            .into_iter()
            .chain((0..10).map(refused)),
    );
    let mut before = Instant::now();
    let events = events(&server.client(), ListenOptions::default()).await;
    assert_eq!(
        events,
        [
            Ok(SubscriptionEvent::ToolsListChanged),
            Err("connection lost".to_owned())
        ]
    );
    // The paused clock moves in milliseconds.
    let rounding = Duration::from_millis(1);
    let longest = [
        500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000, 30_000,
    ];
    for longest in longest.map(Duration::from_millis) {
        let attempt = attempts.recv().await.unwrap();
        let delay = attempt - before;
        let expected = longest / 2..=longest + rounding;
        assert!(
            expected.contains(&delay),
            "{delay:?} is not in {expected:?}"
        );
        before = attempt;
    }
    assert_eq!(attempts.try_recv().ok(), None);
}

#[tokio::test(start_paused = true)]
async fn an_error_that_would_repeat_is_not_retried() {
    let server = Scripted::new([brief(|_| Err(lost())), error(-32601, "method not found")]);
    let events = events(&server.client(), ListenOptions::default()).await;
    assert_eq!(
        events,
        [
            Ok(SubscriptionEvent::ToolsListChanged),
            Err("method not found".to_owned())
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn an_end_in_good_order_may_be_followed_by_another_subscription() {
    let options = ListenOptions::default()
        .with_resubscribe(ResubscribePolicy::Always)
        .with_retries(1)
        .with_backoff(Backoff::new(Duration::from_secs(1), Duration::from_secs(1)));
    let server = Scripted::new([brief(graceful), brief(graceful)]);
    let events = events(&server.client(), options).await;
    assert_eq!(
        events,
        [
            Ok(SubscriptionEvent::ToolsListChanged),
            Ok(SubscriptionEvent::Gap),
            Ok(SubscriptionEvent::ToolsListChanged),
            Err("the server ended the subscription".to_owned()),
        ]
    );
}

#[tokio::test]
async fn dropped_events_are_a_gap() {
    let server = Scripted::new([step(|call| async move {
        acknowledge(&call).await;
        sleep(Duration::ZERO).await;
        for _ in 0..257 {
            call.cx.notify.offer(Notification {
                method: Method::new(TOOLS),
                params: raw(&json!({})),
            });
        }
        graceful(&call)
    })]);
    let events = events(&server.client(), ListenOptions::default()).await;
    let mut expect = vec![Ok(SubscriptionEvent::Gap)];
    expect.extend(vec![Ok(SubscriptionEvent::ToolsListChanged); 256]);
    assert_eq!(events, expect);
}

/// Server whose lists and contents are fresh for an hour, and which sends the notifications of `news`.
fn kept(mut news: mpsc::Receiver<(&'static str, Value)>) -> Vec<Step> {
    let page = |key: &str| {
        let mut page = json!({"ttlMs": 3_600_000, "cacheScope": "private"});
        page[key] = json!([]);
        result(page)
    };
    vec![
        step(move |call| async move {
            acknowledge(&call).await;
            while let Some((method, params)) = news.recv().await {
                say(&call, method, &params).await;
            }
            Err(lost())
        }),
        page("tools"),
        page("contents"),
        page("tools"),
        page("contents"),
        step(|call| async move {
            acknowledge(&call).await;
            std::future::pending().await
        }),
        page("tools"),
        page("contents"),
    ]
}

#[tokio::test(start_paused = true)]
async fn a_change_removes_cached_results() {
    let (tell, news) = mpsc::channel(1);
    let server = Scripted::new(kept(news));
    let client = server.client();
    let mut subscription = client.listen(&filter()).await.unwrap();
    let asked = async || {
        client.list_tools().await.unwrap();
        client.read_resource("a:1").await.unwrap();
        server.asked().len()
    };
    assert_eq!((asked().await, asked().await), (3, 3));

    tell.send((TOOLS, json!({}))).await.unwrap();
    assert_eq!(
        subscription.next().await.unwrap().unwrap(),
        SubscriptionEvent::ToolsListChanged
    );
    assert_eq!(asked().await, 4);

    let updated = ("notifications/resources/updated", json!({"uri": "a:1"}));
    tell.send(updated).await.unwrap();
    subscription.next().await.unwrap().unwrap();
    assert_eq!(asked().await, 5);

    drop(tell);
    assert_eq!(
        subscription.next().await.unwrap().unwrap(),
        SubscriptionEvent::Gap
    );
    assert_eq!(asked().await, 8);
}

#[tokio::test]
async fn waiting_for_an_event_can_be_given_up_without_losing_any() {
    let (tell, mut news) = mpsc::channel::<()>(1);
    let server = Scripted::new([step(move |call| async move {
        acknowledge(&call).await;
        while news.recv().await.is_some() {
            say(&call, TOOLS, &json!({})).await;
        }
        graceful(&call)
    })]);
    let mut subscription = server.client().listen(&filter()).await.unwrap();
    tokio::select! {
        biased;
        event = subscription.next() => panic!("unexpected {event:?}"),
        () = tokio::task::yield_now() => {}
    }
    tell.send(()).await.unwrap();
    assert_eq!(
        subscription.next().await.unwrap().unwrap(),
        SubscriptionEvent::ToolsListChanged
    );
}
