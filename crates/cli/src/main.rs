//! The `callgate` binary: arguments, wiring, terminal.
//!
//! # Layout
//! - `args`: the command line. `command`: one file per command.
//! - `server`: connection to the server that a command names, with its `credentials`. `target`: one command's use of
//!   it. `network`: proxies and certificates.
//! - `arguments`: the arguments of a tool call. `elicitation`: questions of a server. `stop`: signals.
//! - `logins`: stored logins. `keychain`: the keychain of the system. `consent`: asking the user. `client_choice`,
//!   `identity`: the client and the identity token of a login. `provider_choice`: options for unusual providers.
//! - `endpoint`: HTTP and stdio of the commands that serve. `access`: their authentication. `http_limits`: their
//!   limits. `data_dir`, `token`: state on disk.
//! - `browse_args`: arguments of the commands that show what servers offer. `help`: the groups of commands in the
//!   help. `near_miss`: names that were perhaps meant. `uri_template`: URIs
//!   with variables.
//! - `render`: content of servers as lines. `present`: content on standard output.
//! - `error`, `login_error`: failures with hints and exit codes. `output`: printing. `visible`: text of peers.

mod access;
mod args;
mod arguments;
mod browse_args;
mod client_choice;
mod command;
mod config;
mod consent;
mod credentials;
mod data_dir;
mod elicitation;
mod endpoint;
mod error;
mod help;
mod http_limits;
mod identity;
mod keychain;
mod login_error;
mod logins;
mod near_miss;
mod network;
mod output;
mod present;
mod provider_choice;
mod render;
mod server;
mod stop;
mod target;
mod token;
mod uri_template;
mod visible;

use std::process::ExitCode;
use std::time::Duration;

use callgate_mcp::transport::child::{STDERR_TARGET, supervisor};
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
    let cli = match help::parse() {
        Ok(cli) => cli,
        Err(error) => return report(&error),
    };
    if let Some(done) = run_at_once(&cli) {
        return done.map_or_else(|error| error.report(cli.json), |()| ExitCode::SUCCESS);
    }
    log_to_stderr(&cli.command);
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

async fn run(cli: &Cli) -> Result<(), CommandError> {
    let data_dir = cli.data_dir.as_deref();
    match &cli.command {
        Command::Serve(args) => command::serve::run(args, data_dir, cli.json).await,
        Command::Relay(args) => command::relay::run(args, data_dir, cli.json).await,
        Command::List(args) => command::list::run(args, data_dir, cli.json).await,
        Command::Call(args) => command::call::run(args, data_dir, cli.json).await,
        Command::Inspect(args) => command::inspect::run(args, data_dir, cli.json).await,
        Command::Prompts(args) => command::prompts::run(args, data_dir, cli.json).await,
        Command::Prompt(args) => command::prompt::run(args, data_dir, cli.json).await,
        Command::Resources(args) => command::resources::run(args, data_dir, cli.json).await,
        Command::Read(args) => command::read::run(args, data_dir, cli.json).await,
        Command::Auth(args) => command::auth::run(args, data_dir, cli.json).await,
        Command::Logout(args) => command::logout::run(args, data_dir, cli.json).await,
        Command::Token | Command::Completions(_) | Command::Man(_) => Ok(()),
    }
}

/// Runs a command that needs no runtime; `None` for all others.
fn run_at_once(cli: &Cli) -> Option<Result<(), CommandError>> {
    match &cli.command {
        Command::Token => Some(command::token::run(cli.data_dir.as_deref(), cli.json)),
        Command::Completions(args) => Some(command::completions::run(args)),
        Command::Man(args) => Some(command::man::run(args)),
        _ => None,
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
