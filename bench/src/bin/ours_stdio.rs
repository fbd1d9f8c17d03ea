//! Callgate over stdio.

use std::sync::Arc;

use anyhow::Result;
use callgate_bench::echo::ours::router;
use callgate_mcp::transport::stdio;

fn main() -> Result<()> {
    callgate_mcp::allocator::keep_freed_memory();
    tokio::runtime::Runtime::new()?.block_on(serve())
}

async fn serve() -> Result<()> {
    tokio::spawn(stdio::serve(Arc::new(router()))).await??;
    Ok(())
}
