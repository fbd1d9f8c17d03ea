use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use callgate_mcp::client::{CallOptions, Client};
use callgate_mcp::layer::{HeaderParamCache, ProgressFilter, PublicErrors, TimeLimits, Timeout};
use callgate_mcp::wire::method;
use callgate_mcp::{BoxFuture, Call, Error, Kind, Reply, Service};

use crate::args::Relay;
use crate::endpoint::{self, HttpEndpoint};
use crate::error::CommandError;
use crate::server::{self, Server};
use crate::stop::StopSignals;

/// Serves another server until the client leaves or the user stops it.
pub(crate) async fn run(
    args: &Relay,
    data_dir: Option<&Path>,
    json: bool,
) -> Result<(), CommandError> {
    let address = endpoint::address(&args.http, None)?;
    let spec = server::of_args(&args.server, args.url.as_deref())?;
    // Before the server is connected: a signal must not lose a login that is being renewed.
    let mut stop = StopSignals::listen().context("cannot listen for signals")?;
    let server = tokio::select! {
        server = Server::connect(&spec, data_dir, None) => server?.restarting(),
        () = stop.next() => return Ok(()),
    };
    let mut limits = TimeLimits::default();
    limits.idle = Duration::from_secs(args.timeout);
    limits.maximum = Duration::MAX;
    let upstream = ProgressFilter::new(Timeout::new(server.service(), limits));
    let served = if args.serve_stdio {
        endpoint::serve_stdio(Arc::new(WithHints(upstream)), stop).await
    } else {
        let relay = Arc::new(HeaderParamCache::new(upstream));
        // A process that speaks both eras settles for that of the first call, which is a client's: its tools
        // are listed when a client calls one.
        if args.server.stdio.is_none() {
            tokio::select! {
                () = learn_tools(relay.clone()) => {}
                () = stop.next() => return server.close_soon().await,
            }
        }
        let header_params = relay.header_params();
        let relay = Arc::new(PublicErrors::new(relay));
        let endpoint =
            HttpEndpoint::bind(&args.http, address, relay, header_params, data_dir, stop);
        match endpoint.await {
            Ok(Some(endpoint)) => endpoint.run(json).await,
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        }
    };
    match served {
        Err(error) if error.is_interrupt() => Err(error),
        served => server.close_soon().await.and(served),
    }
}

/// Time for the first list of tools. A server that is slower is served all the same.
const LIST_TIMEOUT: Duration = Duration::from_secs(30);

/// Lists the tools once, so that the first call need not wait for it, and tells the user if the server
/// cannot be used yet.
async fn learn_tools(relay: Arc<dyn Service>) {
    let client = Client::builder(relay)
        .info(server::own_name())
        .options(CallOptions::default().idle(LIST_TIMEOUT))
        .build();
    if let Err(error) = client.list_raw(method::TOOLS_LIST).await
        && is_about_connection(error.kind())
    {
        CommandError::from(error).warn("the server cannot be used yet");
    }
}

/// Adds the next step to an error that the user can solve: with a client that speaks over standard
/// input and output, the answer is the only place that the user sees.
struct WithHints<S>(S);

impl<S: Service> Service for WithHints<S> {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        let running = self.0.call(call);
        Box::pin(async move {
            running.await.map_err(|error| {
                let kind = error.kind();
                if error.raw().is_some() || !is_about_connection(kind) {
                    return error;
                }
                let text = CommandError::from(error).with_hints();
                tracing::warn!("{text}");
                Error::new(kind, text)
            })
        })
    }

    fn notify(&self, notification: Call) -> BoxFuture<'_, ()> {
        self.0.notify(notification)
    }
}

/// True if the failure is one between this process and the server.
fn is_about_connection(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Connect | Kind::Closed | Kind::Timeout | Kind::Unauthorized
    )
}
