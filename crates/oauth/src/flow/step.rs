use std::time::Duration;

use url::Url;

use crate::Scopes;
use crate::device::DevicePrompt;
use crate::dpop;
use crate::http_message::Request;
use crate::registration::{AuthMethod, ClientInfo};
use crate::token_endpoint::TokenResponse;

/// Next action of the caller.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    /// Send this request, and pass the answer to [`Flow::response`](super::Flow::response).
    Fetch(Request),
    /// Open this page in a browser, and pass the redirect to
    /// [`Flow::redirect`](super::Flow::redirect).
    Open(Url),
    /// Show this code to the user, and call [`Flow::resume`](super::Flow::resume) at once.
    ShowCode(DevicePrompt),
    /// Wait, and call [`Flow::resume`](super::Flow::resume).
    Wait(Duration),
    /// Store these tokens.
    Done(Box<GrantedTokens>),
    /// Delete the login: its tokens are revoked.
    Revoked,
}

/// Result of a login or a refresh.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GrantedTokens {
    pub issuer: String,
    pub token_endpoint: Url,
    /// Authentication method of the token request.
    pub auth_method: AuthMethod,
    pub resource: String,
    pub client: ClientInfo,
    /// Set if the client was registered in this flow, so that it has to be stored.
    pub is_new_client: bool,
    pub requested: Scopes,
    pub tokens: TokenResponse,
    /// Key of the proofs. The refresh token may be bound to it even if the access token is not.
    pub dpop_key: Option<dpop::Key>,
}
