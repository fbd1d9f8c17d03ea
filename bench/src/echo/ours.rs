//! The echo tool on Callgate, as its users write tools: a plain async function.

use callgate_mcp::router::Router;
use callgate_mcp::wire::implementation::Implementation;
use schemars::JsonSchema;
use serde::Deserialize;

/// Returns the router behind both Callgate servers.
#[must_use]
pub fn router() -> Router {
    let server = Implementation::new("bench", env!("CARGO_PKG_VERSION"));
    Router::new(server).tool("echo", "Echoes a text", echo)
}

#[derive(Deserialize, JsonSchema)]
struct Echo {
    text: String,
}

async fn echo(arguments: Echo) -> String {
    arguments.text
}
