use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::Mutex;

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

/// Record of this process, which other processes read.
pub(crate) struct PublishedRecord {
    gateway: Arc<Gateway>,
    registry: Registry,
    command: &'static str,
    since: u64,
    /// Locked while the record is written, so that no older state replaces a newer one.
    state: Mutex<RecordState>,
}

#[derive(Default)]
struct RecordState {
    endpoint: Option<RecordedEndpoint>,
    /// The file; `None` if it could not be written yet.
    own: Option<OwnRecord>,
    /// Records of servers that are ending, once they are.
    ending: Option<Vec<OwnRecord>>,
}

impl PublishedRecord {
    pub(crate) fn new(gateway: Arc<Gateway>, data_dir: &DataDir, command: &'static str) -> Self {
        Self {
            gateway,
            registry: Registry::new(data_dir),
            command,
            since: now(),
            state: Mutex::default(),
        }
    }

    /// Replaces the endpoint, and writes the record.
    pub(crate) async fn set_endpoint(&self, endpoint: Option<RecordedEndpoint>) {
        let mut state = self.state.lock().await;
        state.endpoint = endpoint;
        self.write_state(&mut state).await;
    }

    /// Writes the record as the servers are now. A failure is logged: the servers work without it.
    pub(crate) async fn write(&self) {
        self.write_state(&mut *self.state.lock().await).await;
    }

    async fn write_state(&self, state: &mut RecordState) {
        let endpoint = state.endpoint.clone();
        let record = record(&self.gateway, self.command, self.since, endpoint);
        let (own, registry) = (state.own.take(), self.registry.clone());
        // Writing files may block.
        let written = tokio::task::spawn_blocking(move || match own {
            Some(own) => own.write(&record).map(|()| own),
            None => registry.publish(&record),
        });
        match written.await {
            Ok(Ok(own)) => state.own = Some(own),
            Ok(Err(error)) => tracing::warn!("other processes cannot see this one: {error:#}"),
            Err(error) => tracing::warn!(%error, "other processes cannot see this one"),
        }
    }

    /// Removes the record before the servers are ended. They have records of their own meanwhile, so that the next
    /// process that runs one of them waits for its exit; those are removed with the value.
    pub(crate) async fn end(&self) {
        let mut state = self.state.lock().await;
        if state.ending.is_none() {
            let ending = record_ending(&self.gateway, &self.registry, self.command);
            state.ending = Some(ending);
        }
        state.own = None;
    }
}

/// Keeps the record of this process, if it has one, and the catalogs of its servers current, until the future is
/// dropped.
pub(crate) async fn keep_recorded(
    gateway: &Arc<Gateway>,
    record: Option<&PublishedRecord>,
) -> Infallible {
    let mut changes = gateway.changes();
    loop {
        if let Some(record) = record {
            record.write().await;
        }
        let catalogs = gateway.clone();
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
pub(crate) fn record_at(gateway: &Gateway, data_dir: &DataDir, command: &str) -> Option<OwnRecord> {
    let record = record(gateway, command, now(), None);
    let published = Registry::new(data_dir).publish(&record);
    published
        .inspect_err(|error| tracing::warn!("other processes cannot see this one: {error:#}"))
        .ok()
}

/// Records each program of the gateway under the process that ends it after this one has exited. The records are
/// removed with the values.
pub(crate) fn record_ending(
    gateway: &Gateway,
    registry: &Registry,
    command: &str,
) -> Vec<OwnRecord> {
    let mut records = Vec::new();
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
            Ok(own) => records.push(own),
            Err(error) => tracing::warn!("other processes cannot see a server: {error:#}"),
        }
    }
    records
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

/// Seconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}
