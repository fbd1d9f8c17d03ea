//! The `callgate` binary: arguments, wiring, terminal.
//!
//! # Layout
//! - `args`: the command line. `command`: one file per command.
//! - `server`: connection to the server that a command names, with its `credentials`. `target`: one command's use of
//!   it. `network`: proxies and certificates.
//! - `config`: the servers and settings in configuration files. `suggestion`: near misses of names.
//! - `arguments`: the arguments of a tool call. `elicitation`: questions of a server. `stop`: signals.
//! - `logins`: stored logins. `keychain`: the keychain of the system. `consent`: asking the user. `client_choice`,
//!   `identity`: the client and the identity token of a login. `provider_choice`: options for unusual providers.
//! - `endpoint`: HTTP and stdio of the commands that serve. `access`: their authentication. `http_limits`: their
//!   limits. `data_dir`, `token`: state on disk.
//! - `debug`: messages between this process and a server. `doctor`: the usual mistakes.
//! - `clients`: other programs that use MCP servers, and their files.
//! - `error`, `login_error`: failures with hints and exit codes. `output`: printing. `visible`: text of peers.

mod access;
mod age;
mod args;
mod arguments;
mod client_choice;
mod clients;
mod command;
mod config;
mod configured_login;
mod consent;
mod credentials;
mod data_dir;
mod debug;
mod debug_args;
mod doctor;
mod elicitation;
mod endpoint;
mod error;
mod gateway;
mod http_limits;
mod identity;
mod instance;
mod keychain;
mod login_error;
mod logins;
mod network;
mod output;
mod provider_choice;
mod server;
mod server_choice;
mod stop;
mod suggestion;
mod target;
mod token;
mod visible;

use std::process::ExitCode;
use std::time::Duration;

use callgate_mcp::transport::child::{STDERR_TARGET, supervisor};
use clap::Parser;
use tokio::runtime::Runtime;
use tracing_subscriber::EnvFilter;

use crate::args::{Cli, Command};
use crate::error::CommandError;
use crate::output::LogWriter;

fn main() -> ExitCode {
    // First of all: a process that is started as a supervisor does nothing else.
    if let Some(exit) = supervisor::run_if_requested(std::env::args_os()) {
        return exit;
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return report(&error),
    };
    log_to_stderr(&cli.command);
    if let Some(outcome) = run_at_once(&cli) {
        return match outcome {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => error.report(cli.json),
        };
    }
    let runtime = match Runtime::new() {
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

/// Runs a command that waits for nothing, without a runtime; `None` for the others.
fn run_at_once(cli: &Cli) -> Option<Result<(), CommandError>> {
    let (config, data_dir) = (cli.config.as_deref(), cli.data_dir.as_deref());
    match &cli.command {
        Command::Debug(args) => args.replay.as_deref().map(debug::replay::run),
        Command::Ps => Some(command::ps::run(data_dir, cli.json)),
        Command::Token => Some(command::token::run(data_dir, cli.json)),
        Command::Import(args) => Some(command::import::run(args, config, data_dir, cli.json)),
        Command::Connect(args) => Some(command::connect::run(args, config, data_dir, cli.json)),
        Command::Disconnect(args) => Some(command::disconnect::run(args, data_dir, cli.json)),
        Command::List(args) if args.server.is_none() && args.connection.server.stdio.is_none() => {
            match command::list::known_servers(args, config, data_dir) {
                Ok(listing) if listing.is_complete() => Some(listing.print(cli.json)),
                Ok(_) => None,
                Err(error) => Some(Err(error)),
            }
        }
        _ => None,
    }
}

async fn run(cli: &Cli) -> Result<(), CommandError> {
    let (config, data_dir) = (cli.config.as_deref(), cli.data_dir.as_deref());
    match &cli.command {
        Command::Serve(args) => command::serve::run(args, config, data_dir, cli.json).await,
        Command::Relay(args) => command::relay::run(args, data_dir, cli.json).await,
        Command::List(args) => command::list::run(args, config, data_dir, cli.json).await,
        Command::Call(args) => command::call::run(args, config, data_dir, cli.json).await,
        Command::Auth(args) => command::auth::run(args, config, data_dir, cli.json).await,
        Command::Logout(args) => command::logout::run(args, config, data_dir, cli.json).await,
        Command::Ps => command::ps::run(data_dir, cli.json),
        Command::Doctor(args) => command::doctor::run(args, config, data_dir, cli.json).await,
        Command::Debug(args) => command::debug::run(args, config, data_dir, cli.json).await,
        Command::Token => command::token::run(data_dir, cli.json),
        Command::Import(args) => command::import::run(args, config, data_dir, cli.json),
        Command::Connect(args) => command::connect::run(args, config, data_dir, cli.json),
        Command::Disconnect(args) => command::disconnect::run(args, data_dir, cli.json),
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
