//! What is kept of a login, and what is made of it again.

use super::clock::{seconds, whole_seconds};
use super::held::DPOP;
use crate::Scopes;
use crate::flow;
use crate::registration::Client;
use crate::store::{ClientInfo, Tokens};
use crate::token::TokenType;

/// The tokens of `login`, which were asked for at `asked_at` and are there `now`.
pub(super) fn tokens(login: &flow::Login, asked_at: f64, now: f64) -> Tokens {
    let given = &login.tokens;
    // A token that ends at once would be renewed for every request: use it until it is refused.
    let life = given.expires_in.filter(|life| *life > 0).map(seconds);
    // Its life begins before we have it; but who takes longer for a token than it lasts has to be believed.
    let is_over = life.is_some_and(|life| asked_at + life <= now);
    let issued_at = if is_over { now } else { asked_at };
    Tokens {
        access_token: given.access_token.clone(),
        refresh_token: given.refresh_token.clone(),
        expires_at: life.map(|life| issued_at + life),
        scope: given.scopes.as_ref().map(ToString::to_string),
        issued_at: Some(issued_at),
        client_id: Some(login.client.id.clone()),
        requested_scope: Some(login.requested.to_string()).filter(|text| !text.is_empty()),
        token_type: match given.token_type {
            TokenType::Bearer => None,
            TokenType::Dpop => Some(DPOP.to_owned()),
        },
        dpop_key: login.dpop_key.as_ref().map(|key| key.stored().clone()),
    }
}

/// The same for a renewal, which asks for nothing new.
pub(super) fn renewed(login: &flow::Login, asked_at: f64, now: f64) -> Tokens {
    Tokens {
        requested_scope: None,
        ..tokens(login, asked_at, now)
    }
}

impl From<&ClientInfo> for Client {
    fn from(info: &ClientInfo) -> Self {
        let end = info.client_secret_expires_at.filter(|end| *end > 0.0);
        Self {
            id: info.client_id.clone(),
            secret: info.client_secret.clone(),
            key: None,
            auth_method: info.auth_method,
            secret_expires_at: end.map(whole_seconds),
            scopes: info.scope.as_deref().map(Scopes::parse),
        }
    }
}

impl From<&Client> for ClientInfo {
    fn from(client: &Client) -> Self {
        Self {
            client_secret: client.secret.clone(),
            client_secret_expires_at: client.secret_expires_at.map(seconds),
            auth_method: client.auth_method,
            scope: client.scopes.as_ref().map(ToString::to_string),
            ..Self::public(client.id.clone())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{renewed, tokens};
    use crate::flow::Login;
    use crate::registration::Client;
    use crate::store::Tokens;
    use crate::token::{self, TokenType};
    use crate::{Scopes, Secret};

    fn login(expires_in: Option<u64>) -> Login {
        Login {
            issuer: "https://as.example".to_owned(),
            resource: "https://a.example/mcp".to_owned(),
            client: Client::public("id"),
            is_new_client: false,
            requested: Scopes::parse("a b"),
            tokens: token::Tokens {
                access_token: Secret::new("t"),
                token_type: TokenType::Bearer,
                expires_in,
                refresh_token: Some(Secret::new("r")),
                scopes: Some(Scopes::parse("a")),
            },
            dpop_key: None,
        }
    }

    fn kept(issued_at: f64, expires_at: Option<f64>) -> Tokens {
        Tokens {
            refresh_token: Some(Secret::new("r")),
            scope: Some("a".to_owned()),
            client_id: Some("id".to_owned()),
            requested_scope: Some("a b".to_owned()),
            issued_at: Some(issued_at),
            expires_at,
            ..Tokens::new(Secret::new("t"))
        }
    }

    #[test]
    fn a_token_lives_from_when_it_was_asked_for() {
        let cases = [
            (Some(60), kept(1000.0, Some(1060.0))),
            // The authorization server took five seconds for a token of three.
            (Some(3), kept(1005.0, Some(1008.0))),
            (Some(0), kept(1000.0, None)),
            (None, kept(1000.0, None)),
        ];
        for (expires_in, expected) in cases {
            let found = tokens(&login(expires_in), 1000.0, 1005.0);
            assert_eq!(found, expected, "{expires_in:?}");
        }
    }

    #[test]
    fn a_renewal_asks_for_nothing_new() {
        let found = renewed(&login(None), 1000.0, 1005.0);
        let expected = Tokens {
            requested_scope: None,
            ..kept(1000.0, None)
        };
        assert_eq!(found, expected);
    }
}
