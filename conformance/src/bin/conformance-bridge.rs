//! The relay that the official conformance suite is run through:
//! `conformance-bridge 127.0.0.1:0 stdio-old|stdio-new PROGRAM [ARGUMENT...]`, or
//! `conformance-bridge 127.0.0.1:0 http-old|http-new|http-sse URL`.

use std::env;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use callgate_mcp::Service;
use callgate_mcp::transport::child::ChildConfig;
use callgate_mcp::transport::http::client;
use callgate_mcp::transport::http::server::{HttpServerConfig, Listener};
use callgate_mcp::upstream::{Era, Process, Remote};

#[tokio::main]
async fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [address, kind, target, rest @ ..] = arguments.as_slice() else {
        bail!("usage: conformance-bridge ADDRESS KIND PROGRAM|URL [ARGUMENT...]");
    };
    let address: SocketAddr = address
        .parse()
        .context("ADDRESS must be like 127.0.0.1:0")?;
    let service: Arc<dyn Service> = match kind.as_str() {
        "stdio-old" => Arc::new(process(target, rest)?.assume(Era::OLD)),
        "stdio-new" => Arc::new(process(target, rest)?.assume(Era::Modern)),
        "http-old" => Arc::new(remote(target)?.assume(Era::OLD)),
        "http-new" => Arc::new(remote(target)?.assume(Era::Modern)),
        "http-sse" => Arc::new(remote(target)?.assume_sse()),
        _ => bail!("unknown kind of upstream `{kind}`"),
    };
    let server = Listener::bind(address, service, HttpServerConfig::default()).await?;
    println!("listening on http://{}/mcp", server.local_addr()?);
    server.run().await;
    Ok(())
}

fn process(program: &str, arguments: &[String]) -> Result<Process> {
    let mut command = ChildConfig::new("server", program);
    command.args = arguments.iter().map(Into::into).collect();
    Ok(Process::spawn(&command)?)
}

fn remote(url: &str) -> Result<Remote> {
    Ok(Remote::new(url, client::HttpConfig::new("server"))?)
}
