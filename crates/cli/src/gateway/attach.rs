use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use callgate_hub::{Connector, ItemNames, ServerConfig, ServerName, ToolPattern, Upstream};
use callgate_mcp::{BoxFuture, Call, Error, Kind, RawJson, Reply, Service, Version};
use callgate_tools::workspace::TOOL_NAMES;
use tokio::sync::Notify;

use super::limited_results::{WHOLE_RESULTS, is_long};
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

/// Limits of a call to another process, far above the longest one of the configuration, a day: the process that runs the
/// server has its time limits, and a connection that is dead is noticed before.
const LIMIT: Duration = Duration::from_secs(2 * 24 * 60 * 60);

impl AttachConnector {
    /// The process as a server of the hub.
    pub(super) fn into_config(self, name: ServerName, has_workspace_tools: bool) -> ServerConfig {
        let mut config = ServerConfig::new(name, Arc::new(self));
        config.item_names = ItemNames::Own;
        // A third process uses the other one itself.
        config.private = true;
        config.call_limits.idle = LIMIT;
        config.call_limits.maximum = LIMIT;
        if has_workspace_tools {
            // Each process has workspace tools of its own, for its own directory.
            config.tools.deny = TOOL_NAMES.map(ToolPattern::from).into();
        }
        config
    }
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
        if is_long(&call.method) {
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

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use callgate_mcp::Cx;
    use callgate_mcp::wire::{Id, Method};

    use super::*;

    fn config(has_workspace_tools: bool) -> ServerConfig {
        let connector = AttachConnector {
            process: ProcessIdentity::of_this_process(),
            data_dir: None,
            ended: Arc::default(),
        };
        let name = ServerName::new("callgate gateway 1").unwrap();
        connector.into_config(name, has_workspace_tools)
    }

    #[test]
    fn the_process_that_runs_a_server_limits_its_calls() {
        let longest = Duration::from_secs(24 * 60 * 60);
        let limits = config(true).call_limits;
        assert!(limits.idle > longest && limits.maximum > longest);
    }

    #[test]
    fn only_the_built_in_tools_of_another_process_are_left_out() {
        let offers = |has_workspace_tools, tool| config(has_workspace_tools).tools.offers(tool);
        assert!(!offers(true, "workspace_read"));
        assert!(offers(true, "workspace_x_read"));
        assert!(offers(false, "workspace_read"));
    }

    /// Tells whether a request asks for a whole result.
    #[derive(Default)]
    struct Asked(Mutex<Vec<bool>>);

    impl Service for Asked {
        fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
            let is_whole = call.cx.peer().meta().get(WHOLE_RESULTS).is_some();
            self.0.lock().unwrap().push(is_whole);
            Box::pin(async { Ok(Reply::Complete(RawJson::empty_object())) })
        }
    }

    impl Upstream for Asked {
        fn closed(&self) -> BoxFuture<'_, Error> {
            Box::pin(std::future::pending())
        }

        fn close(&self) -> BoxFuture<'_, ()> {
            Box::pin(std::future::ready(()))
        }
    }

    #[tokio::test]
    async fn results_of_tools_and_tasks_come_whole() {
        let asked = Arc::new(Asked::default());
        let attached = Attached(asked.clone());
        for method in ["tools/call", "tasks/get", "tools/list"] {
            let cx = Cx::new(Id::number(1));
            let params = RawJson::empty_object();
            let call = Call::new(Method::new(method), params, cx);
            attached.call(call).await.unwrap();
        }
        assert_eq!(*asked.0.lock().unwrap(), [true, true, false]);
    }
}
