use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use callgate_hub::{Connector, Upstream};
use callgate_mcp::wire::method;
use callgate_mcp::{BoxFuture, Call, Error, Kind, RawJson, Reply, Service, Version};
use tokio::sync::Notify;

use super::limited_results::WHOLE_RESULTS;
use crate::config::definition::UrlTransport;
use crate::data_dir::DataDir;
use crate::debug::Secrets;
use crate::error::CommandError;
use crate::instance::{EndpointAuth, InstanceRecord, ProcessIdentity, Registry};
use crate::logins::http_url;
use crate::server::{LoginSpec, RemoteSpec, ServerConnector, ServerSpec};
use crate::token;

/// Connects to another process that runs servers.
pub(super) struct AttachConnector {
    pub(super) process: ProcessIdentity,
    pub(super) data_dir: Option<PathBuf>,
    /// Told when the process has no endpoint any more.
    pub(super) ended: Arc<Notify>,
}

impl Connector for AttachConnector {
    fn connect(&self) -> BoxFuture<'_, Result<Arc<dyn Upstream>, Error>> {
        Box::pin(async {
            let failed = |text: String| Error::new(Kind::Connect, text);
            let data_dir = DataDir::locate(self.data_dir.as_deref());
            let data_dir = data_dir.map_err(|error| failed(error.to_string()))?;
            let mut gateways = Registry::new(&data_dir).gateways().into_iter();
            let Some(gateway) = gateways.find(|gateway| gateway.process == self.process) else {
                self.ended.notify_one();
                let pid = self.process.pid;
                return Err(failed(format!("process {pid} shares its servers no more")));
            };
            let spec = gateway_spec(&gateway, &data_dir);
            let spec = spec.map_err(|error| failed(error.with_hints()))?;
            let connector = ServerConnector {
                spec,
                data_dir: self.data_dir.clone(),
                capabilities: None,
                roots: Vec::new(),
                earlier: None,
                secrets: Secrets::default(),
            };
            let connected = connector.connect().await?;
            Ok(Arc::new(Attached(connected)) as Arc<dyn Upstream>)
        })
    }
}

/// The gateway as a server, with its token.
pub(crate) fn gateway_spec(
    gateway: &InstanceRecord,
    data_dir: &DataDir,
) -> Result<ServerSpec, CommandError> {
    let url = gateway.url.as_deref().and_then(http_url);
    let url = url.context("the running gateway has no URL")?;
    let mut headers = Vec::new();
    if gateway.auth == EndpointAuth::Token {
        let token = token::load_or_create(data_dir)?;
        headers.push(("authorization".to_owned(), format!("Bearer {token}")));
    }
    Ok(ServerSpec::Remote(Box::new(RemoteSpec {
        name: Arc::from("callgate serve"),
        url,
        transport: UrlTransport::Http,
        headers,
        headers_helper: None,
        file_values: Vec::new(),
        login: LoginSpec {
            is_off: true,
            ..LoginSpec::default()
        },
        ca_file: None,
    })))
}

/// Another process that runs servers. Its results come whole: the links in place of long texts are made by this
/// process, which is the one that its client asks for their pages.
struct Attached(Arc<dyn Upstream>);

impl Service for Attached {
    fn call(&self, mut call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        if call.method.as_str() == method::TOOLS_CALL {
            let whole = RawJson::encode(&true).expect("a boolean is JSON");
            // Params whose `_meta` is no object are refused there.
            let _ = call.set(&["_meta", WHOLE_RESULTS], &whole);
        }
        self.0.call(call)
    }

    fn notify(&self, notification: Call) -> BoxFuture<'_, ()> {
        self.0.notify(notification)
    }
}

impl Upstream for Attached {
    fn closed(&self) -> BoxFuture<'_, Error> {
        self.0.closed()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.0.close()
    }

    fn version(&self) -> Option<Version> {
        self.0.version()
    }
}
