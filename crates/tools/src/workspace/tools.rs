use callgate_mcp::router::{Json, RouteError, Router, ToolError, ToolRoute, with};
use callgate_mcp::wire::tool::ToolAnnotations;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{File, Listing, Page, Workspace, WorkspaceError, Written};

/// Names of the tools.
pub const TOOL_NAMES: [&str; 3] = [LIST, READ, WRITE];

const LIST: &str = "workspace_list";
const READ: &str = "workspace_read";
const WRITE: &str = "workspace_write";

/// Offers the tools `workspace_list`, `workspace_read` and `workspace_write`.
///
/// # Errors
/// A tool could not be registered.
pub fn add_tools(router: &Router, workspace: &Workspace) -> Result<(), RouteError> {
    let reads = ToolAnnotations::new()
        .with_read_only(true)
        .with_open_world(false);
    let writes = ToolAnnotations::new()
        .with_destructive(true)
        .with_idempotent(true)
        .with_open_world(false);

    let list = ToolRoute::new(
        LIST,
        "List the entries of a directory in the workspace; if there are more, `next_cursor` continues as `cursor`",
        with(workspace, list),
    );
    let read = ToolRoute::new(
        READ,
        "Read a text file in the workspace",
        with(workspace, read),
    );
    let write = ToolRoute::new(
        WRITE,
        "Write a text file in the workspace, with the directories that lead to it",
        with(workspace, write),
    );
    router.add_tool(list.annotations(reads.clone()))?;
    router.add_tool(read.annotations(reads))?;
    router.add_tool(write.annotations(writes))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct List {
    /// The directory, relative to the workspace
    #[serde(default = "here")]
    path: String,
    /// The `next_cursor` of the page before; the first page if it is left out
    cursor: Option<String>,
    /// The maximum number of entries, at most 10,000; 1,000 if it is left out
    #[schemars(range(min = 1, max = 10_000))]
    limit: Option<usize>,
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

async fn list(workspace: Workspace, list: List) -> Result<Json<Listing>, ToolError> {
    let List {
        path,
        cursor,
        limit,
    } = list;
    let page = Page { cursor, limit };
    answer(workspace.run(move |files| files.list(&path, &page)).await)
}

async fn read(workspace: Workspace, Read { path }: Read) -> Result<Json<File>, ToolError> {
    answer(workspace.run(move |files| files.read(&path)).await)
}

async fn write(
    workspace: Workspace,
    Write { path, content }: Write,
) -> Result<Json<Written>, ToolError> {
    answer(
        workspace
            .run(move |files| files.write(&path, &content))
            .await,
    )
}

fn answer<T>(outcome: Result<T, WorkspaceError>) -> Result<Json<T>, ToolError> {
    outcome.map(Json).map_err(ToolError::failed)
}
