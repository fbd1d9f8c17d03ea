use super::clock::unix_time;
use crate::Scopes;
use crate::store::{ChosenKind, Login};

/// Status of the login at one server, without secrets.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct LoginStatus {
    /// State of the login.
    pub state: LoginState,
    /// URL of the server.
    pub server_url: Option<String>,
    /// Name of the account, if the user has several at this server.
    pub account: Option<String>,
    /// Issuer of the tokens.
    pub issuer: Option<String>,
    /// Client that the tokens were issued to.
    pub client_id: Option<String>,
    /// Granted scopes, if the authorization server named them.
    pub scopes: Option<Scopes>,
    /// Expiry of the access token, in Unix seconds.
    pub expires_at: Option<f64>,
    /// Set if the token is replaced without the user.
    pub is_refreshable: bool,
}

/// State of a login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoginState {
    /// There is a token, which has not expired as far as is known.
    LoggedIn,
    /// The token has expired, and the next request refreshes it.
    Refreshable,
    /// The token has expired, and the user has to log in again.
    Expired,
    /// There is no login.
    LoggedOut,
}

impl LoginStatus {
    /// Status of a stored login at this moment.
    #[must_use]
    pub fn of(login: &Login) -> Self {
        Self::at(login, unix_time())
    }

    pub(super) fn at(login: &Login, now: f64) -> Self {
        let tokens = login.tokens.as_ref();
        let is_itself = login
            .chosen
            .as_ref()
            .is_some_and(|it| it.kind == ChosenKind::Itself);
        let is_refreshable = tokens.is_some_and(|it| is_itself || it.refresh_token.is_some());
        let state = match tokens {
            None => LoginState::LoggedOut,
            Some(tokens) if !tokens.has_expired(now) => LoginState::LoggedIn,
            Some(_) if is_refreshable => LoginState::Refreshable,
            Some(_) => LoginState::Expired,
        };
        let issued_to = tokens.and_then(|it| it.client_id.as_ref());
        let registered = login.client.as_ref().map(|client| &client.id);
        Self {
            state,
            server_url: login.server_url.clone(),
            account: login.account.clone(),
            issuer: login.issuer.clone(),
            client_id: issued_to.or(registered).cloned(),
            scopes: tokens.and_then(|it| it.scope.as_deref()).map(Scopes::parse),
            expires_at: tokens.and_then(|it| it.expires_at),
            is_refreshable,
        }
    }
}
