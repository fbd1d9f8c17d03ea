use std::path::Path;

use callgate_mcp::wire::RawJson;
use callgate_mcp::wire::tool::Tool;

use crate::args::List;
use crate::error::CommandError;
use crate::output;
use crate::target::Target;

/// Lists the tools of a server.
pub(crate) async fn run(
    args: &List,
    data_dir: Option<&Path>,
    json: bool,
) -> Result<(), CommandError> {
    let target = Target::connect(&args.reach, args.url.as_deref(), data_dir)?;
    let client = target.client.clone();
    // The user need not wait for the end of what was started.
    let work = async { print(&client.list_tools().await?, json) };
    target.finish(work).await
}

fn print(tools: &[Tool], json: bool) -> Result<(), CommandError> {
    if json {
        let tools = RawJson::encode(&tools).map_err(anyhow::Error::from)?;
        return Ok(output::json(&tools)?);
    }
    let rows: Vec<_> = tools
        .iter()
        .map(|tool| (tool.name.clone(), about(tool)))
        .collect();
    Ok(output::table(&rows)?)
}

/// The first line of what a tool says of itself.
fn about(tool: &Tool) -> String {
    let description = tool
        .description
        .as_deref()
        .or(tool.title.as_deref())
        .unwrap_or_default();
    description
        .trim()
        .lines()
        .next()
        .unwrap_or_default()
        .to_owned()
}
