use std::collections::BTreeMap;

use crate::jwt::SigningKey;
use crate::metadata::AuthorizationServer;
use crate::{Scopes, Secret};

/// A client as one authorization server knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// Its id, which is no secret.
    pub id: String,
    /// Its secret, if it has one.
    pub secret: Option<Secret>,
    /// Its private key, if it has one.
    pub key: Option<SigningKey>,
    /// How it proves itself, if that was agreed.
    pub auth_method: Option<AuthMethod>,
    /// When the secret ends, in seconds of Unix time; it may never.
    pub secret_expires_at: Option<u64>,
    /// The scopes that it may ask for, if they are limited.
    pub scopes: Option<Scopes>,
}

/// How a client proves itself at the token endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthMethod {
    /// It cannot keep a secret: it only says who it is.
    None,
    /// By HTTP basic authentication.
    ClientSecretBasic,
    /// By a field of the form.
    ClientSecretPost,
    /// By a token that it signs with its private key (RFC 7523).
    PrivateKeyJwt,
}

/// The clients that were registered on the spot, each known to one issuer alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registrations(BTreeMap<String, Client>);

impl Client {
    /// A client without a secret.
    pub fn public(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            secret: None,
            key: None,
            auth_method: None,
            secret_expires_at: None,
            scopes: None,
        }
    }

    /// How to prove this client to `server`: as agreed, else as the server can, else as every server must.
    pub fn auth_method(&self, server: &AuthorizationServer) -> AuthMethod {
        self.auth_method_among(server.token_endpoint_auth_methods_supported.as_deref())
    }

    /// How to prove this client to a server that supports those methods, if it says which.
    pub(crate) fn auth_method_among(&self, supported: Option<&[String]>) -> AuthMethod {
        // In the order in which they are preferred.
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

    /// Whether it can prove itself at all.
    pub(crate) fn is_confidential(&self) -> bool {
        self.secret.is_some() || self.key.is_some()
    }
}

impl AuthMethod {
    /// Its name in metadata.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::ClientSecretBasic => "client_secret_basic",
            Self::ClientSecretPost => "client_secret_post",
            Self::PrivateKeyJwt => "private_key_jwt",
        }
    }

    /// The method of that name, if it is one of ours.
    pub fn parse(name: &str) -> Option<Self> {
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

impl Registrations {
    /// Remembers `client` as the one that `issuer` knows.
    pub fn insert(&mut self, issuer: impl Into<String>, client: Client) {
        self.0.insert(issuer.into(), client);
    }

    /// The client that `issuer` knows, unless its secret has ended.
    pub fn usable(&self, issuer: &str, now: u64) -> Option<&Client> {
        let client = self.0.get(issuer)?;
        let ended = client.secret_expires_at.is_some_and(|end| end <= now);
        (!ended).then_some(client)
    }

    /// Those of the clients that may ask for `scopes`.
    pub(super) fn covering(&self, scopes: &Scopes) -> Self {
        let covers = |client: &Client| client.scopes.as_ref().is_none_or(|it| it.include(scopes));
        let clients = self.0.iter().filter(|(_, client)| covers(client));
        Self(
            clients
                .map(|(issuer, it)| (issuer.clone(), it.clone()))
                .collect(),
        )
    }

    /// Whether `issuer` knows us.
    pub(crate) fn knows(&self, issuer: &str) -> bool {
        self.0.contains_key(issuer)
    }
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::{AuthMethod, Client, Registrations};
    use crate::jwt::SigningKey;
    use crate::jwt::test_tokens::p256;
    use crate::metadata::AuthorizationServer;
    use crate::{Scopes, Secret};

    #[test]
    fn a_client_proves_itself_as_agreed_or_as_the_server_can() {
        use AuthMethod::{ClientSecretBasic as Basic, ClientSecretPost as Post, None as Public};
        // Has a secret, what was agreed, what the server lists, the method.
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
            let client = Client {
                secret: has_secret.then(|| Secret::new("x")),
                auth_method: agreed,
                ..Client::public("id")
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
        // Has a secret, what was agreed, what the server lists, the method.
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
            let client = Client {
                secret: has_secret.then(|| Secret::new("x")),
                key: Some(key.clone()),
                auth_method: agreed,
                ..Client::public("id")
            };
            let listed: Option<Vec<String>> =
                listed.map(|list| list.split(' ').map(str::to_owned).collect());
            let found = client.auth_method_among(listed.as_deref());
            assert_eq!(found, expected, "{client:?} {listed:?}");
        }
    }

    #[test]
    fn a_registration_is_for_one_issuer_and_ends_with_its_secret() {
        let client = Client {
            secret_expires_at: Some(10),
            ..Client::public("id")
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
            let client = Client {
                scopes: limits.map(Scopes::parse),
                ..Client::public("id")
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
