use std::error::Error as StdError;
use std::sync::Arc;

use anyhow::anyhow;
use callgate_mcp::{Error, Origin};
use callgate_oauth::consent::ConsentError;
use callgate_oauth::fetch::FetchError;
use callgate_oauth::flow::FlowError;
use callgate_oauth::metadata::MetadataError;
use callgate_oauth::registration::NeedsClientRegistration;
use callgate_oauth::store::StoreError;
use callgate_oauth::token_source::{LoginReason, NeedsLogin, TokenError};
use url::Url;

use crate::error::{CHECK_THE_SERVER, CommandError, Exit};
use crate::output::argument;

/// The error of a request that failed because it had no token; `None` for other failures.
pub(crate) fn of_request(error: &Error) -> Option<CommandError> {
    let source = error.source()?;
    if let Some(needed) = source.downcast_ref::<NeedsLogin>() {
        let error = CommandError::new(Exit::LoginRequired, needed.clone());
        return Some(
            error
                .hint(log_in(needed))
                .hint(format!("or {SEND_A_TOKEN}")),
        );
    }
    let server = match error.origin() {
        Origin::Upstream(name) => name,
        _ => "URL",
    };
    if let Some(needed) = source.downcast_ref::<NeedsClientRegistration>() {
        return Some(register(needed, server));
    }
    let error = source.downcast_ref::<Arc<TokenError>>()?;
    Some(failed(error.clone(), server))
}

impl CommandError {
    /// A login or a logout at `server` that failed.
    pub(crate) fn of_login(error: impl Into<Arc<TokenError>>, server: &Url) -> Self {
        failed(error.into(), server.as_str())
    }
}

impl From<StoreError> for CommandError {
    fn from(error: StoreError) -> Self {
        let hint = store_hint(&error);
        hint.into_iter()
            .fold(Self::new(Exit::Unexpected, anyhow!(error)), Self::hint)
    }
}

/// The next step if a login is not possible.
pub(crate) const SEND_A_TOKEN: &str = "send a token: put it in the variable CALLGATE_TOKEN or pass --token-file FILE; `callgate token` prints that of `callgate serve`";

const NEW_IDENTITY: &str =
    "if the identity token has expired, write a new one to its file; the file is read each time";

fn failed(error: Arc<TokenError>, server: &str) -> CommandError {
    let exit = match &*error {
        TokenError::Server(error) => Exit::of(error.kind()),
        TokenError::Store(_) | TokenError::Random(_) => Exit::Unexpected,
        error if error.is_transient() => Exit::Unreachable,
        _ => Exit::LoginRequired,
    };
    let server = argument(server);
    let hints = match &*error {
        TokenError::NeedsClientRegistration(needed) => return register(needed, &server),
        TokenError::NeedsLogin(needed) => vec![log_in(needed)],
        TokenError::Server(_) => vec![CHECK_THE_SERVER.to_owned()],
        TokenError::Store(error) => store_hint(error).into_iter().collect(),
        error if error.is_transient() => vec!["no login is lost; try again later".to_owned()],
        TokenError::Consent(ConsentError::Wait(_) | ConsentError::TimedOut(_)) => {
            vec![format!(
                "run `callgate auth {server}` again, with --no-browser if the browser is on another machine"
            )]
        }
        TokenError::Assertion { .. } | TokenError::AssertionRefused => {
            vec![NEW_IDENTITY.to_owned()]
        }
        TokenError::Flow(error) => flow_hints(error, &server),
        TokenError::Fetch(FetchError::Refused(_)) => vec![without_login()],
        _ => vec![try_again(&server)],
    };
    let error = CommandError::new(exit, error);
    hints.into_iter().fold(error, CommandError::hint)
}

fn flow_hints(error: &FlowError, server: &str) -> Vec<String> {
    match error {
        FlowError::Metadata(MetadataError::Resource { .. }) => vec![
            "if that is the same server, use the address that it has in its metadata".to_owned(),
        ],
        FlowError::NoMetadata(_) => vec![without_login()],
        FlowError::Registration(_) => {
            let by_hand = format!(
                "with a client that was registered by hand, run `callgate auth {server} --client-id ID`"
            );
            vec![by_hand, without_login()]
        }
        FlowError::Identity(_) => vec![format!(
            "run `callgate logout {server}`, then log in as a client of the authorization server that it has now"
        )],
        FlowError::Token(error) if error.is_invalid_client() => vec![format!(
            "check the id of the client and its secret or key, and run `callgate auth {server}` with them"
        )],
        FlowError::Token(error) if error.is_invalid_grant() => {
            vec![try_again(server), NEW_IDENTITY.to_owned()]
        }
        FlowError::IdentityProvider(error) if error.is_invalid_client() => vec![format!(
            "check the client at the identity provider and its secret, and run `callgate auth {server}` with them"
        )],
        FlowError::IdentityProvider(_) => vec![try_again(server), NEW_IDENTITY.to_owned()],
        FlowError::Device(_)
        | FlowError::Metadata(MetadataError::NoEndpoint("device_authorization_endpoint")) => {
            vec![format!(
                "log in without a code: run `callgate auth {server} --no-browser`"
            )]
        }
        _ => vec![try_again(server)],
    }
}

/// Hint for a server that seems to have no login.
fn without_login() -> String {
    format!("if the server accepts tokens but has no login, {SEND_A_TOKEN}")
}

fn try_again(server: &str) -> String {
    format!("to try again, run `callgate auth {server}`")
}

fn log_in(needed: &NeedsLogin) -> String {
    let mut command = format!("callgate auth {}", argument(needed.server.as_str()));
    if let LoginReason::Scopes { scopes } = &needed.reason {
        for scope in scopes.to_string().split_whitespace() {
            command.push_str(" --scope ");
            command.push_str(&argument(scope));
        }
    }
    format!("log in: run `{command}`")
}

fn register(needed: &NeedsClientRegistration, server: &str) -> CommandError {
    let NeedsClientRegistration {
        issuer,
        redirect_uri,
    } = needed;
    let error = anyhow!("{issuer} does not register clients by itself");
    CommandError::new(Exit::LoginRequired, error)
        .hint(format!(
            "register a client there, with the redirect URI {redirect_uri}"
        ))
        .hint(format!(
            "then run `callgate auth {server} --client-id ID`, with the secret of the client, if it has one, \
             in the variable CALLGATE_CLIENT_SECRET"
        ))
}

fn store_hint(error: &StoreError) -> Option<String> {
    Some(match error {
        StoreError::Exposed { path, .. } => {
            let path = argument(&path.to_string_lossy());
            format!("run `chmod 600 {path}`")
        }
        StoreError::Busy { .. } => "try again when the other process is done".to_owned(),
        StoreError::Io { .. } | StoreError::ForeignOwner { .. } | StoreError::NotAFile { .. } => {
            "correct that, or store logins elsewhere with --data-dir DIR".to_owned()
        }
        StoreError::TooLarge { .. } => {
            "log out where you need no login: `callgate auth list` shows them all".to_owned()
        }
        // The caller, which got the name of the file from the user, adds the hint.
        _ => return None,
    })
}
