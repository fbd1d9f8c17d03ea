//! The user of our client, who answers whatever a server asks.

use std::sync::{Arc, Mutex};

use callgate_mcp::Service;
use callgate_mcp::client::{CallOptions, Client};
use callgate_mcp::wire::RawJson;
use callgate_mcp::wire::content::Content;
use callgate_mcp::wire::elicitation::ElicitResult;
use callgate_mcp::wire::logging::LogLevel;
use callgate_mcp::wire::roots::Root;
use callgate_mcp::wire::sampling::CreateMessageResult;
use callgate_mcp::wire::tool::CallToolResult;
use serde_json::{Value, json};

/// A client whose user is Ada and visits every URL, whose model says "hi", and who works on
/// `file:///project`.
pub(crate) fn client(server: Arc<dyn Service>) -> Client {
    let visited = ElicitResult::consent;
    Client::builder(server)
        .elicitation(|_| async {
            ElicitResult::accept(RawJson::encode(&json!({"name": "Ada"})).unwrap())
        })
        .elicitation_url(move |_| std::future::ready(visited()))
        .sampling(|_| async { Ok(CreateMessageResult::new("parrot", Content::text("hi"))) })
        .roots(|| async { Ok(vec![Root::new("file:///project")]) })
        .tasks()
        .build()
}

/// The texts of a result, which must not be an error.
pub(crate) fn texts(result: &CallToolResult) -> Vec<&str> {
    assert_ne!(result.is_error, Some(true), "{result:?}");
    result.content.iter().filter_map(Content::as_text).collect()
}

/// Calls a tool and returns the texts of its result.
pub(crate) async fn call(client: &Client, tool: &str, arguments: Value) -> Vec<String> {
    let result = client.call_tool(tool, &arguments).await.unwrap();
    texts(&result).into_iter().map(str::to_owned).collect()
}

/// Calls a tool and returns the progress it made.
pub(crate) async fn progress(client: &Client, tool: &str, arguments: Value) -> Vec<f64> {
    let heard: Arc<Mutex<Vec<f64>>> = Arc::default();
    let told = heard.clone();
    let options = CallOptions::default()
        .on_progress(move |params| told.lock().unwrap().push(params.progress.as_f64()));
    call(&client.with_options(options), tool, arguments).await;
    heard.lock().unwrap().clone()
}

/// Calls a tool and returns how many log messages it sent.
pub(crate) async fn logged(client: &Client, tool: &str, arguments: Value) -> usize {
    let heard: Arc<Mutex<usize>> = Arc::default();
    let told = heard.clone();
    let options =
        CallOptions::default().on_log(LogLevel::Debug, move |_| *told.lock().unwrap() += 1);
    call(&client.with_options(options), tool, arguments).await;
    *heard.lock().unwrap()
}

pub(crate) async fn tools(client: &Client) -> Vec<String> {
    let tools = client.list_tools().await.unwrap();
    tools.into_iter().map(|tool| tool.name).collect()
}
