//! An MCP endpoint beside the other routes of an axum server.
//!
//! In this folder, `cargo run --bin axum_server` and beside it
//! `cargo run --bin client -- http://127.0.0.1:3000/mcp greet '{"name":"Ann"}'`

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{ConnectInfo, Request};
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use axum::routing::get;
use callgate_mcp::http_server::{Endpoint, HttpServerConfig, RemoteAddress};
use callgate_mcp::{Implementation, router};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Greet {
    name: String,
}

async fn greet(Greet { name }: Greet) -> String {
    format!("Hello, {name}!")
}

/// Tells the endpoint the address of the client, for logs and limits.
async fn with_address(
    ConnectInfo(address): ConnectInfo<SocketAddr>,
    mut request: Request,
    next: Next,
) -> Response {
    request.extensions_mut().insert(RemoteAddress(address));
    next.run(request).await
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1);
    let tools = router::Router::new(Implementation::new("greeter", "1.0"));
    let tools = tools.tool("greet", "Greets", greet);
    // The endpoint checks hosts, origins and tokens itself, as its `HttpServerConfig` says.
    let endpoint = Endpoint::new(Arc::new(tools), HttpServerConfig::default());
    let app = Router::new()
        .route_service("/mcp", endpoint)
        .route("/health", get(async || "healthy"))
        .layer(from_fn(with_address));

    let address = address.as_deref().unwrap_or("127.0.0.1:3000");
    let listener = tokio::net::TcpListener::bind(address).await?;
    println!("listening on http://{}/mcp", listener.local_addr()?);
    let app = app.into_make_service_with_connect_info::<SocketAddr>();
    axum::serve(listener, app).await?;
    Ok(())
}
