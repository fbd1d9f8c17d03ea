//! Identity assertion grants: an employer's identity provider says who may use a server (ID-JAG, over RFC 8693).

use serde::Deserialize;
use url::Url;

use crate::exchange::{Request, Response};
use crate::jwt::SignError;
use crate::registration::Client;
use crate::token::{Authentication, TokenError};
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
    /// What the login there gave us.
    pub id_token: Secret,
}

/// What the assertion is to be for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exchange<'a> {
    /// The issuer that will read it.
    pub(crate) audience: &'a str,
    /// The server that the token after it is for.
    pub(crate) resource: &'a str,
    /// What that token is for.
    pub(crate) scopes: &'a Scopes,
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
            ("subject_token", self.id_token.expose()),
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
pub(crate) fn parse(response: &Response) -> Result<Secret, TokenError> {
    if response.is_transient() {
        return Err(TokenError::Unavailable(response.status));
    }
    if let Ok(error) = serde_json::from_slice::<ProviderError>(&response.body) {
        return Err(TokenError::Refused(error));
    }
    let document = response.success().map(serde_json::from_slice::<Document>);
    match document {
        Some(Ok(document)) if document.issued_token_type != ID_JAG => Err(TokenError::Type),
        Some(Ok(document)) if !document.access_token.expose().is_empty() => {
            Ok(document.access_token)
        }
        _ => Err(TokenError::Malformed(response.status)),
    }
}

#[derive(Deserialize)]
struct Document {
    access_token: Secret,
    issued_token_type: String,
}
