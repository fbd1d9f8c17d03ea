//! The sealed state that travels through the client.

use std::time::Duration;

use callgate_mcp::Error;
use callgate_mcp::router::{RequestCx, Router, StateKey};
use callgate_mcp::wire::implementation::Implementation;
use callgate_mcp::wire::prompt::Prompt;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::ask::{Ask, text_result};

#[derive(Deserialize, JsonSchema)]
struct Delete {
    file: Option<String>,
}

async fn confirm(cx: RequestCx, delete: Delete) -> Result<String, Error> {
    cx.list_roots("roots").await?;
    Ok(format!("deleted {:?}", delete.file))
}

fn demo() -> Router {
    Router::new(Implementation::new("demo", "1.0"))
        .tool("delete", "", confirm)
        .tool("erase", "", confirm)
        .prompt(Prompt::new("delete", ""), confirm)
}

fn delete(file: &str) -> Ask {
    let arguments = json!({"file": file});
    Ask::tool("delete", arguments)
        .capabilities(json!({"roots": {}}))
        .caller("alice")
}

fn roots() -> Value {
    json!({"roots": {"roots": []}})
}

#[tokio::test]
async fn a_client_that_lost_the_reply_may_send_the_same_request_again() {
    let router = demo();
    let asked = delete("a").of(&router).await.unwrap();
    let retry = delete("a").answering(&asked, roots());
    let expect = Ok(text_result(r#"deleted Some("a")"#));
    assert_eq!(retry.clone().of(&router).await, expect);
    assert_eq!(retry.of(&router).await, expect);
}

#[tokio::test]
async fn a_state_is_good_for_the_same_request_of_the_same_caller_only() {
    let router = demo();
    let asked = delete("a").of(&router).await.unwrap();
    let refused = json!({
        "code": -32602,
        "message": "`requestState` is not valid for this request, or has expired"
    });
    let roots_capability = json!({"roots": {}});
    let other_tool =
        Ask::tool("erase", json!({"file": "a"})).capabilities(roots_capability.clone());
    let prompt = json!({"name": "delete", "arguments": {"file": "a"}});
    let other_method = Ask::new("prompts/get", prompt).capabilities(roots_capability);
    for other in [
        delete("b"),
        delete("a").caller("bob"),
        other_tool.caller("alice"),
        other_method.caller("alice"),
    ] {
        let replayed = other.answering(&asked, roots());
        assert_eq!(replayed.of(&router).await, Err(refused.clone()));
    }
    assert!(
        delete("a")
            .answering(&asked, roots())
            .of(&router)
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn a_tampered_state_is_refused() {
    let router = demo();
    let asked = delete("a").of(&router).await.unwrap();
    let state = asked["requestState"].as_str().unwrap();
    let (first, rest) = state.split_at(1);
    let flipped = if first == "A" { "B" } else { "A" };
    for tampered in [
        json!(format!("{flipped}{rest}")),
        json!(format!("{state}AAAA")),
        json!(""),
        json!(7),
    ] {
        let ask = delete("a").answering(&json!({"requestState": tampered}), roots());
        assert_eq!(ask.of(&router).await.unwrap_err()["code"], -32602);
    }
}

#[tokio::test]
async fn a_state_expires() {
    let router = demo().state_ttl(Duration::ZERO);
    let asked = delete("a").of(&router).await.unwrap();
    let late = delete("a").answering(&asked, roots());
    assert_eq!(late.of(&router).await.unwrap_err()["code"], -32602);
}

#[tokio::test]
async fn keys_can_be_shared_and_changed() {
    let [one, two] = [(); 2].map(|()| demo().state_key(StateKey::new([3; 32])));
    let asked = delete("a").of(&one).await.unwrap();
    assert!(
        delete("a")
            .answering(&asked, roots())
            .of(&two)
            .await
            .is_ok()
    );
    two.rotate_state_key(StateKey::random());
    assert!(
        delete("a")
            .answering(&asked, roots())
            .of(&two)
            .await
            .is_ok()
    );
    let stranger = delete("a").answering(&asked, roots()).of(&demo()).await;
    assert_eq!(stranger.unwrap_err()["code"], -32602);
}

/// Tool that asks two questions, one after the other, and a call of it.
fn asking_twice() -> (Router, impl Fn() -> Ask) {
    let router =
        Router::new(Implementation::new("demo", "1.0")).tool("t", "", |cx: RequestCx| async move {
            cx.list_roots("first").await?;
            cx.list_roots("second").await.map(drop)
        });
    let ask = || Ask::tool("t", json!({})).capabilities(json!({"roots": {}}));
    (router, ask)
}

#[tokio::test]
async fn a_sealed_state_does_not_show_its_content() {
    let (router, ask) = asking_twice();
    let asked = ask().of(&router).await.unwrap();
    let secret = json!({"first": {"roots": [{"uri": "file:///secret"}]}});
    let asked = ask().answering(&asked, secret).of(&router).await.unwrap();
    assert_eq!(
        asked["inputRequests"],
        json!({"second": {"method": "roots/list"}})
    );
    assert!(!asked.to_string().contains("secret"));
}

#[tokio::test]
async fn answers_that_are_too_large_to_carry_are_refused() {
    let (router, ask) = asking_twice();
    let asked = ask().of(&router).await.unwrap();
    let large = json!({"first": {"roots": [{"uri": "a".repeat(256 * 1024)}]}});
    let refused = ask()
        .answering(&asked, large)
        .of(&router)
        .await
        .unwrap_err();
    assert_eq!(refused["code"], -32602);
}
