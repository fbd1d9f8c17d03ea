use std::time::Duration;

use callgate_hub::Hub;
use callgate_mcp::Client;
use callgate_mcp::client::{Subscription, SubscriptionEvent, ToolCallOutcome};
use callgate_mcp::router::{TaskSupport, ToolRoute};
use callgate_mcp::wire::subscription::SubscriptionFilter;
use callgate_mcp::wire::task::{EXTENSION, TaskStatus};
use serde_json::json;
use tokio::sync::watch;

use crate::fake_server::{FakeServer, hub, router, wait_for};

/// A server whose tool waits for the sign, with a hub over it and a client that knows tasks.
async fn started() -> (watch::Sender<bool>, FakeServer, std::sync::Arc<Hub>, Client) {
    let sign = watch::Sender::new(false);
    let handler = {
        let sign = sign.clone();
        move || {
            let mut sign = sign.subscribe();
            async move {
                let _ = sign.wait_for(|sign| *sign).await;
                "done"
            }
        }
    };
    let work = ToolRoute::new("work", "Works", handler).task(TaskSupport::Required);
    let server = FakeServer::new(router("s").route(work));
    let (hub, _) = hub(&[("s", &server)]);
    wait_for(&hub, "s", "connected", 1).await;
    let client = Client::builder(hub.clone()).tasks().build();
    (sign, server, hub, client)
}

async fn start(client: &Client) -> String {
    match client.start_tool("s_work", &json!({})).await.unwrap() {
        ToolCallOutcome::Task(created) => created.task.task_id,
        other => panic!("{other:?}"),
    }
}

/// The id and the state in the next event.
async fn next(subscription: &mut Subscription) -> (String, TaskStatus) {
    match subscription.next().await {
        Some(Ok(SubscriptionEvent::Task(task))) => (task.task.task_id, task.task.status),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_is_followed_under_an_id_that_names_its_server() {
    let (sign, _server, _hub, client) = started().await;
    let capabilities = client.discover().await.unwrap().capabilities;
    assert!(capabilities.has_extension(EXTENSION));
    let id = start(&client).await;
    assert!(id.starts_with("1:s:"), "{id}");
    let task = client.get_task(&id).await.unwrap();
    assert_eq!(
        (task.task.task_id, task.task.status),
        (id.clone(), TaskStatus::Working)
    );
    sign.send_replace(true);
    let result = client.await_task(&id).await.unwrap();
    assert_eq!(result.content[0].as_text(), Some("done"));
}

#[tokio::test(start_paused = true)]
async fn a_change_of_a_task_reaches_its_caller() {
    let (sign, _server, _hub, client) = started().await;
    let id = start(&client).await;
    let filter = SubscriptionFilter::default()
        .with_task(&id)
        .with_task("1:x:unknown")
        .with_task("nonsense");
    let mut subscription = client.listen(&filter).await.unwrap();
    assert_eq!(subscription.accepted().task_ids, Some(vec![id.clone()]));
    // The server is asked after the acknowledgment, and then says how the task is.
    assert_eq!(
        next(&mut subscription).await,
        (id.clone(), TaskStatus::Working)
    );
    sign.send_replace(true);
    assert_eq!(next(&mut subscription).await, (id, TaskStatus::Completed));
}

#[tokio::test(start_paused = true)]
async fn a_change_that_was_missed_while_the_server_was_away_is_told_later() {
    let (sign, server, _hub, client) = started().await;
    let id = start(&client).await;
    let filter = SubscriptionFilter::default().with_task(&id);
    let mut subscription = client.listen(&filter).await.unwrap();
    assert_eq!(
        next(&mut subscription).await,
        (id.clone(), TaskStatus::Working)
    );
    // The connection is lost, and the task ends meanwhile.
    server.go_down();
    let limit = Duration::from_secs(1);
    let silence = tokio::time::timeout(limit, subscription.next()).await;
    assert!(silence.is_err(), "{silence:?}");
    sign.send_replace(true);
    server.crash();
    assert_eq!(next(&mut subscription).await, (id, TaskStatus::Completed));
}
