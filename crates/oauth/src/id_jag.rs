//! Identity assertion grants: an employer's identity provider says who may use a server (ID-JAG, over RFC 8693).

use serde::Deserialize;
use url::Url;

use crate::exchange::{Request, Response};
use crate::jwt::SignError;
use crate::registration::Client;
use crate::token::Authentication;
use crate::{ProviderError, Scopes, Secret};

const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";
const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";

/// Where an employee's login is worth something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentityProvider {
    /// Its name, which a client that signs puts into its proof.
    pub issuer: String,
    /// Where it exchanges tokens.
    pub token_endpoint: Url,
    /// Who we are there; to the server's authorization server we are somebody else.
    pub client: Client,
}

/// What the assertion is to be for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exchange<'a> {
    /// What the login at the identity provider gave us.
    pub(crate) id_token: &'a Secret,
    /// The issuer that will read it.
    pub(crate) audience: &'a str,
    /// The server that the token after it is for.
    pub(crate) resource: &'a str,
    /// What that token is for.
    pub(crate) scopes: &'a Scopes,
}

/// Says why there is no assertion.
///
/// The answer itself is no part of it: it may hold one.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExchangeError {
    /// The identity provider refused, and says why.
    #[error("the identity provider did not vouch for us: {0}")]
    Refused(#[source] ProviderError),
    /// It cannot give one at the moment; the identity token may still be good.
    #[error("the identity provider cannot vouch for us now (HTTP {0})")]
    Unavailable(u16),
    /// It said something else.
    #[error("the identity provider answered with HTTP {0} and no assertion")]
    Malformed(u16),
    /// It gave a token of another type.
    #[error("the identity provider gave a token that is no assertion")]
    Type,
}

impl IdentityProvider {
    /// Asks for an assertion.
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

/// Reads the assertion. It is in the place of an access token, which it is not.
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
    /// Whether the same request may succeed later.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Unavailable(_) | Self::Malformed(_))
    }

    /// Whether the identity token is worth nothing any more.
    pub fn is_invalid_grant(&self) -> bool {
        matches!(self, Self::Refused(refusal) if refusal.is_invalid_grant())
    }

    /// Whether the identity provider does not know the client.
    pub fn is_invalid_client(&self) -> bool {
        matches!(self, Self::Refused(refusal) if refusal.is_invalid_client())
    }

    /// The same error without the secrets that the request held.
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
    use crate::exchange::Response;
    use crate::registration::Client;
    use crate::{ProviderError, Scopes, Secret};

    fn provider(client: Client) -> IdentityProvider {
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
        let sent = provider(Client::public("me"))
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

        let confidential = Client {
            secret: Some(Secret::new("s")),
            ..Client::public("me")
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
