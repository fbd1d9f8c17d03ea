//! Callgate over stdio.

use std::sync::Arc;

use anyhow::Result;
use callgate_bench::echo::ours::router;
use callgate_mcp::transport::stdio;

#[tokio::main]
async fn main() -> Result<()> {
    tokio::spawn(stdio::serve(Arc::new(router()))).await??;
    Ok(())
}
