use std::sync::Arc;

use callgate_mcp::wire::RawJson;
use callgate_mcp::{Reply, Service};

use super::fixture::{
    ASKABLE, discoverable, error, initialize, limited, old_client, old_client_with, request,
};
use crate::stdio_fixture::{cancelled, complete, json, notification, result};

/// Asks for the roots and answers with them and the name of the tool.
fn roots() -> Arc<dyn Service> {
    discoverable(|call| async move {
        let name = call.params().get("name").unwrap_or_else(|| json("0"));
        match call.params().at(&["inputResponses", "r", "roots"]) {
            Some(roots) => complete(&format!(
                r#"{{"resultType":"complete","name":{name:?},"roots":{roots:?}}}"#
            )),
            None => Ok(Reply::InputRequired(json(
                r#"{"resultType":"input_required","inputRequests":{"r":{"method":"roots/list"}}}"#,
            ))),
        }
    })
}

fn call(id: &str, name: &str) -> String {
    request(id, "tools/call", &format!(r#"{{"name":"{name}"}}"#))
}

fn refusal(message: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","error":{{"code":-32600,"message":"{message}"}}}}"#)
}

#[tokio::test]
async fn hc_20_calls_of_a_batch_ask_on_their_own_and_answer_together() {
    let (mut peer, _server) = old_client(roots(), "2025-03-26", ASKABLE).await;
    let batch = [
        call("1", "a"),
        call(r#""x""#, "b"),
        notification("notifications/roots/list_changed", "{}"),
        request("3", "ping", "{}"),
    ];
    peer.send(&format!("[{}]", batch.join(","))).await;
    assert_eq!(
        peer.lines(2).await,
        [
            request("1", "roots/list", "{}"),
            request("2", "roots/list", "{}")
        ]
    );
    // Answers may come in a batch as well.
    let first = result("1", r#"{"roots":[1]}"#);
    peer.send(&format!("[{first}]")).await;
    peer.send(&result("2", r#"{"roots":[2]}"#)).await;
    let answers = json(&peer.line().await.unwrap()).elements();
    let mut answers: Vec<_> = answers.iter().map(RawJson::as_str).collect();
    answers.sort_unstable();
    assert_eq!(
        answers,
        [
            result(r#""x""#, r#"{"name":"b","roots":[2]}"#),
            result("1", r#"{"name":"a","roots":[1]}"#),
            result("3", "{}"),
        ]
    );
}

#[tokio::test]
async fn a_cancelled_request_is_left_out_of_the_answer() {
    let (mut peer, _server) = old_client(roots(), "2025-03-26", ASKABLE).await;
    let batch = [request("2", "ping", "{}"), call("1", "a")];
    peer.send(&format!("[{}]", batch.join(","))).await;
    peer.line().await.unwrap();
    peer.send(&cancelled("1")).await;
    let mut seen = peer.lines(2).await;
    seen.sort();
    assert_eq!(seen, [format!("[{}]", result("2", "{}")), cancelled("1")]);
}

#[tokio::test]
async fn the_results_of_a_batch_have_a_size_but_one_always_fits() {
    const LARGE: usize = 3 * 1024 * 1024;
    let large = discoverable(|_| async {
        complete(&format!(
            r#"{{"resultType":"complete","x":"{}"}}"#,
            "x".repeat(LARGE)
        ))
    });
    let (mut peer, _server) = old_client(large, "2025-03-26", "{}").await;
    let batch = ["1", "2", "3"].map(|id| call(id, "a"));
    peer.send(&format!("[{}]", batch.join(","))).await;
    let answers = json(&peer.line().await.unwrap()).elements();
    let (large, small): (Vec<_>, Vec<_>) = answers
        .iter()
        .map(RawJson::as_str)
        .partition(|answer| answer.len() > LARGE);
    assert_eq!(large.len(), 1);
    for answer in &small {
        let expect = "the results of a batch may have 2097152 bytes together";
        assert!(answer.contains(expect), "{answer}");
    }
    assert_eq!(small.len(), 2);
}

#[tokio::test]
async fn messages_that_cannot_be_in_a_batch_are_refused_there() {
    let (mut peer, _server) = old_client(roots(), "2025-03-26", ASKABLE).await;
    let batch = [
        initialize("2025-03-26", "{}"),
        "7".to_owned(),
        request("2", "ping", "{}"),
    ];
    peer.send(&format!("[{}]", batch.join(","))).await;
    let expect = [
        error(
            r#""hello""#,
            r#"{"code":-32600,"message":"a handshake must not be part of a batch"}"#,
        ),
        refusal("message must be a JSON object; batches are not supported"),
        result("2", "{}"),
    ];
    assert_eq!(peer.line().await, Some(format!("[{}]", expect.join(","))));
}

#[tokio::test]
async fn other_revisions_and_other_lengths_are_refused() {
    for version in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        let (mut peer, _server) = old_client(roots(), version, "{}").await;
        peer.send(&format!("[{}]", request("1", "ping", "{}")))
            .await;
        let message = format!("batches are not part of protocol version {version}");
        assert_eq!(peer.line().await, Some(refusal(&message)));
    }
    let config = limited(|legacy| legacy.batch = 2);
    let (mut peer, _server) = old_client_with(roots(), "2025-03-26", "{}", config).await;
    peer.send("[]").await;
    peer.send("[1,2,3]").await;
    peer.send("[1,").await;
    assert_eq!(
        peer.lines(2).await,
        [
            refusal("a batch must have a message"),
            refusal("a batch may have 2 messages"),
        ]
    );
    assert!(peer.line().await.unwrap().contains("-32700"));
}
