use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use callgate_mcp::router::Router;
use callgate_mcp::wire::implementation::Implementation;
use callgate_tools::workspace::{self, Workspace};

use crate::args::Serve;
use crate::endpoint;
use crate::error::CommandError;

/// Serves the built-in tools until the client leaves or the user stops it.
pub(crate) async fn run(
    args: &Serve,
    data_dir: Option<&Path>,
    json: bool,
) -> Result<(), CommandError> {
    let router = Arc::new(router(&args.workspace)?);
    if args.stdio {
        return endpoint::serve_stdio(router).await;
    }
    endpoint::check_address(&args.http)?;
    let header_params = router.header_params();
    endpoint::serve_http(&args.http, router, header_params, data_dir, json).await
}

fn router(path: &Path) -> Result<Router, CommandError> {
    let workspace = Workspace::open(path)
        .with_context(|| format!("cannot open the workspace {}", path.display()))
        .map_err(|error| CommandError::from(error).hint("name a directory with --workspace DIR"))?;
    let router = Router::new(Implementation::new("callgate", env!("CARGO_PKG_VERSION")));
    workspace::add_tools(&router, &workspace).context("cannot register the workspace tools")?;
    Ok(router)
}
