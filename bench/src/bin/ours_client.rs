//! Callgate's client: the upstream types that users use, and the transports of the newest revision
//! alone.

use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use callgate_bench::upstream::ClientArguments;
use callgate_mcp::Service;
use callgate_mcp::client::Client;
use callgate_mcp::transport::child::ModernChild;
use callgate_mcp::transport::http::client::{HttpConfig, ModernHttpClient};
use callgate_mcp::upstream::{ChildConfig, Process, Remote};
use callgate_mcp::wire::content::Content;

#[tokio::main]
async fn main() -> Result<()> {
    tokio::spawn(run()).await?
}

async fn run() -> Result<()> {
    let arguments = ClientArguments::read()?;
    let http = || HttpConfig::new("bench");
    let child = || -> Result<ChildConfig> {
        let (program, rest) = arguments.server.split_first().context("no command")?;
        let mut config = ChildConfig::new("bench", program);
        config.args = rest.iter().map(Into::into).collect();
        Ok(config)
    };
    let service: Arc<dyn Service> = match &*arguments.kind {
        "remote" => Arc::new(Remote::new(arguments.url()?, http())?),
        "modern_http" => Arc::new(ModernHttpClient::new(arguments.url()?, http())?),
        "process" => Arc::new(Process::spawn(&child()?)?),
        "modern_child" => Arc::new(ModernChild::spawn(&child()?)?),
        kind => bail!("unknown kind: {kind}"),
    };
    let client = Client::builder(service).build();
    let shape = arguments.shape;
    let (input, expected) = (shape.arguments(), shape.answer());
    for _ in 0..arguments.calls {
        let result = client.call_tool(shape.tool(), &input).await?;
        let Some(Content::Text(text)) = result.content.first() else {
            bail!("no text");
        };
        ensure!(text.text.len() == expected.len(), "another result");
    }
    Ok(())
}
