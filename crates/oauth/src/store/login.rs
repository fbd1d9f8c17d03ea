use crate::registration::AuthMethod;
use crate::secret::Secret;

/// What is known about the login at one server.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Login {
    /// The server that everything here is for.
    pub server_url: Option<String>,
    /// The authorization server that everything here is from. OpenCode does not record it.
    pub issuer: Option<String>,
    /// What the server is called with.
    pub tokens: Option<Tokens>,
    /// How we are registered at the authorization server.
    pub client: Option<ClientInfo>,
    /// The client that the user chose, if it is not one that registered itself.
    pub chosen: Option<ChosenClient>,
    /// The port that browsers come back to, if the user chose one.
    pub callback_port: Option<u16>,
    /// Where the server says that it describes itself, if it named a place of its own.
    pub resource_metadata: Option<String>,
    /// The PKCE verifier of a login that is under way.
    pub code_verifier: Option<Secret>,
    /// The state of a login that is under way.
    pub oauth_state: Option<Secret>,
}

/// The tokens of a login.
#[derive(Debug, Clone, PartialEq)]
pub struct Tokens {
    /// What opens the server.
    pub access_token: Secret,
    /// Buys the next tokens.
    pub refresh_token: Option<Secret>,
    /// When the access token ends, in Unix seconds.
    pub expires_at: Option<f64>,
    /// The scopes that were granted.
    pub scope: Option<String>,
    /// When the tokens were asked for, in Unix seconds. OpenCode does not record this and what follows.
    pub issued_at: Option<f64>,
    /// The client that the tokens were issued to, whichever way it is known to the authorization server.
    pub client_id: Option<String>,
    /// The scopes that were asked for.
    pub requested_scope: Option<String>,
    /// How the access token is shown, in the words of the authorization server; nothing means `Bearer`.
    pub token_type: Option<String>,
    /// The key that the tokens are bound to, as [`dpop::Key::stored`](crate::dpop::Key::stored) writes it.
    pub dpop_key: Option<Secret>,
}

/// A registration at an authorization server.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientInfo {
    /// The public name of this client.
    pub client_id: String,
    /// The secret of this client, if it has one.
    pub client_secret: Option<Secret>,
    /// When the registration was made, in Unix seconds.
    pub client_id_issued_at: Option<f64>,
    /// When the secret ends, in Unix seconds.
    pub client_secret_expires_at: Option<f64>,
    /// How the client proves itself, if that was agreed.
    pub auth_method: Option<AuthMethod>,
    /// The redirect URI that was registered, if it is not the usual one.
    pub redirect_uri: Option<String>,
    /// The scopes that the client may ask for, if they are limited.
    pub scope: Option<String>,
}

/// A client that the user chose, to be used again without being asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChosenClient {
    /// Its id.
    pub client_id: String,
    /// Its secret, if it has one.
    pub client_secret: Option<Secret>,
    /// The file with its private key, if it has one.
    pub key_file: Option<String>,
    /// What it is.
    pub kind: ChosenKind,
    /// Who says that it may have tokens, if it does not prove that by itself.
    pub identity: Option<ChosenIdentity>,
}

/// Says that a client may have tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChosenIdentity {
    /// The file with the identity token, which somebody else replaces from time to time.
    pub token_file: String,
    /// Where the identity token is exchanged; without it, the authorization server takes it as it is.
    pub provider: Option<ChosenProvider>,
}

/// An employer's identity provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChosenProvider {
    /// Where it exchanges tokens.
    pub token_endpoint: String,
    /// Who we are there.
    pub client_id: String,
    /// The file with our secret there, if we have one.
    pub client_secret_file: Option<String>,
}

/// What a client is that the user chose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChosenKind {
    /// Its id is the address of its description.
    Described,
    /// Somebody registered it by hand, and a person logs in.
    Registered,
    /// Somebody registered it by hand, and it logs in as itself.
    Itself,
}

/// Whether a stored login may be used for a server and an authorization server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It was made for both.
    Own,
    /// It was made for the server; which authorization server it is from was not recorded.
    IssuerUnknown,
    /// It was made for another server or by another authorization server and must not be sent.
    Foreign,
}

impl Login {
    /// Whether this login is one for `server_url`, made by `issuer`.
    ///
    /// Both are compared as they are written.
    #[must_use]
    pub fn standing(&self, server_url: &str, issuer: &str) -> Standing {
        match &self.issuer {
            _ if self.server_url.as_deref() != Some(server_url) => Standing::Foreign,
            None => Standing::IssuerUnknown,
            Some(own) if own == issuer => Standing::Own,
            Some(_) => Standing::Foreign,
        }
    }

    /// Makes this a login for `server_url` by `issuer`, and forgets all that was for others.
    pub fn bind(&mut self, server_url: &str, issuer: &str) {
        if self.standing(server_url, issuer) == Standing::Foreign {
            *self = Self::default();
        }
        self.server_url = Some(server_url.to_owned());
        self.issuer = Some(issuer.to_owned());
    }
}

impl ChosenKind {
    /// Its name in the file.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Described => "described",
            Self::Registered => "registered",
            Self::Itself => "itself",
        }
    }

    /// The kind of that name; a file without one is of a client that was registered.
    pub(super) fn parse(name: Option<&str>) -> Self {
        let kinds = [Self::Described, Self::Itself];
        let found = kinds.into_iter().find(|kind| name == Some(kind.name()));
        found.unwrap_or(Self::Registered)
    }
}

impl Tokens {
    /// An access token and nothing that is known about it.
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

    /// Whether the access token ends before `now`, in Unix seconds; never, if nobody said when.
    #[must_use]
    pub fn has_expired(&self, now: f64) -> bool {
        self.expires_at.is_some_and(|end| end <= now)
    }

    /// These tokens, with what a refresh leaves out taken from the ones before.
    pub(crate) fn renewing(mut self, old: &Self) -> Self {
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

impl ClientInfo {
    /// A client without a secret.
    #[must_use]
    pub fn public(client_id: impl Into<String>) -> Self {
        Self {
            client_id: client_id.into(),
            client_secret: None,
            client_id_issued_at: None,
            client_secret_expires_at: None,
            auth_method: None,
            redirect_uri: None,
            scope: None,
        }
    }

    /// Whether the secret ends before `now`, in Unix seconds; zero means never.
    #[must_use]
    pub fn has_expired(&self, now: f64) -> bool {
        self.client_secret_expires_at
            .is_some_and(|end| end > 0.0 && end <= now)
    }
}

#[cfg(test)]
mod tests {
    use super::{ClientInfo, Login, Standing, Tokens};
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
            (Some("https://s/"), Some("https://i"), Standing::Own),
            (Some("https://s/"), None, Standing::IssuerUnknown),
            (Some("https://s/"), Some("https://i/"), Standing::Foreign),
            (Some("https://s"), Some("https://i"), Standing::Foreign),
            (Some("https://S/"), None, Standing::Foreign),
            (None, Some("https://i"), Standing::Foreign),
            (None, None, Standing::Foreign),
        ] {
            let mut login = login(server_url, issuer);
            assert_eq!(login.standing("https://s/", "https://i"), expect);

            login.bind("https://s/", "https://i");
            let kept = (expect != Standing::Foreign).then(|| Secret::new("kept"));
            assert_eq!(login.oauth_state, kept);
            assert_eq!(login.standing("https://s/", "https://i"), Standing::Own);
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
                client_secret_expires_at: end,
                ..ClientInfo::public("a")
            };
            let expired = (tokens.has_expired(100.0), client.has_expired(100.0));
            assert_eq!(expired, (tokens_expired, client_expired));
        }
    }
}
