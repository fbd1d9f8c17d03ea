//! Results of tools, checked against their output schemas.

use callgate_mcp::router::{Json, RouteError, Router, SchemaError, TaskSupport, ToolRoute};
use callgate_mcp::wire::implementation::Implementation;
use callgate_mcp::wire::tool::{CallToolResult, Tool};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::ask::{Ask, demo_meta, failed_result, raw};

#[derive(Serialize, JsonSchema)]
struct Ratio {
    ratio: f64,
}

/// Router with the tool `t`, whose output schema has a `sum` and whose result is `result`.
fn promising(result: CallToolResult) -> ToolRoute {
    let sum =
        json!({"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]});
    let mut tool = Tool::new("t", "", raw(&json!({"type": "object"})));
    tool.output_schema = Some(raw(&sum));
    ToolRoute::with(tool, move || {
        let result = result.clone();
        async move { result }
    })
}

fn demo(route: ToolRoute) -> Router {
    Router::new(Implementation::new("demo", "1.0")).route(route)
}

fn broken(problem: &str) -> Value {
    let text = "Tool `t` gave a result that breaks its output schema";
    failed_result(&format!("{text}: {problem}"))
}

fn structured(value: &Value) -> CallToolResult {
    CallToolResult::structured(raw(value))
}

#[tokio::test]
async fn a_result_that_breaks_the_output_schema_is_a_failure_that_names_the_field() {
    for (result, expect) in [
        (
            structured(&json!({"sum": "5"})),
            broken(r#"`/sum`: value is not of type "integer""#),
        ),
        (
            structured(&json!({})),
            broken(r#""sum" is a required property"#),
        ),
        (
            CallToolResult::text("5"),
            broken("there is no structured content"),
        ),
        (CallToolResult::error("no"), failed_result("no")),
        (
            structured(&json!({"sum": 5})),
            json!({
                "resultType": "complete",
                "content": [{"type": "text", "text": "{\"sum\":5}"}],
                "structuredContent": {"sum": 5},
                "_meta": demo_meta()
            }),
        ),
    ] {
        let seen = Ask::tool("t", json!({})).of(&demo(promising(result))).await;
        assert_eq!(seen, Ok(expect));
    }
}

#[tokio::test]
async fn a_derived_output_schema_is_a_promise_too() {
    let route = ToolRoute::new("t", "", || async { Json(Ratio { ratio: f64::NAN }) });
    assert_eq!(
        Ask::tool("t", json!({})).of(&demo(route)).await,
        Ok(broken(r#"`/ratio`: value is not of type "number""#))
    );
}

#[tokio::test]
async fn the_result_of_a_task_keeps_the_promise() {
    let route = promising(structured(&json!({"sum": null}))).task(TaskSupport::Required);
    let router = demo(route);
    let call = Ask::tool("t", json!({})).with_tasks();
    let task = call.of(&router).await.unwrap();
    let result = loop {
        let get = Ask::new("tasks/get", json!({"taskId": task["taskId"]})).with_tasks();
        let task = get.of(&router).await.unwrap();
        if task["status"] != "working" {
            break task["result"].clone();
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(result, broken(r#"`/sum`: value is not of type "integer""#));
}

#[test]
fn an_output_schema_that_cannot_be_checked_is_refused() {
    let mut tool = Tool::new("t", "", raw(&json!({"type": "object"})));
    tool.output_schema = Some(raw(&json!({"required": 7})));
    let refused = Router::new(Implementation::new("demo", "1.0"))
        .add_tool(ToolRoute::with(tool, || async {}))
        .unwrap_err();
    assert!(
        matches!(
            &refused,
            RouteError::OutputSchema { name, source: SchemaError::Invalid(_) } if name == "t"
        ),
        "{refused:?}"
    );
}
