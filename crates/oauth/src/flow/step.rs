use std::time::Duration;

use url::Url;

use crate::Scopes;
use crate::device::Prompt;
use crate::dpop;
use crate::exchange::Request;
use crate::registration::Client;
use crate::token::Tokens;

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Make this request, and hand the answer to [`Flow::response`](super::Flow::response).
    Fetch(Request),
    /// Have a person open this address, and hand the redirect to [`Flow::redirect`](super::Flow::redirect).
    Open(Url),
    /// Show this to a person, and go on at once with [`Flow::resume`](super::Flow::resume).
    ShowCode(Prompt),
    /// Let this time pass, and go on with [`Flow::resume`](super::Flow::resume).
    Wait(Duration),
    /// Keep this.
    Done(Box<Login>),
    /// Forget the login: the authorization server has.
    Revoked,
}

/// What a login leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    /// Who issued the token, and knows the client.
    pub issuer: String,
    /// What the token is for.
    pub resource: String,
    /// Who we are to the issuer.
    pub client: Client,
    /// Whether the client was registered just now and has to be remembered.
    pub is_new_client: bool,
    /// What was asked for.
    pub requested: Scopes,
    /// The tokens.
    pub tokens: Tokens,
    /// The key that was shown for them. The refresh token may be bound to it even if the access token is not.
    pub dpop_key: Option<dpop::Key>,
}
