use std::time::Duration;

use callgate_mcp::Kind;
use callgate_mcp::client::{CallOptions, ClientBuilder, ClientLimits, ToolCallOutcome};
use callgate_mcp::wire::Map;
use callgate_mcp::wire::roots::Root;
use callgate_mcp::wire::task::TaskStatus;
use callgate_mcp::wire::tool::CallToolResult;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::client_scripted::{Scripted, Step, error, raw, result};

/// A task with this status and these members.
fn task(status: &str, more: &Value) -> Value {
    let mut task = json!({
        "taskId": "t1",
        "status": status,
        "createdAt": "2026-07-28T00:00:00Z",
        "lastUpdatedAt": "2026-07-28T00:00:00Z",
        "ttlMs": null,
    });
    for (key, value) in more.as_object().unwrap() {
        task[key] = value.clone();
    }
    task
}

fn created(poll_ms: u64) -> Step {
    result(task(
        "working",
        &json!({"resultType": "task", "pollIntervalMs": poll_ms}),
    ))
}

fn working(poll_ms: u64) -> Step {
    result(task("working", &json!({"pollIntervalMs": poll_ms})))
}

fn needs(keys: &[&str]) -> Step {
    let requests: serde_json::Map<String, Value> = keys
        .iter()
        .map(|key| ((*key).to_owned(), json!({"method": "roots/list"})))
        .collect();
    result(task("input_required", &json!({"inputRequests": requests})))
}

fn completed() -> Step {
    let done = json!({"content": [{"type": "text", "text": "done"}]});
    result(task("completed", &json!({"result": done})))
}

fn acknowledged() -> Step {
    result(json!({"resultType": "complete"}))
}

fn with_roots(client: ClientBuilder) -> ClientBuilder {
    client.roots(|| async { Ok(vec![Root::new("file:///a")]) })
}

fn asked(method: &str, params: Value) -> (String, Value) {
    (method.to_owned(), params)
}

fn looked() -> (String, Value) {
    asked("tasks/get", json!({"taskId": "t1"}))
}

#[tokio::test(start_paused = true)]
async fn a_call_that_becomes_a_task_is_polled_at_the_interval_of_the_server() {
    let server = Scripted::new([
        created(2000),
        working(7000),
        working(0),
        result(task("working", &json!({}))),
        completed(),
    ]);
    let client = server.builder().tasks().build();
    let started = Instant::now();
    let done = client.call_tool("slow", &json!({})).await.unwrap();
    assert_eq!(done, CallToolResult::text("done"));
    // A poll interval of 0 is raised to 100 ms; the default is one second.
    assert_eq!(started.elapsed().as_millis(), 2000 + 7000 + 100 + 1000);
    assert_eq!(
        server.asked(),
        [
            asked("tools/call", json!({"name": "slow", "arguments": {}})),
            looked(),
            looked(),
            looked(),
            looked(),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_started_call_hands_its_task_to_the_caller() {
    let server = Scripted::new([
        created(5),
        working(5),
        acknowledged(),
        acknowledged(),
        result(json!({"content": []})),
    ]);
    let client = server.builder().tasks().build();
    let ToolCallOutcome::Task(task) = client.start_tool("slow", &json!({})).await.unwrap() else {
        panic!("expected a task");
    };
    let id = &task.task.task_id;
    assert_eq!(
        client.get_task(id).await.unwrap().task.status,
        TaskStatus::Working
    );
    let responses = Map::from_iter([("k", raw(&json!({"roots": []})).into())]);
    client.update_task(id, responses).await.unwrap();
    client.cancel_task(id).await.unwrap();
    let done = client.start_tool("fast", &json!({})).await.unwrap();
    assert_eq!(done, ToolCallOutcome::Complete(CallToolResult::new(vec![])));
    assert_eq!(
        server.asked()[1..4],
        [
            looked(),
            asked(
                "tasks/update",
                json!({"taskId": "t1", "inputResponses": {"k": {"roots": []}}})
            ),
            asked("tasks/cancel", json!({"taskId": "t1"})),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_task_is_given_each_input_once() {
    let server = Scripted::new([
        needs(&["a"]),
        acknowledged(),
        needs(&["a"]),
        needs(&["a", "b"]),
        acknowledged(),
        completed(),
    ]);
    let client = with_roots(server.builder()).tasks().build();
    client.await_task("t1").await.unwrap();
    let update = |key: &str| {
        let responses = json!({key: {"roots": [{"uri": "file:///a"}]}});
        asked(
            "tasks/update",
            json!({"taskId": "t1", "inputResponses": responses}),
        )
    };
    assert_eq!(
        server.asked(),
        [
            looked(),
            update("a"),
            looked(),
            looked(),
            update("b"),
            looked()
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn the_inputs_of_a_task_are_bounded() {
    let limits = ClientLimits::default().with_inputs(2);
    let server = Scripted::new([needs(&["a", "b"]), acknowledged(), needs(&["c"])]);
    let client = with_roots(server.builder()).tasks().limits(limits).build();
    let failed = client.await_task("t1").await.unwrap_err();
    assert_eq!(failed.kind(), Kind::InputRequired);
    assert_eq!(failed.to_string(), "task `t1` asks for more than 2 inputs");
}

#[tokio::test(start_paused = true)]
async fn a_task_that_takes_too_long_is_no_longer_awaited() {
    let server = Scripted::new([working(40_000), working(40_000)]);
    let options = CallOptions::default().task_timeout(Duration::from_secs(60));
    let client = server.builder().tasks().options(options).build();
    let started = Instant::now();
    let failed = client.await_task("t1").await.unwrap_err();
    assert_eq!(started.elapsed().as_secs(), 60);
    assert_eq!(failed.kind(), Kind::Timeout);
    assert_eq!(failed.to_string(), "task `t1` did not end within 60s");
}

#[tokio::test(start_paused = true)]
async fn a_poll_interval_does_not_extend_the_task_timeout() {
    let server = Scripted::new([created(u64::MAX)]);
    let client = server.builder().tasks().build();
    let started = Instant::now();
    let failed = client.call_tool("slow", &json!({})).await.unwrap_err();
    assert_eq!(started.elapsed().as_secs(), 60 * 60);
    assert_eq!(failed.to_string(), "task `t1` did not end within 3600s");
}

#[tokio::test(start_paused = true)]
async fn a_task_that_fails_is_an_error() {
    let check = async |answer: Step, kind: Kind, code: i64, message: &str| {
        let server = Scripted::new([answer]);
        let client = server.builder().tasks().build();
        let failed = client.await_task("t1").await.unwrap_err();
        let seen = (failed.kind(), failed.code(), failed.to_string());
        assert_eq!(seen, (kind, code, message.to_owned()));
    };
    let broken = json!({"error": {"code": -32000, "message": "broken"}});
    check(result(task("failed", &broken)), Kind::Rpc, -32000, "broken").await;
    let silent = result(task("failed", &json!({})));
    let message = "task `t1` failed without saying why";
    check(silent, Kind::Protocol, -32603, message).await;
    let canceled = result(task("cancelled", &json!({})));
    check(canceled, Kind::Rpc, -32603, "task `t1` was canceled").await;
    let empty = result(task("completed", &json!({})));
    let message = "task `t1` was completed without result";
    check(empty, Kind::Protocol, -32603, message).await;
    check(
        error(-32602, "unknown task"),
        Kind::Rpc,
        -32602,
        "unknown task",
    )
    .await;
}
