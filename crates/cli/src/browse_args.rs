//! Arguments of the commands that show what servers offer.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

use crate::args::ConnectionArgs;

#[derive(Debug, Args)]
#[command(
    override_usage = "callgate inspect [OPTIONS] <SERVER>[/<TOOL>]\n       callgate inspect [OPTIONS] <URL> [TOOL]\n       callgate inspect [OPTIONS] --stdio <COMMAND> [TOOL]"
)]
pub(crate) struct Inspect {
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,

    /// A configured server as SERVER or a tool of it as SERVER/TOOL, or a URL and a tool (with --stdio only the tool)
    #[arg(value_name = "WORDS", required_unless_present = "stdio", num_args = 0..=2)]
    pub(crate) words: Vec<String>,
}

#[derive(Debug, Args)]
#[command(
    override_usage = "callgate prompts [OPTIONS] [SERVER]\n       callgate prompts [OPTIONS] <URL>\n       callgate prompts [OPTIONS] --stdio <COMMAND>"
)]
pub(crate) struct Prompts {
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,

    /// The server: the name of a configured one, or an http(s) URL; all configured servers if there is none
    #[arg(value_name = "SERVER", num_args = 0..=1, conflicts_with = "stdio")]
    pub(crate) server: Vec<String>,
}

#[derive(Debug, Args)]
#[command(
    override_usage = "callgate prompt [OPTIONS] <SERVER>:<PROMPT> [ARGUMENTS]...\n       callgate prompt [OPTIONS] <URL> <PROMPT> [ARGUMENTS]...\n       callgate prompt [OPTIONS] --stdio <COMMAND> <PROMPT> [ARGUMENTS]..."
)]
pub(crate) struct Prompt {
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,

    /// The prompt of a configured server as SERVER:PROMPT, or a URL and a prompt (with --stdio only the prompt),
    /// and its arguments: key=value, or values in their order
    #[arg(value_name = "WORDS", required = true, num_args = 1..)]
    pub(crate) words: Vec<String>,
}

#[derive(Debug, Args)]
#[command(
    override_usage = "callgate resources [OPTIONS] [SERVER]\n       callgate resources [OPTIONS] <URL>\n       callgate resources [OPTIONS] --stdio <COMMAND>"
)]
pub(crate) struct Resources {
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,

    /// The server: the name of a configured one, or an http(s) URL; all configured servers if there is none
    #[arg(value_name = "SERVER", num_args = 0..=1, conflicts_with = "stdio")]
    pub(crate) server: Vec<String>,
}

#[derive(Debug, Args)]
#[command(
    override_usage = "callgate read [OPTIONS] <URI> [NAME=VALUE]...\n       callgate read [OPTIONS] <URL> <URI> [NAME=VALUE]...\n       callgate read [OPTIONS] --stdio <COMMAND> <URI> [NAME=VALUE]..."
)]
pub(crate) struct Read {
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,

    /// Write the contents to this file, which must not exist, instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// The URI of a resource of a configured server, alone, as mcp://SERVER/URI or after the name of the server;
    /// or a URL and a URI (with --stdio only the URI); and name=value for each variable of a URI template
    #[arg(value_name = "WORDS", required = true, num_args = 1..)]
    pub(crate) words: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Search {
    /// Show at most this many
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) limit: usize,

    /// Words of the name, the description or the arguments
    #[arg(value_name = "WORDS", required = true, num_args = 1..)]
    pub(crate) words: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct Man {
    /// Command to print the page of, such as `call` or `auth status` [default: an overview]
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Vec<String>,

    /// Write the pages of all commands to this directory
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    pub(crate) dir: Option<PathBuf>,
}
