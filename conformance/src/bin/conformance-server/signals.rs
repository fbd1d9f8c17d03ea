//! Tools that send notifications while they run, or change the lists of the server.

use std::time::Duration;

use callgate_mcp::router::{RequestCx, RouteError, Router, ToolError, ToolRoute};
use callgate_mcp::wire::elicitation::{ElicitParams, RequestedSchema, StringSchema};
use callgate_mcp::wire::logging::LogLevel;
use callgate_mcp::wire::prompt::Prompt;

/// Pause between notifications, so that the client receives them one by one.
const PAUSE: Duration = Duration::from_millis(50);

pub(crate) fn add(router: &Router) -> Result<(), RouteError> {
    router.add_tool(ToolRoute::new(
        "test_tool_with_progress",
        "Reports progress",
        progress,
    ))?;
    router.add_tool(ToolRoute::new(
        "test_logging_tool",
        "Logs if it is asked to",
        logging,
    ))?;
    router.add_tool(ToolRoute::new(
        "test_tool_with_logging",
        "Logs while it works",
        logging_slowly,
    ))?;
    router.add_tool(ToolRoute::new("test_reconnection", "Takes a while", slow))?;
    router.add_tool(ToolRoute::new(
        "test_missing_capability",
        "Needs sampling",
        needs_sampling,
    ))?;
    router.add_tool(ToolRoute::new(
        "test_streaming_elicitation",
        "Asks and streams",
        streaming,
    ))?;
    let changing = router.clone();
    let change_tools = move || change_tools(changing.clone());
    router.add_tool(ToolRoute::new(
        "test_trigger_tool_change",
        "Changes tools",
        change_tools,
    ))?;
    let changing = router.clone();
    let change_prompts = move || change_prompts(changing.clone());
    router.add_tool(ToolRoute::new(
        "test_trigger_prompt_change",
        "Changes prompts",
        change_prompts,
    ))
}

async fn progress(cx: RequestCx) -> &'static str {
    for done in [0.0, 50.0, 100.0] {
        cx.progress(done, Some(100.0), None).await;
        tokio::time::sleep(PAUSE).await;
    }
    "Progress reported"
}

/// Log messages of the tools that log.
const MESSAGES: [&str; 3] = [
    "Tool execution started",
    "Tool processing data",
    "Tool execution completed",
];

async fn logging(cx: RequestCx) -> &'static str {
    for message in MESSAGES {
        cx.log(LogLevel::Info, Some("conformance"), message).await;
    }
    "Logged what was wanted"
}

async fn logging_slowly(cx: RequestCx) -> &'static str {
    for message in MESSAGES {
        cx.log(LogLevel::Info, Some("conformance"), message).await;
        tokio::time::sleep(PAUSE).await;
    }
    "Logged what was wanted"
}

/// Takes longer than the second after which the server responds with an event stream.
async fn slow() -> &'static str {
    tokio::time::sleep(Duration::from_secs(2)).await;
    "Took a while"
}

async fn needs_sampling(cx: RequestCx) -> Result<&'static str, ToolError> {
    cx.require_capability(&["sampling"])?;
    Ok("Sampling is available")
}

async fn streaming(cx: RequestCx) -> Result<&'static str, ToolError> {
    cx.progress(1.0, None, Some("about to ask")).await;
    let form = RequestedSchema::new().with_required("name", StringSchema::default());
    cx.ask("name", ElicitParams::form("What is your name?", form))
        .await?;
    Ok("Asked and answered")
}

/// Adds a tool to the list, or removes it.
async fn change_tools(router: Router) -> Result<&'static str, ToolError> {
    const EXTRA: &str = "test_extra_tool";
    if !router.remove_tool(EXTRA) {
        let extra = ToolRoute::new(EXTRA, "Comes and goes", async || "I am here");
        router.add_tool(extra).map_err(ToolError::failed)?;
    }
    Ok("Tools changed")
}

/// Adds a prompt to the list, or removes it.
async fn change_prompts(router: Router) -> &'static str {
    const EXTRA: &str = "test_extra_prompt";
    if !router.remove_prompt(EXTRA) {
        router.add_prompt(Prompt::new(EXTRA, "Comes and goes"), async || "I am here");
    }
    "Prompts changed"
}
