use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::service::Gateway;
use crate::data_dir::DataDir;
use crate::instance::{EndpointAuth, InstanceRecord, OwnRecord, ProcessIdentity, Registry};

/// Endpoint of a process that serves over HTTP.
#[derive(Debug, Clone)]
pub(crate) struct RecordedEndpoint {
    pub(crate) url: String,
    pub(crate) auth: EndpointAuth,
}

/// Pause after a change, so that changes that come together are written once.
const PAUSE: Duration = Duration::from_millis(100);

/// Keeps the record of this process and the catalogs of its servers current, until the future is dropped.
///
/// A failure is logged: the servers work without it.
pub(crate) async fn keep_recorded(
    gateway: &Arc<Gateway>,
    data_dir: &DataDir,
    command: &str,
    endpoint: Option<RecordedEndpoint>,
    own: Option<OwnRecord>,
) -> Infallible {
    let mut changes = gateway.changes();
    let since = now();
    let mut own = own;
    loop {
        let record = record(gateway, command, since, endpoint.clone());
        own = write(own, data_dir, record).await;
        let catalogs = gateway.clone();
        // Writing files may block.
        let kept = tokio::task::spawn_blocking(move || catalogs.keep_catalogs());
        if let Err(error) = kept.await {
            tracing::warn!(%error, "cannot keep catalogs");
        }
        if !changes.next().await {
            std::future::pending::<()>().await;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Writes the record of this process, which is removed with the value.
pub(crate) fn record_at(
    gateway: &Gateway,
    data_dir: &DataDir,
    command: &str,
    endpoint: Option<RecordedEndpoint>,
) -> Option<OwnRecord> {
    let record = record(gateway, command, now(), endpoint);
    let published = Registry::new(data_dir).publish(&record);
    published
        .inspect_err(|error| tracing::warn!("other processes cannot see this one: {error:#}"))
        .ok()
}

/// Records each program of the gateway under the process that ends it after this one has exited.
pub(crate) fn record_ending(gateway: &Gateway, data_dir: &DataDir, command: &str) {
    let registry = Registry::new(data_dir);
    for server in gateway.records(now()) {
        let Some(process) = server.pid.and_then(ProcessIdentity::of_running) else {
            continue;
        };
        let record = InstanceRecord {
            process,
            command: command.to_owned(),
            since: now(),
            url: None,
            auth: EndpointAuth::Token,
            servers: vec![server],
        };
        match registry.publish(&record) {
            Ok(own) => own.keep(),
            Err(error) => tracing::warn!("other processes cannot see a server: {error:#}"),
        }
    }
}

fn record(
    gateway: &Gateway,
    command: &str,
    since: u64,
    endpoint: Option<RecordedEndpoint>,
) -> InstanceRecord {
    let auth = endpoint.as_ref().map_or(EndpointAuth::Token, |it| it.auth);
    InstanceRecord {
        process: ProcessIdentity::of_this_process(),
        command: command.to_owned(),
        since,
        url: endpoint.map(|endpoint| endpoint.url),
        auth,
        servers: gateway.records(now()),
    }
}

async fn write(
    own: Option<OwnRecord>,
    data_dir: &DataDir,
    record: InstanceRecord,
) -> Option<OwnRecord> {
    let registry = Registry::new(data_dir);
    let written = tokio::task::spawn_blocking(move || match own {
        Some(own) => own.write(&record).map(|()| own),
        None => registry.publish(&record),
    });
    match written.await {
        Ok(Ok(own)) => Some(own),
        Ok(Err(error)) => {
            tracing::warn!("other processes cannot see this one: {error:#}");
            None
        }
        Err(error) => {
            tracing::warn!(%error, "other processes cannot see this one");
            None
        }
    }
}

/// Seconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}
