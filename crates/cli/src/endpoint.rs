//! An endpoint of a command that serves: over HTTP as its arguments say, or over standard input and output.

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

/// Serves over HTTP until a signal. Accepted requests may finish then, unless there is a second signal.
pub(crate) async fn serve_http(
    args: &HttpArgs,
    service: Arc<dyn Service>,
    header_params: HeaderParams,
    data_dir: Option<&Path>,
    json: bool,
) -> Result<(), CommandError> {
    let access = Access::new(args, data_dir).await?;
    let mut config = HttpServerConfig::default();
    args.limits.apply(&mut config);
    allow_many_connections();
    config.guard = access.guard;
    config.auth = access.auth;
    config.documents = access.documents;
    config.header_params = Some(header_params);
    let server = Listener::bind(args.listen, service, config)
        .await
        .map_err(|source| {
            CommandError::new(
                Exit::Unexpected,
                anyhow!("cannot listen on {}: {source}", args.listen),
            )
            .hint("pick another port with --listen 127.0.0.1:PORT")
        })?;
    // Before the address is printed: a program that reads it may send a signal at once.
    let mut stop = StopSignals::listen().map_err(no_signals)?;
    let url = format!("http://{}/mcp", server.local_addr()?);
    if json {
        output::member("url", &url)?;
    } else {
        output::text(&format!("listening on {url}"))?;
    }
    if let Some(notice) = access.notice {
        output::note(&notice);
    }
    let shutdown = server.shutdown_handle();
    let mut run = pin!(server.run());
    tokio::select! {
        () = &mut run => return Ok(()),
        () = stop.next() => shutdown.shutdown(),
    }
    tokio::select! {
        () = run => Ok(()),
        () = stop.next() => Err(CommandError::interrupted()),
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

/// Refuses an address that other machines can connect to.
pub(crate) fn check_address(args: &HttpArgs) -> Result<(), CommandError> {
    if args.listen.ip().is_loopback() {
        return Ok(());
    }
    let message = format!("{} is not a loopback address", args.listen);
    Err(CommandError::usage(message)
        .hint("other machines may only connect over TLS, which is not supported yet"))
}

fn no_signals(error: std::io::Error) -> CommandError {
    CommandError::from(anyhow!(error).context("cannot listen for signals"))
}
