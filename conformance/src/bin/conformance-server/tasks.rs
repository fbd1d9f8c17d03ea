//! Tools that run as tasks.

use std::time::Duration;

use callgate_mcp::Error;
use callgate_mcp::router::{RequestCx, RouteError, Router, TaskSupport, ToolError, ToolRoute};
use callgate_mcp::wire::elicitation::{BooleanSchema, ElicitParams, RequestedSchema};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::input::ask_text;

pub(crate) fn add(router: &Router) -> Result<(), RouteError> {
    router.add_tool(ToolRoute::new("greet", "Greets at once", greet))?;
    let tasks = [
        ToolRoute::new("slow_compute", "Takes its time", slow_compute).task(TaskSupport::Optional),
        ToolRoute::new("failing_job", "Fails after a while", failing).task(TaskSupport::Required),
        ToolRoute::new("protocol_error_job", "Ends in an error", broken)
            .task(TaskSupport::Optional),
        ToolRoute::new("confirm_delete", "Asks once", confirm).task(TaskSupport::Optional),
        ToolRoute::new("multi_input", "Asks twice at once", multi_input)
            .task(TaskSupport::Optional),
        ToolRoute::new("test_tool_with_task", "Asks, then runs", ask_then_run)
            .task_when_detached(TaskSupport::Optional),
    ];
    tasks.into_iter().try_for_each(|tool| router.add_tool(tool))
}

#[derive(Deserialize, JsonSchema)]
struct Greet {
    name: String,
}

async fn greet(arguments: Greet) -> String {
    format!("Hello, {}!", arguments.name)
}

#[derive(Deserialize, JsonSchema)]
struct SlowCompute {
    seconds: f64,
    #[serde(default)]
    label: Option<String>,
}

async fn slow_compute(arguments: SlowCompute) -> Result<String, ToolError> {
    let pause = Duration::try_from_secs_f64(arguments.seconds).map_err(ToolError::failed)?;
    tokio::time::sleep(pause).await;
    Ok(format!(
        "Computed {}",
        arguments.label.as_deref().unwrap_or("something")
    ))
}

async fn failing() -> Result<(), ToolError> {
    tokio::time::sleep(Duration::from_secs(1)).await;
    Err(ToolError::failed("The job failed"))
}

async fn broken() -> Result<(), ToolError> {
    Err(Error::internal("The job ended in a protocol error").into())
}

#[derive(Deserialize, JsonSchema)]
struct Delete {
    filename: String,
}

async fn confirm(cx: RequestCx, arguments: Delete) -> Result<String, ToolError> {
    let form = RequestedSchema::new().with_required("confirm", BooleanSchema::default());
    let message = format!("Delete {}?", arguments.filename);
    cx.ask("confirm", ElicitParams::form(message, form)).await?;
    Ok(format!("Deleted {}", arguments.filename))
}

async fn multi_input(cx: RequestCx) -> Result<String, ToolError> {
    let form = |field| {
        let schema = RequestedSchema::new().with_required(field, BooleanSchema::default());
        ElicitParams::form(format!("Please answer {field}"), schema).into()
    };
    let wanted = ["first", "second"].map(|field| (field, form(field)));
    let answers = cx.ask_all(wanted.into_iter().collect()).await?;
    Ok(format!("Got {} answers", answers.len()))
}

/// Asks for input while the call is still open, and becomes a task after that.
async fn ask_then_run(cx: RequestCx) -> Result<String, ToolError> {
    let name = ask_text(&cx, "user_name", "What is your name?", "name").await?;
    cx.detach().await;
    Ok(format!("Hello, {name}!"))
}
