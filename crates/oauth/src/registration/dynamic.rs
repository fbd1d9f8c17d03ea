//! Dynamic client registration (RFC 7591).

use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use super::client::{AuthMethod, ClientInfo};
use crate::http_message::{Request, Response};
use crate::metadata::AuthorizationServer;
use crate::token_endpoint::{self, DEVICE_CODE};
use crate::{ProviderError, Scopes, Secret, unix_seconds};

/// Error of a dynamic registration.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegistrationError {
    /// The authorization server refused, with a reason.
    #[error("the authorization server did not register the client: {0}")]
    Rejected(#[source] ProviderError),
    /// The authorization server is unavailable.
    #[error("the authorization server cannot register clients now (HTTP {0})")]
    Unavailable(u16),
    /// The response is neither a client nor an error.
    #[error("the authorization server answered the registration with HTTP {0} and no client")]
    Malformed(u16),
}

/// Registration of a native program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClientRegistration<'a> {
    pub server: &'a AuthorizationServer,
    /// Client name that the authorization server shows to the user.
    pub client_name: &'a str,
    pub redirect_uri: &'a str,
    pub scopes: &'a Scopes,
    /// Set for the device code grant.
    pub shows_codes: bool,
    /// Authentication method of the client, if it is not the one that the server prefers.
    pub auth_method: Option<AuthMethod>,
    /// Token that the registration needs.
    pub initial_access_token: Option<&'a Secret>,
    /// Set to leave out the members that some servers refuse.
    pub is_minimal: bool,
}

/// Change to a registration that was refused, after which it may be accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Remedy {
    /// The other name of this machine in the redirect URI.
    OtherHost,
    /// Fewer members.
    Less,
}

pub(crate) fn registration_request(
    endpoint: Url,
    registration: &ClientRegistration<'_>,
) -> Request {
    let ClientRegistration { server, scopes, .. } = registration;
    let metadata = Metadata {
        client_name: registration.client_name,
        redirect_uris: [registration.redirect_uri],
        grant_types: grant_types(server, registration.shows_codes),
        response_types: ["code"],
        token_endpoint_auth_method: registration
            .auth_method
            .unwrap_or_else(|| auth_method(server))
            .name(),
        application_type: (!registration.is_minimal).then_some("native"),
        scope: (!scopes.is_empty() && !registration.is_minimal).then(|| scopes.to_string()),
    };
    let body = serde_json::to_string(&metadata).expect("strings and lists of them are JSON");
    let mut request = Request::json(endpoint, body);
    if let Some(token) = registration.initial_access_token {
        let bearer = Secret::new(format!("Bearer {}", token.expose()));
        request.headers.push(("authorization", bearer));
    }
    request
}

impl RegistrationError {
    /// Change after which the registration may be accepted.
    pub(crate) fn remedy(&self) -> Option<Remedy> {
        let refusal = match self {
            Self::Rejected(refusal) => refusal,
            // Some servers answer invalid members with a page.
            Self::Malformed(400 | 422) => return Some(Remedy::Less),
            _ => return None,
        };
        let description = refusal.error_description.as_deref().unwrap_or_default();
        let mentions = |word| description.to_ascii_lowercase().contains(word);
        match refusal.error.as_str() {
            "invalid_redirect_uri" => Some(Remedy::OtherHost),
            "invalid_client_metadata" | "invalid_request" if mentions("redirect") => {
                Some(Remedy::OtherHost)
            }
            "invalid_client_metadata" | "invalid_request" | "invalid_scope" => Some(Remedy::Less),
            _ if mentions("scope") || mentions("application_type") => Some(Remedy::Less),
            _ => None,
        }
    }
}

/// Reads the registered client.
pub(crate) fn registration_response(response: &Response) -> Result<ClientInfo, RegistrationError> {
    let registered = response.success().and_then(read::<Registered>);
    if let Some(registered) = registered.filter(|registered| !registered.client_id.is_empty()) {
        return Ok(registered.client());
    }
    if response.is_transient() {
        return Err(RegistrationError::Unavailable(response.status));
    }
    match read(&response.body) {
        Some(error) => Err(RegistrationError::Rejected(error)),
        None => Err(RegistrationError::Malformed(response.status)),
    }
}

/// Asks for refresh tokens, unless the server says that it has none.
fn grant_types(server: &AuthorizationServer, shows_codes: bool) -> Vec<&'static str> {
    let supported = server.grant_types_supported.as_deref();
    let refuses = |list: &[String]| !list.iter().any(|grant| grant == "refresh_token");
    let mut grants = vec!["authorization_code"];
    if !supported.is_some_and(refuses) {
        grants.push("refresh_token");
    }
    if shows_codes {
        grants.push(DEVICE_CODE);
    }
    grants
}

/// Prefers no secret, because a program on the user's machine cannot keep one from the user.
///
/// Otherwise the first method of the server is taken: real servers list methods further back that
/// they do not support everywhere.
fn auth_method(server: &AuthorizationServer) -> AuthMethod {
    let supported = server.token_endpoint_auth_methods_supported.as_deref();
    let listed = supported.unwrap_or_default();
    if AuthMethod::None.is_in(listed) {
        return AuthMethod::None;
    }
    let mut methods = listed.iter().filter_map(|name| AuthMethod::parse(name));
    let first = methods.find(|method| *method != AuthMethod::PrivateKeyJwt);
    first.unwrap_or(AuthMethod::None)
}

fn read<'de, T: Deserialize<'de>>(body: &'de [u8]) -> Option<T> {
    serde_json::from_slice(body).ok()
}

#[derive(Serialize)]
struct Metadata<'a> {
    client_name: &'a str,
    redirect_uris: [&'a str; 1],
    grant_types: Vec<&'static str>,
    response_types: [&'static str; 1],
    token_endpoint_auth_method: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    application_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<String>,
}

#[derive(Deserialize)]
struct Registered {
    client_id: String,
    client_secret: Option<Secret>,
    // These two come in other types too, and a client must not be lost because of them.
    client_secret_expires_at: Option<Value>,
    token_endpoint_auth_method: Option<String>,
    scope: Option<Value>,
}

impl Registered {
    fn client(self) -> ClientInfo {
        let agreed = self.token_endpoint_auth_method.as_deref();
        let expiry = self.client_secret_expires_at.as_ref();
        let expiry = expiry.and_then(token_endpoint::seconds);
        ClientInfo {
            secret: self.client_secret,
            auth_method: agreed.and_then(AuthMethod::parse),
            // Zero means never (RFC 7591).
            secret_expires_at: expiry.filter(|end| *end > 0).map(unix_seconds::seconds),
            scopes: self.scope.as_ref().and_then(token_endpoint::scopes),
            ..ClientInfo::public(self.client_id)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use url::Url;

    use super::{
        ClientRegistration, RegistrationError, registration_request, registration_response,
    };
    use crate::http_message::Response;
    use crate::metadata::AuthorizationServer;
    use crate::registration::{AuthMethod, ClientInfo};
    use crate::{ProviderError, Scopes, Secret};

    fn list(items: &[&str]) -> Option<Vec<String>> {
        Some(items.iter().copied().map(str::to_owned).collect())
    }

    fn request(server: &AuthorizationServer, scopes: &str) -> Value {
        introduce(server, scopes, false)
    }

    fn introduce(server: &AuthorizationServer, scopes: &str, shows_codes: bool) -> Value {
        let endpoint: Url = "https://as.example/r".parse().unwrap();
        let uri = "http://127.0.0.1:1/cb";
        let scopes = Scopes::parse(scopes);
        let registration = ClientRegistration {
            server,
            client_name: "Callgate",
            redirect_uri: uri,
            scopes: &scopes,
            shows_codes,
            auth_method: None,
            initial_access_token: None,
            is_minimal: false,
        };
        let request = registration_request(endpoint, &registration);
        serde_json::from_str(request.body.unwrap().expose()).unwrap()
    }

    #[test]
    fn the_request_fits_the_server() {
        let assumed = AuthorizationServer::assumed(&"https://as.example".parse().unwrap());
        let expected = json!({
            "client_name": "Callgate",
            "redirect_uris": ["http://127.0.0.1:1/cb"],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
            "application_type": "native",
        });
        assert_eq!(request(&assumed, ""), expected);
        assert_eq!(request(&assumed, "a b")["scope"], "a b");

        let methods: [(&[&str], &str); 6] = [
            (&["none"], "none"),
            (&["client_secret_post"], "client_secret_post"),
            (
                &[
                    "private_key_jwt",
                    "client_secret_post",
                    "client_secret_basic",
                ],
                "client_secret_post",
            ),
            (
                &["client_secret_basic", "client_secret_post"],
                "client_secret_basic",
            ),
            (&["client_secret_basic", "none"], "none"),
            (&["private_key_jwt"], "none"),
        ];
        for (supported, expected) in methods {
            let server = AuthorizationServer {
                token_endpoint_auth_methods_supported: list(supported),
                ..assumed.clone()
            };
            assert_eq!(request(&server, "")["token_endpoint_auth_method"], expected);
        }

        let server = AuthorizationServer {
            grant_types_supported: list(&["authorization_code"]),
            ..assumed.clone()
        };
        assert_eq!(
            request(&server, "")["grant_types"],
            json!(["authorization_code"])
        );
        let device_code = "urn:ietf:params:oauth:grant-type:device_code";
        assert_eq!(
            introduce(&assumed, "", true)["grant_types"],
            json!(["authorization_code", "refresh_token", device_code])
        );
    }

    #[test]
    fn answers_are_read() {
        let rejected = |error: &str| {
            RegistrationError::Rejected(ProviderError {
                error: error.into(),
                error_description: None,
            })
        };
        let secret = ClientInfo {
            secret: Some(Secret::new("s")),
            auth_method: Some(AuthMethod::ClientSecretPost),
            secret_expires_at: Some(7.0),
            scopes: Some(Scopes::parse("a b")),
            ..ClientInfo::public("id")
        };
        let cases = [
            (201, r#"{"client_id":"id"}"#, Ok(ClientInfo::public("id"))),
            (
                200,
                r#"{"client_id":"id","client_secret_expires_at":0}"#,
                Ok(ClientInfo::public("id")),
            ),
            (
                201,
                r#"{"client_id":"id","client_secret":"s","client_secret_expires_at":7,"token_endpoint_auth_method":"client_secret_post","scope":"a b"}"#,
                Ok(secret.clone()),
            ),
            (
                201,
                r#"{"client_id":"id","client_secret":"s","client_secret_expires_at":"7","token_endpoint_auth_method":"client_secret_post","scope":["a","b"]}"#,
                Ok(secret),
            ),
            (
                201,
                r#"{"client_id":"id","client_secret_expires_at":"never","scope":7}"#,
                Ok(ClientInfo::public("id")),
            ),
            (
                400,
                r#"{"error":"invalid_redirect_uri"}"#,
                Err(rejected("invalid_redirect_uri")),
            ),
            (403, "<html>", Err(RegistrationError::Malformed(403))),
            (201, "{}", Err(RegistrationError::Malformed(201))),
            (
                201,
                r#"{"client_id":""}"#,
                Err(RegistrationError::Malformed(201)),
            ),
            (
                500,
                r#"{"error":"server_error"}"#,
                Err(RegistrationError::Unavailable(500)),
            ),
            (429, "", Err(RegistrationError::Unavailable(429))),
        ];
        for (status, body, expected) in cases {
            let response = Response::new(status, body);
            assert_eq!(
                registration_response(&response),
                expected,
                "{status} {body}"
            );
        }
    }
}
