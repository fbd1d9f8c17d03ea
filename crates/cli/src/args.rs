use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// The one process that owns an AI agent's tools
#[derive(Debug, Parser)]
#[command(name = "callgate", version, arg_required_else_help = true)]
pub(crate) struct Cli {
    /// Print JSON instead of text
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// Keep state here instead of the user's data directory
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve the built-in tools over HTTP, or over standard input and output
    Serve(Serve),
    /// List the tools of a server
    List(List),
    /// Call a tool of a server
    Call(Call),
    /// Print the token that clients of `serve` must send
    Token,
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Speak over standard input and output instead of HTTP
    #[arg(long, conflicts_with_all = ["listen", "no_auth", "issuer"])]
    pub(crate) stdio: bool,

    /// Listen on this loopback address
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:3000")]
    pub(crate) listen: SocketAddr,

    /// Answer without a token
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

    /// The directory that the workspace tools may use
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) workspace: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    #[command(flatten)]
    pub(crate) reach: Reach,

    /// The server: an http(s) URL, unless --stdio is given
    #[arg(value_name = "URL", required_unless_present = "stdio")]
    pub(crate) url: Option<String>,
}

#[derive(Debug, Args)]
#[command(
    override_usage = "callgate call [OPTIONS] <URL> <TOOL> [ARGUMENTS]...\n       callgate call [OPTIONS] --stdio <COMMAND> <TOOL> [ARGUMENTS]..."
)]
pub(crate) struct Call {
    #[command(flatten)]
    pub(crate) reach: Reach,

    /// The URL of the server (unless --stdio is given), the tool, and its arguments:
    /// a JSON object, key=value, key:=json, key=@file, or - for a JSON object on standard input
    #[arg(value_name = "WORDS", required = true, num_args = 1..)]
    pub(crate) words: Vec<String>,
}

/// How to reach a server that is given on the command line.
#[derive(Debug, Args)]
pub(crate) struct Reach {
    /// Start this command and speak with it over standard input and output
    #[arg(long, value_name = "COMMAND")]
    pub(crate) stdio: Option<String>,

    /// Send this header with every request; may be repeated
    #[arg(long, value_name = "NAME: VALUE", conflicts_with = "stdio")]
    pub(crate) header: Vec<String>,

    /// Send the bearer token in this file; the variable CALLGATE_TOKEN does the same
    #[arg(long, value_name = "FILE", conflicts_with = "stdio")]
    pub(crate) token_file: Option<PathBuf>,

    /// Give up when nothing is heard for this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    pub(crate) timeout: u64,
}
