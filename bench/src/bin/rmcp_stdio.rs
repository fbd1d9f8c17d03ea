//! rmcp over stdio in its fastest form: `stdio_pipes`, which avoids the blocking thread pool.

use anyhow::Result;
use callgate_bench::echo::rmcp::Tools;
use rmcp::ServiceExt;
use rmcp::transport::io::stdio_pipes;

#[tokio::main]
async fn main() -> Result<()> {
    Tools.serve(stdio_pipes()).await?.waiting().await?;
    Ok(())
}
