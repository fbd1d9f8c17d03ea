//! Calls that go on as tasks.

use callgate_mcp::Error;
use callgate_mcp::client::{Client, ToolCallOutcome};
use callgate_mcp::wire::task::TaskStatus;
use serde_json::{Value, json};

use super::basics::shown;
use super::pair::{Pair, check, failure};

/// Starts a tool, which must become a task.
async fn start(client: &Client, tool: &str) -> Result<String, Error> {
    match client.start_tool(tool, &json!({})).await? {
        ToolCallOutcome::Task(created) => Ok(created.task.task_id),
        outcome => panic!("no task: {outcome:?}"),
    }
}

/// What becomes of a call of a tool that could be a task.
pub(crate) async fn work(pair: Pair) -> Result<Value, Error> {
    let client = pair.client_builder().tasks().build();
    Ok(match client.start_tool("work", &json!({})).await? {
        ToolCallOutcome::Complete(result) => json!(["done", shown(&result)[0]]),
        ToolCallOutcome::Task(created) => {
            let result = client.await_task(&created.task.task_id).await?;
            json!(["task", shown(&result)[0]])
        }
        outcome => panic!("neither result nor task: {outcome:?}"),
    })
}

#[tokio::test]
async fn a_call_becomes_a_task() {
    check(work, |_, _| json!(["task", ["done"]])).await;
}

#[tokio::test]
async fn a_task_asks_and_is_awaited() {
    async fn later(pair: Pair) -> Result<Value, Error> {
        let client = pair.client_builder().tasks().build();
        let task = start(&client, "later").await?;
        let result = client.await_task(&task).await?;
        Ok(json!([shown(&result)[0], pair.user.asked()]))
    }
    let expect = json!([["Ada and Ada"], ["First?", "Second?"]]);
    check(later, |_, _| expect.clone()).await;
}

#[tokio::test]
async fn a_task_is_cancelled() {
    async fn cancel(pair: Pair) -> Result<Value, Error> {
        let client = pair.client_builder().tasks().build();
        let task = start(&client, "wait").await?;
        let before = client.get_task(&task).await?.task.status;
        pair.server.waiting(|waiting| waiting.begun == 1).await;
        client.cancel_task(&task).await?;
        let waiting = pair.server.waiting(|waiting| waiting.dropped == 1).await;
        let after = client.get_task(&task).await?.task.status;
        assert_eq!(
            (before, after),
            (TaskStatus::Working, TaskStatus::Cancelled)
        );
        Ok(json!(waiting))
    }
    check(cancel, |_, _| json!({"begun": 1, "dropped": 1})).await;
}

#[tokio::test]
async fn a_client_that_knows_no_tasks_waits_for_the_result() {
    async fn direct(pair: Pair) -> Result<Value, Error> {
        let result = pair.client.call_tool("later", &json!({})).await?;
        Ok(json!([shown(&result)[0], pair.user.asked()]))
    }
    let expect = json!([["Ada and Ada"], ["First?", "Second?"]]);
    check(direct, |_, _| expect.clone()).await;
}

#[tokio::test]
async fn any_call_of_a_client_that_knows_tasks_may_become_one() {
    async fn call(pair: Pair) -> Result<Value, Error> {
        let client = pair.client_builder().tasks().build();
        let both = client.call_tool("both", &json!({})).await?;
        let fail = client.call_tool("fail", &json!({})).await?;
        let none = client.call_tool("none", &json!({})).await.unwrap_err();
        Ok(json!([
            shown(&both),
            pair.user.asked(),
            shown(&fail),
            failure(&none)
        ]))
    }
    let both = json!([["Ada has 1 roots"], null, null]);
    let fail = json!([["no luck"], null, true]);
    let none = json!({"code": -32602, "message": "unknown tool `none`"});
    let expect = json!([both, ["Who?", "roots"], fail, none]);
    check(call, |_, _| expect.clone()).await;
}
