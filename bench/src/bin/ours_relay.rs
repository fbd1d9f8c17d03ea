//! Callgate as a relay: its HTTP server in front of the upstream type for URLs.

use std::net::Ipv4Addr;
use std::sync::Arc;

use anyhow::{Context, Result};
use callgate_bench::listen;
use callgate_mcp::transport::http::server::{HttpServerConfig, Listener};
use callgate_mcp::upstream::{HttpConfig, Remote};

fn main() -> Result<()> {
    callgate_mcp::allocator::keep_freed_memory();
    tokio::runtime::Runtime::new()?.block_on(serve())
}

async fn serve() -> Result<()> {
    let upstream = std::env::args().nth(1).context("usage: ours_relay URL")?;
    let upstream = Remote::new(&upstream, HttpConfig::new("upstream"))?;
    let address = (Ipv4Addr::LOCALHOST, 0).into();
    let server = Listener::bind(address, Arc::new(upstream), HttpServerConfig::default()).await?;
    listen::announce(server.local_addr()?)?;
    server.run().await;
    Ok(())
}
