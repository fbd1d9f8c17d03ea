//! Check of a login: the server decides whether its token is good.

use std::error::Error as _;
use std::fmt;
use std::sync::Arc;

use callgate_mcp::client::Client;
use callgate_mcp::transport::http::client::{
    Authorizer, Credentials, HttpFailure, Outgoing, Refused, Verdict,
};
use callgate_mcp::upstream::Remote;
use callgate_mcp::{BoxFuture, Error, Kind};
use callgate_wire::implementation::Implementation;
use callgate_wire::meta;
use http::{HeaderMap, StatusCode};

use super::credentials::challenge;
use super::error::TokenError;
use super::probe;
use super::shared::Shared;
use super::source::TokenSource;
use crate::provider::shown;
use crate::{Challenge, ProviderError, Scopes};

/// Answer of a server, of any protocol revision, to requests with the token of a login.
#[derive(Debug)]
#[non_exhaustive]
pub enum LoginCheck {
    /// The server accepts the token.
    Accepted {
        /// Name of the server, if it has one. The text is untrusted but harmless on a terminal.
        server_name: Option<String>,
    },
    /// The server refuses the token.
    Refused(Box<LoginRefusal>),
    /// The server cannot be reached, or its answer says nothing about the token.
    Unknown(Error),
}

/// Refusal of the token of a login by the MCP server.
///
/// All text is untrusted: it is shown without control characters and cut.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoginRefusal {
    /// HTTP status.
    pub status: u16,
    /// Error of the challenge, or else of the body.
    pub error: Option<ProviderError>,
    /// Scopes that the challenge names.
    pub scopes: Option<Scopes>,
    /// Beginning of the body, if it says more than `error`.
    pub body: Option<String>,
}

impl TokenSource {
    /// Sends two cheap requests with the token as it is: the token is not refreshed, and the user
    /// is not asked, because the question is whether this token is good.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn check_login(&self) -> Result<LoginCheck, TokenError> {
        self.shared.load().await?;
        let config = &self.shared.config;
        let authorizer = Arc::new(CurrentToken(self.shared.clone()));
        let http = probe::http(config, authorizer);
        let remote = match Remote::new(config.server.as_str(), http) {
            Ok(remote) => Arc::new(remote),
            Err(error) => return Ok(LoginCheck::Unknown(error)),
        };
        let client = Client::builder(remote.clone()).server_name(&config.name);
        let check = check(&client.build()).await;
        remote.close().await;
        Ok(check)
    }
}

/// Many servers answer the first request without a token too, so the tools are listed as well.
async fn check(client: &Client) -> LoginCheck {
    let server_name = match client.discover().await {
        Ok(about) => about.meta.as_ref().and_then(server_name),
        Err(error) if is_final(&error) => return failed(error),
        // A server with a flaw there may list its tools all the same.
        Err(_) => None,
    };
    match client.list_tools_page(None).await {
        Err(error) if !is_answer(&error) => failed(error),
        _ => LoginCheck::Accepted { server_name },
    }
}

/// Returns true for an error that the next request would have too.
fn is_final(error: &Error) -> bool {
    matches!(
        error.kind(),
        Kind::Unauthorized | Kind::Connect | Kind::Closed | Kind::Timeout
    )
}

/// Returns true for an error that a server has only for requests that it accepts, such as a server
/// without tools.
fn is_answer(error: &Error) -> bool {
    matches!(
        error.kind(),
        Kind::Rpc | Kind::UnsupportedVersion | Kind::MethodNotFound | Kind::InvalidParams
    )
}

fn failed(error: Error) -> LoginCheck {
    let failure = error.source().and_then(|it| it.downcast_ref());
    match failure {
        Some(failure) if error.kind() == Kind::Unauthorized => {
            LoginCheck::Refused(Box::new(LoginRefusal::of(failure)))
        }
        _ => LoginCheck::Unknown(error),
    }
}

fn server_name(meta: &callgate_wire::Meta) -> Option<String> {
    let info: Implementation = meta.get(meta::SERVER_INFO)?.decode().ok()?;
    let name = info.title.unwrap_or(info.name);
    (!name.trim().is_empty()).then(|| shown(name.trim()))
}

impl LoginRefusal {
    /// Reads the refusal, in which the token is hidden already.
    fn of(failure: &HttpFailure) -> Self {
        let headers = failure.www_authenticate.iter().map(String::as_str);
        let challenge = Challenge::find(headers).unwrap_or_default();
        let in_header = challenge.error.map(|error| ProviderError {
            error,
            error_description: challenge.error_description,
        });
        let in_body = serde_json::from_str::<ProviderError>(&failure.body_excerpt).ok();
        let repeats = in_body.is_some() && (in_header.is_none() || in_header == in_body);
        let body = shown(&failure.body_excerpt);
        Self {
            status: failure.status,
            error: in_header.or(in_body),
            scopes: challenge.scope,
            body: (!body.is_empty() && body != "null" && !repeats).then_some(body),
        }
    }
}

impl fmt::Display for LoginRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HTTP status {}", self.status)?;
        if let Some(error) = &self.error {
            write!(f, ", {error}")?;
        }
        match &self.body {
            Some(body) => write!(f, ": {body}"),
            None => Ok(()),
        }
    }
}

/// Authorizer that sends the cached token as it is.
#[derive(Debug)]
struct CurrentToken(Arc<Shared>);

impl Authorizer for CurrentToken {
    fn credentials<'a>(
        &'a self,
        request: Outgoing<'a>,
    ) -> BoxFuture<'a, Result<Credentials, Error>> {
        let credentials = self.0.cache().credentials(request);
        let name = &self.0.config.name;
        Box::pin(async move { credentials.map_err(|error| Arc::new(error).of_request(name)) })
    }

    fn observe(&self, _status: StatusCode, headers: &HeaderMap) {
        self.0.cache().learn(headers);
    }

    /// A missing DPoP nonce says nothing about the token; the refusal has brought the nonce.
    fn refused<'a>(&'a self, refused: Refused<'a>) -> BoxFuture<'a, Result<Verdict, Error>> {
        let wants_nonce = challenge(refused.headers).is_some_and(|it| it.is_use_dpop_nonce());
        Box::pin(async move {
            Ok(match wants_nonce && refused.attempt == 1 {
                true => Verdict::SendAgain,
                false => Verdict::GiveUp,
            })
        })
    }
}
