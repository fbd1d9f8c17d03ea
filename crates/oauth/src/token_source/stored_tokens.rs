//! Conversion of granted tokens to stored ones.

use super::cache::DPOP;
use crate::flow;
use crate::store::{TokenEndpoint, Tokens};
use crate::token_endpoint::TokenType;
use crate::unix_seconds::seconds;

/// Tokens to store, which were requested at `asked_at` and arrived at `now`.
pub(super) fn tokens(login: &flow::GrantedTokens, asked_at: f64, now: f64) -> Tokens {
    let given = &login.tokens;
    // Some providers send zero although the token works. It would be refreshed for every request,
    // so it is used until it is refused.
    let life = given.expires_in.filter(|life| *life > 0).map(seconds);
    // The lifetime begins before the answer arrives. But if the answer took longer than the
    // lifetime, the token is believed to be valid now: a clock that jumped would otherwise cause a
    // refresh loop.
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

/// Tokens of a refresh, which keeps the requested scopes of the login.
pub(super) fn refreshed(login: &flow::GrantedTokens, asked_at: f64, now: f64) -> Tokens {
    Tokens {
        requested_scope: None,
        ..tokens(login, asked_at, now)
    }
}

/// Token endpoint to store with the tokens.
pub(super) fn endpoint(login: &flow::GrantedTokens) -> TokenEndpoint {
    TokenEndpoint {
        url: login.token_endpoint.to_string(),
        auth_method: Some(login.auth_method),
        resource: login.resource.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::{refreshed, tokens};
    use crate::flow::GrantedTokens;
    use crate::registration::{AuthMethod, ClientInfo};
    use crate::store::Tokens;
    use crate::token_endpoint::{TokenResponse, TokenType};
    use crate::{Scopes, Secret};

    fn login(expires_in: Option<u64>) -> GrantedTokens {
        GrantedTokens {
            issuer: "https://as.example".to_owned(),
            token_endpoint: "https://as.example/token".parse().unwrap(),
            auth_method: AuthMethod::None,
            resource: "https://a.example/mcp".to_owned(),
            client: ClientInfo::public("id"),
            is_new_client: false,
            requested: Scopes::parse("a b"),
            tokens: TokenResponse {
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
        let found = refreshed(&login(None), 1000.0, 1005.0);
        let expected = Tokens {
            requested_scope: None,
            ..kept(1000.0, None)
        };
        assert_eq!(found, expected);
    }
}
