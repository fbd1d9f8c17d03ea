use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use callgate_hub::{Connector, Upstream};
use callgate_mcp::{BoxFuture, Error, Kind};

use crate::config::definition::UrlTransport;
use crate::data_dir::DataDir;
use crate::debug::Secrets;
use crate::error::CommandError;
use crate::instance::{EndpointAuth, InstanceRecord, Registry};
use crate::logins::http_url;
use crate::server::{LoginSpec, RemoteSpec, ServerConnector, ServerSpec};
use crate::token;

/// Connects to the gateway that runs, which may be another one each time.
pub(super) struct AttachConnector {
    pub(super) data_dir: Option<PathBuf>,
}

impl Connector for AttachConnector {
    fn connect(&self) -> BoxFuture<'_, Result<Arc<dyn Upstream>, Error>> {
        Box::pin(async {
            let failed = |text: String| Error::new(Kind::Connect, text);
            let data_dir = DataDir::locate(self.data_dir.as_deref());
            let data_dir = data_dir.map_err(|error| failed(error.to_string()))?;
            let gateway = Registry::new(&data_dir).gateway();
            let gateway = gateway.ok_or_else(|| failed("no gateway is running".to_owned()))?;
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
            connector.connect().await
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
        login: LoginSpec {
            is_off: true,
            ..LoginSpec::default()
        },
        ca_file: None,
    })))
}

impl AttachConnector {
    pub(super) fn new(data_dir: Option<&Path>) -> Self {
        Self {
            data_dir: data_dir.map(Path::to_owned),
        }
    }
}
