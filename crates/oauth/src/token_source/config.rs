use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use callgate_mcp::transport::http::connect::Proxies;
use url::Url;

use crate::consent::Consent;
use crate::device::DevicePrompt;
use crate::fetch::Fetcher;
use crate::id_jag::IdentityProvider;
use crate::options::ProviderOptions;
use crate::quirks::Quirks;
use crate::registration::{ClientIdUrl, ConfiguredClient};
use crate::store::LoginStore;
use crate::{Scopes, Secret};

/// Configuration of a [`TokenSource`](super::TokenSource): the server, the client and the grant.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Config {
    /// Name of the server in errors, and the key of its login in the store.
    pub name: Arc<str>,
    /// URL of the MCP server.
    pub server: Url,
    /// Name of the account, if the user has several at this server.
    pub account: Option<String>,
    /// Client name that the authorization server shows to the user.
    pub client_name: String,
    /// Client that the user registered by hand.
    pub client: Option<ConfiguredClient>,
    /// Client id metadata document of this program.
    pub metadata_document: Option<ClientIdUrl>,
    /// Options of the user for the provider.
    pub options: ProviderOptions,
    /// Quirks of known providers, which stand for options that the user has not set.
    pub quirks: Quirks,
    /// Token that a registration needs, instead of the file in the options.
    pub initial_access_token: Option<Secret>,
    /// Set to ignore an earlier registration of this program, and to replace it.
    pub registers_anew: bool,
    /// Scopes that the user configured.
    pub scopes: Option<Scopes>,
    /// Grant that tokens are requested with.
    pub grant: Grant,
    /// Store of logins. Without one, the login lasts as long as this process.
    pub store: Option<LoginStore>,
    /// Asks the user for consent. Without it, a request that needs a login fails with
    /// [`NeedsLogin`](super::NeedsLogin).
    pub consent: Option<Arc<dyn Consent>>,
    /// HTTP client for metadata, registration and tokens.
    pub fetcher: Fetcher,
    /// Certificates to trust besides those of the platform, in DER form, for the request to the MCP
    /// server that begins a login.
    pub extra_roots: Vec<Bytes>,
    /// Proxies of that request.
    pub proxies: Proxies,
    /// Protocol revision that metadata requests name.
    pub protocol_version: String,
}

/// OAuth grant that the first token is requested with, and every token that no refresh token
/// replaces.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum Grant {
    /// Authorization code: the user consents in a browser of this machine, or pastes the redirect.
    #[default]
    AuthorizationCode,
    /// Device code (RFC 8628): the user consents on another device.
    DeviceCode(ShowCode),
    /// Client credentials: no user is involved.
    ClientCredentials,
    /// Enterprise-managed authorization (ID-JAG): the identity token of an employer's identity
    /// provider.
    Enterprise(Box<IdentityProvider>, Assertion),
    /// JWT bearer (RFC 7523): an identity token of the platform that this program runs on.
    WorkloadIdentity(Assertion),
}

/// Callback that shows the user the code to type on another device.
#[derive(Clone)]
pub struct ShowCode(Arc<dyn Fn(&DevicePrompt) + Send + Sync>);

/// Identity token that a platform or an identity provider signed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Assertion {
    /// The token itself.
    Text(Secret),
    /// File with the token. It is read for each request, because platforms replace it.
    File(PathBuf),
}

impl Grant {
    /// Returns true if this grant needs a user, so that only a refresh token can replace a token
    /// unattended.
    pub(super) fn needs_user(&self) -> bool {
        match self {
            Self::AuthorizationCode | Self::DeviceCode(_) => true,
            Self::ClientCredentials | Self::Enterprise(..) | Self::WorkloadIdentity(_) => false,
        }
    }
}

impl ShowCode {
    /// Shows codes by calling `show`.
    pub fn new(show: impl Fn(&DevicePrompt) + Send + Sync + 'static) -> Self {
        Self(Arc::new(show))
    }

    pub(super) fn show(&self, prompt: &DevicePrompt) {
        (self.0)(prompt);
    }
}

impl fmt::Debug for ShowCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ShowCode")
    }
}

impl Config {
    /// Keeps the tokens of `server` in memory and never asks the user; set the fields for more.
    #[must_use]
    pub fn new(name: impl Into<Arc<str>>, server: Url, fetcher: Fetcher) -> Self {
        Self {
            name: name.into(),
            server,
            account: None,
            client_name: "Callgate".to_owned(),
            client: None,
            metadata_document: None,
            options: ProviderOptions::default(),
            quirks: Quirks::default(),
            initial_access_token: None,
            registers_anew: false,
            scopes: None,
            grant: Grant::default(),
            store: None,
            consent: None,
            fetcher,
            extra_roots: Vec::new(),
            proxies: Proxies::default(),
            protocol_version: callgate_wire::Version::LATEST.as_str().to_owned(),
        }
    }
}
