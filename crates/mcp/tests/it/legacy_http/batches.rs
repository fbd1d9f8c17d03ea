//! Arrays of messages, which only 2025-03-26 has.

use serde_json::{Value, json};

use super::subject::{Subject, call, response};
use crate::http_server::post::Post;

const OLD: &str = "2025-03-26";
const NOTE: &str = r#"{"jsonrpc":"2.0","method":"notifications/x"}"#;

fn array(messages: &[&str]) -> String {
    format!("[{}]", messages.join(","))
}

/// The messages of an array, by their ids.
fn by_id(array: &str) -> Vec<Value> {
    let mut messages: Vec<Value> = serde_json::from_str(array).unwrap();
    messages.sort_by_key(|message| message["id"].as_u64());
    messages
}

#[tokio::test]
async fn the_responses_of_a_batch_come_together() {
    let subject = Subject::start().await;
    let client = subject.open(OLD).await;
    let batch = array(&[&call(1, "echo"), NOTE, &call(2, "echo")]);
    let alone = Post::message(&batch).without("mcp-protocol-version");
    for request in [client.post(&batch), alone] {
        let answer = subject.ask(&request).await;
        assert_eq!(answer.status, 200);
        assert_eq!(answer.header("content-type"), Some("application/json"));
        let expect = array(&[&response(1, "echo"), &response(2, "echo")]);
        assert_eq!(by_id(&answer.body), by_id(&expect));
    }
}

#[tokio::test]
async fn a_batch_that_wants_no_answer_gets_none() {
    let subject = Subject::start().await;
    let client = subject.open(OLD).await;
    let answer = subject.ask(&client.post(&array(&[NOTE, NOTE]))).await;
    assert_eq!((answer.status, answer.body.as_str()), (202, ""));
}

#[tokio::test]
async fn a_bad_batch_is_refused() {
    let subject = Subject::start().await;
    let client = subject.open(OLD).await;
    let many = array(&[NOTE; 257]);
    for body in ["[]", "[", many.as_str()] {
        let answer = subject.ask(&client.post(body)).await;
        assert_eq!(answer.status, 400, "{}", answer.body);
    }
    for version in ["2025-06-18", "2025-11-25"] {
        let client = subject.open(version).await;
        let answer = subject.ask(&client.post(&array(&[NOTE]))).await;
        assert_eq!(answer.status, 400, "{}", answer.body);
        assert!(answer.body.contains(version), "{}", answer.body);
    }
}

#[tokio::test]
async fn hc_20_several_calls_of_a_batch_ask_and_are_answered_together() {
    let subject = Subject::start().await;
    let client = subject.open(OLD).await;
    let batch = array(&[&call(1, "roots"), &call(2, "roots"), &call(3, "echo")]);
    let mut peer = subject.send(&client.post(&batch)).await;
    let head = peer.head().await;
    assert_eq!(head.header("content-type"), Some("text/event-stream"));
    let mut asked = String::new();
    while asked.matches("\n\n").count() < 2 {
        asked += &peer.chunk().await.unwrap();
    }
    let answers: Vec<Value> = asked
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|data| serde_json::from_str::<Value>(data).unwrap())
        .enumerate()
        .map(|(number, question)| {
            assert_eq!(question["method"], "roots/list");
            let roots = json!({"roots": [{"uri": format!("file:///{number}")}]});
            json!({"jsonrpc": "2.0", "id": question["id"], "result": roots})
        })
        .collect();
    assert_eq!(answers.len(), 2);
    let accepted = subject.ask(&client.post(&json!(answers).to_string())).await;
    assert_eq!((accepted.status, accepted.body.as_str()), (202, ""));

    let last = peer.chunk().await.unwrap();
    assert_eq!(peer.chunk().await, None);
    let data = last.lines().find_map(|line| line.strip_prefix("data: "));
    let mut texts: Vec<_> = by_id(data.unwrap())
        .into_iter()
        .map(|message| {
            let text = message["result"]["content"][0]["text"].clone();
            (message["id"].clone(), text)
        })
        .collect();
    // Which question was asked first is not said.
    texts[..2].sort_by_key(|(_, text)| text.to_string());
    let texts: Vec<_> = texts.into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, ["file:///0", "file:///1", "echo"]);
}
