use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use url::Url;

use crate::consent::Consent;
use crate::device::Prompt;
use crate::fetch::Fetcher;
use crate::id_jag::IdentityProvider;
use crate::registration::{ClientIdUrl, ConfiguredClient};
use crate::store::Store;
use crate::{Scopes, Secret};

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
    /// A person's consent, in a browser of this machine or with a pasted address.
    #[default]
    AuthorizationCode,
    /// A person's consent on another device.
    DeviceCode(ShowCode),
    /// Nothing but the configured client.
    ClientCredentials,
    /// A login at an employer's identity provider, and the identity token that it left.
    Enterprise(Box<IdentityProvider>, Assertion),
    /// A token by which the platform that we run on says who we are.
    WorkloadIdentity(Assertion),
}

/// Shows a person the code to type on another device.
#[derive(Clone)]
pub struct ShowCode(Arc<dyn Fn(&Prompt) + Send + Sync>);

/// A token that somebody else signs.
#[derive(Debug, Clone)]
pub enum Assertion {
    /// The token.
    Text(Secret),
    /// The file that holds it, which the platform replaces from time to time.
    File(PathBuf),
}

impl Grant {
    /// Whether it takes a person, so that tokens are renewed in another way.
    pub(super) fn takes_person(&self) -> bool {
        match self {
            Self::AuthorizationCode | Self::DeviceCode(_) => true,
            Self::ClientCredentials | Self::Enterprise(..) | Self::WorkloadIdentity(_) => false,
        }
    }
}

impl ShowCode {
    /// Shows codes by calling `show`.
    pub fn new(show: impl Fn(&Prompt) + Send + Sync + 'static) -> Self {
        Self(Arc::new(show))
    }

    pub(super) fn show(&self, prompt: &Prompt) {
        (self.0)(prompt);
    }
}

impl fmt::Debug for ShowCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ShowCode")
    }
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
