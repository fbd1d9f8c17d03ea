use std::sync::Arc;

use callgate_mcp::upstream::{StreamPair, UpstreamConfig};
use callgate_mcp::{Kind, Reply};
use serde_json::{Value, json};

use super::fixture::{
    FORM, Request, asked, complete, connect, error, heard, outcome, questions, request, start,
};
use crate::stdio_fixture::{RawPeer, cancelled, result};

const TASKS: &str =
    r#"{"tools":{"listChanged":true},"tasks":{"cancel":{},"requests":{"tools":{"call":{}}}}}"#;

const EXTENSION: &str = r#""extensions":{"io.modelcontextprotocol/tasks":{}}"#;

/// A request by a client that knows tasks and fills in forms.
fn knowing(method: &str, params: &str) -> Request {
    request(
        method,
        &format!(
            r#"{{{params},"_meta":{{"io.modelcontextprotocol/clientCapabilities":{{"elicitation":{{}},{EXTENSION}}}}}}}"#
        ),
    )
}

/// A call by a client that knows no tasks.
fn unknowing(tool: &str) -> Request {
    request(
        "tools/call",
        &format!(
            r#"{{"name":"{tool}","_meta":{{"io.modelcontextprotocol/clientCapabilities":{{"elicitation":{{}}}}}}}}"#
        ),
    )
}

fn task(status: &str) -> String {
    format!(
        r#"{{"taskId":"t1","status":"{status}","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttl":60000,"pollInterval":5}}"#
    )
}

/// The task as a client of the extension sees it.
fn seen(status: &str, more: &Value) -> Value {
    let mut seen = json!({
        "resultType":"complete","taskId":"t1","status":status,
        "createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z",
        "ttlMs":60000,"pollIntervalMs":5,
        "_meta":{"io.modelcontextprotocol/serverInfo":{"name":"old","version":"1"}},
    });
    for (key, value) in more.as_object().expect("members") {
        seen[key] = value.clone();
    }
    seen
}

async fn tell_tools(peer: &mut RawPeer) {
    let asked = heard(peer).await;
    assert_eq!(asked["method"], "tools/list");
    let tools = r#"{"tools":[{"name":"plain"},{"name":"may","execution":{"taskSupport":"optional"}},{"name":"must","execution":{"taskSupport":"required"}}]}"#;
    peer.send(&result(&asked["id"].to_string(), tools)).await;
}

/// A server that works on the task `t1`, whose result is waited for under id 5.
async fn working() -> (Arc<StreamPair>, RawPeer) {
    let (stream, mut peer) = connect(TASKS, UpstreamConfig::default()).await;
    let call = start(&stream, knowing("tools/call", r#""name":"may""#));
    tell_tools(&mut peer).await;
    assert_eq!(
        heard(&mut peer).await,
        json!({"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"may","task":{}}})
    );
    peer.send(&result("4", &format!(r#"{{"task":{}}}"#, task("working"))))
        .await;
    let created: Value = serde_json::from_str(&complete(call).await).expect("a result is JSON");
    assert_eq!(created, seen("working", &json!({"resultType":"task"})));
    assert_eq!(
        heard(&mut peer).await,
        json!({"jsonrpc":"2.0","id":5,"method":"tasks/result","params":{"taskId":"t1"}})
    );
    (stream, peer)
}

/// What `tasks/get` answers while the server says that the task has this status.
async fn get(stream: &Arc<StreamPair>, peer: &mut RawPeer, status: &str) -> Value {
    let get = start(stream, knowing("tasks/get", r#""taskId":"t1""#));
    let asked = heard(peer).await;
    assert_eq!(
        (&asked["method"], &asked["params"]),
        (&json!("tasks/get"), &json!({"taskId":"t1"}))
    );
    peer.send(&result(&asked["id"].to_string(), &task(status)))
        .await;
    serde_json::from_str(&complete(get).await).expect("a result is JSON")
}

#[tokio::test]
async fn hc_10_a_failed_tool_completes_its_task() {
    let (stream, mut peer) = working().await;
    assert_eq!(
        get(&stream, &mut peer, "working").await,
        seen("working", &json!({}))
    );
    peer.send(&result("5", r#"{"content":[],"isError":true,"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t1"}}}"#))
        .await;
    assert_eq!(
        get(&stream, &mut peer, "failed").await,
        seen(
            "completed",
            &json!({"result":{
                "content":[],"isError":true,"resultType":"complete",
                "_meta":{"io.modelcontextprotocol/serverInfo":{"name":"old","version":"1"}},
            }})
        )
    );
}

#[tokio::test]
async fn hc_10_a_task_fails_with_an_error() {
    let (stream, mut peer) = working().await;
    peer.send(&error("5", -32603, "broken")).await;
    assert_eq!(
        get(&stream, &mut peer, "failed").await,
        seen(
            "failed",
            &json!({"error":{"code":-32603,"message":"broken"}})
        )
    );
}

#[tokio::test]
async fn hc_10_the_question_of_a_task_is_answered_by_an_update() {
    let (stream, mut peer) = working().await;
    let form = FORM.replacen(
        '{',
        r#"{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t1"}},"#,
        1,
    );
    peer.send(&super::fixture::asks("9", "elicitation/create", &form))
        .await;
    let waiting = get(&stream, &mut peer, "input_required").await;
    assert_eq!(
        waiting,
        seen(
            "input_required",
            &json!({"inputRequests":{"1":{
                "method":"elicitation/create",
                "params":{"message":"Who?","requestedSchema":{"type":"object","properties":{}}},
            }}})
        )
    );
    let update = knowing(
        "tasks/update",
        r#""taskId":"t1","inputResponses":{"1":{"action":"decline"},"unknown":{}}"#,
    );
    assert_eq!(
        complete(start(&stream, update)).await,
        r#"{"resultType":"complete"}"#
    );
    assert_eq!(
        heard(&mut peer).await,
        json!({"jsonrpc":"2.0","id":9,"result":{"action":"decline"}})
    );
    assert_eq!(
        get(&stream, &mut peer, "working").await,
        seen("working", &json!({}))
    );
}

#[tokio::test]
async fn hc_10_a_cancellation_is_acknowledged_even_if_it_comes_too_late() {
    let (stream, mut peer) = working().await;
    let cancel = || start(&stream, knowing("tasks/cancel", r#""taskId":"t1""#));
    let first = cancel();
    let asked = heard(&mut peer).await;
    assert_eq!(asked["method"], "tasks/cancel");
    peer.send(&result(&asked["id"].to_string(), &task("cancelled")))
        .await;
    assert_eq!(complete(first).await, r#"{"resultType":"complete"}"#);
    let second = cancel();
    let asked = heard(&mut peer).await;
    peer.send(&error(&asked["id"].to_string(), -32602, "it is over"))
        .await;
    assert_eq!(complete(second).await, r#"{"resultType":"complete"}"#);
    assert_eq!(
        get(&stream, &mut peer, "cancelled").await,
        seen("cancelled", &json!({}))
    );
}

#[tokio::test]
async fn a_task_belongs_to_its_caller_and_needs_the_extension() {
    let (stream, _peer) = working().await;
    let refused = [
        (knowing("tasks/get", r#""taskId":"t1""#).by("bob"), -32602),
        (knowing("tasks/get", r#""taskId":"t2""#), -32602),
        (request("tasks/get", r#"{"taskId":"t1"}"#), -32021),
    ];
    for (request, code) in refused {
        let error = outcome(start(&stream, request))
            .await
            .expect_err("not theirs");
        assert_eq!(error.code(), code);
    }
}

#[tokio::test]
async fn tasks_are_bounded_in_all_and_for_each_caller() {
    let limits = |tasks, tasks_per_caller| {
        let mut config = UpstreamConfig::default();
        config.tasks = tasks;
        config.tasks_per_caller = tasks_per_caller;
        config
    };
    for (config, caller) in [(limits(1, 9), "bob"), (limits(9, 1), "ann")] {
        let (stream, mut peer) = connect(TASKS, config).await;
        let call = |caller| start(&stream, knowing("tools/call", r#""name":"may""#).by(caller));
        let created = |id: &str| {
            let task = task("working").replace("t1", id);
            result(id, &format!(r#"{{"task":{task}}}"#))
        };
        let first = call("ann");
        tell_tools(&mut peer).await;
        assert_eq!(heard(&mut peer).await["id"], 4);
        peer.send(&created("4")).await;
        complete(first).await;
        assert_eq!(heard(&mut peer).await["method"], "tasks/result");
        let second = call(caller);
        assert_eq!(heard(&mut peer).await["id"], 6);
        peer.send(&created("6")).await;
        let refused = outcome(second).await.expect_err("there is no room");
        assert_eq!(refused.kind(), Kind::Busy);
        let cancel = heard(&mut peer).await;
        assert_eq!(
            (&cancel["method"], &cancel["params"]),
            (&json!("tasks/cancel"), &json!({"taskId":"6"}))
        );
    }
}

#[tokio::test]
async fn tools_are_called_as_tasks_only_where_they_must_or_both_sides_can() {
    let (stream, mut peer) = connect(TASKS, UpstreamConfig::default()).await;
    for (id, call) in [
        ("4", unknowing("plain")),
        ("5", unknowing("may")),
        ("6", knowing("tools/call", r#""name":"plain""#)),
    ] {
        let call = start(&stream, call);
        if id == "4" {
            tell_tools(&mut peer).await;
        }
        let asked = heard(&mut peer).await;
        assert_eq!(
            (asked["id"].to_string(), asked["params"].get("task")),
            (id.to_owned(), None)
        );
        peer.send(&result(id, r#"{"content":[]}"#)).await;
        complete(call).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_lists_its_tools_delays_one_call() {
    let (stream, mut peer) = connect(TASKS, UpstreamConfig::default()).await;
    let first = start(&stream, unknowing("plain"));
    let mut methods = Vec::new();
    while methods.last() != Some(&json!("tools/call")) {
        methods.push(heard(&mut peer).await["method"].take());
    }
    assert_eq!(
        methods,
        ["tools/list", "notifications/cancelled", "tools/call"]
    );
    let second = start(&stream, unknowing("plain"));
    assert_eq!(heard(&mut peer).await["method"], "tools/call");
    for (id, call) in [("4", first), ("5", second)] {
        peer.send(&result(id, r#"{"content":[]}"#)).await;
        complete(call).await;
    }
}

#[tokio::test]
async fn a_call_waits_for_a_task_that_its_client_knows_nothing_of() {
    let (stream, mut peer) = connect(TASKS, UpstreamConfig::default()).await;
    let call = start(&stream, unknowing("must"));
    tell_tools(&mut peer).await;
    assert_eq!(
        heard(&mut peer).await["params"],
        json!({"name":"must","task":{}})
    );
    peer.send(&result("4", &format!(r#"{{"task":{}}}"#, task("working"))))
        .await;
    assert_eq!(heard(&mut peer).await["method"], "tasks/result");
    let form = FORM.replacen(
        '{',
        r#"{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t1"}},"#,
        1,
    );
    peer.send(&super::fixture::asks("9", "elicitation/create", &form))
        .await;
    let asked = asked(call).await;
    assert_eq!(questions(&asked), json!([["1", "elicitation/create"]]));
    let again = unknowing("must").retry(&asked, &json!({"1":{"action":"decline"}}));
    let again = start(&stream, again);
    assert_eq!(heard(&mut peer).await["id"], 9);
    peer.send(&result(
        "5",
        r#"{"content":[],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t1"}}}"#,
    ))
    .await;
    assert_eq!(
        outcome(again).await.expect("the task is done"),
        Reply::Complete(crate::stdio_fixture::json(
            r#"{"content":[],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"old","version":"1"}},"resultType":"complete"}"#
        ))
    );
}

#[tokio::test]
async fn dropping_a_call_that_waits_for_a_task_cancels_the_task() {
    let (stream, mut peer) = connect(TASKS, UpstreamConfig::default()).await;
    let call = start(&stream, unknowing("must"));
    tell_tools(&mut peer).await;
    heard(&mut peer).await;
    peer.send(&result("4", &format!(r#"{{"task":{}}}"#, task("working"))))
        .await;
    assert_eq!(heard(&mut peer).await["method"], "tasks/result");
    call.abort();
    assert!(call.await.is_err());
    assert_eq!(peer.line().await, Some(cancelled("5")));
    assert_eq!(
        heard(&mut peer).await,
        json!({"jsonrpc":"2.0","id":6,"method":"tasks/cancel","params":{"taskId":"t1"}})
    );
}

#[tokio::test]
async fn a_list_of_the_client_tells_which_tools_are_called_as_tasks() {
    let (stream, mut peer) = connect(TASKS, UpstreamConfig::default()).await;
    let list = start(&stream, request("tools/list", "{}"));
    tell_tools(&mut peer).await;
    complete(list).await;
    let _call = start(&stream, knowing("tools/call", r#""name":"may""#));
    assert_eq!(
        heard(&mut peer).await,
        json!({"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"may","task":{}}})
    );
}
