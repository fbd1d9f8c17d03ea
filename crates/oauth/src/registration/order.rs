//! Which of the ways to be a client is taken.

use url::Url;

use super::client::{Client, Registrations};
use super::metadata_document::ClientIdUrl;
use crate::Scopes;
use crate::callback_listener::WhenBusy;
use crate::metadata::AuthorizationServer;

/// The ways that are open to us.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// A client that the user registered by hand.
    pub configured: Option<ConfiguredClient>,
    /// The address of our description.
    pub metadata_document: Option<ClientIdUrl>,
    /// The clients that were registered before.
    pub registrations: Registrations,
}

impl Options {
    /// What is left if no client that exists knows the redirect URI.
    ///
    /// A configured client stays, since nothing replaces it.
    #[must_use]
    pub fn for_new_redirect_uri(self) -> Self {
        Self {
            configured: self.configured,
            ..Self::default()
        }
    }

    /// The same without the registered clients that may not ask for `scopes`.
    #[must_use]
    pub fn covering(&self, scopes: &Scopes) -> Self {
        Self {
            registrations: self.registrations.covering(scopes),
            ..self.clone()
        }
    }

    /// What to do if the port of the redirect URI is taken: a configured client knows no other.
    #[must_use]
    pub fn when_busy(&self) -> WhenBusy {
        match &self.configured {
            Some(_) => WhenBusy::Fail,
            None => WhenBusy::TakeAnother,
        }
    }
}

/// A client that the user registered by hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfiguredClient {
    /// The client.
    pub client: Client,
    /// Who knows it, if the user says so; nobody else is ever told about it then.
    pub issuer: Option<String>,
}

/// Who we are to an authorization server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// A client that it knows, or can look up.
    Known(Client),
    /// Nobody yet: register there.
    Register(Url),
}

/// Says why we are nobody to an authorization server.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdentityError {
    /// The configured client is that of another issuer.
    #[error(
        "the configured client belongs to {configured}, but the server's tokens come from {found}"
    )]
    OtherIssuer {
        /// Who knows the client.
        configured: String,
        /// Whom the server names.
        found: String,
    },
    /// A person has to register a client.
    #[error(transparent)]
    Needed(#[from] NeedsClientRegistration),
}

/// Tells a person how to register a client, since the authorization server lets no program do it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{issuer} does not register clients by itself: register one there with the redirect URI {redirect_uri}, \
     and add to this server's configuration: \"oauth\": {{\"clientId\": \"<id>\", \"clientSecret\": \"<secret, if there is one>\"}}"
)]
pub struct NeedsClientRegistration {
    /// Where to register.
    pub issuer: String,
    /// What to register.
    pub redirect_uri: String,
}

/// Chooses in the order of the specification: configured, described, registered before, registered now.
pub fn choose(
    options: &Options,
    server: &AuthorizationServer,
    redirect_uri: &str,
    now: u64,
) -> Result<Identity, IdentityError> {
    if let Some(configured) = &options.configured {
        return match &configured.issuer {
            Some(issuer) if *issuer != server.issuer => Err(IdentityError::OtherIssuer {
                configured: issuer.clone(),
                found: server.issuer.clone(),
            }),
            _ => Ok(Identity::Known(configured.client.clone())),
        };
    }
    let document = options.metadata_document.as_ref();
    if let Some(id) = document.filter(|_| server.client_id_metadata_document_supported) {
        return Ok(Identity::Known(Client::public(id.as_str())));
    }
    if let Some(client) = options.registrations.usable(&server.issuer, now) {
        return Ok(Identity::Known(client.clone()));
    }
    match &server.registration_endpoint {
        Some(endpoint) => Ok(Identity::Register(endpoint.clone())),
        None => Err(NeedsClientRegistration {
            issuer: server.issuer.clone(),
            redirect_uri: redirect_uri.to_owned(),
        }
        .into()),
    }
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::{ConfiguredClient, Identity, IdentityError, Options, choose};
    use crate::callback_listener::WhenBusy;
    use crate::metadata::AuthorizationServer;
    use crate::registration::{Client, ClientIdUrl, NeedsClientRegistration, Registrations};

    const ISSUER: &str = "https://as.example";
    const DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";

    struct Case {
        configured: Option<Option<&'static str>>,
        document: bool,
        registered_at: Option<&'static str>,
        /// Whether the server reads documents, and whether it registers clients.
        server: (bool, bool),
        expected: Result<Identity, IdentityError>,
    }

    fn known(id: &str) -> Result<Identity, IdentityError> {
        Ok(Identity::Known(Client::public(id)))
    }

    fn register() -> Result<Identity, IdentityError> {
        Ok(Identity::Register(
            "https://as.example/register".parse().unwrap(),
        ))
    }

    fn needed() -> NeedsClientRegistration {
        NeedsClientRegistration {
            issuer: ISSUER.into(),
            redirect_uri: "http://127.0.0.1:1/cb".into(),
        }
    }

    fn case(
        configured: Option<Option<&'static str>>,
        document: bool,
        registered_at: Option<&'static str>,
        server: (bool, bool),
        expected: Result<Identity, IdentityError>,
    ) -> Case {
        Case {
            configured,
            document,
            registered_at,
            server,
            expected,
        }
    }

    #[test]
    fn identities_are_chosen_in_order() {
        let other = Err(IdentityError::OtherIssuer {
            configured: "https://other.example".into(),
            found: ISSUER.into(),
        });
        let cases = [
            case(
                Some(None),
                true,
                Some(ISSUER),
                (true, true),
                known("configured"),
            ),
            case(
                Some(Some(ISSUER)),
                true,
                Some(ISSUER),
                (true, true),
                known("configured"),
            ),
            case(
                Some(Some("https://other.example")),
                true,
                Some(ISSUER),
                (true, true),
                other,
            ),
            case(None, true, Some(ISSUER), (true, true), known(DOCUMENT)),
            case(None, true, Some(ISSUER), (false, true), known("registered")),
            case(None, false, Some(ISSUER), (true, true), known("registered")),
            case(None, true, None, (false, true), register()),
            case(
                None,
                false,
                Some("https://old.example"),
                (false, true),
                register(),
            ),
            case(
                None,
                false,
                Some("https://as.example/"),
                (false, true),
                register(),
            ),
            case(None, true, None, (false, false), Err(needed().into())),
        ];
        let origin: Url = ISSUER.parse().unwrap();
        for (index, case) in cases.into_iter().enumerate() {
            let mut registrations = Registrations::default();
            if let Some(issuer) = case.registered_at {
                registrations.insert(issuer, Client::public("registered"));
            }
            let options = Options {
                configured: case.configured.map(|issuer| ConfiguredClient {
                    client: Client::public("configured"),
                    issuer: issuer.map(str::to_owned),
                }),
                metadata_document: case.document.then(|| ClientIdUrl::parse(DOCUMENT).unwrap()),
                registrations,
            };
            let (documents, registers) = case.server;
            let mut server = AuthorizationServer::assumed(&origin);
            server.client_id_metadata_document_supported = documents;
            server.registration_endpoint = server.registration_endpoint.filter(|_| registers);
            let found = choose(&options, &server, "http://127.0.0.1:1/cb", 0);
            assert_eq!(found, case.expected, "case {index}");
        }
    }

    #[test]
    fn a_new_redirect_uri_needs_a_new_registration_or_a_configured_client() {
        let mut options = Options {
            metadata_document: Some(ClientIdUrl::parse(DOCUMENT).unwrap()),
            ..Options::default()
        };
        let registered = Client::public("registered");
        options.registrations.insert(ISSUER, registered);
        let mut server = AuthorizationServer::assumed(&ISSUER.parse().unwrap());
        server.client_id_metadata_document_supported = true;
        let chosen = |options: &Options| choose(options, &server, "http://127.0.0.1:2/cb", 0);
        assert_eq!(options.when_busy(), WhenBusy::TakeAnother);
        assert_eq!(chosen(&options.clone().for_new_redirect_uri()), register());

        options.configured = Some(ConfiguredClient {
            client: Client::public("configured"),
            issuer: None,
        });
        assert_eq!(options.when_busy(), WhenBusy::Fail);
        assert_eq!(chosen(&options.for_new_redirect_uri()), known("configured"));
    }

    #[test]
    fn a_person_is_told_what_to_do() {
        assert_eq!(
            needed().to_string(),
            "https://as.example does not register clients by itself: register one there with the redirect URI \
             http://127.0.0.1:1/cb, and add to this server's configuration: \
             \"oauth\": {\"clientId\": \"<id>\", \"clientSecret\": \"<secret, if there is one>\"}"
        );
    }
}
