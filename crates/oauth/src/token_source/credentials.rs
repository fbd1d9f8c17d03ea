use std::borrow::Cow;

use callgate_mcp::transport::http::client::{Credentials, Outgoing};
use http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderName, HeaderValue};
use url::Url;

use super::cache::TokenCache;
use super::clock::unix_time;
use super::error::TokenError;
use crate::Challenge;
use crate::unix_seconds::whole_seconds;

const DPOP: HeaderName = HeaderName::from_static("dpop");
const DPOP_NONCE: HeaderName = HeaderName::from_static("dpop-nonce");

impl TokenCache {
    /// Headers for `request`: the token, and a DPoP proof if the token is bound to a key.
    pub(super) fn credentials(&self, request: Outgoing<'_>) -> Result<Credentials, TokenError> {
        let Some(token) = &self.token else {
            return Ok(Credentials::none());
        };
        let credentials = Credentials::none().with(AUTHORIZATION, token.header.clone());
        let Some(prover) = &token.prover else {
            return Ok(credentials);
        };
        let url = Url::parse(&request.url.to_string()).map_err(|_| TokenError::Unsendable)?;
        let (method, token) = (request.method.as_str(), &token.tokens.access_token);
        let proof = prover
            .proof(method, &url, token, whole_seconds(unix_time()))
            .map_err(|error| TokenError::Flow(error.into()))?;
        let proof = HeaderValue::from_str(proof.expose()).map_err(|_| TokenError::Unsendable)?;
        Ok(credentials.with(DPOP, proof))
    }

    /// Stores the DPoP nonce of a response for the next proof.
    pub(super) fn learn(&self, headers: &HeaderMap) {
        let prover = self.token.as_ref().and_then(|token| token.prover.as_ref());
        let nonce = headers.get(DPOP_NONCE).and_then(|it| it.to_str().ok());
        if let (Some(prover), Some(nonce)) = (prover, nonce) {
            prover.learn(nonce);
        }
    }
}

/// Parses the challenge of a refused request.
///
/// Bytes that are not ASCII are replaced, because real servers send `error_description` in other
/// languages.
pub(super) fn challenge(headers: &HeaderMap) -> Option<Challenge> {
    let values = headers.get_all(WWW_AUTHENTICATE).iter();
    let values: Vec<Cow<'_, str>> = values
        .map(|value| String::from_utf8_lossy(value.as_bytes()))
        .collect();
    Challenge::find(values.iter().map(AsRef::as_ref))
}

#[cfg(test)]
mod tests {
    use http::header::WWW_AUTHENTICATE;
    use http::{HeaderMap, HeaderValue};

    use super::challenge;
    use crate::{Challenge, Scopes};

    #[test]
    fn a_challenge_may_explain_itself_in_any_language() {
        let texts: [&[u8]; 3] = [b"expired", "ung\u{fc}ltig".as_bytes(), b"ung\xfcltig"];
        for text in texts {
            let value = [
                b"Bearer error=\"insufficient_scope\", error_description=\"",
                text,
                b"\", scope=\"a\"",
            ]
            .concat();
            let value = HeaderValue::from_bytes(&value).unwrap();
            let headers = HeaderMap::from_iter([(WWW_AUTHENTICATE, value)]);
            let expected = Challenge {
                scope: Some(Scopes::parse("a")),
                error: Some("insufficient_scope".to_owned()),
                error_description: Some(String::from_utf8_lossy(text).into_owned()),
                ..Challenge::default()
            };
            assert_eq!(challenge(&headers), Some(expected));
        }
    }
}
