use super::clock::unix_time;
use crate::Scopes;
use crate::store::{ChosenKind, Login};

/// What is known about the login at one server. It holds no secret.
#[derive(Debug, Clone, PartialEq)]
pub struct Status {
    /// Whether there is a login, and what it is worth.
    pub state: State,
    /// The server that it is for.
    pub server_url: Option<String>,
    /// Who issued it.
    pub issuer: Option<String>,
    /// The client that it was issued to.
    pub client_id: Option<String>,
    /// What it is for, if the authorization server said so.
    pub scopes: Option<Scopes>,
    /// When the access token ends, in Unix seconds.
    pub expires_at: Option<f64>,
    /// Whether it is replaced by then without a person.
    pub renews: bool,
}

/// Whether there is a login, and what it is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// There is a token, which has not ended as far as anybody said.
    LoggedIn,
    /// The token has ended; the next request renews it.
    Renewable,
    /// The token has ended, and nothing renews it: log in again.
    Ended,
    /// There is none.
    LoggedOut,
}

impl Status {
    /// What a login in the store is worth at this moment.
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
        let renews = tokens.is_some_and(|it| is_itself || it.refresh_token.is_some());
        let state = match tokens {
            None => State::LoggedOut,
            Some(tokens) if !tokens.has_expired(now) => State::LoggedIn,
            Some(_) if renews => State::Renewable,
            Some(_) => State::Ended,
        };
        let issued_to = tokens.and_then(|it| it.client_id.as_ref());
        let registered = login.client.as_ref().map(|client| &client.client_id);
        Self {
            state,
            server_url: login.server_url.clone(),
            issuer: login.issuer.clone(),
            client_id: issued_to.or(registered).cloned(),
            scopes: tokens.and_then(|it| it.scope.as_deref()).map(Scopes::parse),
            expires_at: tokens.and_then(|it| it.expires_at),
            renews,
        }
    }
}
