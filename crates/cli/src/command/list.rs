use std::path::Path;

use callgate_mcp::wire::tool::Tool;
use callgate_mcp::wire::{ArrayWriter, RawJson, method};

use crate::args::List;
use crate::error::CommandError;
use crate::output;
use crate::target::{Target, User};

/// Lists the tools of a server.
pub(crate) async fn run(
    args: &List,
    data_dir: Option<&Path>,
    json: bool,
) -> Result<(), CommandError> {
    let target = Target::connect(&args.connection, args.url.as_deref(), data_dir, User::Away)?;
    let client = target.client.clone();
    // The output comes before the server is closed, so that the user need not wait for that.
    let work = async {
        match json {
            true => print_json(&client.list_raw(method::TOOLS_LIST).await?),
            false => print(&client.list_tools().await?),
        }
    };
    target.finish(work).await
}

/// Prints the tools as the server sent them: a program that reads this may know members that this
/// one does not.
fn print_json(tools: &[RawJson]) -> Result<(), CommandError> {
    let mut list = ArrayWriter::new();
    for tool in tools {
        list.push(tool);
    }
    Ok(output::json(&list.finish())?)
}

fn print(tools: &[Tool]) -> Result<(), CommandError> {
    let rows: Vec<_> = tools
        .iter()
        .map(|tool| (tool.name.clone(), about(tool)))
        .collect();
    Ok(output::table(&rows)?)
}

/// First line of the description of a tool.
fn about(tool: &Tool) -> String {
    let description = tool.description.as_deref().or(tool.title.as_deref());
    first_of(description.unwrap_or_default())
}

/// First line of the description of an item that a server lists, else its title.
pub(super) fn first_line(item: &RawJson) -> String {
    let texts = item.pick(["description", "title"]);
    let text = texts.iter().flatten().find_map(RawJson::text);
    first_of(text.as_deref().unwrap_or_default())
}

fn first_of(text: &str) -> String {
    text.trim().lines().next().unwrap_or_default().to_owned()
}
