use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::jwt::SigningKey;
use crate::metadata::AuthorizationServer;
use crate::unix_seconds::seconds;
use crate::{Scopes, Secret};

/// OAuth client as one authorization server knows it: its id, its credentials and its registration.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ClientInfo {
    /// Public id (`client_id`).
    pub id: String,
    /// Client secret; absent for a public client.
    pub secret: Option<Secret>,
    /// Private key for `private_key_jwt`. The store never holds it: the user names its file.
    pub key: Option<SigningKey>,
    /// Authentication method at the token endpoint, if the registration fixed one.
    pub auth_method: Option<AuthMethod>,
    /// Time of the registration, in Unix seconds.
    pub issued_at: Option<f64>,
    /// Expiry of the secret, in Unix seconds; absent or zero means never (RFC 7591).
    pub secret_expires_at: Option<f64>,
    /// Registered redirect URI, if it is not the default one.
    pub redirect_uri: Option<String>,
    /// Scopes that the client may request, if its registration limits them.
    pub scopes: Option<Scopes>,
}

/// Client authentication method at the token endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[non_exhaustive]
pub enum AuthMethod {
    /// None: a public client, which only names its id.
    None,
    /// HTTP basic authentication.
    ClientSecretBasic,
    /// Secret as a field of the form.
    ClientSecretPost,
    /// Assertion that is signed with the private key (RFC 7523).
    PrivateKeyJwt,
}

/// The name is not one of a supported authentication method.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not an authentication method: it is none, client_secret_basic, client_secret_post or private_key_jwt"
)]
pub struct AuthMethodError(String);

/// Dynamically registered clients, by the issuer that registered them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Registrations(BTreeMap<String, ClientInfo>);

impl ClientInfo {
    /// Public client.
    pub fn public(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            secret: None,
            key: None,
            auth_method: None,
            issued_at: None,
            secret_expires_at: None,
            redirect_uri: None,
            scopes: None,
        }
    }

    /// Authentication method at `server`: the registered one, else one that the server supports,
    /// else the one that every server must support.
    pub(crate) fn auth_method(&self, server: &AuthorizationServer) -> AuthMethod {
        self.auth_method_among(server.token_endpoint_auth_methods_supported.as_deref())
    }

    /// Authentication method among the `supported` ones, if the server names them.
    pub(crate) fn auth_method_among(&self, supported: Option<&[String]>) -> AuthMethod {
        // In order of preference.
        let mut able = Vec::new();
        if self.key.is_some() {
            able.push(AuthMethod::PrivateKeyJwt);
        }
        if self.secret.is_some() {
            able.extend([AuthMethod::ClientSecretBasic, AuthMethod::ClientSecretPost]);
        }
        let agreed = self.auth_method;
        if let Some(agreed) = agreed.filter(|it| *it == AuthMethod::None || able.contains(it)) {
            return agreed;
        }
        let listed = |method: &&AuthMethod| supported.is_some_and(|list| method.is_in(list));
        let chosen = able.iter().find(listed).or(able.first());
        chosen.copied().unwrap_or(AuthMethod::None)
    }

    /// Returns true if the secret has expired at `now`, in Unix seconds.
    #[must_use]
    pub(crate) fn has_expired(&self, now: f64) -> bool {
        self.secret_expires_at
            .is_some_and(|end| end > 0.0 && end <= now)
    }

    /// Returns true if the client has a secret or a key.
    pub(crate) fn is_confidential(&self) -> bool {
        self.secret.is_some() || self.key.is_some()
    }
}

impl AuthMethod {
    /// Name in metadata.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::ClientSecretBasic => "client_secret_basic",
            Self::ClientSecretPost => "client_secret_post",
            Self::PrivateKeyJwt => "private_key_jwt",
        }
    }

    /// Method of that name, if it is supported.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let methods = [
            Self::None,
            Self::ClientSecretBasic,
            Self::ClientSecretPost,
            Self::PrivateKeyJwt,
        ];
        methods.into_iter().find(|method| method.name() == name)
    }

    pub(super) fn is_in(self, list: &[String]) -> bool {
        list.iter().any(|name| name == self.name())
    }
}

impl TryFrom<String> for AuthMethod {
    type Error = AuthMethodError;

    fn try_from(name: String) -> Result<Self, AuthMethodError> {
        Self::parse(&name).ok_or(AuthMethodError(name))
    }
}

impl From<AuthMethod> for String {
    fn from(method: AuthMethod) -> Self {
        method.name().to_owned()
    }
}

impl Registrations {
    /// Adds the client that `issuer` registered.
    pub(crate) fn insert(&mut self, issuer: impl Into<String>, client: ClientInfo) {
        self.0.insert(issuer.into(), client);
    }

    /// Client that `issuer` registered, unless its secret has expired.
    pub(crate) fn usable(&self, issuer: &str, now: u64) -> Option<&ClientInfo> {
        let client = self.0.get(issuer)?;
        (!client.has_expired(seconds(now))).then_some(client)
    }

    /// Clients that may request `scopes`.
    pub(super) fn covering(&self, scopes: &Scopes) -> Self {
        let covers =
            |client: &ClientInfo| client.scopes.as_ref().is_none_or(|it| it.include(scopes));
        let clients = self.0.iter().filter(|(_, client)| covers(client));
        Self(
            clients
                .map(|(issuer, it)| (issuer.clone(), it.clone()))
                .collect(),
        )
    }

    /// Returns true if `issuer` has registered a client.
    pub(crate) fn knows(&self, issuer: &str) -> bool {
        self.0.contains_key(issuer)
    }
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::{AuthMethod, ClientInfo, Registrations};
    use crate::jwt::SigningKey;
    use crate::jwt::test_tokens::p256;
    use crate::metadata::AuthorizationServer;
    use crate::{Scopes, Secret};

    #[test]
    fn a_client_proves_itself_as_agreed_or_as_the_server_can() {
        use AuthMethod::{ClientSecretBasic as Basic, ClientSecretPost as Post, None as Public};
        // Secret, registered method, methods of the server, result.
        let cases = [
            (false, None, None, Public),
            (false, Some(Basic), Some("client_secret_basic"), Public),
            (true, None, None, Basic),
            (true, None, Some("client_secret_basic"), Basic),
            (true, None, Some("client_secret_post"), Post),
            (
                true,
                None,
                Some("client_secret_post client_secret_basic"),
                Basic,
            ),
            (true, None, Some("none"), Basic),
            (true, Some(Post), Some("client_secret_basic"), Post),
            (true, Some(Basic), Some("client_secret_post"), Basic),
            (true, Some(Public), Some("client_secret_post"), Public),
        ];
        let origin: Url = "https://as.example".parse().unwrap();
        for (has_secret, agreed, listed, expected) in cases {
            let client = ClientInfo {
                secret: has_secret.then(|| Secret::new("x")),
                auth_method: agreed,
                ..ClientInfo::public("id")
            };
            let listed = listed.map(|list| list.split(' ').map(str::to_owned).collect());
            let server = AuthorizationServer {
                token_endpoint_auth_methods_supported: listed,
                ..AuthorizationServer::assumed(&origin)
            };
            assert_eq!(
                client.auth_method(&server),
                expected,
                "{client:?} {server:?}"
            );
        }
    }

    #[test]
    fn a_key_is_preferred_to_a_secret() {
        use AuthMethod::{ClientSecretPost as Post, None as Public, PrivateKeyJwt as Jwt};
        // Secret, registered method, methods of the server, result.
        let cases = [
            (false, None, None, Jwt),
            (false, None, Some("client_secret_basic"), Jwt),
            (true, None, None, Jwt),
            (true, None, Some("client_secret_post private_key_jwt"), Jwt),
            (true, None, Some("client_secret_post"), Post),
            (true, Some(Post), Some("private_key_jwt"), Post),
            (false, Some(Post), None, Jwt),
            (false, Some(Public), None, Public),
        ];
        let key = SigningKey::from_pem(&p256(), None).unwrap();
        for (has_secret, agreed, listed, expected) in cases {
            let client = ClientInfo {
                secret: has_secret.then(|| Secret::new("x")),
                key: Some(key.clone()),
                auth_method: agreed,
                ..ClientInfo::public("id")
            };
            let listed: Option<Vec<String>> =
                listed.map(|list| list.split(' ').map(str::to_owned).collect());
            let found = client.auth_method_among(listed.as_deref());
            assert_eq!(found, expected, "{client:?} {listed:?}");
        }
    }

    #[test]
    fn a_registration_is_for_one_issuer_and_ends_with_its_secret() {
        let client = ClientInfo {
            secret_expires_at: Some(10.0),
            ..ClientInfo::public("id")
        };
        let mut registrations = Registrations::default();
        registrations.insert("a", client.clone());
        assert_eq!(registrations.usable("a", 9), Some(&client));
        assert_eq!(registrations.usable("a", 10), None);
        assert_eq!(registrations.usable("a/", 9), None);
    }

    #[test]
    fn a_registration_may_be_limited_to_scopes() {
        let cases = [
            (None, "x", true),
            (Some("x y"), "", true),
            (Some("x y"), "y", true),
            (Some("x y"), "y z", false),
        ];
        for (limits, asked_for, expected) in cases {
            let client = ClientInfo {
                scopes: limits.map(Scopes::parse),
                ..ClientInfo::public("id")
            };
            let mut registrations = Registrations::default();
            registrations.insert("a", client);
            let covering = registrations.covering(&Scopes::parse(asked_for));
            assert_eq!(
                covering.usable("a", 0).is_some(),
                expected,
                "{limits:?} {asked_for}"
            );
        }
    }
}
