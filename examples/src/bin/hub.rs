//! The whole tool side of an agent: several servers as one, with their states, tools and calls.
//!
//! In this folder, after `cargo build`:
//! `cargo run --bin hub -- one=target/debug/stdio_server two=http://127.0.0.1:3000/mcp one_add '{"a":2,"b":3}'`

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use callgate_hub::{Hub, HubConfig, ServerConfig, ServerName, Upstream};
use callgate_mcp::{ChildConfig, Client, Content, HttpConfig, Implementation, Process, Remote};
use serde_json::Value;
use tokio::time::Instant;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [servers @ .., tool, arguments] = arguments.as_slice() else {
        return Err("usage: hub <name>=<URL or program>... <tool> <arguments as JSON>".into());
    };
    let arguments: Value = serde_json::from_str(arguments)?;

    let hub = Arc::new(Hub::new(HubConfig::new(Implementation::new(
        "agent", "1.0",
    ))));
    for server in servers {
        let (name, target) = server.split_once('=').ok_or("a server has a name")?;
        let name = ServerName::new(name)?;
        let (server, target) = (name.clone(), target.to_owned());
        let connector = move || connect(&server, &target);
        hub.add(ServerConfig::new(name, Arc::new(connector)))?;
    }
    // All servers connect at the same time; those that fail are tried again while the hub lives.
    let deadline = Instant::now() + Duration::from_secs(60);
    hub.wait_settled(deadline).await;
    for server in hub.statuses() {
        println!("{} is {}", server.name, server.state.as_str());
    }

    let client = Client::builder(hub.clone()).build();
    for tool in client.list_tools().await? {
        println!("{}: {}", tool.name, tool.description.unwrap_or_default());
    }
    let result = client.call_tool(tool, &arguments).await?;
    for text in result.content.iter().filter_map(Content::as_text) {
        println!("{text}");
    }
    hub.close().await;
    Ok(())
}

/// Connects to a server of any revision, at a URL or as a child process.
fn connect(name: &ServerName, target: &str) -> Result<Arc<dyn Upstream>, callgate_mcp::Error> {
    Ok(match target.starts_with("http") {
        true => Arc::new(Remote::new(target, HttpConfig::new(name.as_str()))?),
        false => Arc::new(Process::spawn(&ChildConfig::new(name.as_str(), target))?),
    })
}
