use std::path::Path;

use anyhow::anyhow;
use callgate_mcp::client::Client;
use callgate_mcp::wire::RawJson;
use callgate_mcp::wire::tool::{CallToolResult, Tool};

use crate::args::Call;
use crate::error::{CommandError, Exit};
use crate::logins::http_url;
use crate::near_miss::closest;
use crate::server;
use crate::target::{Target, User};
use crate::{arguments, output, present};

/// Calls a tool of a server and prints the result.
pub(crate) async fn run(
    args: &Call,
    data_dir: Option<&Path>,
    json: bool,
) -> Result<(), CommandError> {
    let (url, rest) = match args.words.split_first() {
        Some((url, rest)) if args.connection.server.stdio.is_none() => (Some(url.as_str()), rest),
        _ => (None, args.words.as_slice()),
    };
    let Some((tool, words)) = rest.split_first() else {
        return Err(nothing_to_call(url));
    };
    let target = Target::connect(&args.connection, url, data_dir, User::of_this_process())?;
    let client = target.client.clone();
    // The output comes before the server is closed, so that the user need not wait for that.
    let work = async { print(&call(&client, tool, words).await?, json) };
    target.finish(work).await
}

/// Error for missing arguments: the tool is missing, or the server, so that the tool stands in its place.
fn nothing_to_call(url: Option<&str>) -> CommandError {
    match url.filter(|url| http_url(url).is_none()) {
        Some(word) => server::not_a_url(word),
        None => CommandError::usage("no tool is given").hint(SEE_THE_TOOLS),
    }
}

const SEE_THE_TOOLS: &str = "run `callgate list` with the same server to see its tools";

async fn call(client: &Client, name: &str, words: &[String]) -> Result<RawJson, CommandError> {
    let tools = client.list_tools().await?;
    let tool = tools
        .iter()
        .find(|tool| tool.name == name)
        .ok_or_else(|| unknown(name, &tools))?;
    let arguments = arguments::parse(words, Some(&tool.input_schema))?;
    Ok(client.call_tool_raw(name, &arguments).await?)
}

fn unknown(name: &str, tools: &[Tool]) -> CommandError {
    let error = CommandError::new(Exit::ToolFailed, anyhow!("the server has no tool `{name}`"));
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    match closest(name, &names) {
        Some(close) => error.hint(format!("did you mean `{close}`?")),
        None => error.hint(SEE_THE_TOOLS),
    }
}

/// Prints the content, or as JSON the whole result as the server sent it.
fn print(raw: &RawJson, json: bool) -> Result<(), CommandError> {
    let result: CallToolResult = raw.decode().map_err(anyhow::Error::from)?;
    let failed = result.is_error == Some(true);
    if json {
        output::json(raw)?;
    } else if !failed {
        present::result(&result)?;
    }
    if failed {
        let said: Vec<String> = result.content.iter().map(present::describe).collect();
        let said = said.join("\n");
        return Err(CommandError::new(
            Exit::ToolFailed,
            anyhow!("the tool failed: {said}"),
        ));
    }
    Ok(())
}
