//! The secret of a client that is registered by hand, for commands that store it with a login.

use std::env;
use std::io::{self, BufRead};

use callgate_oauth::Secret;

use crate::elicitation::is_interactive;
use crate::error::CommandError;
use crate::output;

/// Variables with the secret; the first is that of `claude mcp add`.
const VARIABLES: [&str; 2] = ["MCP_CLIENT_SECRET", "CALLGATE_CLIENT_SECRET"];

/// The secret in a variable, else the one that the user types, which is not shown.
pub(crate) fn read() -> Result<Secret, CommandError> {
    let mut variables = VARIABLES.iter().filter_map(|name| env::var(name).ok());
    let text = match variables.find(|text| !text.trim().is_empty()) {
        Some(text) => text,
        None if is_interactive() => typed()?,
        None => {
            let message = "the secret of the client is not given, and no user can be asked here";
            return Err(CommandError::usage(message).hint("set the variable MCP_CLIENT_SECRET"));
        }
    };
    match text.trim() {
        "" => Err(CommandError::usage("no secret was typed")),
        text => Ok(Secret::new(text)),
    }
}

fn typed() -> Result<String, CommandError> {
    // Before the question: an answer may come at once.
    let hidden = HiddenInput::begin();
    output::prompt("secret of the client: ");
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    drop(hidden);
    // The end of the line was not shown either.
    output::note("");
    read?;
    Ok(line)
}

/// Typed characters are not shown until this is dropped.
///
/// Best-effort: a process that is killed meanwhile leaves the terminal as it is, which shells repair.
#[cfg(unix)]
struct HiddenInput(Option<rustix::termios::Termios>);

#[cfg(unix)]
impl HiddenInput {
    fn begin() -> Self {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

        let Ok(before) = tcgetattr(io::stdin()) else {
            return Self(None);
        };
        let mut hidden = before.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        // Characters that were typed too early are read and not dropped.
        match tcsetattr(io::stdin(), OptionalActions::Now, &hidden) {
            Ok(()) => Self(Some(before)),
            Err(_) => Self(None),
        }
    }
}

#[cfg(unix)]
impl Drop for HiddenInput {
    fn drop(&mut self) {
        use rustix::termios::{OptionalActions, tcsetattr};

        if let Some(before) = &self.0 {
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, before);
        }
    }
}

#[cfg(not(unix))]
struct HiddenInput;

#[cfg(not(unix))]
impl HiddenInput {
    fn begin() -> Self {
        Self
    }
}
