//! An endpoint of a command that serves: over HTTP as its arguments say, or over standard input and output.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;

use anyhow::anyhow;
use callgate_mcp::transport::http::server::{HttpServerConfig, Listener};
use callgate_mcp::transport::stdio;
use callgate_mcp::{HeaderParams, Service};

use crate::access::Access;
use crate::args::HttpArgs;
use crate::error::{CommandError, Exit};
use crate::http_limits::allow_many_connections;
use crate::output;
use crate::stop::StopSignals;

/// An HTTP endpoint that listens and does not answer yet.
pub(crate) struct HttpEndpoint {
    server: Listener,
    stop: StopSignals,
    notice: Option<String>,
    pub(crate) url: String,
}

/// Meaning of a hangup for a process that serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hangup {
    /// It ends the process.
    Ends,
    /// It reloads the configuration, unless the terminal of the process is gone.
    Reloads,
}

impl HttpEndpoint {
    /// Listens at `address` as the arguments say.
    pub(crate) async fn bind(
        args: &HttpArgs,
        address: SocketAddr,
        service: Arc<dyn Service>,
        header_params: HeaderParams,
        data_dir: Option<&Path>,
        hangup: Hangup,
    ) -> Result<Self, CommandError> {
        let access = Access::new(args, address, data_dir).await?;
        let mut config = HttpServerConfig::default();
        args.limits.apply(&mut config);
        allow_many_connections();
        config.guard = access.guard;
        config.auth = access.auth;
        config.documents = access.documents;
        config.header_params = Some(header_params);
        config.list_unknown_tools = true;
        let server = Listener::bind(address, service, config)
            .await
            .map_err(|source| {
                CommandError::new(
                    Exit::Unexpected,
                    anyhow!("cannot listen on {address}: {source}"),
                )
                .hint("pick another port with --listen 127.0.0.1:PORT")
            })?;
        // Before the address is printed: a program that reads it may send a signal at once.
        let stop = match hangup {
            Hangup::Ends => StopSignals::listen(),
            Hangup::Reloads => StopSignals::listen_as_service(),
        };
        Ok(Self {
            url: format!("http://{}/mcp", server.local_addr()?),
            stop: stop.map_err(no_signals)?,
            notice: access.notice,
            server,
        })
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

/// Serves the process that started this one, until it closes our standard input or sends a signal.
pub(crate) async fn serve_stdio(service: Arc<dyn Service>) -> Result<(), CommandError> {
    let mut stop = StopSignals::listen().map_err(no_signals)?;
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

fn no_signals(error: std::io::Error) -> CommandError {
    CommandError::from(anyhow!(error).context("cannot listen for signals"))
}
