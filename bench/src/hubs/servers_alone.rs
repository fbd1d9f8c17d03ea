//! The configured servers without a hub: the floor of the time of a start.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use callgate_mcp::client::Client;
use callgate_mcp::transport::child::Environment;
use callgate_mcp::upstream::{ChildConfig, Process};
use futures_util::future::{join_all, try_join_all};
use tokio::time::timeout;

use super::ServerSet;

/// Timeout of the start of all servers.
const START_LIMIT: Duration = Duration::from_secs(120);

/// Starts all servers at once, each with a client of its own, and returns the time until the tools
/// of all are listed.
pub async fn start_alone(servers: &ServerSet) -> Result<Duration> {
    let start = Instant::now();
    let mut processes = Vec::new();
    for mut config in servers.commands() {
        config.environment = Environment::from_pairs(std::env::vars_os());
        processes.push(Arc::new(Process::spawn(&config)?));
    }
    let lists = processes.iter().map(async |process| {
        let client = Client::builder(process.clone()).build();
        client.list_tools().await
    });
    timeout(START_LIMIT, try_join_all(lists))
        .await
        .context("a server does not list its tools")??;
    let listed = start.elapsed();
    join_all(processes.iter().map(|process| process.close())).await;
    Ok(listed)
}

impl ServerSet {
    /// Commands of the servers.
    fn commands(&self) -> impl Iterator<Item = ChildConfig> {
        self.servers.iter().map(|server| {
            let mut config = ChildConfig::new(&*server.name, &server.command);
            config.args = server.arguments.iter().map(Into::into).collect();
            config.env = server
                .variables()
                .map(|(n, v)| (n.into(), v.into()))
                .collect();
            config
        })
    }
}
