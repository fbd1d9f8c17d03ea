//! Tasks that ask their client.

use std::time::Duration;

use callgate_mcp::Error;
use callgate_mcp::router::{Elicited, RequestCx, Router, TaskSupport, ToolRoute};
use callgate_mcp::wire::implementation::Implementation;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::ask::{Ask, text_result};

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

async fn name(cx: &RequestCx, key: &str) -> Result<String, Error> {
    Ok(match cx.elicit_form::<Name>(key, "Who?").await? {
        Elicited::Accepted(form) => form.name,
        _ => "nobody".to_owned(),
    })
}

async fn greet(cx: RequestCx) -> Result<String, Error> {
    Ok(format!("Hello, {}!", name(&cx, "user_name").await?))
}

async fn greet_two(cx: RequestCx) -> Result<String, Error> {
    let (one, two) = tokio::try_join!(name(&cx, "one"), name(&cx, "two"))?;
    Ok(format!("Hello, {one} and {two}!"))
}

/// Asks before and after it becomes a task.
async fn greet_later(cx: RequestCx) -> Result<String, Error> {
    let before = name(&cx, "before").await?;
    cx.detach().await;
    let again = name(&cx, "before").await?;
    let after = name(&cx, "after").await?;
    Ok(format!("Hello, {before}, {again} and {after}!"))
}

async fn give_up(cx: RequestCx) -> Result<String, Error> {
    let waiting = name(&cx, "user_name");
    match tokio::time::timeout(Duration::from_secs(60), waiting).await {
        Ok(name) => name,
        Err(_) => std::future::pending().await,
    }
}

fn demo() -> Router {
    let task = |route: ToolRoute| route.task(TaskSupport::Optional);
    let later = ToolRoute::new("greet_later", "", greet_later);
    Router::new(Implementation::new("demo", "1.0"))
        .route(task(ToolRoute::new("greet", "", greet)))
        .route(task(ToolRoute::new("greet_two", "", greet_two)))
        .route(task(ToolRoute::new("give_up", "", give_up)))
        .route(later.task_when_detached(TaskSupport::Optional))
}

fn call(tool: &str) -> Ask {
    Ask::tool(tool, json!({})).with_tasks()
}

fn get(task: &Value) -> Ask {
    Ask::new("tasks/get", json!({"taskId": task["taskId"]})).with_tasks()
}

async fn update(router: &Router, task: &Value, responses: Value) -> Result<Value, Value> {
    let mut params = json!({"taskId": task["taskId"]});
    params["inputResponses"] = responses;
    Ask::new("tasks/update", params)
        .with_tasks()
        .of(router)
        .await
}

/// Task once it has another status than `working`, with its input requests.
async fn settled(router: &Router, task: &Value) -> (Value, Vec<String>) {
    loop {
        let task = get(task).of(router).await.unwrap();
        if task["status"] != "working" {
            let asked = task["inputRequests"]
                .as_object()
                .cloned()
                .unwrap_or_default();
            return (task, asked.keys().cloned().collect());
        }
        tokio::task::yield_now().await;
    }
}

fn accept(name: &str) -> Value {
    json!({"action": "accept", "content": {"name": name}})
}

fn acknowledged() -> Result<Value, Value> {
    Ok(json!({"resultType": "complete"}))
}

#[tokio::test]
async fn a_task_waits_for_the_answer_to_its_question() {
    let router = demo();
    let task = call("greet").of(&router).await.unwrap();
    assert_eq!(task["resultType"], "task");
    let (waiting, asked) = settled(&router, &task).await;
    assert_eq!(
        (&waiting["status"], asked),
        (&json!("input_required"), vec!["user_name".to_owned()])
    );
    assert_eq!(
        waiting["inputRequests"]["user_name"]["method"],
        "elicitation/create"
    );
    assert_eq!(waiting.get("requestState"), None);

    let answer = json!({"user_name": accept("Ada"), "unknown": 7});
    assert_eq!(update(&router, &task, answer).await, acknowledged());
    let (done, _) = settled(&router, &task).await;
    assert_eq!(
        (&done["status"], &done["result"]),
        (&json!("completed"), &text_result("Hello, Ada!"))
    );
    // Too late, and ignored.
    let late = json!({"user_name": accept("Bob")});
    assert_eq!(update(&router, &task, late).await, acknowledged());
}

#[tokio::test]
async fn questions_are_answered_one_by_one() {
    let router = demo();
    let task = call("greet_two").of(&router).await.unwrap();
    let (_, asked) = settled(&router, &task).await;
    assert_eq!(asked, ["one", "two"]);
    update(&router, &task, json!({"two": accept("Bob")}))
        .await
        .unwrap();
    let (waiting, asked) = settled(&router, &task).await;
    assert_eq!(
        (&waiting["status"], asked),
        (&json!("input_required"), vec!["one".to_owned()])
    );
    // The first answer stands.
    update(&router, &task, json!({"two": accept("Eve")}))
        .await
        .unwrap();
    update(&router, &task, json!({"one": accept("Ada")}))
        .await
        .unwrap();
    let (done, _) = settled(&router, &task).await;
    assert_eq!(done["result"], text_result("Hello, Ada and Bob!"));
}

#[tokio::test]
async fn malformed_answers_are_refused_and_the_task_waits_on() {
    let router = demo();
    let task = call("greet").of(&router).await.unwrap();
    settled(&router, &task).await;
    for responses in [
        json!(null),
        json!([]),
        json!({"user_name": null}),
        json!({"user_name": {}}),
    ] {
        let refused = update(&router, &task, responses).await.unwrap_err();
        assert_eq!(refused["code"], -32602);
    }
    let absent = Ask::new("tasks/update", json!({"taskId": task["taskId"]})).with_tasks();
    assert_eq!(absent.of(&router).await.unwrap_err()["code"], -32602);
    let (waiting, _) = settled(&router, &task).await;
    assert_eq!(waiting["status"], "input_required");
}

#[tokio::test]
async fn a_question_that_the_client_cannot_answer_fails_the_task() {
    let router = demo();
    let tasks_only = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    let task = call("greet")
        .capabilities(tasks_only)
        .of(&router)
        .await
        .unwrap();
    let (failed, _) = settled(&router, &task).await;
    assert_eq!(
        (&failed["status"], &failed["error"]["code"]),
        (&json!("failed"), &json!(-32021))
    );
}

#[tokio::test]
async fn the_same_handler_asks_a_client_without_tasks() {
    let router = demo();
    let ask = || Ask::tool("greet_later", json!({})).capabilities(json!({"elicitation": {}}));
    let first = ask().of(&router).await.unwrap();
    assert_eq!(first["resultType"], "input_required");
    let second = ask()
        .answering(&first, json!({"before": accept("Ada")}))
        .of(&router)
        .await
        .unwrap();
    assert_eq!(second["resultType"], "input_required");
    let done = ask()
        .answering(&second, json!({"after": accept("Bob")}))
        .of(&router)
        .await;
    assert_eq!(done, Ok(text_result("Hello, Ada, Ada and Bob!")));
}

#[tokio::test]
async fn a_tool_can_ask_before_it_becomes_a_task() {
    let router = demo();
    let asked = call("greet_later").of(&router).await.unwrap();
    assert_eq!(
        (&asked["resultType"], asked.get("taskId")),
        (&json!("input_required"), None)
    );
    let answered = call("greet_later").answering(&asked, json!({"before": accept("Ada")}));
    let task = answered.of(&router).await.unwrap();
    assert_eq!(task["resultType"], "task");
    assert_eq!(
        (task.get("requestState"), task.get("inputRequests")),
        (None, None)
    );
    let (_, open) = settled(&router, &task).await;
    assert_eq!(open, ["after"]);
    update(&router, &task, json!({"after": accept("Bob")}))
        .await
        .unwrap();
    let (done, _) = settled(&router, &task).await;
    assert_eq!(done["result"], text_result("Hello, Ada, Ada and Bob!"));
}

#[tokio::test(start_paused = true)]
async fn a_question_that_timed_out_is_withdrawn() {
    let router = demo();
    let task = call("give_up").of(&router).await.unwrap();
    let (waiting, _) = settled(&router, &task).await;
    assert_eq!(waiting["status"], "input_required");
    tokio::time::sleep(Duration::from_secs(61)).await;
    let working = get(&task).of(&router).await.unwrap();
    assert_eq!(
        (&working["status"], working.get("inputRequests")),
        (&json!("working"), None)
    );
}
