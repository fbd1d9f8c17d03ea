use callgate_mcp::{Error, Origin};
use thiserror::Error as ThisError;

use crate::config::definition::{Connection, OAuthDefinition};
use crate::config::load::ConfiguredServer;
use crate::error::{CommandError, Exit};
use crate::output::argument;

/// Cause of an error of a configured server that refused its credentials, where no other cause says what a person can
/// do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ThisError)]
pub(crate) enum RefusedCredentials {
    /// The server is in another process, which has its login.
    #[error("a login is needed")]
    OfLogin,
    /// A command prints the headers, so that no login helps.
    #[error("the headers of `headersHelper` were refused")]
    OfHelper,
}

impl RefusedCredentials {
    /// The cause of a refusal by this server, as far as its definition tells; `None` if it never uses a login.
    pub(crate) fn of(server: &ConfiguredServer) -> Option<Self> {
        let Connection::Url(url) = &server.definition.connection else {
            return Some(Self::OfLogin);
        };
        let is_authorization = |(name, _): &(String, _)| name.eq_ignore_ascii_case("authorization");
        match url.oauth {
            _ if url.headers_helper.is_some() => Some(Self::OfHelper),
            Some(OAuthDefinition::Off) => None,
            _ if url.headers.iter().any(is_authorization) => None,
            _ => Some(Self::OfLogin),
        }
    }

    /// The error of a command with the next step.
    pub(crate) fn command_error(self, error: &Error) -> CommandError {
        let told = CommandError::new(Exit::LoginRequired, anyhow::anyhow!("{error}"));
        match (self, error.origin()) {
            (Self::OfLogin, Origin::Upstream(name)) => {
                told.hint(format!("log in: run `callgate auth {}`", argument(name)))
            }
            (Self::OfLogin, _) => told,
            (Self::OfHelper, _) => told.hint(CHECK_THE_HELPER),
        }
    }
}

/// The next step when the headers of a command are refused.
const CHECK_THE_HELPER: &str = "check the headers that the command of `headersHelper` prints";
