//! A client that lists the tools of a server of any revision and calls one, over HTTP or as a child
//! process.
//!
//! In this folder, after `cargo build`:
//! `cargo run --bin client -- target/debug/stdio_server add '{"a":2,"b":3}'`

use std::error::Error;
use std::sync::Arc;

use callgate_mcp::{
    CallOptions, ChildConfig, Client, Content, HttpConfig, Process, Remote, Service,
};
use serde_json::Value;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [server, tool, arguments] = arguments.as_slice() else {
        return Err("usage: client <URL or program> <tool> <arguments as JSON>".into());
    };
    let arguments: Value = serde_json::from_str(arguments)?;

    let client = Client::builder(connect(server)?).build();
    for tool in client.list_tools().await? {
        println!("{}: {}", tool.name, tool.description.unwrap_or_default());
    }
    let options = CallOptions::default().on_progress(|told| println!("... {}", told.progress));
    let client = client.with_options(options);
    let result = client.call_tool(tool, &arguments).await?;
    for text in result.content.iter().filter_map(Content::as_text) {
        println!("{text}");
    }
    Ok(())
}

/// Connects to a server of any revision, at a URL or as a child process. Both are services.
fn connect(server: &str) -> Result<Arc<dyn Service>, callgate_mcp::Error> {
    Ok(if server.starts_with("http") {
        Arc::new(Remote::new(server, HttpConfig::new("server"))?)
    } else {
        Arc::new(Process::spawn(&ChildConfig::new("server", server))?)
    })
}
