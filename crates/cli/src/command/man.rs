use std::fs;

use anyhow::Context;
use clap::Command;
use clap_mangen::roff::{Roff, bold, roman};
use clap_mangen::{Man, generate_to};

use crate::browse_args;
use crate::error::CommandError;
use crate::suggestion::closest;
use crate::{help, output};

/// Prints the page of a command, or writes one for each.
pub(crate) fn run(args: &browse_args::Man) -> Result<(), CommandError> {
    if let Some(directory) = &args.dir {
        let written =
            fs::create_dir_all(directory).and_then(|()| generate_to(help::command(), directory));
        let written = written.with_context(|| format!("cannot write to {}", directory.display()));
        return written.map_err(|error| {
            CommandError::from(error).hint("name a directory that you can write to")
        });
    }
    Ok(output::bytes(page(&find(&args.command)?)?.as_bytes())?)
}

/// The command that `words` name, with the whole command line in its name.
fn find(words: &[String]) -> Result<Command, CommandError> {
    let mut command = help::command().disable_help_subcommand(true);
    command.build();
    let mut line = command.get_name().to_owned();
    for word in words {
        line = format!("{line} {word}");
        let Some(below) = command.find_subcommand(word).cloned() else {
            let names: Vec<&str> = shown(&command).map(Command::get_name).collect();
            let error = CommandError::usage(format!("there is no command `{line}`"));
            return Err(match closest(word, &names) {
                Some(close) => error.hint(format!("did you mean `{close}`?")),
                None => error.hint("run `callgate --help` to see the commands"),
            });
        };
        command = below;
    }
    Ok(command)
}

fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|it| !it.is_hide_set())
}

/// A page that stands alone: the commands below its own are those that the user types, in place of pages that
/// may not be there.
fn page(command: &Command) -> Result<String, CommandError> {
    let mut page = Vec::new();
    let man = Man::new(command.clone()).source(concat!("callgate ", env!("CARGO_PKG_VERSION")));
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if shown(command).next().is_some() {
        commands(command).to_writer(&mut page)?;
    }
    if command.get_after_help().is_some() || command.get_after_long_help().is_some() {
        man.render_extra_section(&mut page)?;
    }
    // Each section begins like a page of its own.
    let begin = Roff::new().render();
    let sections = String::from_utf8_lossy(&page).replace(&begin, "");
    let end = match command.get_name() {
        "callgate" => SECTIONS,
        _ => "",
    };
    Ok(format!("{begin}{sections}{end}"))
}

/// Section with the commands below this one.
fn commands(command: &Command) -> Roff {
    let mut section = Roff::new();
    section.control("SH", ["COMMANDS"]);
    for below in shown(command) {
        let line = below.get_bin_name().unwrap_or_else(|| below.get_name());
        let about = below.get_about().map(ToString::to_string);
        section.control("TP", []);
        section.text([bold(line)]);
        section.text([roman(about.unwrap_or_default())]);
    }
    section
}

/// Sections that the command line does not tell, in the language of manual pages.
const SECTIONS: &str = r#".SH "EXIT STATUS"
.TP
0
success
.TP
1
wrong use, or something unexpected
.TP
3
the server wants a login
.TP
4
the server cannot be reached, or does not answer in time
.TP
5
the tool failed or does not exist, or its arguments do not fit
.TP
130
interrupted
.SH FILES
.TP
$XDG_CONFIG_HOME/callgate/config.json
servers and settings of the user, usually in ~/.config/callgate
.TP
callgate.json, .mcp.json
servers of a project
.TP
$XDG_DATA_HOME/callgate
token, logins, catalogs and records of running processes, usually in ~/.local/share/callgate
.SH ENVIRONMENT
.TP
CALLGATE_TOKEN, CALLGATE_TOKEN_FOR
token to send to a server, and the server that it is for
.TP
CALLGATE_CLIENT_SECRET, MCP_CLIENT_SECRET
secret of a client that was registered by hand
.TP
CALLGATE_CA_FILE
file with further certificate authorities
.TP
CALLGATE_LOG
amount of the log on standard error, such as debug
.TP
HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY
proxies
.SH NOTES
\fBcallgate man COMMAND\fR prints the page of a command, and \fBcallgate man \-\-dir DIR\fR writes a page for each.
"#;
