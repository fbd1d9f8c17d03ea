use crate::options::ProviderOptions;
use crate::registration::{AuthMethod, ClientInfo};
use crate::secret::Secret;

/// Stored login at one server.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Login {
    /// URL of the server that this login is for.
    pub server_url: Option<String>,
    /// Name of the account, if the user has several at this server.
    pub account: Option<String>,
    /// Issuer of the tokens and of the registration. OpenCode does not record it.
    pub issuer: Option<String>,
    /// Token endpoint of the issuer, which refreshes are sent to. OpenCode does not record it.
    pub token_endpoint: Option<TokenEndpoint>,
    /// Tokens.
    pub tokens: Option<Tokens>,
    /// Registration of this program at the authorization server.
    pub client: Option<ClientInfo>,
    /// Client that the user chose instead of a registration.
    pub chosen: Option<ChosenClient>,
    /// Port of the redirect URI, if the user chose one.
    pub callback_port: Option<u16>,
    /// Options that the user chose for the provider.
    pub options: ProviderOptions,
    /// Metadata URL that the server named in its challenge.
    pub resource_metadata: Option<String>,
    /// PKCE verifier of an unfinished login.
    pub code_verifier: Option<Secret>,
    /// OAuth state of an unfinished login.
    pub oauth_state: Option<Secret>,
}

/// Token endpoint, with all that a refresh needs beside the client and the refresh token.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TokenEndpoint {
    /// URL of the endpoint.
    pub url: String,
    /// Authentication method that the endpoint accepted.
    pub auth_method: Option<AuthMethod>,
    /// Resource that the tokens were requested for.
    pub resource: String,
}

/// Tokens of a login.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Tokens {
    /// Access token.
    pub access_token: Secret,
    /// Refresh token.
    pub refresh_token: Option<Secret>,
    /// Expiry of the access token, in Unix seconds.
    pub expires_at: Option<f64>,
    /// Granted scopes.
    pub scope: Option<String>,
    /// Time of the token request, in Unix seconds. OpenCode records neither this nor the fields
    /// below.
    pub issued_at: Option<f64>,
    /// Client that the tokens were issued to.
    pub client_id: Option<String>,
    /// Requested scopes.
    pub requested_scope: Option<String>,
    /// Token type in the words of the authorization server; absent means `Bearer`.
    pub token_type: Option<String>,
    /// DPoP key that the tokens are bound to, as base64.
    pub dpop_key: Option<Secret>,
}

/// Client that the user chose, to be used again without asking.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChosenClient {
    /// Client id.
    pub client_id: String,
    /// Client secret.
    pub client_secret: Option<Secret>,
    /// File with the private key.
    pub key_file: Option<String>,
    /// Kind of the client.
    pub kind: ChosenKind,
    /// Identity token that stands for a user.
    pub identity: Option<ChosenIdentity>,
}

/// Identity token of a client that does not authenticate by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChosenIdentity {
    /// File with the identity token, which the platform replaces.
    pub token_file: String,
    /// Identity provider that exchanges the token; without one, the authorization server accepts it
    /// directly.
    pub provider: Option<ChosenProvider>,
}

/// Identity provider of an employer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChosenProvider {
    /// Token endpoint.
    pub token_endpoint: String,
    /// Client id at the identity provider.
    pub client_id: String,
    /// File with the client secret at the identity provider.
    pub client_secret_file: Option<String>,
}

/// Kind of a client that the user chose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChosenKind {
    /// The client id is the URL of a metadata document.
    Described,
    /// Registered by hand; the user logs in.
    Registered,
    /// Registered by hand; the client logs in by itself, without a user.
    Itself,
}

/// Binding of a stored login to a server and an issuer.
///
/// Complete: a caller decides by it where tokens may be sent, and must know every case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a caller must know every case")]
pub enum LoginBinding {
    /// Made for this server by this issuer.
    Bound,
    /// Made for this server; the issuer was not recorded.
    IssuerUnknown,
    /// Made for another server or by another issuer. It must not be sent.
    Mismatch,
}

impl Login {
    /// Compares the login with a server and an issuer, byte for byte.
    #[must_use]
    pub fn binding(&self, server_url: &str, issuer: &str) -> LoginBinding {
        match &self.issuer {
            _ if self.server_url.as_deref() != Some(server_url) => LoginBinding::Mismatch,
            None => LoginBinding::IssuerUnknown,
            Some(own) if own == issuer => LoginBinding::Bound,
            Some(_) => LoginBinding::Mismatch,
        }
    }

    /// Binds the login to a server and an issuer, and clears it if it was bound to others.
    pub fn bind(&mut self, server_url: &str, issuer: &str) {
        if self.binding(server_url, issuer) == LoginBinding::Mismatch {
            *self = Self::default();
        }
        self.server_url = Some(server_url.to_owned());
        self.issuer = Some(issuer.to_owned());
    }
}

impl TokenEndpoint {
    /// Endpoint that issued tokens for `resource`.
    pub fn new(url: impl Into<String>, resource: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            auth_method: None,
            resource: resource.into(),
        }
    }
}

impl ChosenClient {
    /// Client without secret, key and identity token.
    pub fn new(client_id: impl Into<String>, kind: ChosenKind) -> Self {
        Self {
            client_id: client_id.into(),
            client_secret: None,
            key_file: None,
            kind,
            identity: None,
        }
    }
}

impl ChosenIdentity {
    /// Identity token that the authorization server accepts directly.
    pub fn new(token_file: impl Into<String>) -> Self {
        Self {
            token_file: token_file.into(),
            provider: None,
        }
    }
}

impl ChosenProvider {
    /// Identity provider at which the client has no secret.
    pub fn new(token_endpoint: impl Into<String>, client_id: impl Into<String>) -> Self {
        Self {
            token_endpoint: token_endpoint.into(),
            client_id: client_id.into(),
            client_secret_file: None,
        }
    }
}

impl ChosenKind {
    /// Name in the file.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Described => "described",
            Self::Registered => "registered",
            Self::Itself => "itself",
        }
    }

    /// Kind of that name. A file without one was written for a registered client.
    pub(super) fn parse(name: Option<&str>) -> Self {
        let kinds = [Self::Described, Self::Itself];
        let found = kinds.into_iter().find(|kind| name == Some(kind.name()));
        found.unwrap_or(Self::Registered)
    }
}

impl Tokens {
    /// Access token without further facts.
    #[must_use]
    pub fn new(access_token: Secret) -> Self {
        Self {
            access_token,
            refresh_token: None,
            expires_at: None,
            scope: None,
            issued_at: None,
            client_id: None,
            requested_scope: None,
            token_type: None,
            dpop_key: None,
        }
    }

    /// Returns true if the access token has expired at `now`, in Unix seconds.
    #[must_use]
    pub(crate) fn has_expired(&self, now: f64) -> bool {
        self.expires_at.is_some_and(|end| end <= now)
    }

    /// Takes the fields that a refresh response leaves out from the tokens before it.
    pub(crate) fn completed_from(mut self, old: &Self) -> Self {
        if self.refresh_token.is_none() {
            self.refresh_token.clone_from(&old.refresh_token);
        }
        if self.scope.is_none() {
            self.scope.clone_from(&old.scope);
        }
        if self.client_id.is_none() {
            self.client_id.clone_from(&old.client_id);
        }
        if self.requested_scope.is_none() {
            self.requested_scope.clone_from(&old.requested_scope);
        }
        if self.dpop_key.is_none() {
            self.dpop_key.clone_from(&old.dpop_key);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::{ClientInfo, Login, LoginBinding, Tokens};
    use crate::secret::Secret;

    fn login(server_url: Option<&str>, issuer: Option<&str>) -> Login {
        Login {
            server_url: server_url.map(str::to_owned),
            issuer: issuer.map(str::to_owned),
            oauth_state: Some(Secret::new("kept")),
            ..Login::default()
        }
    }

    #[test]
    fn a_login_is_bound_to_server_and_issuer() {
        for (server_url, issuer, expect) in [
            (Some("https://s/"), Some("https://i"), LoginBinding::Bound),
            (Some("https://s/"), None, LoginBinding::IssuerUnknown),
            (
                Some("https://s/"),
                Some("https://i/"),
                LoginBinding::Mismatch,
            ),
            (Some("https://s"), Some("https://i"), LoginBinding::Mismatch),
            (Some("https://S/"), None, LoginBinding::Mismatch),
            (None, Some("https://i"), LoginBinding::Mismatch),
            (None, None, LoginBinding::Mismatch),
        ] {
            let mut login = login(server_url, issuer);
            assert_eq!(login.binding("https://s/", "https://i"), expect);

            login.bind("https://s/", "https://i");
            let kept = (expect != LoginBinding::Mismatch).then(|| Secret::new("kept"));
            assert_eq!(login.oauth_state, kept);
            assert_eq!(
                login.binding("https://s/", "https://i"),
                LoginBinding::Bound
            );
        }
    }

    #[test]
    fn tokens_and_secrets_expire() {
        for (end, tokens_expired, client_expired) in [
            (None, false, false),
            (Some(0.0), true, false),
            (Some(99.9), true, true),
            (Some(100.0), true, true),
            (Some(100.1), false, false),
        ] {
            let tokens = Tokens {
                expires_at: end,
                ..Tokens::new(Secret::new("a"))
            };
            let client = ClientInfo {
                secret_expires_at: end,
                ..ClientInfo::public("a")
            };
            let expired = (tokens.has_expired(100.0), client.has_expired(100.0));
            assert_eq!(expired, (tokens_expired, client_expired));
        }
    }
}
