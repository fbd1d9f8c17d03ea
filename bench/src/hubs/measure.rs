//! Measurement of one hub.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use callgate_mcp::client::Client;
use callgate_mcp::wire::method;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::{HubKind, HubProcess, Probe, ServerSet, server_process};
use crate::peers::Peers;
use crate::statistics::percentile;

/// Number of clients that call at the same time.
pub const CLIENTS: usize = 10;

/// Time after which a server that was killed counts as lost.
pub const RECOVERY_LIMIT: Duration = Duration::from_secs(30);

/// Time until all servers have to be listed.
const START_LIMIT: Duration = Duration::from_secs(120);

/// Time of one kind of request; a few are made however long they take.
const REQUESTS_TIME: Duration = Duration::from_secs(3);
const MIN_REQUESTS: usize = 3;
const MAX_REQUESTS: usize = 500;

/// Time of the calls of several clients.
const LOAD_TIME: Duration = Duration::from_secs(5);

/// Figures of one hub.
#[derive(Debug, Clone, Copy)]
pub struct HubFigures {
    /// The hub.
    pub kind: HubKind,
    /// Time from the start of the hub until all servers are listed, with nothing saved.
    pub first_start: Duration,
    /// The same at the second start.
    pub second_start: Duration,
    /// Median time of `tools/list`.
    pub list: Duration,
    /// Median time of a call.
    pub call: Duration,
    /// Calls per second of several clients.
    pub calls_per_second: f64,
    /// Time from the end of a server until a call to it works; `None` after [`RECOVERY_LIMIT`].
    pub recovery: Option<Duration>,
    /// Number of processes of the server that was killed: none if it runs only during a call.
    pub killed: usize,
    /// Peak resident memory of the hub itself, in KiB.
    pub memory: u64,
}

/// Starts a hub twice and measures it. `directory` is removed first.
pub async fn measure(
    kind: HubKind,
    servers: &ServerSet,
    programs: &Path,
    peers: &Peers,
    directory: &Path,
) -> Result<HubFigures> {
    if directory.exists() {
        std::fs::remove_dir_all(directory)?;
    }
    let state = directory.join("state");
    std::fs::create_dir_all(&state)?;
    let configuration = directory.join("servers.json");
    std::fs::write(&configuration, servers.configuration().to_string())?;
    let start = |log: &str| {
        let command = |port| kind.command(programs, peers, &configuration, port, &state);
        HubProcess::start(kind, command, directory, &directory.join(log))
    };
    let hub = start("first.log")?;
    let mut figures = measure_running(kind, &hub, servers).await?;
    hub.stop().await?;
    let hub = start("second.log")?;
    figures.second_start = all_listed(kind, &hub, &hub.client()?, servers).await?;
    hub.stop().await?;
    Ok(figures)
}

async fn measure_running(
    kind: HubKind,
    hub: &HubProcess,
    servers: &ServerSet,
) -> Result<HubFigures> {
    let client = hub.client()?;
    let first_start = all_listed(kind, hub, &client, servers).await?;
    eprintln!("{kind}: all servers listed after {first_start:?}");
    // Raw, because the time that a client takes to decode the tools is not that of the hub.
    let list = median_time(async || Ok(client.list_raw(method::TOOLS_LIST).await?)).await?;
    eprintln!("{kind}: tools/list {list:?}");
    let probes = servers.probes();
    let probe = probes.first().context("no server answers calls")?;
    let call = median_time(async || call(kind, &client, probe).await).await?;
    eprintln!("{kind}: call {call:?}");
    let calls_per_second = load(kind, hub, &probes, call).await?;
    eprintln!("{kind}: {calls_per_second:.2} calls/s with {CLIENTS} clients");
    let memory = hub.memory()?.peak;
    let killed = server_process::kill(&probe.server)?;
    let recovery = recovery(kind, &client, probe, call).await;
    eprintln!("{kind}: recovered after {recovery:?} from {killed} killed; {memory} KiB");
    Ok(HubFigures {
        kind,
        first_start,
        second_start: Duration::ZERO,
        list,
        call,
        calls_per_second,
        recovery,
        killed,
        memory,
    })
}

/// Asks again and again, the more seldom the longer it takes, until tools of all servers are listed.
async fn all_listed(
    kind: HubKind,
    hub: &HubProcess,
    client: &Client,
    servers: &ServerSet,
) -> Result<Duration> {
    loop {
        let listed = client.list_tools().await;
        let age = hub.age();
        let missing: Vec<&str> = match &listed {
            Ok(tools) => {
                let is_listed = |server: &str| {
                    let prefix = kind.exposed_name(server, "");
                    tools.iter().any(|tool| tool.name.starts_with(&prefix))
                };
                servers.names().filter(|name| !is_listed(name)).collect()
            }
            Err(_) => servers.names().collect(),
        };
        if missing.is_empty() {
            return Ok(age);
        }
        if age > START_LIMIT {
            let error = listed.err().map(|error| error.to_string());
            bail!(
                "{kind} does not list {missing:?}: {}",
                error.unwrap_or_default()
            );
        }
        sleep((age / 20).max(Duration::from_millis(5))).await;
    }
}

async fn median_time<T>(request: impl AsyncFn() -> Result<T>) -> Result<Duration> {
    let mut times = Vec::new();
    let start = Instant::now();
    loop {
        let sent = Instant::now();
        request().await?;
        times.push(sent.elapsed());
        let is_long = start.elapsed() > REQUESTS_TIME && times.len() >= MIN_REQUESTS;
        if is_long || times.len() >= MAX_REQUESTS {
            times.sort_unstable();
            return Ok(percentile(&times, 50));
        }
    }
}

async fn call(kind: HubKind, client: &Client, probe: &Probe) -> Result<()> {
    let name = kind.exposed_name(&probe.server, probe.tool);
    let result = client.call_tool(&name, &probe.arguments).await?;
    ensure!(result.is_error != Some(true), "{name} failed: {result:?}");
    Ok(())
}

/// Calls per second of clients that call one server each.
async fn load(kind: HubKind, hub: &HubProcess, probes: &[Probe], usual: Duration) -> Result<f64> {
    let mut clients = Vec::new();
    for probe in probes.iter().take(CLIENTS) {
        let client = hub.client()?;
        // A call of seconds is no faster after another one.
        if usual < Duration::from_secs(1) {
            call(kind, &client, probe).await?;
        }
        clients.push((client, probe.clone()));
    }
    ensure!(clients.len() == CLIENTS, "too few servers answer calls");
    let mut tasks = JoinSet::new();
    let start = Instant::now();
    for (client, probe) in clients {
        tasks.spawn(async move {
            let mut calls = 0_u32;
            while start.elapsed() < LOAD_TIME {
                call(kind, &client, &probe).await?;
                calls += 1;
            }
            anyhow::Ok(calls)
        });
    }
    let mut calls = 0;
    while let Some(finished) = tasks.join_next().await {
        calls += finished??;
    }
    Ok(f64::from(calls) / start.elapsed().as_secs_f64())
}

/// Time until a call works. A call that a hub has lost gets a few times the time of one that works.
async fn recovery(
    kind: HubKind,
    client: &Client,
    probe: &Probe,
    usual: Duration,
) -> Option<Duration> {
    let start = Instant::now();
    let patience = (usual * 3).max(Duration::from_secs(5));
    while start.elapsed() < RECOVERY_LIMIT {
        if let Ok(Ok(())) = timeout(patience, call(kind, client, probe)).await {
            return Some(start.elapsed());
        }
        sleep(Duration::from_millis(20)).await;
    }
    None
}
