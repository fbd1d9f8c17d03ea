use anyhow::anyhow;
use callgate_mcp::{Error, Origin};
use callgate_oauth::consent::ConsentError;
use callgate_oauth::flow::FlowError;
use callgate_oauth::keeper::{KeeperError, NeedsLogin, Reason};
use callgate_oauth::registration::NeedsClientRegistration;
use callgate_oauth::store::StoreError;
use std::error::Error as StdError;
use std::sync::Arc;
use url::Url;

use crate::error::{CHECK_THE_SERVER, CommandError, Exit};
use crate::output::argument;

/// What to do next about a request that had no token, the most likely help first.
pub(crate) fn hints_for_request(error: &Error) -> Vec<String> {
    let server = match error.origin() {
        Origin::Upstream(name) => name,
        _ => "URL",
    };
    let source = error.source();
    if let Some(needed) = source.and_then(|it| it.downcast_ref::<NeedsLogin>()) {
        return vec![log_in(needed), SEND_A_TOKEN.to_owned()];
    }
    if let Some(needed) = source.and_then(|it| it.downcast_ref::<NeedsClientRegistration>()) {
        return register(needed, server);
    }
    if let Some(error) = source.and_then(|it| it.downcast_ref::<Arc<KeeperError>>()) {
        return hints(error, server);
    }
    vec![SEND_A_TOKEN.to_owned()]
}

impl CommandError {
    /// A login or a logout at `server` that failed.
    pub(crate) fn of_login(error: impl Into<Arc<KeeperError>>, server: &Url) -> Self {
        let error = error.into();
        let exit = match &*error {
            KeeperError::Server(error) => Exit::of(error.kind()),
            KeeperError::Store(_) | KeeperError::Random(_) => Exit::Unexpected,
            error if error.is_transient() => Exit::Unreachable,
            _ => Exit::LoginRequired,
        };
        let hints = hints(&error, server.as_str());
        hints.into_iter().fold(Self::new(exit, error), Self::hint)
    }
}

impl From<StoreError> for CommandError {
    fn from(error: StoreError) -> Self {
        let hint = store_hint(&error);
        hint.into_iter()
            .fold(Self::new(Exit::Unexpected, anyhow!(error)), Self::hint)
    }
}

const SEND_A_TOKEN: &str =
    "or send a token: put it in the variable CALLGATE_TOKEN or pass --token-file FILE";

fn hints(error: &KeeperError, server: &str) -> Vec<String> {
    let server = argument(server);
    let hint = match error {
        KeeperError::NeedsLogin(needed) => log_in(needed),
        KeeperError::NeedsClientRegistration(needed) => return register(needed, &server),
        KeeperError::Flow(FlowError::NoMetadata(_)) => {
            "the server offers no login; if it takes a token, put it in the variable CALLGATE_TOKEN or pass --token-file FILE".to_owned()
        }
        KeeperError::Consent(ConsentError::Wait(_) | ConsentError::TimedOut(_)) => {
            format!("run `callgate auth {server}` again, with --no-browser if the browser is on another machine")
        }
        KeeperError::Server(_) => CHECK_THE_SERVER.to_owned(),
        KeeperError::Store(error) => return store_hint(error).into_iter().collect(),
        error if error.is_transient() => "nothing is lost; try again later".to_owned(),
        _ => format!("to try again, run `callgate auth {server}`"),
    };
    vec![hint]
}

fn log_in(needed: &NeedsLogin) -> String {
    let mut command = format!("callgate auth {}", argument(needed.server.as_str()));
    if let Reason::Scopes { scopes } = &needed.reason {
        for scope in scopes.to_string().split_whitespace() {
            command.push_str(" --scope ");
            command.push_str(&argument(scope));
        }
    }
    format!("log in: run `{command}`")
}

fn register(needed: &NeedsClientRegistration, server: &str) -> Vec<String> {
    let NeedsClientRegistration {
        issuer,
        redirect_uri,
    } = needed;
    vec![
        format!("register a client at {issuer} with the redirect URI {redirect_uri}"),
        format!(
            "then run `callgate auth {server} --client-id ID`, with its secret, if it has one, in the variable CALLGATE_CLIENT_SECRET"
        ),
    ]
}

fn store_hint(error: &StoreError) -> Option<String> {
    match error {
        StoreError::Exposed { path, .. } => {
            let path = argument(&path.to_string_lossy());
            Some(format!("run `chmod 600 {path}`"))
        }
        StoreError::Busy { .. } => Some("try again when the other process is done".to_owned()),
        _ => None,
    }
}
