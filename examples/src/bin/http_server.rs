//! A server that many clients reach over HTTP, with a tool that tells how far it is.
//!
//! In this folder, `cargo run --bin http_server` and beside it
//! `cargo run --bin client -- http://127.0.0.1:3000/mcp count '{"to":3}'`

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;

use callgate_mcp::http_server::{HttpServerConfig, Listener};
use callgate_mcp::{Implementation, RequestCx, Router};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Count {
    /// The last number.
    to: u8,
}

/// When the client goes away, the future is dropped and the counting ends.
async fn count(cx: RequestCx, Count { to }: Count) -> String {
    for number in 1..=to {
        cx.progress(number.into(), Some(to.into()), None).await;
    }
    format!("counted to {to}")
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let address: SocketAddr = match std::env::args().nth(1) {
        Some(address) => address.parse()?,
        None => ([127, 0, 0, 1], 3000).into(),
    };
    let router = Router::new(Implementation::new("counter", "1.0")).tool("count", "Counts", count);
    let mut config = HttpServerConfig::default();
    config.header_params = Some(router.header_params());
    let server = Listener::bind(address, Arc::new(router), config).await?;
    println!("listening on http://{}/mcp", server.local_addr()?);

    let shutdown = server.shutdown_handle();
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            // Requests that were accepted are still answered.
            shutdown.shutdown();
        }
    });
    server.run().await;
    Ok(())
}
