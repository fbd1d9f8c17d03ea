use std::fmt;
use std::process::ExitCode;

use callgate_mcp::{Error, Kind};
use serde::Serialize;

/// A failed command: what went wrong, what to do next, and the exit code.
#[derive(Debug)]
pub(crate) struct CommandError {
    exit: Exit,
    source: anyhow::Error,
    hints: Vec<String>,
}

/// What the exit code tells a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Exit {
    /// The command was used wrongly, or something unexpected happened.
    Unexpected = 1,
    /// The server wants a login.
    LoginRequired = 3,
    /// The server cannot be reached, or does not answer in time.
    Unreachable = 4,
    /// The tool failed or does not exist.
    ToolFailed = 5,
}

impl CommandError {
    pub(crate) fn new(exit: Exit, source: impl Into<anyhow::Error>) -> Self {
        Self {
            exit,
            source: source.into(),
            hints: Vec::new(),
        }
    }

    /// A mistake in how the command was used.
    pub(crate) fn usage(message: impl fmt::Display) -> Self {
        Self::new(Exit::Unexpected, anyhow::anyhow!("{message}"))
    }

    /// The same error with the next step to take.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Prints the error on standard error and returns the exit code.
    pub(crate) fn report(&self, json: bool) -> ExitCode {
        if json {
            let message = format!("{:#}", self.source);
            let report = Report {
                error: Body {
                    kind: self.exit,
                    message,
                    hints: &self.hints,
                },
            };
            let line = serde_json::to_string(&report).expect("a report is plain JSON");
            eprintln!("{line}");
        } else {
            eprintln!("error: {:#}", self.source);
            for hint in &self.hints {
                eprintln!("hint: {hint}");
            }
        }
        ExitCode::from(self.exit as u8)
    }
}

#[derive(Serialize)]
struct Report<'a> {
    error: Body<'a>,
}

#[derive(Serialize)]
struct Body<'a> {
    kind: Exit,
    message: String,
    hints: &'a [String],
}

impl From<anyhow::Error> for CommandError {
    fn from(source: anyhow::Error) -> Self {
        Self::new(Exit::Unexpected, source)
    }
}

impl From<Error> for CommandError {
    fn from(error: Error) -> Self {
        let kind = error.kind();
        let exit = match kind {
            Kind::Unauthorized => Exit::LoginRequired,
            Kind::Connect | Kind::Closed | Kind::Timeout => Exit::Unreachable,
            Kind::InvalidParams | Kind::Rpc => Exit::ToolFailed,
            _ => Exit::Unexpected,
        };
        let error = Self::new(exit, error);
        match kind {
            Kind::Unauthorized => error.hint(
                "send a token: put it in the variable CALLGATE_TOKEN or pass --token-file FILE",
            ),
            Kind::Connect => {
                error.hint("check that the server is running and the address is right")
            }
            Kind::Timeout => error.hint("wait longer with --timeout SECONDS"),
            _ => error,
        }
    }
}

impl From<std::io::Error> for CommandError {
    fn from(error: std::io::Error) -> Self {
        Self::new(Exit::Unexpected, error)
    }
}
