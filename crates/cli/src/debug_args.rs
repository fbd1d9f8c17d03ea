use std::path::PathBuf;

use clap::Args;

use crate::args::ConnectionArgs;

/// Arguments of `debug`.
#[derive(Debug, Args)]
#[command(
    override_usage = "callgate debug [OPTIONS] <SERVER> [TOOL] [ARGUMENTS]...\n       callgate debug [OPTIONS] --stdio <COMMAND> [TOOL] [ARGUMENTS]...\n       callgate debug --replay <FILE>"
)]
pub(crate) struct Debug {
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,

    /// Show the whole of each message
    #[arg(long)]
    pub(crate) full: bool,

    /// Save the messages to this new file, a JSON object in each line
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<PathBuf>,

    /// Be the server of this saved file: answer a client on standard input as it did
    #[arg(long, value_name = "FILE", conflicts_with_all = ["words", "save", "stdio", "full"])]
    pub(crate) replay: Option<PathBuf>,

    /// The server: the name of a configured one or an http(s) URL (with --stdio none); then a tool to call, if any, and its arguments, as in `call`
    #[arg(value_name = "WORDS", num_args = 0..)]
    pub(crate) words: Vec<String>,
}
