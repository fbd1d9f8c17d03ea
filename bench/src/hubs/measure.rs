//! Measurement of one hub.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use callgate_mcp::RawJson;
use callgate_mcp::client::Client;
use callgate_mcp::wire::method;
use tokio::time::{sleep, timeout};

use super::requests::{CLIENTS, ToolClient, load, median_time, warm_up};
use super::{AloneFigures, HubKind, HubProcess, Probe, Rate, ServerSet, Time, server_process};
use crate::awake::Awake;
use crate::peers::Peers;

/// Time after which a server that was killed counts as lost.
pub const RECOVERY_LIMIT: Duration = Duration::from_secs(30);

/// Time limit of a start.
const START_LIMIT: Duration = Duration::from_secs(60);

/// Figures of one hub.
#[derive(Debug, Clone, Copy)]
pub struct HubFigures {
    /// The hub.
    pub kind: HubKind,
    /// Time from the start of the hub until all servers are listed, with nothing saved.
    pub first_start: Time,
    /// The same at the second start.
    pub second_start: Time,
    /// Median time of `tools/list`.
    pub list: Time,
    /// Median time of a call.
    pub call: Time,
    /// Calls per second of several clients.
    pub calls: Rate,
    /// Processor time of the hub itself for each of these calls; `None` if none ended.
    pub cpu_per_call: Option<Duration>,
    /// Time from the end of a server until a call to it works; `None` after [`RECOVERY_LIMIT`].
    pub recovery: Option<Duration>,
    /// Number of processes of the server that was killed: none if it runs only during a call.
    pub killed: usize,
    /// Peak resident memory of the hub itself, in KiB.
    pub memory: u64,
}

/// Figures that no hub can beat.
#[derive(Debug, Clone, Copy)]
pub struct HubFloor {
    /// The servers without a hub.
    pub alone: AloneFigures,
    /// Median time of `tools/list` from a server that has the list ready.
    pub list: Option<Time>,
}

/// Starts a hub twice and measures it. `directory` is removed first. Returns also the tools that it
/// lists.
pub async fn measure(
    kind: HubKind,
    servers: &ServerSet,
    programs: &Path,
    peers: &Peers,
    directory: &Path,
) -> Result<(HubFigures, Vec<RawJson>)> {
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
    let (mut figures, tools) = measure_running(kind, &hub, servers).await?;
    hub.stop().await?;
    let hub = start("second.log")?;
    figures.second_start = all_listed(kind, &hub, &hub.client()?, servers).await;
    eprintln!(
        "{kind}: second start, all servers listed after {:?}",
        figures.second_start
    );
    // Here and not after the load: a hub may still work on calls that the load gave up.
    (figures.recovery, figures.killed) = recovery(&hub, servers, figures.call).await?;
    eprintln!(
        "{kind}: recovered after {:?} from {} killed",
        figures.recovery, figures.killed
    );
    hub.stop().await?;
    Ok((figures, tools))
}

async fn measure_running(
    kind: HubKind,
    hub: &HubProcess,
    servers: &ServerSet,
) -> Result<(HubFigures, Vec<RawJson>)> {
    let client = hub.client()?;
    let first_start = all_listed(kind, hub, &client, servers).await;
    eprintln!("{kind}: all servers listed after {first_start:?}");
    let awake = Awake::start(&std::env::current_exe()?)?;
    // Raw, because the time that a client takes to decode the tools is not that of the hub.
    let list = median_time(async || Ok(client.list_raw(method::TOOLS_LIST).await?)).await?;
    eprintln!("{kind}: tools/list {list:?}");
    let probes = servers.probes();
    let probe = probes.first().context("no server answers calls")?;
    let first = hub.tool_client(probe)?;
    let call = median_time(async || first.call().await).await?;
    eprintln!("{kind}: call {call:?}");
    let clients = probes.iter().take(CLIENTS);
    let clients: Result<Vec<_>> = clients.map(|probe| hub.tool_client(probe)).collect();
    let clients = clients?;
    warm_up(&clients, call).await?;
    let idle = hub.cpu_time()?;
    let loaded = load(clients).await?;
    let cpu_per_call = (hub.cpu_time()? - idle).checked_div(loaded.calls);
    let calls = loaded.rate();
    eprintln!("{kind}: {calls:?} with {CLIENTS} clients, {cpu_per_call:?} of the hub for each");
    drop(awake);
    let memory = hub.memory()?.peak;
    eprintln!("{kind}: {memory} KiB");
    let tools = match list {
        Time::Took(_) => client.list_raw(method::TOOLS_LIST).await?,
        Time::MoreThan(_) => Vec::new(),
    };
    let figures = HubFigures {
        kind,
        first_start,
        second_start: Time::MoreThan(Duration::ZERO),
        list,
        call,
        calls,
        cpu_per_call,
        recovery: None,
        killed: 0,
        memory,
    };
    Ok((figures, tools))
}

/// Asks again and again, the more seldom the longer it takes, until tools of all servers are listed.
async fn all_listed(kind: HubKind, hub: &HubProcess, client: &Client, servers: &ServerSet) -> Time {
    while let Some(left) = START_LIMIT.checked_sub(hub.age()) {
        let Ok(listed) = timeout(left, client.list_tools()).await else {
            break;
        };
        let age = hub.age();
        // A hub that does not listen yet fails.
        let tools = listed.unwrap_or_default();
        let is_listed = |server: &str| {
            let prefix = kind.exposed_name(server, "");
            tools.iter().any(|tool| tool.name.starts_with(&prefix))
        };
        if servers.names().all(is_listed) {
            return Time::Took(age);
        }
        sleep((age / 20).max(Duration::from_millis(5))).await;
    }
    Time::MoreThan(START_LIMIT)
}

/// Kills a server, and returns the time until a call to it works, and the number of its processes.
///
/// A call that a hub has lost gets a few times the time of one that works.
async fn recovery(
    hub: &HubProcess,
    servers: &ServerSet,
    usual: Time,
) -> Result<(Option<Duration>, usize)> {
    let probes = servers.probes();
    let mut clients = Vec::new();
    for probe in &probes {
        clients.push(hub.tool_client(probe)?);
    }
    // The servers of a hub that lists them at once may still be starting. One that starts them for
    // each call has none to wait for.
    if usual.seconds() < 1.0 {
        for client in &clients {
            timeout(START_LIMIT, client.call()).await??;
        }
    }
    let (client, probe) = clients
        .first()
        .zip(probes.first())
        .context("no server answers calls")?;
    let killed = server_process::kill(&probe.server)?;
    let start = Instant::now();
    let patience = Duration::from_secs_f64(usual.seconds() * 3.0).max(Duration::from_secs(5));
    while let Some(left) = RECOVERY_LIMIT.checked_sub(start.elapsed()) {
        if let Ok(Ok(())) = timeout(patience.min(left), client.call()).await {
            return Ok((Some(start.elapsed()), killed));
        }
        sleep(Duration::from_millis(20)).await;
    }
    Ok((None, killed))
}

impl HubProcess {
    /// Returns a client of its own for the tool of a server.
    fn tool_client(&self, probe: &Probe) -> Result<ToolClient> {
        Ok(ToolClient {
            client: self.client()?,
            tool: self.kind().exposed_name(&probe.server, probe.tool),
            arguments: probe.arguments.clone(),
        })
    }
}
