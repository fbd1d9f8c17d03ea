use callgate_mcp::router::{Json, RouteError, Router, ToolError, ToolRoute};
use callgate_mcp::wire::tool::ToolAnnotations;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Workspace, WorkspaceError};

/// Offers the tools `workspace_list`, `workspace_read` and `workspace_write`.
///
/// # Errors
/// A tool could not be registered.
pub fn add_tools(router: &Router, workspace: &Workspace) -> Result<(), RouteError> {
    let reads = ToolAnnotations {
        read_only_hint: Some(true),
        open_world_hint: Some(false),
        ..ToolAnnotations::default()
    };
    let writes = ToolAnnotations {
        destructive_hint: Some(true),
        idempotent_hint: Some(true),
        open_world_hint: Some(false),
        ..ToolAnnotations::default()
    };

    let list = workspace.clone();
    let list = move |args: List| answer(list.clone(), move |files| files.list(&args.path));
    let about = "List the entries of a directory in the workspace";
    router.add_tool(ToolRoute::new("workspace_list", about, list).annotations(reads.clone()))?;

    let read = workspace.clone();
    let read = move |args: Read| answer(read.clone(), move |files| files.read(&args.path));
    let about = "Read a text file in the workspace";
    router.add_tool(ToolRoute::new("workspace_read", about, read).annotations(reads))?;

    let write = workspace.clone();
    let write = move |args: Write| {
        answer(write.clone(), move |files| {
            files.write(&args.path, &args.content)
        })
    };
    let about = "Write a text file in the workspace, with the directories that lead to it";
    router.add_tool(ToolRoute::new("workspace_write", about, write).annotations(writes))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct List {
    /// The directory, relative to the workspace
    #[serde(default = "here")]
    path: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Read {
    /// The file, relative to the workspace
    path: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Write {
    /// The file, relative to the workspace
    path: String,
    /// The new text of the file
    content: String,
}

fn here() -> String {
    ".".to_owned()
}

async fn answer<T: Send + 'static>(
    workspace: Workspace,
    work: impl FnOnce(&Workspace) -> Result<T, WorkspaceError> + Send + 'static,
) -> Result<Json<T>, ToolError> {
    let done = workspace.run(work).await;
    done.map(Json).map_err(ToolError::failed)
}
