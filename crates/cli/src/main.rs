//! The `callgate` binary: arguments, wiring, terminal.
//!
//! # Layout
//! - `args`, `login_args`, `config_args`: the command line. `command`: one file per command.
//! - `server`: connection to the server that a command names, with its `credentials`. `target`: one command's use of
//!   it. `network`: proxies and certificates.
//! - `config`: the servers and settings in configuration files. `suggestion`: near misses of names.
//! - `arguments`: the arguments of a tool call. `elicitation`: questions of a server. `stop`: signals.
//! - `logins`: stored logins. `keychain`: the keychain of the system. `consent`: asking the user. `client_choice`,
//!   `identity`: the client and the identity token of a login. `provider_choice`: options for unusual providers.
//! - `endpoint`: HTTP and stdio of the commands that serve. `access`: their authentication. `http_limits`: their
//!   limits. `data_dir`, `token`: state on disk.
//! - `browse_args`: arguments of the commands that show what servers offer. `help`: the groups of commands in the
//!   help. `uri_template`: URIs with variables.
//! - `render`: content of servers as lines. `present`: content on standard output.
//! - `file_replace`: files that are replaced in one step.
//! - `clients`: other programs that use MCP servers, and their files. `doctor`: checks for the usual mistakes.
//! - `debug`: messages between this process and a server.
//! - `error`, `login_error`: failures with hints and exit codes. `output`: printing. `visible`: text of peers.

mod access;
mod age;
mod args;
mod argument_type;
mod arguments;
mod browse_args;
mod canonical_json;
mod client_choice;
mod client_secret;
mod clients;
mod command;
mod config;
mod config_args;
mod configured_login;
mod consent;
mod credentials;
mod data_dir;
mod debug;
mod debug_args;
mod definition_text;
mod doctor;
mod elicitation;
mod endpoint;
mod error;
mod file_replace;
mod gateway;
mod help;
mod http_limits;
mod identity;
mod instance;
mod keychain;
mod login_args;
mod login_error;
mod logins;
mod network;
mod output;
mod present;
mod provider_choice;
mod render;
mod saved_catalog;
mod server;
mod server_choice;
mod service;
mod setup;
mod setup_args;
mod stop;
mod suggestion;
mod target;
mod token;
mod uri_template;
mod visible;

use std::io;
use std::process::ExitCode;
use std::time::Duration;

use callgate_mcp::transport::child::{STDERR_TARGET, supervisor};
use tokio::runtime::{Builder, Runtime};
use tracing_subscriber::EnvFilter;

use crate::args::{Cli, Command, ConnectionArgs};
use crate::command::browse::Browse;
use crate::command::change::Change;
use crate::config::LoadOptions;
use crate::error::CommandError;
use crate::gateway::SERVERS_LOG;
use crate::output::LogWriter;
use crate::render::screen::Screen;

fn main() -> ExitCode {
    // First of all: a process that is started as a supervisor does nothing else.
    if let Some(exit) = supervisor::run_if_requested(std::env::args_os()) {
        return exit;
    }
    // Without a command, a user on a terminal sees the state; everyone else the help.
    if std::env::args_os().len() == 1
        && output::is_terminal()
        && let Some(screen) = Screen::of_stdout()
    {
        let shown = command::overview::run(None, &screen);
        return shown.map_or_else(|error| error.report(false), |()| ExitCode::SUCCESS);
    }
    let cli = match help::parse(config_args::with_repeated_options(std::env::args_os())) {
        Ok(cli) => cli,
        Err(error) => return report(&error),
    };
    log_to_stderr(&cli.command);
    if matches!(cli.command, Command::Serve(_) | Command::Relay(_)) {
        callgate_mcp::allocator::keep_freed_memory();
    }
    if let Some(outcome) = run_at_once(&cli) {
        return match outcome {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => error.report(cli.json),
        };
    }
    let runtime = match runtime_of(&cli.command) {
        Ok(runtime) => runtime,
        Err(error) => return CommandError::from(error).report(cli.json),
    };
    let exit = match runtime.block_on(run(&cli)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error.report(cli.json),
    };
    // A thread that waits for the terminal cannot be stopped and must not delay the exit.
    runtime.shutdown_timeout(GRACE);
    exit
}

/// Time limit for blocking work that has begun.
const GRACE: Duration = Duration::from_secs(2);

/// Runtime of a command: threads for one that serves. Any other command waits for a few answers, and would only spend
/// time on starting threads and waking them.
fn runtime_of(command: &Command) -> io::Result<Runtime> {
    let mut builder = match command {
        Command::Serve(_) | Command::Relay(_) => Builder::new_multi_thread(),
        _ => Builder::new_current_thread(),
    };
    builder.enable_all().build()
}

/// Runs a command that waits for nothing, without a runtime; `None` for the others.
fn run_at_once(cli: &Cli) -> Option<Result<(), CommandError>> {
    let (config, data_dir, json) = (cli.config.as_deref(), cli.data_dir.as_deref(), cli.json);
    let options = || LoadOptions::new(config, data_dir);
    let change = |change, args| command::change::run(change, args, &options()?, json);
    let with_options = |run: &dyn Fn(&LoadOptions) -> Result<(), CommandError>| run(&options()?);
    Some(match &cli.command {
        Command::Debug(args) => debug::replay::run(args.replay.as_deref()?),
        Command::Get(args) => with_options(&|options| command::get::run(args, options, json)),
        Command::Add(args) => with_options(&|options| command::add::run(args, options, json)),
        Command::AddJson(args) => {
            with_options(&|options| command::add::run_json(args, options, json))
        }
        Command::Remove(args) => change(Change::Remove, args),
        Command::Enable(args) => change(Change::Enable, args),
        Command::Disable(args) => change(Change::Disable, args),
        Command::Config(args) => with_options(&|options| command::config::run(args, options, json)),
        Command::Import(args) => command::import::run(args, config, data_dir, json),
        Command::Connect(args) => command::connect::run(args, config, data_dir, json),
        Command::Disconnect(args) => command::disconnect::run(args, data_dir, json),
        Command::Setup(args) => command::setup::run(args, config, data_dir, json),
        Command::Service(args) => command::service::run(args, config, data_dir, json),
        Command::Ps => command::ps::run(data_dir, json),
        Command::Token => command::token::run(data_dir, json),
        Command::Search(args) => command::search::run(args, browse("search", None, cli)),
        Command::Completions(args) => command::completions::run(args),
        Command::Man(args) => command::man::run(args),
        Command::List(args) if args.server.is_none() && args.connection.server.stdio.is_none() => {
            match command::list::known_servers(args, config, data_dir) {
                Ok(listing) if listing.is_complete() => listing.print(json),
                Ok(_) => return None,
                Err(error) => Err(error),
            }
        }
        _ => return None,
    })
}

async fn run(cli: &Cli) -> Result<(), CommandError> {
    let (config, data_dir) = (cli.config.as_deref(), cli.data_dir.as_deref());
    match &cli.command {
        Command::Serve(args) => command::serve::run(args, config, data_dir, cli.json).await,
        Command::Relay(args) => command::relay::run(args, data_dir, cli.json).await,
        Command::List(args) => command::list::run(args, config, data_dir, cli.json).await,
        Command::Call(args) => command::call::run(args, config, data_dir, cli.json).await,
        Command::Inspect(args) => {
            command::inspect::run(args, browse("inspect", Some(&args.connection), cli)).await
        }
        Command::Prompts(args) => {
            command::prompts::run(args, browse("prompts", Some(&args.connection), cli)).await
        }
        Command::Prompt(args) => {
            command::prompt::run(args, browse("prompt", Some(&args.connection), cli)).await
        }
        Command::Resources(args) => {
            command::resources::run(args, browse("resources", Some(&args.connection), cli)).await
        }
        Command::Read(args) => {
            command::read::run(args, browse("read", Some(&args.connection), cli)).await
        }
        Command::Auth(args) => command::auth::run(args, config, data_dir, cli.json).await,
        Command::Logout(args) => command::logout::run(args, config, data_dir, cli.json).await,
        Command::Doctor(args) => command::doctor::run(args, config, data_dir, cli.json).await,
        Command::Debug(args) => command::debug::run(args, config, data_dir, cli.json).await,
        _ => run_at_once(cli).unwrap_or(Ok(())),
    }
}

/// Options of a command that shows what servers offer.
fn browse<'a>(
    command: &'static str,
    connection: Option<&'a ConnectionArgs>,
    cli: &'a Cli,
) -> Browse<'a> {
    Browse {
        command,
        connection,
        config: cli.config.as_deref(),
        data_dir: cli.data_dir.as_deref(),
        json: cli.json,
    }
}

/// Prints the result of a parse that failed: a mistake, or help and version, which are none.
fn report(error: &clap::Error) -> ExitCode {
    let is_mistake = error.use_stderr();
    if is_mistake && std::env::args_os().any(|word| word == "--json") {
        return CommandError::from(error).report(true);
    }
    if error.print().is_err() || is_mistake {
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// Warnings go to standard error; `CALLGATE_LOG=debug` asks for more.
fn log_to_stderr(command: &Command) {
    let usual = match command {
        // The user of a relay reads the log of the server here and nowhere else.
        Command::Relay(_) => format!("warn,{STDERR_TARGET}=info"),
        // Its user learns here that a server is back.
        Command::Serve(_) => format!("warn,{SERVERS_LOG}=info"),
        _ => "warn".to_owned(),
    };
    let filter = EnvFilter::try_from_env("CALLGATE_LOG").unwrap_or_else(|_| EnvFilter::new(usual));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(LogWriter)
        .with_ansi(false)
        .without_time()
        .init();
}
