//! Arguments of the commands that show what servers offer.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

use crate::args::ConnectionArgs;

#[derive(Debug, Args)]
#[command(
    override_usage = "callgate inspect [OPTIONS] <URL> [TOOL]\n       callgate inspect [OPTIONS] --stdio <COMMAND> [TOOL]"
)]
pub(crate) struct Inspect {
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,

    /// The URL of the server (unless --stdio is given), and a tool of it
    #[arg(value_name = "WORDS", num_args = 0..=2)]
    pub(crate) words: Vec<String>,
}

#[derive(Debug, Args)]
#[command(
    override_usage = "callgate prompts [OPTIONS] <URL>\n       callgate prompts [OPTIONS] --stdio <COMMAND>"
)]
pub(crate) struct Prompts {
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,

    /// The server: an http(s) URL, unless --stdio is given
    #[arg(value_name = "URL")]
    pub(crate) server: Option<String>,
}

#[derive(Debug, Args)]
#[command(
    override_usage = "callgate prompt [OPTIONS] <URL> <PROMPT> [ARGUMENTS]...\n       callgate prompt [OPTIONS] --stdio <COMMAND> <PROMPT> [ARGUMENTS]..."
)]
pub(crate) struct Prompt {
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,

    /// The URL of the server (unless --stdio is given), the prompt, and its arguments: key=value, or values in their order
    #[arg(value_name = "WORDS", required = true, num_args = 1..)]
    pub(crate) words: Vec<String>,
}

#[derive(Debug, Args)]
#[command(
    override_usage = "callgate resources [OPTIONS] <URL>\n       callgate resources [OPTIONS] --stdio <COMMAND>"
)]
pub(crate) struct Resources {
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,

    /// The server: an http(s) URL, unless --stdio is given
    #[arg(value_name = "URL")]
    pub(crate) server: Option<String>,
}

#[derive(Debug, Args)]
#[command(
    override_usage = "callgate read [OPTIONS] <URL> <URI> [NAME=VALUE]...\n       callgate read [OPTIONS] --stdio <COMMAND> <URI> [NAME=VALUE]..."
)]
pub(crate) struct Read {
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,

    /// Write the contents to this file, which must not exist, instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// The URL of the server (unless --stdio is given), the URI of the resource, and name=value for each variable of a URI template
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
    /// Write the pages of all commands to this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}
