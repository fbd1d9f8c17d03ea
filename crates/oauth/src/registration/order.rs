//! Choice of the client for an authorization server.

use url::Url;

use super::client::{ClientInfo, Registrations};
use super::metadata_document::ClientIdUrl;
use crate::Scopes;
use crate::metadata::AuthorizationServer;

/// Clients that a login may use.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClientOptions {
    /// Client that the user registered by hand.
    pub configured: Option<ConfiguredClient>,
    pub metadata_document: Option<ClientIdUrl>,
    pub registrations: Registrations,
}

impl ClientOptions {
    /// Drops the clients that are not registered for a new redirect URI.
    ///
    /// A configured client stays, because nothing could replace it.
    #[must_use]
    pub(crate) fn for_new_redirect_uri(self) -> Self {
        Self {
            configured: self.configured,
            ..Self::default()
        }
    }

    /// Drops the registered clients that may not request `scopes`.
    #[must_use]
    pub(crate) fn covering(&self, scopes: &Scopes) -> Self {
        Self {
            registrations: self.registrations.covering(scopes),
            ..self.clone()
        }
    }
}

/// Client that the user registered by hand.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ConfiguredClient {
    /// Client.
    pub client: ClientInfo,
    /// Issuer that the client is registered with. If it is set, no other issuer ever sees the
    /// client.
    pub issuer: Option<String>,
}

/// Client for an authorization server.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ClientIdentity {
    /// Client that the authorization server knows, or can look up.
    Known(ClientInfo),
    /// Registration endpoint, where a client has to be registered first.
    Register(Url),
}

/// No client can be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClientIdentityError {
    /// The configured client belongs to another issuer.
    #[error(
        "the configured client belongs to {configured}, but the server's tokens come from {found}"
    )]
    OtherIssuer {
        /// Issuer of the configured client.
        configured: String,
        /// Issuer that the server names.
        found: String,
    },
    /// The user has to register a client.
    #[error(transparent)]
    Needed(#[from] NeedsClientRegistration),
}

/// The user has to register a client by hand, because the authorization server offers no other way.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{issuer} does not register clients by itself: register one there with the redirect URI {redirect_uri}, \
     and add to this server's configuration: \"oauth\": {{\"clientId\": \"<id>\", \"clientSecret\": \"<secret, if there is one>\"}}"
)]
#[non_exhaustive]
pub struct NeedsClientRegistration {
    /// Issuer to register with.
    pub issuer: String,
    /// Redirect URI to register.
    pub redirect_uri: String,
    /// Set if the issuer accepts the URL of a client id metadata document as the client.
    pub accepts_metadata_document: bool,
}

impl ConfiguredClient {
    /// Client of any issuer.
    #[must_use]
    pub const fn new(client: ClientInfo) -> Self {
        Self {
            client,
            issuer: None,
        }
    }
}

/// Chooses in the order of the specification: configured, metadata document, registered before, new
/// registration.
///
/// A configured client comes first because the user named it; a document needs no registration that
/// could be deleted later.
pub(crate) fn choose(
    options: &ClientOptions,
    server: &AuthorizationServer,
    redirect_uri: &str,
    now: u64,
) -> Result<ClientIdentity, ClientIdentityError> {
    if let Some(configured) = &options.configured {
        return match &configured.issuer {
            Some(issuer) if *issuer != server.issuer => Err(ClientIdentityError::OtherIssuer {
                configured: issuer.clone(),
                found: server.issuer.clone(),
            }),
            _ => Ok(known(&configured.client, "configured by the user")),
        };
    }
    let document = options.metadata_document.as_ref();
    if let Some(id) = document.filter(|_| server.client_id_metadata_document_supported) {
        let client = ClientInfo::public(id.as_str());
        return Ok(known(&client, "client id metadata document"));
    }
    if let Some(client) = options.registrations.usable(&server.issuer, now) {
        return Ok(known(client, "registered at an earlier login"));
    }
    match &server.registration_endpoint {
        Some(endpoint) => Ok(ClientIdentity::Register(endpoint.clone())),
        None => Err(NeedsClientRegistration {
            issuer: server.issuer.clone(),
            redirect_uri: redirect_uri.to_owned(),
            accepts_metadata_document: server.client_id_metadata_document_supported,
        }
        .into()),
    }
}

fn known(client: &ClientInfo, way: &str) -> ClientIdentity {
    tracing::debug!(client_id = client.id, way, "client: known");
    ClientIdentity::Known(client.clone())
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::{ClientIdentity, ClientIdentityError, ClientOptions, ConfiguredClient, choose};
    use crate::metadata::AuthorizationServer;
    use crate::registration::client::Registrations;
    use crate::registration::{ClientIdUrl, ClientInfo, NeedsClientRegistration};

    const ISSUER: &str = "https://as.example";
    const DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";

    struct Case {
        configured: Option<Option<&'static str>>,
        document: bool,
        registered_at: Option<&'static str>,
        /// Support for metadata documents, and for dynamic registration.
        server: (bool, bool),
        expected: Result<ClientIdentity, ClientIdentityError>,
    }

    fn known(id: &str) -> Result<ClientIdentity, ClientIdentityError> {
        Ok(ClientIdentity::Known(ClientInfo::public(id)))
    }

    fn register() -> Result<ClientIdentity, ClientIdentityError> {
        Ok(ClientIdentity::Register(
            "https://as.example/register".parse().unwrap(),
        ))
    }

    fn needed() -> NeedsClientRegistration {
        NeedsClientRegistration {
            issuer: ISSUER.into(),
            redirect_uri: "http://127.0.0.1:1/cb".into(),
            accepts_metadata_document: false,
        }
    }

    fn case(
        configured: Option<Option<&'static str>>,
        document: bool,
        registered_at: Option<&'static str>,
        server: (bool, bool),
        expected: Result<ClientIdentity, ClientIdentityError>,
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
        let other = Err(ClientIdentityError::OtherIssuer {
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
                registrations.insert(issuer, ClientInfo::public("registered"));
            }
            let options = ClientOptions {
                configured: case.configured.map(|issuer| ConfiguredClient {
                    client: ClientInfo::public("configured"),
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
        let mut options = ClientOptions {
            metadata_document: Some(ClientIdUrl::parse(DOCUMENT).unwrap()),
            ..ClientOptions::default()
        };
        let registered = ClientInfo::public("registered");
        options.registrations.insert(ISSUER, registered);
        let mut server = AuthorizationServer::assumed(&ISSUER.parse().unwrap());
        server.client_id_metadata_document_supported = true;
        let chosen = |options: &ClientOptions| choose(options, &server, "http://127.0.0.1:2/cb", 0);
        assert_eq!(chosen(&options.clone().for_new_redirect_uri()), register());

        options.configured = Some(ConfiguredClient {
            client: ClientInfo::public("configured"),
            issuer: None,
        });
        assert_eq!(chosen(&options.for_new_redirect_uri()), known("configured"));
    }

    #[test]
    fn the_error_names_the_next_step() {
        assert_eq!(
            needed().to_string(),
            "https://as.example does not register clients by itself: register one there with the redirect URI \
             http://127.0.0.1:1/cb, and add to this server's configuration: \
             \"oauth\": {\"clientId\": \"<id>\", \"clientSecret\": \"<secret, if there is one>\"}"
        );
    }
}
