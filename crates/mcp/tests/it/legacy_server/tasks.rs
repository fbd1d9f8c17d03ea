use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use callgate_mcp::wire::RawJson;
use callgate_mcp::{Error, Service};

use super::fixture::{ASKABLE, DISCOVERED, error, limited, old_client, old_client_with, request};
use crate::stdio_fixture::{RawPeer, cancelled, complete, json, result, service, soon};

const TIMES: &str = r#""createdAt":"2026-07-28T00:00:00Z","lastUpdatedAt":"2026-07-28T00:00:00Z""#;

/// What is said of the task in these tests, in the extension.
fn remote(status: &str, more: &str) -> String {
    format!(
        r#"{{"resultType":"complete","taskId":"t","status":"{status}",{TIMES},"ttlMs":5000,"pollIntervalMs":100{more}}}"#
    )
}

/// The same as 2025-11-25 has it.
fn old(status: &str) -> String {
    format!(r#"{{"taskId":"t","status":"{status}",{TIMES},"ttl":5000,"pollInterval":100}}"#)
}

/// A service with tasks: a call makes one, and `tasks/get` tells these in turn, the last for ever.
/// What else it was asked is kept.
fn with_tasks(looks: &[String]) -> (Arc<dyn Service>, Arc<Mutex<Vec<String>>>) {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let looks = Arc::new(Mutex::new(VecDeque::from(looks.to_vec())));
    let service = service({
        let heard = heard.clone();
        move |call| {
            let (looks, heard) = (looks.clone(), heard.clone());
            async move {
                let method = call.method.as_str();
                let extension = ["extensions", "io.modelcontextprotocol/tasks"];
                let declared = call.cx.peer().declares(&extension);
                match method {
                    "server/discover" => complete(&DISCOVERED.replace(
                        r#""logging":{}"#,
                        r#""logging":{},"extensions":{"io.modelcontextprotocol/tasks":{}}"#,
                    )),
                    "tools/list" => complete(r#"{"resultType":"complete","tools":[{"name":"a"}]}"#),
                    "tools/call"
                        if !declared && call.params().get("name") == Some(json(r#""must""#)) =>
                    {
                        let extensions = r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;
                        Err(Error::missing_capability(&json(extensions)))
                    }
                    "tools/call" if !declared => complete(
                        r#"{"resultType":"complete","content":[{"type":"text","text":"now"}]}"#,
                    ),
                    "tools/call" if call.params().get("name") == Some(json(r#""quick""#)) => {
                        complete(r#"{"resultType":"complete","content":[],"isError":true}"#)
                    }
                    "tools/call" => {
                        assert_eq!(call.params().get("task"), None);
                        complete(&remote("working", "").replace("complete", "task"))
                    }
                    "tasks/get" => {
                        assert!(declared);
                        let mut looks = looks.lock().unwrap();
                        let look = looks.pop_front().unwrap();
                        if looks.is_empty() {
                            looks.push_back(look.clone());
                        }
                        complete(&look)
                    }
                    "subscriptions/listen" => std::future::pending().await,
                    _ => {
                        assert!(declared);
                        let responses = call.params().get("inputResponses");
                        let responses = responses.unwrap_or_else(RawJson::null);
                        heard
                            .lock()
                            .unwrap()
                            .push(format!("{method} {}", responses.as_str()));
                        complete(r#"{"resultType":"complete"}"#)
                    }
                }
            }
        }
    });
    (service, heard)
}

/// A client that has made the task `t`.
async fn with_task(service: Arc<dyn Service>) -> RawPeer {
    let (mut peer, _server) = old_client(service, "2025-11-25", ASKABLE).await;
    peer.send(&request("1", "tools/call", r#"{"name":"slow","task":{}}"#))
        .await;
    let created = format!(r#"{{"task":{}}}"#, old("working"));
    assert_eq!(peer.line().await, Some(result("1", &created)));
    peer
}

fn about(id: &str, method: &str) -> String {
    request(id, method, r#"{"taskId":"t"}"#)
}

#[tokio::test]
async fn a_client_learns_that_calls_may_become_tasks_and_decides() {
    let (service, _) = with_tasks(&[remote("working", "")]);
    let (mut peer, _server) = old_client(service, "2025-11-25", "{}").await;
    peer.send(&request("1", "tools/list", "{}")).await;
    assert_eq!(
        peer.line().await,
        Some(result(
            "1",
            r#"{"tools":[{"name":"a","execution":{"taskSupport":"optional"}}]}"#
        ))
    );
    peer.send(&request("2", "tools/call", r#"{"name":"a"}"#))
        .await;
    assert_eq!(
        peer.line().await,
        Some(result("2", r#"{"content":[{"type":"text","text":"now"}]}"#))
    );
}

#[tokio::test]
async fn older_clients_have_no_tasks() {
    let (service, _) = with_tasks(&[remote("working", "")]);
    let (mut peer, _server) = old_client(service, "2025-06-18", "{}").await;
    peer.send(&request("1", "tools/call", r#"{"name":"a","task":{}}"#))
        .await;
    assert_eq!(
        peer.line().await,
        Some(result("1", r#"{"content":[{"type":"text","text":"now"}]}"#))
    );
    peer.send(&about("2", "tasks/get")).await;
    assert_eq!(
        peer.line().await,
        Some(error(
            "2",
            r#"{"code":-32601,"message":"method `tasks/get` not found"}"#
        ))
    );
}

#[tokio::test(start_paused = true)]
async fn hc_10_the_result_of_a_task_waits_for_its_end_and_asks_on_the_way() {
    let asking = remote(
        "input_required",
        r#","inputRequests":{"k":{"method":"roots/list"}}"#,
    );
    let done = remote(
        "completed",
        r#","result":{"resultType":"complete","content":[],"isError":true}"#,
    );
    let (service, heard) = with_tasks(&[
        remote("working", ""),
        asking.clone(),
        asking,
        remote("working", ""),
        done,
    ]);
    let mut peer = with_task(service).await;
    peer.send(&about("2", "tasks/result")).await;
    assert_eq!(
        peer.line().await,
        Some(request(
            "1",
            "roots/list",
            r#"{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t"}}}"#
        ))
    );
    peer.send(&result("1", r#"{"roots":[]}"#)).await;
    assert_eq!(
        peer.line().await,
        Some(result(
            "2",
            r#"{"content":[],"isError":true,"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t"}}}"#
        ))
    );
    // The question stood in two looks and was asked once.
    assert_eq!(
        *heard.lock().unwrap(),
        [r#"tasks/update {"k":{"roots":[]}}"#]
    );
    // A call that failed makes its task fail.
    peer.send(&about("3", "tasks/get")).await;
    assert_eq!(peer.line().await, Some(result("3", &old("failed"))));
}

#[tokio::test]
async fn hc_10_a_task_that_ended_in_an_error_has_that_for_its_result() {
    let failed = remote("failed", r#","error":{"code":-7,"message":"m","data":1.0}"#);
    let (service, _) = with_tasks(&[failed]);
    let mut peer = with_task(service).await;
    peer.send(&about("2", "tasks/result")).await;
    assert_eq!(
        peer.line().await,
        Some(error("2", r#"{"code":-7,"message":"m","data":1.0}"#))
    );
}

#[tokio::test]
async fn hc_10_a_cancelled_task_is_cancelled_at_once_and_stays_so() {
    let (service, heard) = with_tasks(&[remote("working", "")]);
    let mut peer = with_task(service).await;
    for (id, method) in [("2", "tasks/cancel"), ("3", "tasks/get")] {
        peer.send(&about(id, method)).await;
        assert_eq!(peer.line().await, Some(result(id, &old("cancelled"))));
    }
    assert_eq!(*heard.lock().unwrap(), ["tasks/cancel null"]);
    peer.send(&about("4", "tasks/cancel")).await;
    peer.send(&about("5", "tasks/result")).await;
    let mut seen = peer.lines(2).await;
    seen.sort();
    assert_eq!(
        seen,
        [
            error(
                "4",
                r#"{"code":-32602,"message":"the task has ended already"}"#
            ),
            error("5", r#"{"code":-32603,"message":"the task was canceled"}"#),
        ]
    );
}

#[tokio::test]
async fn hc_10_a_call_that_is_answered_at_once_becomes_a_task_that_has_ended() {
    let (service, _) = with_tasks(&[remote("working", "")]);
    let (mut peer, _server) = old_client(service, "2025-11-25", "{}").await;
    peer.send(&request(
        "1",
        "tools/call",
        r#"{"name":"quick","task":{"ttl":1000}}"#,
    ))
    .await;
    let created = json(&peer.line().await.unwrap());
    let task = created.at(&["result", "task"]).unwrap();
    assert_eq!(task.get("status"), Some(json(r#""working""#)));
    assert_eq!(task.get("ttl"), Some(json("1000")));
    let id = task.get("taskId").unwrap();
    let ask = format!(r#"{{"taskId":{id:?}}}"#);
    peer.send(&request("2", "tasks/get", &ask)).await;
    let seen = json(&peer.line().await.unwrap());
    assert_eq!(seen.at(&["result", "status"]), Some(json(r#""failed""#)));
    peer.send(&request("3", "tasks/result", &ask)).await;
    assert_eq!(
        peer.line().await,
        Some(result(
            "3",
            &format!(
                r#"{{"content":[],"isError":true,"_meta":{{"io.modelcontextprotocol/related-task":{ask}}}}}"#
            )
        ))
    );
}

#[tokio::test]
async fn hc_10_a_session_lists_its_own_tasks_and_knows_no_others() {
    let (service, _) = with_tasks(&[remote("working", ""), remote("input_required", "")]);
    let mut peer = with_task(service).await;
    peer.send(&about("2", "tasks/get")).await;
    assert_eq!(peer.line().await, Some(result("2", &old("working"))));
    peer.send(&request("3", "tasks/list", "{}")).await;
    let listed = format!(r#"{{"tasks":[{}]}}"#, old("input_required"));
    assert_eq!(peer.line().await, Some(result("3", &listed)));
    peer.send(&request("4", "tasks/get", r#"{"taskId":"other"}"#))
        .await;
    peer.send(&request("5", "tasks/list", r#"{"cursor":"x"}"#))
        .await;
    let mut seen = soon(peer.lines(2)).await;
    seen.sort();
    assert_eq!(
        seen,
        [
            error(
                "4",
                r#"{"code":-32602,"message":"there is no such task in this session"}"#
            ),
            error("5", r#"{"code":-32602,"message":"unknown cursor"}"#),
        ]
    );
}

fn asks_for_roots() -> String {
    remote(
        "input_required",
        r#","inputRequests":{"k":{"method":"roots/list"}}"#,
    )
}

#[tokio::test(start_paused = true)]
async fn hc_10_a_call_that_can_only_be_a_task_waits_for_it_where_the_client_wants_none() {
    for version in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        let done = r#","result":{"resultType":"complete","content":[]}"#;
        let (service, heard) = with_tasks(&[
            remote("working", ""),
            asks_for_roots(),
            remote("completed", done),
        ]);
        let (mut peer, _server) = old_client(service, version, ASKABLE).await;
        peer.send(&request("5", "tools/call", r#"{"name":"must"}"#))
            .await;
        // The client knows of no task, so its questions name none.
        assert_eq!(peer.line().await, Some(request("1", "roots/list", "{}")));
        peer.send(&result("1", r#"{"roots":[]}"#)).await;
        assert_eq!(peer.line().await, Some(result("5", r#"{"content":[]}"#)));
        assert_eq!(
            *heard.lock().unwrap(),
            [r#"tasks/update {"k":{"roots":[]}}"#]
        );
    }
}

#[tokio::test]
async fn hc_10_canceling_a_call_that_waits_for_its_task_cancels_the_task() {
    let (service, heard) = with_tasks(&[asks_for_roots()]);
    let (mut peer, _server) = old_client(service, "2025-06-18", ASKABLE).await;
    peer.send(&request("5", "tools/call", r#"{"name":"must"}"#))
        .await;
    assert_eq!(peer.line().await, Some(request("1", "roots/list", "{}")));
    peer.send(&cancelled("5")).await;
    assert_eq!(peer.line().await, Some(cancelled("1")));
    soon(async {
        while heard.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(*heard.lock().unwrap(), ["tasks/cancel null"]);
}

#[tokio::test]
async fn a_session_has_as_many_tasks_as_it_may() {
    let (service, _) = with_tasks(&[remote("working", "")]);
    let config = limited(|legacy| legacy.tasks = 1);
    let (mut peer, _server) = old_client_with(service, "2025-11-25", "{}", config).await;
    peer.send(&request("1", "tools/call", r#"{"name":"slow","task":{}}"#))
        .await;
    peer.line().await.unwrap();
    peer.send(&request("2", "tools/call", r#"{"name":"slow","task":{}}"#))
        .await;
    assert_eq!(
        peer.line().await,
        Some(error("2", r#"{"code":42900,"message":"too many tasks"}"#))
    );
}
