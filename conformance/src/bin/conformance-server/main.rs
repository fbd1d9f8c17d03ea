//! The server that the official conformance suite tests: `conformance-server 127.0.0.1:0`, or
//! `conformance-server --stdio` behind a relay.

mod content;
mod input;
mod listed;
mod prompts;
mod questions;
mod resources;
mod signals;
mod skills;
mod tasks;

use std::env;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context, Result};
use callgate_mcp::router::Router;
use callgate_mcp::transport::http::server::{HttpServerConfig, Listener};
use callgate_mcp::transport::stdio;
use callgate_mcp::wire::implementation::Implementation;

#[tokio::main]
async fn main() -> Result<()> {
    let place = env::args()
        .nth(1)
        .context("usage: conformance-server ADDRESS|--stdio")?;
    let router = router()?;
    if place == "--stdio" {
        stdio::serve(Arc::new(router)).await?;
        return Ok(());
    }
    let address: SocketAddr = place.parse().context("ADDRESS must be like 127.0.0.1:0")?;
    let mut config = HttpServerConfig::default();
    config.header_params = Some(router.header_params());
    let server = Listener::bind(address, Arc::new(router), config).await?;
    println!("listening on http://{}/mcp", server.local_addr()?);
    server.run().await;
    Ok(())
}

fn router() -> Result<Router> {
    let info = Implementation::new("callgate-conformance-server", env!("CARGO_PKG_VERSION"));
    let router = Router::new(info).completion(prompts::complete);
    content::add(&router)?;
    listed::add(&router)?;
    signals::add(&router)?;
    input::add(&router)?;
    questions::add(&router)?;
    tasks::add(&router)?;
    prompts::add(&router)?;
    resources::add(&router)?;
    skills::add(&router)?;
    Ok(router)
}
