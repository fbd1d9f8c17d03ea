//! The revisions before 2025-11-25, where some features cannot be expressed.

use std::future::Future;

use callgate_mcp::Error;
use callgate_mcp::upstream::Era;
use callgate_mcp::wire::Version;
use serde_json::{Value, json};

use super::basics::{add, complete};
use super::calls::{cancel, count};
use super::edge::Edge;
use super::pair::{Pair, check_pairs};
use super::questions::ask;
use super::subscriptions::resource;
use super::tasks::work;

/// Clients and servers of each of the older revisions.
fn pairs() -> Vec<(Edge, Edge)> {
    let mut pairs = Vec::new();
    for version in [
        Version::V2024_11_05,
        Version::V2025_03_26,
        Version::V2025_06_18,
    ] {
        let (old, new) = (Era::Old(version), Era::Modern);
        pairs.extend([
            (Edge::stdio(old), Edge::stdio(new)),
            (Edge::stdio(new), Edge::stdio(old)),
            (Edge::http(old), Edge::http(new)),
            (Edge::http(new), Edge::http(old)),
            (Edge::http(old), Edge::stdio(old)),
        ]);
    }
    pairs
}

/// The same of every pair.
async fn check<F, R>(feature: F, expect: impl Fn(Version) -> Value)
where
    F: Fn(Pair) -> R + Copy + Send + Sync + 'static,
    R: Future<Output = Result<Value, Error>> + Send + 'static,
{
    let oldest = |client: Edge, server: Edge| client.version().min(server.version());
    check_pairs(&pairs(), feature, |client, server| {
        expect(oldest(client, server))
    })
    .await;
}

/// What a server says that wants to ask, but is told of no client that could answer.
fn missing(capability: &Value) -> Value {
    let message = format!("the client did not declare a required capability: {capability}");
    json!({"code": -32021, "message": message})
}

#[tokio::test]
async fn methods_of_all_revisions() {
    let sum = r#"{"sum":5}"#;
    check(add, |_| json!([[sum], sum, null])).await;
    check(complete, |_| json!([["A!"], ["A!"]])).await;
    check(cancel, |_| json!({"begun": 1, "dropped": 1})).await;
    let sample = |pair| ask(pair, "sample", json!({}));
    check(sample, |_| json!([["parrot: Polly"], ["Polly"]])).await;
    let roots = |pair| ask(pair, "roots", json!({}));
    check(roots, |_| json!([["file:///project"], ["roots"]])).await;
}

#[tokio::test]
async fn notifications_of_all_revisions() {
    let steps = json!([[1, 3, "counting"], [2, 3, "counting"], [3, 3, "counting"]]);
    check(count, |_| steps.clone()).await;
    let accepted = json!({"resourceSubscriptions": ["test://note"]});
    let told = r#"ResourceUpdated { uri: "test://note" }"#;
    check(resource, |_| json!([accepted, told])).await;
}

#[tokio::test]
async fn forms_are_known_from_2025_06_18_on() {
    let form = |pair| ask(pair, "form", json!({"question": "Who?"}));
    check(form, |oldest| match oldest < Version::V2025_06_18 {
        true => missing(&json!({"elicitation": {"form": {}}})),
        false => json!([["Ada"], ["Who?"]]),
    })
    .await;
}

#[tokio::test]
async fn urls_are_known_from_2025_11_25_on() {
    let visit = |pair| ask(pair, "visit", json!({}));
    check(visit, |_| missing(&json!({"elicitation": {"url": {}}}))).await;
}

#[tokio::test]
async fn tasks_are_known_from_2025_11_25_on() {
    check(work, |_| json!(["done", ["done"]])).await;
}
