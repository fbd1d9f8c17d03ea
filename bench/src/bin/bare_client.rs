//! The floor of a client: writes the request, reads the result, and nothing else.

use anyhow::{Result, bail, ensure};
use bytes::Bytes;
use callgate_bench::payload::{FIRST_ID, INITIALIZE, INITIALIZED, Request};
use callgate_bench::upstream::{Answer, BareHttp, ClientArguments, ToolResult};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

#[tokio::main]
async fn main() -> Result<()> {
    tokio::spawn(run()).await?
}

async fn run() -> Result<()> {
    let arguments = ClientArguments::read()?;
    match &*arguments.kind {
        "http" => http(&arguments).await,
        "stdio" => stdio(&arguments).await,
        kind => bail!("unknown kind: {kind}"),
    }
}

async fn http(arguments: &ClientArguments) -> Result<()> {
    let mut client = BareHttp::connect(arguments.url()?, arguments.era).await?;
    let shape = arguments.shape;
    let expected = shape.answer();
    let mut request = Request::line(arguments.era, shape);
    for id in FIRST_ID..FIRST_ID + arguments.calls {
        let body = Bytes::copy_from_slice(request.with_id(id));
        let reply = client.post("tools/call", shape.tool(), body).await?;
        check(&reply, id, &expected)?;
    }
    Ok(())
}

async fn stdio(arguments: &ClientArguments) -> Result<()> {
    let (_child, mut stdin, stdout) = arguments.spawn()?;
    let mut stdout = BufReader::with_capacity(64 * 1024, stdout);
    let mut line = Vec::new();
    if arguments.era == callgate_bench::workload::Era::Session {
        stdin
            .write_all(format!("{INITIALIZE}\n").as_bytes())
            .await?;
        stdout.read_until(b'\n', &mut line).await?;
        stdin
            .write_all(format!("{INITIALIZED}\n").as_bytes())
            .await?;
    }
    let expected = arguments.shape.answer();
    let mut request = Request::line(arguments.era, arguments.shape);
    for id in FIRST_ID..FIRST_ID + arguments.calls {
        stdin.write_all(request.with_id(id)).await?;
        line.clear();
        // The floor of a server answers a notification with an empty line.
        while line.len() < 2 {
            line.clear();
            ensure!(stdout.read_until(b'\n', &mut line).await? > 0, "no answer");
        }
        check(&line, id, &expected)?;
    }
    Ok(())
}

fn check(reply: &[u8], id: u64, expected: &str) -> Result<()> {
    let answer: Answer<'_> = serde_json::from_slice(reply)?;
    ensure!(answer.id.get().parse::<u64>()? == id, "another id");
    let result: ToolResult<'_> = serde_json::from_str(answer.result.get())?;
    let text = result.content.first().map(|content| content.text.len());
    ensure!(text == Some(expected.len()), "another result");
    Ok(())
}
