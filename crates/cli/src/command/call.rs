use std::path::Path;
use std::sync::Arc;

use anyhow::anyhow;
use callgate_mcp::client::Client;
use callgate_mcp::schema::CompiledSchema;
use callgate_mcp::wire::progress::ProgressParams;
use callgate_mcp::wire::tool::{CallToolResult, Tool};
use callgate_mcp::wire::{Number, RawJson};

use crate::args::Call;
use crate::arguments::WrongType;
use crate::config::{Configuration, LoadOptions, load};
use crate::error::{CommandError, Exit};
use crate::gateway::ToolName;
use crate::logins::http_url;
use crate::output::{StatusLine, argument};
use crate::server_choice::{ToolWord, failed_in_use, not_connected, tool_choices, unknown_server};
use crate::suggestion::closest;
use crate::target::{Target, Use, User};
use crate::{arguments, output, present};

/// Calls a tool of a server and prints the result.
pub(crate) async fn run(
    args: &Call,
    config: Option<&Path>,
    data_dir: Option<&Path>,
    json: bool,
) -> Result<(), CommandError> {
    let (url, rest) = match args.words.split_first() {
        Some((word, words))
            if args.connection.server.stdio.is_none() && http_url(word).is_none() =>
        {
            return call_configured(args, word, words, config, data_dir, json).await;
        }
        Some((url, rest)) if args.connection.server.stdio.is_none() => (Some(url.as_str()), rest),
        _ => (None, args.words.as_slice()),
    };
    let Some((tool, words)) = rest.split_first() else {
        return Err(CommandError::usage("no tool is given").hint(SEE_THE_TOOLS));
    };
    let target = Target::connect(&args.connection, url, data_dir, User::of_this_process()).await?;
    let client = target.client.clone();
    // The output comes before the server is closed, so that the user need not wait for that.
    let work = async { print(&call(&client, tool, None, words).await?, json) };
    target.finish(work).await
}

/// Calls a tool of a configured server, of which only this one is connected.
async fn call_configured(
    args: &Call,
    word: &str,
    words: &[String],
    config: Option<&Path>,
    data_dir: Option<&Path>,
    json: bool,
) -> Result<(), CommandError> {
    let configuration = load(&LoadOptions::new(config, data_dir)?)?;
    // The server and the tool as two words, as with a URL.
    let (joined, words) = match words.split_first() {
        Some((tool, rest)) if configuration.server(word).is_some() && is_name(tool) => {
            (format!("{word}/{tool}"), rest)
        }
        _ => (word.to_owned(), words),
    };
    let word = joined.as_str();
    let choices = tool_choices(word, &configuration);
    let Some(last) = choices.len().checked_sub(1) else {
        return Err(no_choice(word, &configuration));
    };
    let how = Use {
        command: "call",
        data_dir,
        timeout: args.connection.timeout,
        direct: args.direct,
        user: User::of_this_process(),
    };
    for (index, choice) in choices.iter().enumerate() {
        let name = choice.server.name.as_str();
        let target = Target::open(choice.server, how).await?;
        let client = target.client.clone();
        let report = target.report(name);
        let work = async {
            let line = StatusLine::new();
            line.show(&format!("connecting to {name}"));
            let report = report.await;
            line.clear();
            let names = not_connected(name, report?)?;
            let exposed = match exposed_name(choice.tool, &names) {
                Some(exposed) => exposed,
                // An id may begin with the names of several servers.
                None if index < last => return Ok(Found::NotHere),
                None => return Err(no_tool(name, choice.tool, &names)),
            };
            let own = names.iter().find(|name| name.exposed == exposed);
            let word = own.map(|own| format!("{name}/{}", own.own));
            let result = call(&client, exposed, word.as_deref(), words).await;
            print(&result.map_err(|error| failed_in_use(name, error))?, json)?;
            Ok(Found::Called)
        };
        if let Found::Called = target.finish(work).await? {
            break;
        }
    }
    Ok(())
}

/// Search for a tool at one of the servers that an id may name.
enum Found {
    Called,
    NotHere,
}

/// True for a word that is no argument of a tool.
fn is_name(word: &str) -> bool {
    word != "-" && !word.contains('=') && !word.trim_start().starts_with('{')
}

/// The name that callers use for a tool.
fn exposed_name<'a>(tool: ToolWord<'_>, names: &'a [ToolName]) -> Option<&'a str> {
    let found = names.iter().find(|name| name.is_meant_by(tool));
    found.map(|name| name.exposed.as_str())
}

/// No configured server fits the word.
fn no_choice(word: &str, configuration: &Configuration) -> CommandError {
    let name = word.trim_end_matches(['/', '.', ':']);
    if configuration.server(name).is_none() {
        return unknown_server(word, configuration);
    }
    let name = argument(name);
    CommandError::usage("no tool is given").hint(format!(
        "write it as `callgate call {name}/TOOL`; `callgate list {name}` shows the tools"
    ))
}

fn no_tool(server: &str, tool: ToolWord<'_>, names: &[ToolName]) -> CommandError {
    let (word, known): (&str, Vec<&str>) = match tool {
        ToolWord::Own(own) => (own, names.iter().map(|name| name.own.as_str()).collect()),
        ToolWord::Exposed(exposed) => (
            exposed,
            names.iter().map(|name| name.exposed.as_str()).collect(),
        ),
    };
    let error = anyhow!("server `{server}` has no tool `{word}`");
    let error = CommandError::new(Exit::ToolFailed, error);
    match (closest(word, &known), tool) {
        (Some(close), ToolWord::Own(_)) => error.hint(format!("did you mean `{server}/{close}`?")),
        (Some(close), ToolWord::Exposed(_)) => error.hint(format!("did you mean `{close}`?")),
        (None, _) => error.hint(format!(
            "run `callgate list {}` to see its tools",
            argument(server)
        )),
    }
}

const SEE_THE_ARGUMENTS: &str =
    "run `callgate inspect` with the same server and tool to see its arguments";
const SEE_THE_TOOLS: &str = "run `callgate list` with the same server to see its tools";

/// Calls the tool `name`, which the user of a configured server knows as `word`.
async fn call(
    client: &Client,
    name: &str,
    word: Option<&str>,
    words: &[String],
) -> Result<RawJson, CommandError> {
    let tools = client.list_tools().await?;
    let tool = tools
        .iter()
        .find(|tool| tool.name == name)
        .ok_or_else(|| unknown(name, &tools))?;
    // The same exit code for arguments of either form that the tool cannot take.
    let refused = |error: anyhow::Error| {
        let hint = match word {
            Some(word) => {
                let word = argument(word);
                format!("run `callgate inspect {word}` to see its arguments")
            }
            None => SEE_THE_ARGUMENTS.to_owned(),
        };
        CommandError::new(Exit::ToolFailed, error).hint(hint)
    };
    let arguments = arguments::parse(words, Some(&tool.input_schema));
    let arguments = arguments.map_err(|error| match error.is::<WrongType>() {
        true => refused(error),
        false => error.into(),
    })?;
    validate(&arguments, &tool.input_schema).map_err(|problem| {
        let tool = word.unwrap_or(name);
        refused(anyhow!(
            "the arguments do not fit the tool `{tool}`: {problem}"
        ))
    })?;
    let line = Arc::new(StatusLine::new());
    let client = match line.is_shown() {
        true => {
            let line = line.clone();
            let progress = move |progress: ProgressParams| line.show(&progress_bar(&progress));
            client.with_options(client.options().clone().on_progress(progress))
        }
        false => client.clone(),
    };
    let result = client.call_tool_raw(name, &arguments).await;
    line.clear();
    Ok(result?)
}

/// Checks the arguments before they are sent. A schema that cannot be used is left to the server.
fn validate(arguments: &RawJson, schema: &RawJson) -> Result<(), String> {
    match CompiledSchema::of_arguments(schema) {
        Ok(schema) => schema
            .check(arguments)
            .map_err(|problem| problem.to_string()),
        Err(_) => Ok(()),
    }
}

/// Progress as a bar, or as a number if the end is not known.
fn progress_bar(progress: &ProgressParams) -> String {
    const WIDTH: usize = 20;
    let done = progress.progress.as_f64();
    let total = progress.total.as_ref().map(Number::as_f64);
    let bar = match total.filter(|total| *total > 0.0) {
        Some(total) => {
            let share = (done / total).clamp(0.0, 1.0);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "the share is from 0 to 1"
            )]
            let filled = (share * 20.0) as usize;
            let (filled, rest) = ("#".repeat(filled), ".".repeat(WIDTH - filled.min(WIDTH)));
            format!("[{filled}{rest}] {done}/{total}")
        }
        None => format!("{done}"),
    };
    match &progress.message {
        Some(message) => format!("{bar} {message}"),
        None => bar,
    }
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
