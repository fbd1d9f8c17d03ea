use std::path::Path;
use std::time::SystemTime;

use callgate_mcp::RawJson;
use serde::Serialize;

use crate::age;
use crate::data_dir::DataDir;
use crate::error::CommandError;
use crate::gateway::Status;
use crate::instance::process_table::{ProcessTable, TICKS};
use crate::instance::{InstanceRecord, Registry, ServerRecord};
use crate::output;
use crate::render::columns::plain;
use crate::render::line::{Line, Style};

/// Lists the server processes of all running processes of this program that use the data directory.
pub(crate) fn run(data_dir: Option<&Path>, json: bool) -> Result<(), CommandError> {
    let instances = Registry::new(&DataDir::locate(data_dir)?).live();
    let table = ProcessTable::read();
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = now.map_or(0, |now| now.as_secs());
    let processes: Vec<ServerProcess> = instances
        .iter()
        .flat_map(|instance| {
            let servers = instance.servers.iter();
            servers.filter_map(|server| describe(server, instance, &table, now))
        })
        .collect();
    if json {
        let processes = RawJson::encode(&processes).map_err(anyhow::Error::from)?;
        return Ok(output::json(&processes)?);
    }
    if processes.is_empty() {
        output::note("no server processes are running");
        return Ok(());
    }
    let headings = [
        "SERVER", "STATUS", "PID", "MEMORY", "CPU", "AGE", "RESTARTS", "OWNER",
    ];
    let headings = headings.map(|heading| Line::of(heading, Style::BOLD));
    let mut rows = vec![headings.to_vec()];
    rows.extend(processes.iter().map(ServerProcess::row));
    Ok(output::columns_with_room(rows, &DISPENSABLE)?)
}

/// Columns that a narrow terminal does not show, the first one first: CPU time, restarts and age.
const DISPENSABLE: [usize; 3] = [4, 6, 5];

/// A server that runs as a process, with all processes that it started.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ServerProcess {
    server: String,
    status: Status,
    pid: u32,
    /// Resident memory of all of its processes in bytes; absent where the system does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    age_seconds: Option<u64>,
    restarts: u64,
    owner: Owner,
}

/// The process of this program that runs a server.
#[derive(Debug, Serialize)]
struct Owner {
    pid: u32,
    command: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
}

fn describe(
    server: &ServerRecord,
    instance: &InstanceRecord,
    table: &ProcessTable,
    now: u64,
) -> Option<ServerProcess> {
    let pid = server.pid?;
    let usage = table.usage(pid);
    // Where there is a table, a process that is not in it has ended.
    if usage.is_none() && instance.process.start_ticks.is_some() {
        return None;
    }
    #[expect(
        clippy::cast_precision_loss,
        reason = "a time is shown with two digits"
    )]
    let cpu_seconds = usage.map(|usage| usage.cpu_ticks as f64 / TICKS as f64);
    Some(ServerProcess {
        server: server.name.clone(),
        // A process that runs and is not connected is being connected, whatever failed before.
        status: match server.status {
            Some(Status::Connected) => Status::Connected,
            _ => Status::Connecting,
        },
        pid,
        memory_bytes: usage.map(|usage| usage.memory),
        cpu_seconds,
        age_seconds: server.since.map(|since| now.saturating_sub(since)),
        restarts: server.restarts,
        owner: Owner {
            pid: instance.process.pid,
            command: instance.command.clone(),
            url: instance.url.clone(),
        },
    })
}

impl ServerProcess {
    fn row(&self) -> Vec<Line> {
        let known = |text: Option<String>| plain(text.as_deref().unwrap_or("-"));
        let owner = format!("callgate {} (pid {})", self.owner.command, self.owner.pid);
        vec![
            plain(&self.server),
            plain(self.status.as_str()),
            plain(&self.pid.to_string()),
            known(self.memory_bytes.map(mebibytes)),
            known(self.cpu_seconds.map(|seconds| format!("{seconds:.2} s"))),
            known(self.age_seconds.map(age::span)),
            plain(&self.restarts.to_string()),
            plain(&owner),
        ]
    }
}

fn mebibytes(bytes: u64) -> String {
    let tenths = bytes / (1024 * 1024 / 10);
    format!("{}.{} MiB", tenths / 10, tenths % 10)
}
