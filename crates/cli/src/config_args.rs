//! Command lines of the commands that show and edit the configuration.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub(crate) command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print the path of the file that `add` writes
    Path {
        /// Print the paths of all files that apply here
        #[arg(long)]
        all: bool,
    },
    /// Check configuration files, and report every mistake
    Validate {
        /// The files; without them, all that apply here
        #[arg(value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Print the JSON Schema of configuration files
    Schema,
    /// Show the servers and files that apply here
    Show,
    /// Trust the servers of a project's file as it is now
    Trust(Trust),
}

#[derive(Debug, Args)]
pub(crate) struct Trust {
    /// The files; without them, those that apply here
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Do not ask, for scripts; show the servers all the same
    #[arg(long)]
    pub(crate) yes: bool,

    /// Trust the files no longer
    #[arg(long, conflicts_with = "yes")]
    pub(crate) revoke: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Get {
    /// The name of the server
    pub(crate) name: String,
}

#[derive(Debug, Args)]
#[command(
    override_usage = "callgate add [OPTIONS] <NAME> <URL>\n       callgate add [OPTIONS] <NAME> -- <COMMAND> [ARGS]...",
    after_help = "Values with ${VARIABLE} are written as they are and get their value when the server is used, so that no secret is in the file."
)]
pub(crate) struct Add {
    /// The transport [default: http for a URL, else stdio]
    #[arg(short, long)]
    pub(crate) transport: Option<TransportName>,

    #[command(flatten)]
    pub(crate) file: FileChoice,

    /// A variable of the command, NAME=VALUE; may be repeated
    #[arg(short, long, value_name = "NAME=VALUE", value_parser = pair)]
    pub(crate) env: Vec<(String, String)>,

    /// A header of every request; may be repeated
    #[arg(short = 'H', long, value_name = "NAME: VALUE", value_parser = header)]
    pub(crate) header: Vec<(String, String)>,

    /// The URL of the server, in place of the argument
    #[arg(long, value_name = "URL", conflicts_with = "words")]
    pub(crate) url: Option<String>,

    /// Log in as the client with this id, which was registered by hand
    #[arg(long, value_name = "ID")]
    pub(crate) client_id: Option<String>,

    /// Ask for the secret of that client, or take it from the variable MCP_CLIENT_SECRET; it is stored with the login
    #[arg(long, requires = "client_id")]
    pub(crate) client_secret: bool,

    /// Redirect the browser to this port at logins
    #[arg(long, value_name = "PORT")]
    pub(crate) callback_port: Option<u16>,

    /// Replace the server if there is one with this name
    #[arg(long)]
    pub(crate) force: bool,

    /// The name of the server
    pub(crate) name: String,

    /// The URL of the server, or a command and its arguments
    #[arg(value_name = "URL or COMMAND", required_unless_present = "url")]
    pub(crate) words: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct AddJson {
    #[command(flatten)]
    pub(crate) file: FileChoice,

    /// Ask for the secret of the client in `oauth.clientId`, or take it from the variable MCP_CLIENT_SECRET; it is stored with the login
    #[arg(long)]
    pub(crate) client_secret: bool,

    /// Replace the server if there is one with this name
    #[arg(long)]
    pub(crate) force: bool,

    /// The name of the server
    pub(crate) name: String,

    /// Its definition, as it stands under the name in `mcpServers`
    #[arg(value_name = "JSON")]
    pub(crate) definition: String,
}

/// A server to edit.
#[derive(Debug, Args)]
pub(crate) struct EditArgs {
    #[command(flatten)]
    pub(crate) file: FileChoice,

    /// The name of the server
    pub(crate) name: String,
}

/// File of an edit.
#[derive(Debug, Args)]
pub(crate) struct FileChoice {
    /// The file to edit: `user` (or `local`), or `project` for .mcp.json
    #[arg(short, long)]
    pub(crate) scope: Option<ScopeName>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScopeName {
    Local,
    User,
    Project,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TransportName {
    Stdio,
    Sse,
    #[value(alias = "streamable-http")]
    Http,
}

/// The command line with an option in front of each further value of `add -e A=1 B=2` and `add -H "A: 1" "B: 2"`,
/// which `claude mcp add` accepts.
pub(crate) fn with_repeated_options(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut spread: Vec<OsString> = Vec::new();
    let mut option: Option<Repeated> = None;
    let mut is_add = false;
    let mut words = words;
    for word in words.by_ref() {
        let text = word.to_str().unwrap_or_default();
        if text == "--" {
            spread.push(word);
            break;
        }
        is_add |= text == "add";
        let follows_option = spread
            .last()
            .is_some_and(|last| matches!(last.to_str(), Some("-e" | "--env" | "-H" | "--header")));
        match text {
            "-e" | "--env" => option = Some(("-e", is_pair)),
            "-H" | "--header" => option = Some(("-H", is_header)),
            _ if follows_option => {}
            text => match option {
                Some((name, is_value)) if is_add && is_value(text) => spread.push(name.into()),
                _ => option = None,
            },
        }
        spread.push(word);
    }
    spread.extend(words);
    spread
}

/// An option, and a test of its further values.
type Repeated = (&'static str, fn(&str) -> bool);

fn is_pair(text: &str) -> bool {
    let Some((name, _)) = text.split_once('=') else {
        return false;
    };
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.is_empty() && name.chars().all(is_name)
}

fn is_header(text: &str) -> bool {
    let Some((name, value)) = text.split_once(':') else {
        return false;
    };
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !name.is_empty() && name.chars().all(is_name) && value.starts_with(' ')
}

fn pair(text: &str) -> Result<(String, String), &'static str> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write it as NAME=VALUE"),
    }
}

fn header(text: &str) -> Result<(String, String), &'static str> {
    match text.split_once(':') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("write it as \"NAME: VALUE\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_values_of_an_option_are_repeated_options() {
        for (words, expect) in [
            (
                "callgate add s -e A=1 B=2 -- x -e C=3 D=4",
                "callgate add s -e A=1 -e B=2 -- x -e C=3 D=4",
            ),
            ("callgate add -e A=1 s x", "callgate add -e A=1 s x"),
            (
                "callgate add s x -e A=1 y B=2",
                "callgate add s x -e A=1 y B=2",
            ),
            ("callgate call s -e A=1 B=2", "callgate call s -e A=1 B=2"),
        ] {
            let words = words.split(' ').map(OsString::from);
            assert_eq!(with_repeated_options(words).join(" ".as_ref()), expect);
        }
        let words = [
            "callgate",
            "add",
            "s",
            "https://a",
            "-H",
            "A: 1",
            "B: 2",
            "https://a",
        ];
        let words = words.into_iter().map(OsString::from);
        assert_eq!(
            with_repeated_options(words).join("|".as_ref()),
            "callgate|add|s|https://a|-H|A: 1|-H|B: 2|https://a"
        );
    }
}
