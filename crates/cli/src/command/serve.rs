use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, anyhow};
use callgate_mcp::router::Router;
use callgate_mcp::transport::http::server::{HttpServerConfig, Listener};
use callgate_mcp::transport::stdio;
use callgate_mcp::wire::implementation::Implementation;
use callgate_tools::workspace::{self, Workspace};

use crate::access::Access;
use crate::args::Serve;
use crate::error::{CommandError, Exit};
use crate::{output, stop};

/// Serves the built-in tools until the client leaves or the user stops it.
pub(crate) async fn run(
    args: &Serve,
    data_dir: Option<&Path>,
    json: bool,
) -> Result<(), CommandError> {
    let router = router(&args.workspace)?;
    if args.stdio {
        return Ok(stdio::serve(Arc::new(router)).await?);
    }
    serve_http(args, router, data_dir, json).await
}

fn router(path: &Path) -> Result<Router, CommandError> {
    let workspace = Workspace::open(path)
        .with_context(|| format!("cannot open the workspace {}", path.display()))
        .map_err(|error| CommandError::from(error).hint("name a directory with --workspace DIR"))?;
    let router = Router::new(Implementation::new("callgate", env!("CARGO_PKG_VERSION")));
    workspace::add_tools(&router, &workspace).context("cannot register the workspace tools")?;
    // In the background: a large workspace must not delay the first answer.
    tokio::task::spawn_blocking(move || workspace.remove_temporary_files());
    Ok(router)
}

async fn serve_http(
    args: &Serve,
    router: Router,
    data_dir: Option<&Path>,
    json: bool,
) -> Result<(), CommandError> {
    if !args.listen.ip().is_loopback() {
        let message = format!("{} is not a loopback address", args.listen);
        return Err(CommandError::usage(message)
            .hint("other machines may only connect over TLS, which is not supported yet"));
    }
    let access = Access::new(args, data_dir).await?;
    let mut config = HttpServerConfig::default();
    config.guard = access.guard;
    config.auth = access.auth;
    config.documents = access.documents;
    config.header_params = Some(router.header_params());
    let server = Listener::bind(args.listen, Arc::new(router), config)
        .await
        .map_err(|source| {
            CommandError::new(
                Exit::Unexpected,
                anyhow!("cannot listen on {}: {source}", args.listen),
            )
            .hint("pick another port with --listen 127.0.0.1:PORT")
        })?;
    // Before the address is printed: a program that reads it may send a signal at once.
    let stop = stop::signal().context("cannot listen for signals")?;
    let url = format!("http://{}/mcp", server.local_addr()?);
    if json {
        output::member("url", &url)?;
    } else {
        output::text(&format!("listening on {url}"))?;
    }
    if let Some(notice) = access.notice {
        eprintln!("{notice}");
    }
    let shutdown = server.shutdown_handle();
    tokio::spawn(async move {
        stop.await;
        shutdown.shutdown();
    });
    server.run().await;
    Ok(())
}
