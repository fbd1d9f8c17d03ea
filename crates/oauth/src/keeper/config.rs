use std::sync::Arc;

use bytes::Bytes;
use url::Url;

use crate::Scopes;
use crate::consent::Consent;
use crate::fetch::Fetcher;
use crate::registration::{ClientIdUrl, ConfiguredClient};
use crate::store::Store;

/// For which server tokens are kept, and how they are got.
#[derive(Debug, Clone)]
pub struct Config {
    /// What the server is called in errors, and the key of its login in the store.
    pub name: Arc<str>,
    /// The server.
    pub server: Url,
    /// Our name, where a person reads it.
    pub client_name: String,
    /// A client that the user registered by hand.
    pub client: Option<ConfiguredClient>,
    /// The address of our description.
    pub metadata_document: Option<ClientIdUrl>,
    /// The scopes that the user configured.
    pub scopes: Option<Scopes>,
    /// What tokens are got with.
    pub grant: Grant,
    /// Where logins are kept; without it they end with this value.
    pub store: Option<Store>,
    /// Who asks a person; without it, nobody is asked.
    pub consent: Option<Arc<dyn Consent>>,
    /// Who carries out the requests.
    pub fetcher: Fetcher,
    /// Certificates to trust besides those of the platform, in DER form, when a login begins with a
    /// question to the server.
    pub extra_roots: Vec<Bytes>,
    /// The revision to name in requests for metadata.
    pub protocol_version: String,
}

/// What tokens are got with, the first time and whenever nothing renews them.
#[derive(Debug, Clone, Default)]
pub enum Grant {
    /// A person's consent.
    #[default]
    AuthorizationCode,
    /// Nothing but the configured client.
    ClientCredentials,
}

impl Config {
    /// Keeps the tokens for `server` in memory and asks nobody, until told otherwise.
    #[must_use]
    pub fn new(name: impl Into<Arc<str>>, server: Url, fetcher: Fetcher) -> Self {
        Self {
            name: name.into(),
            server,
            client_name: "Callgate".to_owned(),
            client: None,
            metadata_document: None,
            scopes: None,
            grant: Grant::default(),
            store: None,
            consent: None,
            fetcher,
            extra_roots: Vec::new(),
            protocol_version: callgate_wire::Version::LATEST.as_str().to_owned(),
        }
    }
}
