use std::net::SocketAddr;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::browse_args::{Completions, Inspect, Man, Prompt, Prompts, Read, Resources, Search};
use crate::clients::table;
use crate::config_args::{Add, AddJson, ConfigArgs, EditArgs, Get};
use crate::debug_args::Debug;
use crate::login_args::{Auth, Logout, account};
use crate::setup_args::{ServiceArgs, Setup};

/// The one process that owns an AI agent's tools
#[derive(Debug, Parser)]
#[command(name = "callgate", version, arg_required_else_help = true)]
pub(crate) struct Cli {
    /// Print JSON instead of text
    #[arg(long, global = true, display_order = 900)]
    pub(crate) json: bool,

    /// Store state in this directory instead of the user's data directory
    #[arg(long, global = true, value_name = "DIR", display_order = 901)]
    pub(crate) data_dir: Option<PathBuf>,

    /// Use this configuration file alone, instead of those of the project and the user
    #[arg(long, global = true, value_name = "FILE", display_order = 902)]
    pub(crate) config: Option<PathBuf>,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Import servers of your clients, connect them, and run `serve`
    Setup(Setup),
    /// Serve the configured servers and the built-in tools to agents
    Serve(Box<Serve>),
    /// Run `serve` in the background, as a service of your user
    Service(ServiceArgs),
    /// Serve a URL to stdio clients, or a command to HTTP clients
    Relay(Box<Relay>),
    /// List the configured servers, or the tools of one server
    List(List),
    /// Call a tool of a server
    Call(Call),
    /// Show a server, or a tool with its arguments
    Inspect(Inspect),
    /// List the prompts of a server, or of all
    Prompts(Prompts),
    /// Print a prompt, filled in with arguments
    Prompt(Prompt),
    /// List the resources of a server, or of all
    Resources(Resources),
    /// Print the contents of a resource
    Read(Read),
    /// Find tools, prompts and resources of all servers by words
    Search(Search),
    /// Log in to a server, or manage the stored logins
    #[command(visible_alias = "login")]
    Auth(Box<Auth>),
    /// Log out of a server
    Logout(Logout),
    /// List the server processes that run, of all `callgate` processes
    Ps,
    /// Look for the usual mistakes, and say how to repair each
    Doctor(Doctor),
    /// Show every message between this program and a server
    Debug(Debug),
    /// Print the token that clients of `serve` must send
    Token,
    /// Add servers of another client, or list the clients with some
    Import(Import),
    /// Add Callgate to the configuration of another client
    Connect(Connect),
    /// Remove Callgate from the configuration of another client
    Disconnect(Disconnect),
    /// Show a server of the configuration
    Get(Get),
    /// Add a server to the configuration
    Add(Box<Add>),
    /// Add a server to the configuration, as JSON
    AddJson(AddJson),
    /// Remove a server from the configuration
    Remove(EditArgs),
    /// Turn a server of the configuration on
    Enable(EditArgs),
    /// Turn a server of the configuration off
    Disable(EditArgs),
    /// Show, check and trust configuration files
    Config(ConfigArgs),
    /// Print a script that completes commands in a shell
    Completions(Completions),
    /// Print a manual page, or write all
    Man(Man),
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Speak over standard input and output instead of HTTP
    #[arg(long, conflicts_with_all = HTTP_OPTIONS)]
    pub(crate) stdio: bool,

    /// The directory that the workspace tools may use [default: .]
    #[arg(long, value_name = "DIR", conflicts_with = "no_workspace")]
    pub(crate) workspace: Option<PathBuf>,

    /// Serve no workspace tools
    #[arg(long)]
    pub(crate) no_workspace: bool,

    /// Connect the servers in this process, and neither use those of other processes nor share them
    #[arg(long, visible_alias = "direct", requires = "stdio")]
    pub(crate) no_attach: bool,

    /// Serve at most this many subscriptions [default: 10000]
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub(crate) max_subscriptions: Option<usize>,

    // The last one: its limits have a heading of their own, under which all options after it would stand.
    #[command(flatten)]
    pub(crate) http: HttpArgs,
}

#[derive(Debug, Args)]
#[command(
    override_usage = "callgate relay [OPTIONS] <URL>\n       callgate relay [OPTIONS] --stdio <COMMAND>"
)]
pub(crate) struct Relay {
    /// Answer clients over standard input and output instead of HTTP
    #[arg(long, conflicts_with_all = HTTP_OPTIONS)]
    pub(crate) serve_stdio: bool,

    #[command(flatten)]
    pub(crate) server: ServerArgs,

    /// End a call after this many seconds without an answer or progress
    #[arg(long, value_name = "SECONDS", default_value_t = 3600)]
    pub(crate) timeout: u64,

    /// The server: an http(s) URL, unless --stdio is given
    #[arg(
        value_name = "URL",
        required_unless_present = "stdio",
        conflicts_with = "stdio"
    )]
    pub(crate) url: Option<String>,

    // The last one: its limits have a heading of their own, under which all options after it would stand.
    #[command(flatten)]
    pub(crate) http: HttpArgs,
}

/// The options of [`HttpArgs`] that need no other of them.
const HTTP_OPTIONS: [&str; 8] = [
    "HttpLimits",
    "listen",
    "no_auth",
    "issuer",
    "scope",
    "resource",
    "audience",
    "introspection_client_id",
];

/// Address and authentication of an HTTP endpoint.
#[derive(Debug, Args)]
pub(crate) struct HttpArgs {
    /// Listen on this loopback address [default: 127.0.0.1:3000]
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    pub(crate) listen: Option<SocketAddr>,

    /// Accept requests without a token
    #[arg(long)]
    pub(crate) no_auth: bool,

    /// Accept the access tokens of this OAuth issuer instead of the one that `token` prints
    #[arg(long, value_name = "URL", conflicts_with = "no_auth")]
    pub(crate) issuer: Option<String>,

    /// Demand this scope of every token; may be repeated
    #[arg(long, value_name = "SCOPE", requires = "issuer")]
    pub(crate) scope: Vec<String>,

    /// The URL by which clients and tokens name this server, if a proxy is in front of it
    #[arg(long, value_name = "URL", requires = "issuer")]
    pub(crate) resource: Option<String>,

    /// Accept tokens for this audience instead of the URL of this server; may be repeated
    #[arg(long, value_name = "AUDIENCE", requires = "issuer")]
    pub(crate) audience: Vec<String>,

    /// Accept opaque tokens too, and ask the issuer about them as the client with this id
    #[arg(long, value_name = "ID", requires_all = ["issuer", "introspection_client_secret_file"])]
    pub(crate) introspection_client_id: Option<String>,

    /// The file with the secret of that client
    #[arg(long, value_name = "FILE", requires = "introspection_client_id")]
    pub(crate) introspection_client_secret_file: Option<PathBuf>,

    /// Ask about opaque tokens at this URL instead of the one in the metadata of the issuer
    #[arg(long, value_name = "URL", requires = "introspection_client_id")]
    pub(crate) introspection_endpoint: Option<String>,

    #[command(flatten)]
    pub(crate) limits: HttpLimits,
}

/// Limits of the HTTP server; those that are not given have the default of the library.
#[derive(Debug, Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct HttpLimits {
    /// Serve at most this many connections [default: 12000]
    #[arg(long, value_name = "N")]
    pub(crate) max_connections: Option<usize>,

    /// Serve at most this many connections from one address [default: 512]
    #[arg(long, value_name = "N")]
    pub(crate) max_connections_per_address: Option<usize>,

    /// Keep at most this many connections that have sent no valid token yet [default: 1024]
    #[arg(long, value_name = "N")]
    pub(crate) max_unauthenticated_connections: Option<usize>,

    /// Keep at most this many sessions of clients before 2026-07-28 [default: 2048]
    #[arg(long, value_name = "N")]
    pub(crate) max_sessions: Option<usize>,

    /// Keep at most this many sessions of one caller before 2026-07-28 [default: 1024]
    #[arg(long, value_name = "N")]
    pub(crate) max_sessions_per_caller: Option<usize>,

    /// Refuse requests while this many MiB of all answers are unread [default: 256]
    #[arg(long, value_name = "MIB")]
    pub(crate) max_unread_mib: Option<usize>,

    /// Refuse requests of a caller while this many MiB of its answers are unread [default: 128]
    #[arg(long, value_name = "MIB")]
    pub(crate) max_unread_mib_per_caller: Option<usize>,
}

#[derive(Debug, Args)]
#[command(
    override_usage = "callgate list [OPTIONS] [SERVER]\n       callgate list [OPTIONS] --stdio <COMMAND>"
)]
pub(crate) struct List {
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,

    /// Connect to every server instead of using saved tool lists
    #[arg(long, conflicts_with_all = ["stdio", "server"])]
    pub(crate) refresh: bool,

    /// Connect in this process, instead of using servers that run already
    #[arg(long, visible_alias = "no-attach", conflicts_with = "stdio")]
    pub(crate) direct: bool,

    /// List the tools of this server: the name of a configured one, or an http(s) URL
    #[arg(value_name = "SERVER", conflicts_with = "stdio")]
    pub(crate) server: Option<String>,
}

#[derive(Debug, Args)]
#[command(
    override_usage = "callgate call [OPTIONS] <SERVER>/<TOOL> [ARGUMENTS]...\n       callgate call [OPTIONS] <URL> <TOOL> [ARGUMENTS]...\n       callgate call [OPTIONS] --stdio <COMMAND> <TOOL> [ARGUMENTS]..."
)]
pub(crate) struct Call {
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,

    /// Connect in this process, instead of using the server of a running `serve`
    #[arg(long, visible_alias = "no-attach", conflicts_with = "stdio")]
    pub(crate) direct: bool,

    /// The tool of a configured server as SERVER/TOOL, or a URL and a tool (with --stdio only the tool),
    /// and its arguments: a JSON object, key=value, key:=json, key=@file, or - for a JSON object on standard input
    #[arg(value_name = "WORDS", required = true, num_args = 1..)]
    pub(crate) words: Vec<String>,
}

/// Server that a command is about, apart from its URL, and the time that it has for an answer.
#[derive(Debug, Args)]
pub(crate) struct ConnectionArgs {
    #[command(flatten)]
    pub(crate) server: ServerArgs,

    /// Give up after this many seconds without an answer or progress [default: 30]
    #[arg(long, value_name = "SECONDS")]
    pub(crate) timeout: Option<u64>,
}

/// Connection options of a server that is given on the command line.
#[derive(Debug, Args)]
pub(crate) struct ServerArgs {
    /// Start this command and speak with it over standard input and output
    #[arg(long, value_name = "COMMAND")]
    pub(crate) stdio: Option<String>,

    /// Set an environment variable for the command; NAME alone copies the current value; may be repeated
    #[arg(long, value_name = "NAME[=VALUE]", requires = "stdio", value_parser = variable)]
    pub(crate) env: Vec<(String, String)>,

    /// Send this header with every request; may be repeated
    #[arg(long, value_name = "NAME: VALUE", conflicts_with = "stdio")]
    pub(crate) header: Vec<String>,

    /// Send the bearer token in this file. Without it and without a login, CALLGATE_TOKEN is sent to the URL in CALLGATE_TOKEN_FOR
    #[arg(long, value_name = "FILE", conflicts_with = "stdio")]
    pub(crate) token_file: Option<PathBuf>,

    /// Use the login that was stored with `callgate auth --account NAME`
    #[arg(long, value_name = "NAME", conflicts_with_all = ["stdio", "token_file"], value_parser = account)]
    pub(crate) account: Option<String>,

    /// Trust the certificate authorities in this PEM file, besides those of the system; the variable CALLGATE_CA_FILE does the same
    #[arg(long, value_name = "FILE", conflicts_with = "stdio")]
    pub(crate) ca_file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Do not connect to the servers
    #[arg(long)]
    pub(crate) offline: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Import {
    /// The client whose servers are added; without it, clients are listed
    #[arg(value_name = "CLIENT", value_parser = client_names(), hide_possible_values = true)]
    pub(crate) client: Option<String>,

    /// Import from all clients that are found; if a name occurs twice, the first one is used
    #[arg(long, conflicts_with = "client")]
    pub(crate) all: bool,

    /// Read the files of the user, or those of the project in this directory
    #[arg(long, value_name = "SCOPE", default_value = "user")]
    pub(crate) scope: ClientScope,

    /// Show what would be added, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Files of a client that are read, and of ours that are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ClientScope {
    User,
    Project,
}

#[derive(Debug, Args)]
pub(crate) struct Connect {
    /// The client
    #[arg(value_name = "CLIENT", value_parser = client_names())]
    pub(crate) client: String,

    /// Have the client send its requests to a running `callgate serve` instead of starting one
    #[arg(long)]
    pub(crate) http: bool,

    /// URL of that server
    #[arg(
        long,
        value_name = "URL",
        requires = "http",
        default_value = "http://127.0.0.1:3000/mcp"
    )]
    pub(crate) url: String,

    /// Show the change, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Write without a question
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Disconnect {
    /// The client
    #[arg(value_name = "CLIENT", value_parser = client_names(), hide_possible_values = true)]
    pub(crate) client: String,

    /// Tell what would be done, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Names of clients, so that a mistake is answered with the nearest one.
fn client_names() -> PossibleValuesParser {
    let names = table::all().iter().map(|client| {
        let name = PossibleValue::new(client.id.as_str()).help(client.name.as_str());
        name.aliases(client.aliases.iter().map(String::as_str))
    });
    PossibleValuesParser::new(names)
}

fn address(text: &str) -> Result<SocketAddr, &'static str> {
    let usage = "write it as IP:PORT, for example 127.0.0.1:3000";
    text.parse().map_err(|_| usage)
}

/// A variable for a command. The value stays out of the arguments, which other users can read, if it is
/// taken from our environment.
fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        _ if text.is_empty() || text.starts_with('=') => {
            Err("write it as NAME or NAME=VALUE".to_owned())
        }
        Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
        None => match std::env::var(text) {
            Ok(value) => Ok((text.to_owned(), value)),
            Err(error) => Err(error.to_string()),
        },
    }
}
