use std::path::Path;
use std::time::Duration;

use anyhow::anyhow;
use callgate_mcp::client::{CallOptions, Client};
use callgate_mcp::wire::capabilities::ClientCapabilities;
use callgate_mcp::wire::tool::CallToolResult;

use crate::arguments;
use crate::config::{LoadOptions, load};
use crate::debug::{
    DebuggedServer, Form, Recorder, Secrets, Transcript, secrets_of_definition, secrets_of_spec,
};
use crate::debug_args::Debug;
use crate::error::{CommandError, Exit};
use crate::gateway::spec_of;
use crate::logins::http_url;
use crate::server::{self, Server, ServerSpec};
use crate::server_choice::unknown_server;
use crate::suggestion::closest;
use crate::target::Target;

/// Seconds that a server has for an answer or progress.
const TIMEOUT: u64 = 30;

/// Connects to a server, lists its tools, calls one if it is given, and prints every message on the way.
///
/// # Errors
/// The server cannot be used, the tool fails, or the transcript cannot be written.
pub(crate) async fn run(
    args: &Debug,
    config: Option<&Path>,
    data_dir: Option<&Path>,
    json: bool,
) -> Result<(), CommandError> {
    let secrets = Secrets::default();
    let (spec, described, words) = choose(args, config, data_dir, &secrets)?;
    let transcript = args.save.as_deref();
    let transcript = transcript.map(|path| Transcript::create(path, &described));
    let form = match (json, args.full) {
        (true, _) => Form::Json,
        (false, true) => Form::Full,
        (false, false) => Form::Brief,
    };
    let recorder = Recorder::new(form, transcript.transpose()?, secrets);
    let redacted = |error: CommandError| error.map_text(|text| recorder.redact(text));

    let capabilities = Some(ClientCapabilities::default());
    let connected = Server::observed(&spec, data_dir, capabilities, Some(&recorder)).await;
    let server = match connected {
        Ok(server) => server,
        Err(error) => {
            recorder.finish(None)?;
            return Err(redacted(error));
        }
    };
    let idle = Duration::from_secs(args.connection.timeout.unwrap_or(TIMEOUT));
    let client = Client::builder(server.service())
        .info(server::own_name())
        .options(CallOptions::default().idle(idle))
        .build();
    let target = Target::of_server(client.clone(), server.clone());
    let mut version = None;
    let work = async {
        let worked = use_server(&client, &recorder, words).await;
        // Before the connection is closed: afterwards there is none.
        version = server.version();
        worked
    };
    let outcome = target.finish(work).await.map_err(redacted);
    let finished = recorder.finish(version);
    outcome.and(finished)
}

/// The server that the arguments name, its description, and the words about a tool.
fn choose<'a>(
    args: &'a Debug,
    config: Option<&Path>,
    data_dir: Option<&Path>,
    secrets: &Secrets,
) -> Result<(ServerSpec, DebuggedServer, &'a [String]), CommandError> {
    let given = |url: Option<&str>, words| {
        let spec = server::of_args(&args.connection.server, url)?;
        secrets_of_spec(&spec, secrets);
        let described = DebuggedServer::given(&spec, secrets);
        Ok((spec, described, words))
    };
    if args.connection.server.stdio.is_some() {
        return given(None, args.words.as_slice());
    }
    let Some((name, words)) = args.words.split_first() else {
        return Err(CommandError::usage("no server is given")
            .hint("name a configured server or a URL, or a command with --stdio"));
    };
    if http_url(name).is_some() {
        return given(Some(name), words);
    }
    let configuration = load(&LoadOptions::new(config, data_dir)?)?;
    let configured = configuration.server(name);
    let configured = configured.ok_or_else(|| unknown_server(name, &configuration))?;
    let spec = spec_of(configured)?;
    secrets_of_spec(&spec, secrets);
    secrets_of_definition(&configured.definition, secrets);
    let described = DebuggedServer::configured(name, &configured.definition, secrets);
    Ok((spec, described, words))
}

async fn use_server(
    client: &Client,
    recorder: &Recorder,
    words: &[String],
) -> Result<(), CommandError> {
    let discovered = client.discover().await?;
    recorder.connected();
    if discovered.capabilities.tools.is_none() && words.is_empty() {
        return Ok(());
    }
    let tools = client.list_tools().await?;
    let Some((name, words)) = words.split_first() else {
        return Ok(());
    };
    let Some(tool) = tools.iter().find(|tool| tool.name == *name) else {
        let error = anyhow!("the server has no tool `{name}`");
        let error = CommandError::new(Exit::ToolFailed, error);
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        return Err(match closest(name, &names) {
            Some(close) => error.hint(format!("did you mean `{close}`?")),
            None => error.hint("the answer to `tools/list` above has its tools"),
        });
    };
    let arguments = arguments::parse(words, Some(&tool.input_schema))?;
    let result = client.call_tool_raw(name, &arguments).await?;
    let result: CallToolResult = result.decode().map_err(anyhow::Error::from)?;
    match result.is_error {
        Some(true) => {
            let error = anyhow!("the tool failed; its answer is above");
            Err(CommandError::new(Exit::ToolFailed, error))
        }
        _ => Ok(()),
    }
}
