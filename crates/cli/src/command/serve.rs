use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use callgate_mcp::router::Router;
use callgate_mcp::wire::implementation::Implementation;
use callgate_tools::workspace::{self, Workspace};

use crate::args::Serve;
use crate::data_dir::{DataDir, resolved};
use crate::error::CommandError;
use crate::{endpoint, output};

/// Serves the built-in tools until the client leaves or the user stops it.
pub(crate) async fn run(
    args: &Serve,
    data_dir: Option<&Path>,
    json: bool,
) -> Result<(), CommandError> {
    let workspace = open_workspace(&args.workspace, data_dir)?;
    let mut router = router(&workspace)?;
    if let Some(max) = args.max_subscriptions {
        router = router.max_subscriptions(max);
    }
    let router = Arc::new(router);
    if args.stdio {
        return endpoint::serve_stdio(router).await;
    }
    endpoint::check_address(&args.http)?;
    let header_params = router.header_params();
    endpoint::serve_http(&args.http, router, header_params, data_dir, json).await
}

/// Opens the workspace. The data directory is not for its tools: it holds the token and the logins.
fn open_workspace(path: &Path, data_dir: Option<&Path>) -> Result<Workspace, CommandError> {
    let workspace = Workspace::open(path)
        .with_context(|| format!("cannot open the workspace {}", path.display()))
        .map_err(|error| CommandError::from(error).hint(NAME_A_DIRECTORY))?;
    // Without a data directory there is nothing to keep.
    let Ok(data_dir) = DataDir::locate(data_dir) else {
        return Ok(workspace);
    };
    let (inner, outer) = (data_dir.resolved(), resolved(path));
    let shown = |text: &str| format!("{} {text} {}", path.display(), data_dir.path().display());
    if outer.starts_with(&inner) {
        let message = shown("is in the data directory");
        return Err(CommandError::usage(message).hint(NAME_A_DIRECTORY));
    }
    if inner.starts_with(&outer) {
        let message = shown("contains the data directory");
        if cfg!(not(unix)) {
            return Err(CommandError::usage(message).hint(NAME_A_DIRECTORY));
        }
        output::note(&format!(
            "warning: the workspace {message}, which its tools cannot use; a smaller workspace is safer"
        ));
    }
    Ok(workspace.excluding(data_dir.path()))
}

const NAME_A_DIRECTORY: &str = "name a directory with --workspace DIR";

fn router(workspace: &Workspace) -> Result<Router, CommandError> {
    let router = Router::new(Implementation::new("callgate", env!("CARGO_PKG_VERSION")));
    workspace::add_tools(&router, workspace).context("cannot register the workspace tools")?;
    // In the background: a large workspace must not delay the first answer.
    let workspace = workspace.clone();
    tokio::task::spawn_blocking(move || workspace.remove_temporary_files());
    Ok(router)
}
