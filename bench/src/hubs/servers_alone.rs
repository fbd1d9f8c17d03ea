//! The servers without a hub: the floor of its figures.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use callgate_mcp::client::Client;
use callgate_mcp::transport::child::Environment;
use callgate_mcp::upstream::{ChildConfig, Process};
use futures_util::future::{join_all, try_join_all};
use tokio::time::timeout;

use super::requests::{CLIENTS, ToolClient, load, measuring, median_time, warm_up};
use super::{Rate, ServerSet, Time};
use crate::awake::Awake;

/// Timeout of the start of all servers.
const START_LIMIT: Duration = Duration::from_secs(60);

/// Figures of the servers without a hub.
#[derive(Debug, Clone, Copy)]
pub struct AloneFigures {
    /// Time until all servers are listed that are started at once.
    pub start: Duration,
    /// Median time of a call.
    pub call: Time,
    /// Calls per second of several clients.
    pub calls: Rate,
}

/// Starts all servers at once, each with a client of its own, and calls them.
pub async fn measure_alone(servers: &ServerSet) -> Result<AloneFigures> {
    // Twice, so that none is measured with programs that were not read from the disk yet.
    let (processes, first) = start(servers).await?;
    close(&processes).await;
    let (processes, second) = start(servers).await?;
    let figures = async {
        let _awake = Awake::start(&std::env::current_exe()?)?;
        let clients = clients(servers, &processes);
        let client = clients.first().context("no server answers calls")?;
        let call = median_time(async || client.call().await).await?;
        let callers: Vec<_> = clients.iter().take(CLIENTS).cloned().collect();
        warm_up(&callers, call).await?;
        anyhow::Ok(AloneFigures {
            start: first.min(second),
            call,
            calls: load(callers).await?.rate(),
        })
    };
    let figures = figures.await;
    close(&processes).await;
    figures
}

/// Starts all servers at once, and returns the time until the tools of all are listed.
async fn start(servers: &ServerSet) -> Result<(Vec<Arc<Process>>, Duration)> {
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
    Ok((processes, start.elapsed()))
}

/// Clients of the servers that answer a small call.
fn clients(servers: &ServerSet, processes: &[Arc<Process>]) -> Vec<ToolClient> {
    let probes = servers.probes().into_iter().filter_map(|probe| {
        let position = servers.names().position(|name| name == probe.server)?;
        let process = processes.get(position)?;
        Some(ToolClient {
            client: measuring(Client::builder(process.clone())),
            tool: probe.tool.to_owned(),
            arguments: probe.arguments,
        })
    });
    probes.collect()
}

async fn close(processes: &[Arc<Process>]) {
    join_all(processes.iter().map(|process| process.close())).await;
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
