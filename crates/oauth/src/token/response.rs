use serde::Deserialize;
use serde_json::Value;

use crate::dpop::USE_DPOP_NONCE;
use crate::exchange::Response;
use crate::{ProviderError, Scopes, Secret};

/// What a token endpoint gave us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tokens {
    /// What opens the server.
    pub access_token: Secret,
    /// How it is shown.
    pub token_type: TokenType,
    /// How many seconds it lasts, if the authorization server says so.
    pub expires_in: Option<u64>,
    /// What gets the next one.
    pub refresh_token: Option<Secret>,
    /// What it is for, if that differs from what was asked for.
    pub scopes: Option<Scopes>,
}

/// How a token is shown to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenType {
    /// Whoever has it may use it.
    Bearer,
    /// It comes with a proof that it is ours (RFC 9449).
    Dpop,
}

/// Says why there is no token.
///
/// The answer itself is no part of it: it may hold one.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// The authorization server refused, and says why.
    #[error("the authorization server gave no token: {0}")]
    Refused(#[source] ProviderError),
    /// It cannot give one at the moment; whatever was given for it may still be good.
    #[error("the authorization server can give no token now (HTTP {0})")]
    Unavailable(u16),
    /// It said something else.
    #[error("the authorization server answered the token request with HTTP {0} and no token")]
    Malformed(u16),
    /// The token is to be shown in a way that we do not know.
    #[error("the authorization server gave a token of an unknown type")]
    Type,
    /// The token is bound to a key although no key was shown.
    #[error("the authorization server gave a token for a key that is not ours")]
    ForeignKey,
    /// The token is not bound to our key, so the server would not take it.
    #[error("the authorization server did not bind the token to our key")]
    Unbound,
}

impl Tokens {
    /// Reads the answer of a token endpoint.
    pub fn parse(response: &Response) -> Result<Self, TokenError> {
        if response.is_transient() {
            return Err(TokenError::Unavailable(response.status));
        }
        // Some servers report errors with status 200, so the error is looked for first; an empty one is none.
        if let Ok(error) = serde_json::from_slice::<ProviderError>(&response.body)
            && !error.error.is_empty()
        {
            return Err(refusal(error, response.status));
        }
        let malformed = TokenError::Malformed(response.status);
        let Some(body) = response.success() else {
            return Err(malformed);
        };
        match serde_json::from_slice::<Document>(body) {
            Ok(document) if !document.access_token.expose().is_empty() => document.tokens(),
            _ => Err(malformed),
        }
    }

    /// Keeps the refresh token that was given if no new one came back for it.
    #[must_use]
    pub fn or_refresh_token(mut self, given: &Secret) -> Self {
        self.refresh_token.get_or_insert_with(|| given.clone());
        self
    }
}

impl TokenError {
    /// Whether the same request may succeed later.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Unavailable(_) | Self::Malformed(_))
    }

    /// The same error without the secrets that the request held.
    #[must_use]
    pub(crate) fn without<'a>(self, secrets: impl IntoIterator<Item = &'a Secret>) -> Self {
        match self {
            Self::Refused(refusal) => Self::Refused(refusal.without(secrets)),
            other => other,
        }
    }

    /// Whether the same request would do, with the server's nonce in the proof.
    pub(crate) fn is_use_dpop_nonce(&self) -> bool {
        matches!(self, Self::Refused(refusal) if refusal.error == USE_DPOP_NONCE)
    }

    /// Whether what was given for a token is worth nothing any more.
    pub fn is_invalid_grant(&self) -> bool {
        matches!(self, Self::Refused(refusal) if refusal.is_invalid_grant())
    }

    /// Whether the authorization server does not know the client any more.
    pub fn is_invalid_client(&self) -> bool {
        matches!(self, Self::Refused(refusal) if refusal.is_invalid_client())
    }
}

/// Two codes say that the server has a bad moment, not that the grant is bad.
fn refusal(error: ProviderError, status: u16) -> TokenError {
    match error.error.as_str() {
        "temporarily_unavailable" | "server_error" | "slow_down" => TokenError::Unavailable(status),
        _ => TokenError::Refused(error),
    }
}

#[derive(Deserialize)]
struct Document {
    access_token: Secret,
    token_type: Option<String>,
    expires_in: Option<Value>,
    refresh_token: Option<Secret>,
    scope: Option<Value>,
}

impl Document {
    fn tokens(self) -> Result<Tokens, TokenError> {
        Ok(Tokens {
            access_token: self.access_token,
            token_type: token_type(self.token_type.as_deref())?,
            expires_in: self.expires_in.as_ref().and_then(seconds),
            refresh_token: self
                .refresh_token
                .filter(|token| !token.expose().is_empty()),
            scopes: self.scope.as_ref().and_then(scopes),
        })
    }
}

fn token_type(name: Option<&str>) -> Result<TokenType, TokenError> {
    match name {
        None => Ok(TokenType::Bearer),
        Some(name) if name.eq_ignore_ascii_case("bearer") => Ok(TokenType::Bearer),
        Some(name) if name.eq_ignore_ascii_case("dpop") => Ok(TokenType::Dpop),
        Some(_) => Err(TokenError::Type),
    }
}

/// Some servers write a list. What is neither says nothing: a token that was given only once is not
/// thrown away because of it.
fn scopes(value: &Value) -> Option<Scopes> {
    match value {
        Value::String(text) => Some(Scopes::parse(text)),
        Value::Array(values) => Some(values.iter().filter_map(Value::as_str).collect()),
        _ => None,
    }
}

/// Some servers write the number as text, or with a fraction.
pub(crate) fn seconds(value: &Value) -> Option<u64> {
    let text = match value {
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        _ => return None,
    };
    let whole = text.split('.').next().unwrap_or_default();
    whole.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{TokenError, TokenType, Tokens};
    use crate::exchange::Response;
    use crate::{ProviderError, Scopes, Secret};

    fn parse(status: u16, body: &str) -> Result<Tokens, TokenError> {
        Tokens::parse(&Response::new(status, body))
    }

    fn token() -> Tokens {
        Tokens {
            access_token: Secret::new("t"),
            token_type: TokenType::Bearer,
            expires_in: None,
            refresh_token: None,
            scopes: None,
        }
    }

    #[test]
    fn tokens_are_read() {
        let cases = [
            (r#"{"access_token":"t"}"#, token()),
            (
                r#"{"access_token":"t","token_type":"bEaReR","expires_in":60,"refresh_token":"r","scope":"a b","id_token":"x"}"#,
                Tokens {
                    expires_in: Some(60),
                    refresh_token: Some(Secret::new("r")),
                    scopes: Some(Scopes::parse("a b")),
                    ..token()
                },
            ),
            (
                r#"{"access_token":"t","token_type":"DPoP","refresh_token":""}"#,
                Tokens {
                    token_type: TokenType::Dpop,
                    ..token()
                },
            ),
        ];
        for (body, expected) in cases {
            assert_eq!(parse(200, body), Ok(expected), "{body}");
        }
    }

    #[test]
    fn what_is_odd_beside_a_token_does_not_cost_it() {
        let cases = [
            (r#""scope":["a","b"]"#, Some("a b")),
            (r#""scope":[]"#, Some("")),
            (r#""scope":["a",1]"#, Some("a")),
            (r#""scope":7"#, None),
            (r#""scope":null"#, None),
            (r#""error":"","error_description":"""#, None),
            (r#""error":null"#, None),
        ];
        for (odd, scopes) in cases {
            let expected = Tokens {
                scopes: scopes.map(Scopes::parse),
                ..token()
            };
            let body = format!(r#"{{"access_token":"t",{odd}}}"#);
            assert_eq!(parse(200, &body), Ok(expected), "{body}");
        }
        assert_eq!(
            parse(400, r#"{"error":""}"#),
            Err(TokenError::Malformed(400))
        );
    }

    #[test]
    fn lifetimes_come_in_many_shapes() {
        let cases = [
            ("3600", Some(3600)),
            ("\"3600\"", Some(3600)),
            ("3599.9", Some(3599)),
            ("0", Some(0)),
            ("-1", None),
            ("null", None),
            ("\"soon\"", None),
            ("[]", None),
        ];
        for (text, expected) in cases {
            let body = format!(r#"{{"access_token":"t","expires_in":{text}}}"#);
            assert_eq!(parse(200, &body).unwrap().expires_in, expected, "{text}");
        }
    }

    #[test]
    fn refusals_are_told_from_bad_moments() {
        let refused = |error: &str, description: Option<&str>| {
            TokenError::Refused(ProviderError {
                error: error.into(),
                error_description: description.map(str::to_owned),
            })
        };
        let cases = [
            (
                400,
                r#"{"error":"invalid_grant","error_description":"reuse"}"#,
                refused("invalid_grant", Some("reuse")),
            ),
            (
                200,
                r#"{"error":"bad_verification_code"}"#,
                refused("bad_verification_code", None),
            ),
            (
                401,
                r#"{"error":"invalid_client"}"#,
                refused("invalid_client", None),
            ),
            (
                400,
                r#"{"error":"temporarily_unavailable"}"#,
                TokenError::Unavailable(400),
            ),
            (
                500,
                r#"{"error":"invalid_grant"}"#,
                TokenError::Unavailable(500),
            ),
            (503, "<html>", TokenError::Unavailable(503)),
            (429, "", TokenError::Unavailable(429)),
            (403, "<html>", TokenError::Malformed(403)),
            (200, "<html>", TokenError::Malformed(200)),
            (200, "{}", TokenError::Malformed(200)),
            (200, r#"{"access_token":""}"#, TokenError::Malformed(200)),
            (200, r#"{"access_token":7}"#, TokenError::Malformed(200)),
            (302, r#"{"access_token":"t"}"#, TokenError::Malformed(302)),
            (
                200,
                r#"{"access_token":"t","token_type":"mac"}"#,
                TokenError::Type,
            ),
        ];
        for (status, body, expected) in cases {
            assert_eq!(parse(status, body), Err(expected), "{status} {body}");
        }
    }

    #[test]
    fn only_a_clear_no_costs_the_login() {
        let of = |status, body| parse(status, body).unwrap_err();
        let cases = [
            (
                of(400, r#"{"error":"invalid_grant"}"#),
                (false, true, false),
            ),
            (
                of(401, r#"{"error":"invalid_client"}"#),
                (false, false, true),
            ),
            (
                of(400, r#"{"error":"invalid_request"}"#),
                (false, false, false),
            ),
            (of(200, "<html>"), (true, false, false)),
            (of(502, ""), (true, false, false)),
        ];
        for (error, expected) in cases {
            let found = (
                error.is_transient(),
                error.is_invalid_grant(),
                error.is_invalid_client(),
            );
            assert_eq!(found, expected, "{error}");
        }
    }

    #[test]
    fn a_refresh_token_that_is_not_replaced_is_kept() {
        let old = Secret::new("old");
        let replaced = Tokens {
            refresh_token: Some(Secret::new("new")),
            ..token()
        };
        assert_eq!(
            token().or_refresh_token(&old).refresh_token,
            Some(old.clone())
        );
        assert_eq!(replaced.clone().or_refresh_token(&old), replaced);
    }
}
