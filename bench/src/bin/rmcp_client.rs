//! The client of the official SDK: over HTTP with `reqwest`, over stdio on the pipes of a process.

use anyhow::{Context, Result, bail, ensure};
use callgate_bench::upstream::{ClientArguments, lifecycle, rmcp_http};
use rmcp::model::{CallToolRequestParams, ClientConfig};
use rmcp::service::ClientServiceExt;

#[tokio::main]
async fn main() -> Result<()> {
    tokio::spawn(run()).await?
}

async fn run() -> Result<()> {
    let arguments = ClientArguments::read()?;
    let mut process = None;
    let client = match &*arguments.kind {
        "http" => rmcp_http(arguments.url()?, arguments.era).await?,
        "stdio" => {
            let (child, stdin, stdout) = arguments.spawn()?;
            process = Some(child);
            let lifecycle = lifecycle(arguments.era);
            let client = ClientConfig::default();
            client
                .serve_with_lifecycle((stdout, stdin), lifecycle)
                .await?
        }
        kind => bail!("unknown kind: {kind}"),
    };
    let shape = arguments.shape;
    let input = shape.arguments();
    let input = input.as_object().context("arguments are an object")?;
    let expected = shape.answer();
    for _ in 0..arguments.calls {
        let params = CallToolRequestParams::new(shape.tool()).with_arguments(input.clone());
        let result = client.call_tool(params).await?;
        let text = result.content.first().and_then(|content| content.as_text());
        let length = text.map(|text| text.text.len());
        ensure!(length == Some(expected.len()), "another result");
    }
    client.cancel().await?;
    drop(process);
    Ok(())
}
