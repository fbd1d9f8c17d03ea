//! An endpoint of a command that serves: over HTTP as its arguments say, or over standard input and output.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use callgate_mcp::client::Client;
use callgate_mcp::layer::{HeaderParamCache, ProgressFilter, PublicErrors};
use callgate_mcp::transport::http::server::{HttpServerConfig, Listener, ShutdownHandle};
use callgate_mcp::transport::stdio;
use callgate_mcp::wire::method;
use callgate_mcp::{HeaderParams, Service};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::access::Access;
use crate::args::HttpArgs;
use crate::error::{CommandError, Exit};
use crate::gateway::TellsKinds;
use crate::http_limits::allow_many_connections;
use crate::stop::StopSignals;
use crate::{output, server};

/// Time that accepted requests of other processes have to finish when this one ends.
const SHARED_DRAIN: Duration = Duration::from_secs(1);

/// An HTTP endpoint that listens and does not answer yet.
pub(crate) struct HttpEndpoint {
    server: Listener,
    stop: StopSignals,
    notice: Option<String>,
    pub(crate) url: String,
}

impl HttpEndpoint {
    /// Listens at `address` as the arguments say. Returns `None` after a signal. `stop` is given, because signals must
    /// count before servers are connected.
    pub(crate) async fn bind(
        args: &HttpArgs,
        address: SocketAddr,
        service: Arc<dyn Service>,
        header_params: HeaderParams,
        data_dir: Option<&Path>,
        mut stop: StopSignals,
    ) -> Result<Option<Self>, CommandError> {
        let access = tokio::select! {
            access = Access::new(args, address, data_dir) => access?,
            () = stop.next() => return Ok(None),
        };
        let mut config = HttpServerConfig::default();
        args.limits.apply(&mut config);
        allow_many_connections();
        let notice = access.notice.clone();
        let server = listen(address, service, header_params, access, config)
            .await
            .map_err(|error| error.hint("pick another port with --listen 127.0.0.1:PORT"))?;
        Ok(Some(Self {
            url: format!("http://{}/mcp", server.local_addr()?),
            stop,
            notice,
            server,
        }))
    }

    /// Prints the address, and serves until a signal. Accepted requests may finish then, unless there is a second
    /// signal.
    pub(crate) async fn run(mut self, json: bool) -> Result<(), CommandError> {
        if json {
            output::member("url", &self.url)?;
        } else {
            output::text(&format!("listening on {}", self.url))?;
        }
        if let Some(notice) = self.notice {
            output::note(&notice);
        }
        let shutdown = self.server.shutdown_handle();
        let mut run = pin!(self.server.run());
        tokio::select! {
            () = &mut run => return Ok(()),
            () = self.stop.next() => shutdown.shutdown(),
        }
        tokio::select! {
            () = run => Ok(()),
            () = self.stop.next() => Err(CommandError::interrupted()),
        }
    }
}

/// Endpoint on loopback at which other processes of the user use the servers of this one. It ends with the value.
///
/// Requests are checked as those of an [`HttpEndpoint`] are, and need the token of the data directory.
pub(crate) struct SharedEndpoint {
    pub(crate) url: String,
    shutdown: ShutdownHandle,
    task: JoinHandle<()>,
}

impl SharedEndpoint {
    /// Serves at a port that the system picks. Needs a tokio runtime.
    pub(crate) async fn start(
        service: Arc<dyn Service>,
        data_dir: Option<&Path>,
    ) -> Result<Self, CommandError> {
        let access = Access::of_token(data_dir)?;
        let (service, header_params) = for_clients(service, ErrorDetail::NamesServers);
        let mut config = HttpServerConfig::default();
        config.limits.drain = SHARED_DRAIN;
        let address = SocketAddr::new(USUAL_ADDRESS.ip(), 0);
        let server = listen(address, service, header_params, access, config).await?;
        Ok(Self {
            url: format!("http://{}/mcp", server.local_addr()?),
            shutdown: server.shutdown_handle(),
            task: tokio::spawn(server.run()),
        })
    }

    /// Accepts no more connections, and waits a short time for the requests that were accepted.
    pub(crate) async fn stop(mut self) {
        self.shutdown.shutdown();
        // The listener keeps the time of its requests, but not that of a peer that reads no answer.
        let _ = timeout(2 * SHARED_DRAIN, &mut self.task).await;
    }
}

impl Drop for SharedEndpoint {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn listen(
    address: SocketAddr,
    service: Arc<dyn Service>,
    header_params: HeaderParams,
    access: Access,
    mut config: HttpServerConfig,
) -> Result<Listener, CommandError> {
    config.guard = access.guard;
    config.auth = access.auth;
    config.documents = access.documents;
    config.header_params = Some(header_params);
    config.list_unknown_tools = true;
    let bound = Listener::bind(address, service, config).await;
    bound.map_err(|source| {
        let error = anyhow!("cannot listen on {address}: {source}");
        CommandError::new(Exit::Unexpected, error)
    })
}

/// Facts about a failed server that clients of an endpoint learn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorDetail {
    /// For agents of the user, which need not read what a server prints.
    NamesServers,
    /// For clients of others, which do not even learn the names of the servers.
    Nothing,
}

/// A service for HTTP clients. Its tools are listed once, so that the headers of the first call can be checked.
pub(crate) fn for_clients(
    service: Arc<dyn Service>,
    detail: ErrorDetail,
) -> (Arc<dyn Service>, HeaderParams) {
    let service = Arc::new(HeaderParamCache::new(ProgressFilter::new(service)));
    let header_params = service.header_params();
    let client = Client::builder(service.clone()).info(server::own_name());
    let client = client.build();
    tokio::spawn(async move { client.list_raw(method::TOOLS_LIST).await.map(drop) });
    let public = PublicErrors::new(service);
    let service: Arc<dyn Service> = match detail {
        // Above the layer that makes new errors.
        ErrorDetail::NamesServers => Arc::new(TellsKinds(Arc::new(public.naming_servers()))),
        ErrorDetail::Nothing => Arc::new(public),
    };
    (service, header_params)
}

/// Serves the process that started this one, until it closes our standard input or sends a signal.
pub(crate) async fn serve_stdio(
    service: Arc<dyn Service>,
    mut stop: StopSignals,
) -> Result<(), CommandError> {
    tokio::select! {
        served = stdio::serve(service) => Ok(served?),
        () = stop.next() => Ok(()),
    }
}

/// The address to listen on: that of the arguments, else that of the configuration, else the usual one. Refuses one
/// that other machines can connect to.
pub(crate) fn address(
    args: &HttpArgs,
    configured: Option<SocketAddr>,
) -> Result<SocketAddr, CommandError> {
    let address = args.listen.or(configured).unwrap_or(USUAL_ADDRESS);
    if address.ip().is_loopback() {
        return Ok(address);
    }
    let message = format!("{address} is not a loopback address");
    Err(CommandError::usage(message)
        .hint("other machines may only connect over TLS, which is not supported yet"))
}

const USUAL_ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 3000);
