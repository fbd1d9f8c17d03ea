//! Identity assertion grant: an employer's identity provider decides about the access (ID-JAG, over
//! RFC 8693).

use serde::Deserialize;
use url::Url;

use crate::http_message::{Request, Response};
use crate::jwt::SignError;
use crate::registration::ClientInfo;
use crate::token_endpoint::Authentication;
use crate::{ProviderError, Scopes, Secret};

const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";
const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";

/// Identity provider of an employer.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct IdentityProvider {
    /// Issuer, the audience of a client assertion.
    pub issuer: String,
    /// Token endpoint.
    pub token_endpoint: Url,
    /// Client at the identity provider. It is another one than at the authorization server.
    pub client: ClientInfo,
}

/// Token exchange request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exchange<'a> {
    pub(crate) id_token: &'a Secret,
    /// Issuer that accepts the assertion.
    pub(crate) audience: &'a str,
    /// Resource that the access token is for.
    pub(crate) resource: &'a str,
    /// Scopes of the access token.
    pub(crate) scopes: &'a Scopes,
}

/// Error of the token exchange.
///
/// The response body is not part of it, because it may contain an assertion.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExchangeError {
    /// The identity provider refused, with a reason.
    #[error("the identity provider refused the identity token: {0}")]
    Refused(#[source] ProviderError),
    /// The identity provider is unavailable. The identity token may still be valid.
    #[error("the identity provider is unavailable (HTTP {0})")]
    Unavailable(u16),
    /// The response is neither an assertion nor an error.
    #[error("the identity provider answered with HTTP {0} and no assertion")]
    Malformed(u16),
    /// The response has a token of another type.
    #[error("the identity provider returned a token that is not an assertion")]
    Type,
}

impl IdentityProvider {
    /// Identity provider that issues assertions to `client`.
    pub fn new(issuer: impl Into<String>, token_endpoint: Url, client: ClientInfo) -> Self {
        Self {
            issuer: issuer.into(),
            token_endpoint,
            client,
        }
    }

    /// Token exchange request, to be sent to the identity provider.
    pub(crate) fn request(&self, exchange: &Exchange<'_>, now: u64) -> Result<Request, SignError> {
        let scope = exchange.scopes.to_string();
        let mut fields = vec![
            ("grant_type", TOKEN_EXCHANGE),
            ("requested_token_type", ID_JAG),
            ("audience", exchange.audience),
            ("resource", exchange.resource),
            ("subject_token", exchange.id_token.expose()),
            ("subject_token_type", ID_TOKEN),
        ];
        if !scope.is_empty() {
            fields.push(("scope", &scope));
        }
        let authentication = Authentication {
            client: &self.client,
            method: self.client.auth_method_among(None),
            issuer: &self.issuer,
        };
        authentication.form(self.token_endpoint.clone(), &fields, now)
    }
}

/// Reads the assertion. It is in the member `access_token`, although it is none.
pub(crate) fn parse(response: &Response) -> Result<Secret, ExchangeError> {
    if response.is_transient() {
        return Err(ExchangeError::Unavailable(response.status));
    }
    if let Ok(error) = serde_json::from_slice::<ProviderError>(&response.body) {
        return Err(ExchangeError::Refused(error));
    }
    let document = response.success().map(serde_json::from_slice::<Document>);
    match document {
        Some(Ok(document)) if document.issued_token_type != ID_JAG => Err(ExchangeError::Type),
        Some(Ok(document)) if !document.access_token.expose().is_empty() => {
            Ok(document.access_token)
        }
        _ => Err(ExchangeError::Malformed(response.status)),
    }
}

impl ExchangeError {
    /// Returns true if the same request may succeed later.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Unavailable(_) | Self::Malformed(_))
    }

    /// Returns true if the identity token is not valid any more.
    pub fn is_invalid_grant(&self) -> bool {
        matches!(self, Self::Refused(refusal) if refusal.is_invalid_grant())
    }

    /// Returns true if the identity provider does not know the client.
    pub fn is_invalid_client(&self) -> bool {
        matches!(self, Self::Refused(refusal) if refusal.is_invalid_client())
    }

    /// Removes the secrets of the request from the error.
    #[must_use]
    pub(crate) fn without<'a>(self, secrets: impl IntoIterator<Item = &'a Secret>) -> Self {
        match self {
            Self::Refused(refusal) => Self::Refused(refusal.without(secrets)),
            other => other,
        }
    }
}

#[derive(Deserialize)]
struct Document {
    access_token: Secret,
    issued_token_type: String,
}

#[cfg(test)]
mod tests {
    use url::form_urlencoded;

    use super::{Exchange, ExchangeError, IdentityProvider, parse};
    use crate::http_message::Response;
    use crate::registration::ClientInfo;
    use crate::{ProviderError, Scopes, Secret};

    fn provider(client: ClientInfo) -> IdentityProvider {
        IdentityProvider {
            issuer: "https://idp.example".into(),
            token_endpoint: "https://idp.example/token".parse().unwrap(),
            client,
        }
    }

    #[test]
    fn a_login_is_exchanged_for_an_assertion_to_one_server() {
        let exchange = Exchange {
            id_token: &Secret::new("canary"),
            audience: "https://as.example",
            resource: "https://a.example/mcp",
            scopes: &Scopes::parse("x y"),
        };
        let sent = provider(ClientInfo::public("me"))
            .request(&exchange, 0)
            .unwrap();
        assert_eq!(sent.url.as_str(), "https://idp.example/token");
        let body = sent.body.unwrap();
        let fields: Vec<(String, String)> = form_urlencoded::parse(body.expose().as_bytes())
            .into_owned()
            .collect();
        let expected = [
            (
                "grant_type",
                "urn:ietf:params:oauth:grant-type:token-exchange",
            ),
            (
                "requested_token_type",
                "urn:ietf:params:oauth:token-type:id-jag",
            ),
            ("audience", "https://as.example"),
            ("resource", "https://a.example/mcp"),
            ("subject_token", "canary"),
            (
                "subject_token_type",
                "urn:ietf:params:oauth:token-type:id_token",
            ),
            ("scope", "x y"),
            ("client_id", "me"),
        ];
        assert_eq!(
            fields,
            expected.map(|(name, value)| (name.into(), value.into()))
        );

        let confidential = ClientInfo {
            secret: Some(Secret::new("s")),
            ..ClientInfo::public("me")
        };
        let sent = provider(confidential.clone())
            .request(&exchange, 0)
            .unwrap();
        let authorization = sent
            .headers
            .last()
            .map(|(name, value)| (*name, value.expose()));
        assert_eq!(authorization, Some(("authorization", "Basic bWU6cw==")));
        let shown = format!("{exchange:?} {:?}", provider(confidential));
        assert!(!shown.contains("canary"), "{shown}");
    }

    #[test]
    fn only_an_assertion_is_taken() {
        let assertion = r#"{"access_token":"j","issued_token_type":"urn:ietf:params:oauth:token-type:id-jag","token_type":"N_A"}"#;
        let refused = ExchangeError::Refused(ProviderError {
            error: "invalid_grant".into(),
            error_description: None,
        });
        let cases = [
            (200, assertion.to_owned(), Ok(Secret::new("j"))),
            (
                200,
                assertion.replace("id-jag", "access_token"),
                Err(ExchangeError::Type),
            ),
            (
                200,
                assertion.replace("\"j\"", "\"\""),
                Err(ExchangeError::Malformed(200)),
            ),
            (
                200,
                r#"{"access_token":"j"}"#.to_owned(),
                Err(ExchangeError::Malformed(200)),
            ),
            (
                403,
                assertion.to_owned(),
                Err(ExchangeError::Malformed(403)),
            ),
            (400, r#"{"error":"invalid_grant"}"#.to_owned(), Err(refused)),
            (503, String::new(), Err(ExchangeError::Unavailable(503))),
        ];
        for (status, body, expected) in cases {
            let found = parse(&Response::new(status, body.as_str()));
            assert_eq!(found, expected, "{status} {body}");
        }
    }
}
