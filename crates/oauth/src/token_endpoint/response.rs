use serde::Deserialize;
use serde_json::Value;

use crate::dpop::USE_DPOP_NONCE;
use crate::http_message::Response;
use crate::provider::shown;
use crate::{ProviderError, Scopes, Secret};

/// Response of the token endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TokenResponse {
    pub access_token: Secret,
    pub token_type: TokenType,
    /// Lifetime in seconds, if the authorization server names it.
    pub expires_in: Option<u64>,
    pub refresh_token: Option<Secret>,
    /// Granted scopes, if they differ from the requested ones.
    pub scopes: Option<Scopes>,
}

/// Token type, which decides how a request presents the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenType {
    /// Bearer token (RFC 6750).
    Bearer,
    /// Token with a DPoP proof in each request (RFC 9449).
    Dpop,
}

/// Error of the token endpoint.
///
/// The response body is not part of it, because it may contain a token.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenEndpointError {
    /// The authorization server refused, with a reason.
    #[error("the authorization server refused the token request: {0}")]
    Refused(#[source] ProviderError),
    /// The authorization server is unavailable. The grant may still be valid.
    #[error("the authorization server is unavailable (HTTP {0})")]
    Unavailable(u16),
    /// The response is neither a token nor an error.
    #[error("the authorization server answered the token request with HTTP {0} and no token")]
    Malformed(u16),
    /// The token type is unknown.
    #[error("a token must be of the type Bearer or DPoP, but the authorization server returned one of the type {:?}", shown(.0))]
    Type(String),
    /// The token is bound to a key although no proof was sent.
    #[error("the authorization server bound the token to a key of another client")]
    ForeignKey,
    /// The token is not bound to our key, so that the server would refuse it.
    #[error("the authorization server did not bind the token to our key")]
    Unbound,
}

impl TokenResponse {
    /// Reads the response.
    pub(crate) fn parse(response: &Response) -> Result<Self, TokenEndpointError> {
        if response.is_transient() {
            return Err(TokenEndpointError::Unavailable(response.status));
        }
        // Some servers report errors with status 200, so the error is read first. An empty one is
        // none.
        if let Ok(error) = serde_json::from_slice::<ProviderError>(&response.body)
            && !error.error.is_empty()
        {
            return Err(refusal(error, response.status));
        }
        let malformed = TokenEndpointError::Malformed(response.status);
        let Some(body) = response.success() else {
            return Err(malformed);
        };
        match serde_json::from_slice::<Document>(body) {
            Ok(document) if !document.access_token.expose().is_empty() => document.tokens(),
            _ => Err(malformed),
        }
    }

    /// Keeps the old refresh token if the response has no new one.
    #[must_use]
    pub(crate) fn or_refresh_token(mut self, given: &Secret) -> Self {
        self.refresh_token.get_or_insert_with(|| given.clone());
        self
    }
}

impl TokenEndpointError {
    /// Returns true if the same request may succeed later.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Unavailable(_) | Self::Malformed(_))
    }

    /// Removes the secrets of the request from the error.
    #[must_use]
    pub(crate) fn without<'a>(self, secrets: impl IntoIterator<Item = &'a Secret>) -> Self {
        match self {
            Self::Refused(refusal) => Self::Refused(refusal.without(secrets)),
            other => other,
        }
    }

    /// Returns true if the server only wants its nonce in the proof.
    pub(crate) fn is_use_dpop_nonce(&self) -> bool {
        matches!(self, Self::Refused(refusal) if refusal.error == USE_DPOP_NONCE)
    }

    /// Returns true if the grant is not valid any more.
    pub fn is_invalid_grant(&self) -> bool {
        matches!(self, Self::Refused(refusal) if refusal.is_invalid_grant())
    }

    /// Returns true if the authorization server does not know the client any more.
    pub fn is_invalid_client(&self) -> bool {
        matches!(self, Self::Refused(refusal) if refusal.is_invalid_client())
    }
}

/// Some codes mean a temporary failure, not a bad grant.
fn refusal(error: ProviderError, status: u16) -> TokenEndpointError {
    match error.error.as_str() {
        "temporarily_unavailable" | "server_error" | "slow_down" => {
            TokenEndpointError::Unavailable(status)
        }
        _ => TokenEndpointError::Refused(error),
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
    fn tokens(self) -> Result<TokenResponse, TokenEndpointError> {
        Ok(TokenResponse {
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

fn token_type(name: Option<&str>) -> Result<TokenType, TokenEndpointError> {
    match name {
        None => Ok(TokenType::Bearer),
        Some(name) if is_bearer(name) => Ok(TokenType::Bearer),
        Some(name) if name.eq_ignore_ascii_case("dpop") => Ok(TokenType::Dpop),
        Some(name) => Err(TokenEndpointError::Type(name.to_owned())),
    }
}

/// Spellings that mean a bearer token: servers write `BearerToken` or `bearer_token`, or nothing, and
/// Slack says whose token it is.
fn is_bearer(name: &str) -> bool {
    let letters = name.chars().filter(char::is_ascii_alphanumeric);
    let plain = letters.collect::<String>().to_ascii_lowercase();
    ["", "bearer", "bearertoken", "user", "bot"].contains(&plain.as_str())
}

/// Some servers send a list. Anything else is ignored: a token that is issued only once must not be
/// lost because of its scope.
pub(crate) fn scopes(value: &Value) -> Option<Scopes> {
    match value {
        // GitHub and Slack separate scopes by commas, which no scope of theirs contains.
        Value::String(text) if text.contains(',') && !text.contains(' ') => {
            Some(text.split(',').collect())
        }
        Value::String(text) => Some(Scopes::parse(text)),
        Value::Array(values) => Some(values.iter().filter_map(Value::as_str).collect()),
        _ => None,
    }
}

/// Some servers send the number as text, or with a fraction.
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
    use super::{TokenEndpointError, TokenResponse, TokenType};
    use crate::http_message::Response;
    use crate::{ProviderError, Scopes, Secret};

    fn parse(status: u16, body: &str) -> Result<TokenResponse, TokenEndpointError> {
        TokenResponse::parse(&Response::new(status, body))
    }

    fn token() -> TokenResponse {
        TokenResponse {
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
                TokenResponse {
                    expires_in: Some(60),
                    refresh_token: Some(Secret::new("r")),
                    scopes: Some(Scopes::parse("a b")),
                    ..token()
                },
            ),
            (
                r#"{"access_token":"t","token_type":"DPoP","refresh_token":""}"#,
                TokenResponse {
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
    fn odd_members_beside_a_token_are_ignored() {
        let cases = [
            (r#""scope":["a","b"]"#, Some("a b")),
            (r#""scope":"a,b""#, Some("a b")),
            (r#""scope":"a,b c""#, Some("a,b c")),
            (r#""scope":[]"#, Some("")),
            (r#""scope":["a",1]"#, Some("a")),
            (r#""scope":7"#, None),
            (r#""scope":null"#, None),
            (r#""error":"","error_description":"""#, None),
            (r#""error":null"#, None),
        ];
        for (odd, scopes) in cases {
            let expected = TokenResponse {
                scopes: scopes.map(Scopes::parse),
                ..token()
            };
            let body = format!(r#"{{"access_token":"t",{odd}}}"#);
            assert_eq!(parse(200, &body), Ok(expected), "{body}");
        }
        assert_eq!(
            parse(400, r#"{"error":""}"#),
            Err(TokenEndpointError::Malformed(400))
        );
    }

    #[test]
    fn a_bearer_token_has_many_names() {
        for name in [
            "Bearer",
            "BEARER",
            "bearer_token",
            "BearerToken",
            " bearer",
            "",
            "user",
            "bot",
        ] {
            let body = format!(r#"{{"access_token":"t","token_type":"{name}"}}"#);
            assert_eq!(parse(200, &body), Ok(token()), "{name}");
        }
        for name in ["mac", "N_A", "bearerish", "pop"] {
            let body = format!(r#"{{"access_token":"t","token_type":"{name}"}}"#);
            let error = TokenEndpointError::Type(name.to_owned());
            assert_eq!(parse(200, &body), Err(error), "{name}");
        }
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
            TokenEndpointError::Refused(ProviderError {
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
                TokenEndpointError::Unavailable(400),
            ),
            (
                500,
                r#"{"error":"invalid_grant"}"#,
                TokenEndpointError::Unavailable(500),
            ),
            (503, "<html>", TokenEndpointError::Unavailable(503)),
            (429, "", TokenEndpointError::Unavailable(429)),
            (403, "<html>", TokenEndpointError::Malformed(403)),
            (200, "<html>", TokenEndpointError::Malformed(200)),
            (200, "{}", TokenEndpointError::Malformed(200)),
            (
                200,
                r#"{"access_token":""}"#,
                TokenEndpointError::Malformed(200),
            ),
            (
                200,
                r#"{"access_token":7}"#,
                TokenEndpointError::Malformed(200),
            ),
            (
                302,
                r#"{"access_token":"t"}"#,
                TokenEndpointError::Malformed(302),
            ),
            (
                200,
                r#"{"access_token":"t","token_type":"mac"}"#,
                TokenEndpointError::Type("mac".to_owned()),
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
        let replaced = TokenResponse {
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
