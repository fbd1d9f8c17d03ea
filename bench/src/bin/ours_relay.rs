//! Callgate as a relay: its HTTP server in front of its HTTP client.

use std::net::Ipv4Addr;
use std::sync::Arc;

use anyhow::{Context, Result};
use callgate_bench::listen;
use callgate_mcp::transport::http::{client, server};

#[tokio::main]
async fn main() -> Result<()> {
    let upstream = std::env::args().nth(1).context("usage: ours_relay URL")?;
    let client = client::ModernHttpClient::new(&upstream, client::HttpConfig::new("upstream"))?;
    let address = (Ipv4Addr::LOCALHOST, 0).into();
    let server = server::Listener::bind(
        address,
        Arc::new(client),
        server::HttpServerConfig::default(),
    )
    .await?;
    listen::announce(server.local_addr()?)?;
    server.run().await;
    Ok(())
}
