//! The measured tools on Callgate, as its users write tools: plain async functions.

use callgate_mcp::router::Router;
use callgate_mcp::wire::implementation::Implementation;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::workload;

/// Returns the router behind both Callgate servers.
#[must_use]
pub fn router() -> Router {
    let server = Implementation::new("bench", env!("CARGO_PKG_VERSION"));
    Router::new(server)
        .tool("echo", "Echoes a text", echo)
        .tool("measure", "Counts the bytes of a text", measure)
        .tool("produce", "Produces a text of some length", produce)
}

#[derive(Deserialize, JsonSchema)]
struct Text {
    text: String,
}

#[derive(Deserialize, JsonSchema)]
struct Length {
    length: usize,
}

async fn echo(arguments: Text) -> String {
    arguments.text
}

async fn measure(arguments: Text) -> String {
    arguments.text.len().to_string()
}

async fn produce(arguments: Length) -> String {
    workload::text(arguments.length)
}
