use callgate_mcp::Kind;
use callgate_mcp::client::ClientLimits;
use callgate_mcp::wire::tool::CallToolParams;
use serde_json::{Value, json};

use crate::client_scripted::{Scripted, Step, raw, result};

fn listed() -> Step {
    let output = json!({"type": "object", "required": ["sum"]});
    result(json!({"tools": [
        {"name": "add", "inputSchema": {"type": "object"}, "outputSchema": output},
    ]}))
}

fn answer(content: &Value) -> Value {
    json!({"content": [], "structuredContent": content})
}

const BROKEN: &str = "tool `add` returned structured content that violates its output schema: \
                      \"sum\" is a required property";

#[tokio::test]
async fn the_result_of_a_listed_tool_must_match_its_output_schema() {
    let server = Scripted::new([
        result(answer(&json!({}))),
        listed(),
        result(answer(&json!({"sum": 3}))),
        result(answer(&json!({}))),
        result(answer(&json!({}))),
        result(json!({"content": []})),
        result(json!({"content": [], "isError": true})),
    ]);
    let client = server.client();
    let call = async || {
        let outcome = client.call_tool("add", &json!({})).await;
        outcome
            .map(|_| ())
            .map_err(|error| (error.kind(), error.to_string()))
    };
    let broken = |message: &str| Err((Kind::Protocol, message.to_owned()));
    assert_eq!(call().await, Ok(()));
    client.list_tools_page(None).await.unwrap();
    assert_eq!(call().await, Ok(()));
    assert_eq!(call().await, broken(BROKEN));
    let params = CallToolParams::new("add", raw(&json!({})));
    let once = client.call_tool_once(&params).await.unwrap_err();
    assert_eq!(once.to_string(), BROKEN);
    let missing = "tool `add` has an output schema but returned no structured content";
    assert_eq!(call().await, broken(missing));
    assert_eq!(call().await, Ok(()));
}

#[tokio::test]
async fn a_tool_that_is_no_longer_listed_is_not_checked() {
    let server = Scripted::new([
        listed(),
        result(json!({"tools": []})),
        result(answer(&json!({}))),
    ]);
    let client = server.client();
    client.list_tools().await.unwrap();
    client.list_tools().await.unwrap();
    client.call_tool("add", &json!({})).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_result_of_a_task_is_checked_too() {
    let task = |status: &str, more: &Value| {
        let mut task = json!({
            "taskId": "t", "status": status, "ttlMs": null,
            "createdAt": "2026-07-28T00:00:00Z", "lastUpdatedAt": "2026-07-28T00:00:00Z",
        });
        for (key, value) in more.as_object().unwrap() {
            task[key] = value.clone();
        }
        result(task)
    };
    let server = Scripted::new([
        listed(),
        task("working", &json!({"resultType": "task"})),
        task("completed", &json!({"result": answer(&json!({}))})),
    ]);
    let client = server.builder().tasks().build();
    client.list_tools().await.unwrap();
    let failed = client.call_tool("add", &json!({})).await.unwrap_err();
    assert_eq!(failed.to_string(), BROKEN);
}

#[tokio::test]
async fn checking_can_be_turned_off() {
    let server = Scripted::new([listed(), result(answer(&json!({})))]);
    let limits = ClientLimits::default().with_output_schemas(0);
    let client = server.builder().limits(limits).build();
    client.list_tools().await.unwrap();
    client.call_tool("add", &json!({})).await.unwrap();
}
