use std::path::Path;

use callgate_mcp::client::Client;
use callgate_mcp::wire::tool::Tool;
use callgate_mcp::wire::{ArrayWriter, RawJson, Splice, method};

use super::servers;
use crate::args::List;
use crate::config::load::{ConfiguredServer, load};
use crate::config::places::LoadOptions;
use crate::error::CommandError;
use crate::gateway::{ServerReport, ToolName};
use crate::logins::http_url;
use crate::server_choice::{not_connected, unknown_server};
use crate::target::{Target, Use, User};
use crate::{output, present};

/// Lists the configured servers, or the tools of one server.
pub(crate) async fn run(
    args: &List,
    config: Option<&Path>,
    data_dir: Option<&Path>,
    json: bool,
) -> Result<(), CommandError> {
    let Some(server) = args.server.as_deref() else {
        return match args.connection.server.stdio {
            Some(_) => of_url(args, None, data_dir, json).await,
            None => servers::run(args, config, data_dir, json).await,
        };
    };
    if http_url(server).is_some() {
        return of_url(args, Some(server), data_dir, json).await;
    }
    let configuration = load(&LoadOptions::new(config, data_dir)?)?;
    let configured = configuration
        .server(server)
        .ok_or_else(|| unknown_server(server, &configuration))?;
    of_configured(configured, args, data_dir, json).await
}

async fn of_url(
    args: &List,
    url: Option<&str>,
    data_dir: Option<&Path>,
    json: bool,
) -> Result<(), CommandError> {
    let target = Target::connect(&args.connection, url, data_dir, User::Away).await?;
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

async fn of_configured(
    configured: &ConfiguredServer,
    args: &List,
    data_dir: Option<&Path>,
    json: bool,
) -> Result<(), CommandError> {
    let how = Use {
        command: "list",
        data_dir,
        timeout: args.connection.timeout,
        direct: args.direct,
        user: User::NotAsked,
    };
    let target = Target::open(configured, how).await?;
    let (client, name) = (target.client.clone(), configured.name.as_str());
    let report = target.report(name);
    let work = async {
        let tools = own_tools(&client, name, report.await?).await?;
        match json {
            true => print_json(&tools),
            false => {
                let tools: Result<Vec<Tool>, _> = tools.iter().map(RawJson::decode).collect();
                print(&tools.map_err(anyhow::Error::from)?)
            }
        }
    };
    target.finish(work).await
}

/// The tools of one server, under the names that the server or the configuration gives them.
pub(crate) async fn own_tools(
    client: &Client,
    server: &str,
    report: Option<ServerReport>,
) -> Result<Vec<RawJson>, CommandError> {
    let names = not_connected(server, report)?;
    let tools = client.list_raw(method::TOOLS_LIST).await?;
    let own = tools.into_iter().filter_map(|tool| {
        let exposed = tool.get("name")?;
        let exposed = exposed.text()?;
        let ToolName { own, .. } = names.iter().find(|name| name.exposed == *exposed)?;
        let renamed = Splice::new(&tool).set(&["name"], &RawJson::string(own));
        Some(renamed.finish().unwrap_or(tool))
    });
    Ok(own.collect())
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
    present::rows(&rows)
}

/// First line of the description of a tool.
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
