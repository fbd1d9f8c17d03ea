use std::fs;

use anyhow::Context;
use clap_mangen::{Man, generate_to};

use crate::browse_args;
use crate::error::CommandError;
use crate::{help, output};

/// Prints the manual page, or writes one for each command.
pub(crate) fn run(args: &browse_args::Man) -> Result<(), CommandError> {
    if let Some(directory) = &args.dir {
        let written =
            fs::create_dir_all(directory).and_then(|()| generate_to(help::command(), directory));
        let written = written.with_context(|| format!("cannot write to {}", directory.display()));
        return written.map_err(|error| {
            CommandError::from(error).hint("name a directory that you can write to")
        });
    }
    let mut page = Vec::new();
    Man::new(help::command()).render(&mut page)?;
    page.extend_from_slice(SECTIONS.as_bytes());
    Ok(output::bytes(&page)?)
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
The pages of the single commands are written by the command man with the option \-\-dir.
"#;
