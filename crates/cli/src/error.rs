use std::fmt;
use std::io::{self, ErrorKind};
use std::process::ExitCode;
use std::sync::Arc;

use callgate_mcp::transport::http::connect::is_unknown_issuer;
use callgate_mcp::{Error, Kind};
use serde::Serialize;

use crate::login_error::{self, SEND_A_TOKEN};
use crate::output;
use crate::visible::visible_line;

/// A failed command: its error, hints for the next step, and the exit code.
#[derive(Debug)]
pub(crate) struct CommandError {
    exit: Exit,
    source: anyhow::Error,
    hints: Vec<String>,
}

/// Exit code of a failed command.
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
    /// The command was told to end before it was done.
    Interrupted = 130,
}

/// The next step when a server cannot be reached.
pub(crate) const CHECK_THE_SERVER: &str =
    "check that the server is running and the address is right, http or https included";

/// The next step when the certificate of a server has an unknown issuer.
pub(crate) const TRUST_THE_ISSUER: &str = "if you trust the certificate authority of the server, name the file of its certificate with --ca-file FILE or in the variable CALLGATE_CA_FILE";

/// The next step when a file cannot be written because its disk is full.
const FREE_SPACE: &str = "free space on that disk, or in your share of it";

/// The next step when a tool asks for input that this process cannot give.
const INPUT_NEEDED: &str = "the tool asks for input during the call: `callgate call` shows forms and pages on a terminal; anything else needs an agent";

impl Exit {
    /// Exit code for the failure of a request.
    pub(crate) fn of(kind: Kind) -> Self {
        match kind {
            Kind::Unauthorized => Self::LoginRequired,
            Kind::Connect | Kind::Closed | Kind::Timeout => Self::Unreachable,
            Kind::InvalidParams | Kind::Rpc => Self::ToolFailed,
            _ => Self::Unexpected,
        }
    }
}

impl CommandError {
    pub(crate) fn new(exit: Exit, source: impl Into<anyhow::Error>) -> Self {
        let source = source.into();
        let hint = is_full_disk(&source).then(|| FREE_SPACE.to_owned());
        Self {
            exit,
            source,
            hints: hint.into_iter().collect(),
        }
    }

    /// Wrong use of the command.
    pub(crate) fn usage(message: impl fmt::Display) -> Self {
        Self::new(Exit::Unexpected, anyhow::anyhow!("{message}"))
    }

    /// The command was told to end before it was done.
    pub(crate) fn interrupted() -> Self {
        Self::new(Exit::Interrupted, anyhow::anyhow!("interrupted"))
    }

    /// The same error with the next step to take.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// The same error with the thing that it is about in front.
    #[must_use]
    pub(crate) fn context(mut self, subject: impl fmt::Display + Send + Sync + 'static) -> Self {
        self.source = self.source.context(subject);
        self
    }

    /// The same error with its texts changed by `change`.
    #[must_use]
    pub(crate) fn map_text(self, change: impl Fn(&str) -> String) -> Self {
        let message = change(&self.message());
        Self {
            exit: self.exit,
            source: anyhow::anyhow!(message),
            hints: self.hints.iter().map(|hint| change(hint)).collect(),
        }
    }

    /// Prints the error on standard error and returns the exit code.
    pub(crate) fn report(&self, json: bool) -> ExitCode {
        if json {
            let report = Report {
                error: Body {
                    kind: self.exit,
                    message: self.message(),
                    hints: &self.hints,
                },
            };
            let line = serde_json::to_string(&report).expect("a report is plain JSON");
            output::json_error(&line);
        } else {
            self.print("error");
        }
        ExitCode::from(self.exit as u8)
    }

    /// The exit code.
    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }

    /// True if the command was told to end.
    pub(crate) fn is_interrupt(&self) -> bool {
        self.exit == Exit::Interrupted
    }

    /// Prints the error and its hints as a warning, after what it means.
    pub(crate) fn warn(&self, meaning: &str) {
        self.print(&format!("warning: {meaning}"));
    }

    /// Prints the error and its hints. The further lines of a text are indented: none that a server wrote
    /// can pass for a hint of ours.
    fn print(&self, heading: &str) {
        let message = self.message().replace('\n', "\n  ");
        output::note(&format!("{heading}: {message}"));
        for hint in &self.hints {
            output::note(&format!("hint: {}", visible_line(hint)));
        }
    }

    /// The failed request, or the failure to connect to `server` before there was one.
    pub(crate) fn into_request_error(self, server: &Arc<str>) -> Error {
        match self.source.downcast::<Error>() {
            Ok(error) => error,
            Err(error) => Error::new(Kind::Connect, format!("{error:#}")),
        }
        .from_upstream(server)
    }

    /// The error and its hints in one text.
    pub(crate) fn with_hints(&self) -> String {
        let hints = self.hints.iter();
        hints.fold(self.message(), |text, hint| format!("{text}\nhint: {hint}"))
    }

    /// The error and its causes in one line.
    pub(crate) fn message_line(&self) -> String {
        self.message().replace('\n', " ")
    }

    /// The error and its causes, without those that are in the message already.
    fn message(&self) -> String {
        let mut message = String::new();
        for cause in self.source.chain() {
            let cause = cause.to_string();
            if message.is_empty() {
                message = cause;
            } else if !message.contains(&cause) {
                message = format!("{message}: {cause}");
            }
        }
        message
    }
}

/// True if something could not be written because the disk, or the user's share of it, is full.
fn is_full_disk(error: &anyhow::Error) -> bool {
    let causes = error.chain();
    let mut files = causes.filter_map(|cause| cause.downcast_ref::<io::Error>());
    files.any(|error| {
        matches!(
            error.kind(),
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded
        )
    })
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
        if let Some(error) = login_error::of_request(&error) {
            return error;
        }
        let is_unknown_issuer = is_unknown_issuer(&error);
        let error = Self::new(Exit::of(kind), error);
        match kind {
            Kind::Unauthorized => error.hint(SEND_A_TOKEN),
            Kind::Connect if is_unknown_issuer => error.hint(TRUST_THE_ISSUER),
            Kind::Connect => error.hint(CHECK_THE_SERVER),
            Kind::Timeout => error.hint("wait longer with --timeout SECONDS"),
            Kind::MissingCapability | Kind::InputRequired => error.hint(INPUT_NEEDED),
            _ => error,
        }
    }
}

impl From<&clap::Error> for CommandError {
    fn from(error: &clap::Error) -> Self {
        let text = error.render().to_string();
        let text = text.strip_prefix("error: ").unwrap_or(&text);
        let (message, _usage) = text.split_once("\n\n").unwrap_or((text, ""));
        let words: Vec<&str> = message.split_whitespace().collect();
        Self::usage(words.join(" ")).hint("run the same command with --help")
    }
}

impl From<io::Error> for CommandError {
    fn from(error: io::Error) -> Self {
        Self::new(Exit::Unexpected, error)
    }
}

#[cfg(test)]
mod tests {
    use super::{CommandError, Error, FREE_SPACE, INPUT_NEEDED, Kind};
    use anyhow::Context as _;
    use std::io::{self, ErrorKind};

    #[test]
    fn a_full_disk_is_explained() {
        let written = Err::<(), _>(io::Error::from(ErrorKind::StorageFull));
        let error = CommandError::from(written.context("cannot write logins").unwrap_err());
        assert_eq!(error.hints, [FREE_SPACE]);
        let error = CommandError::from(io::Error::from(ErrorKind::NotFound));
        assert_eq!(error.hints, [""; 0]);
    }

    #[test]
    fn a_question_in_the_middle_of_a_call_is_explained() {
        let error = CommandError::from(Error::new(Kind::MissingCapability, "no elicitation"));
        assert_eq!(
            (error.message().as_str(), error.hints),
            ("no elicitation", vec![INPUT_NEEDED.to_owned()])
        );
    }
}
