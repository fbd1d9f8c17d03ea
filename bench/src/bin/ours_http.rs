//! Callgate over HTTP.

use std::net::Ipv4Addr;
use std::sync::Arc;

use anyhow::Result;
use callgate_bench::echo::ours::router;
use callgate_bench::listen;
use callgate_mcp::transport::http::server::{HttpServerConfig, Listener};

fn main() -> Result<()> {
    callgate_mcp::allocator::keep_freed_memory();
    tokio::runtime::Runtime::new()?.block_on(serve())
}

async fn serve() -> Result<()> {
    let address = (Ipv4Addr::LOCALHOST, 0).into();
    let mut config = HttpServerConfig::default();
    // All load comes from one address.
    config.limits.connections_per_peer = config.limits.connections;
    let server = Listener::bind(address, Arc::new(router()), config).await?;
    listen::announce(server.local_addr()?)?;
    server.run().await;
    Ok(())
}
