use std::path::{Path, PathBuf};
use std::sync::Arc;

use callgate_mcp::Service;
use tokio::sync::Mutex;

use super::keep_recorded::{PublishedRecord, RecordedEndpoint};
use super::service::Gateway;
use crate::endpoint::SharedEndpoint;
use crate::instance::EndpointAuth;

/// The servers that this process runs, for other processes of the user with the same configuration.
pub(crate) struct Sharing {
    gateway: Arc<Gateway>,
    service: Arc<dyn Service>,
    record: Arc<PublishedRecord>,
    data_dir: Option<PathBuf>,
    /// Made when there is something to share, and then kept.
    endpoint: Mutex<Option<SharedEndpoint>>,
}

impl Sharing {
    /// `service` is the gateway without what belongs to this process alone.
    pub(crate) fn new(
        gateway: Arc<Gateway>,
        service: Arc<dyn Service>,
        record: Arc<PublishedRecord>,
        data_dir: Option<&Path>,
    ) -> Self {
        Self {
            gateway,
            service,
            record,
            data_dir: data_dir.map(Path::to_owned),
            endpoint: Mutex::default(),
        }
    }

    /// Tells other processes of the servers as they are now. A process that runs none has nothing to share: those of
    /// another process are used there.
    ///
    /// A failure is reported, and the servers are not shared.
    pub(crate) async fn update(&self) {
        let url = match self.gateway.runs_servers() {
            true => self.url().await,
            false => None,
        };
        let endpoint = url.map(|url| RecordedEndpoint {
            url,
            auth: EndpointAuth::Token,
        });
        self.record.set_endpoint(endpoint).await;
    }

    async fn url(&self) -> Option<String> {
        let mut endpoint = self.endpoint.lock().await;
        if endpoint.is_none() {
            let data_dir = self.data_dir.as_deref();
            match SharedEndpoint::start(self.service.clone(), data_dir).await {
                Ok(started) => *endpoint = Some(started),
                Err(error) => error.warn("other processes cannot use the servers of this one"),
            }
        }
        endpoint.as_ref().map(|endpoint| endpoint.url.clone())
    }

    /// Ends the record, and then the endpoint. Requests that were accepted have a short time to finish.
    pub(crate) async fn end(&self) {
        self.record.end().await;
        if let Some(endpoint) = self.endpoint.lock().await.take() {
            endpoint.stop().await;
        }
    }
}
