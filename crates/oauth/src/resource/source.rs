use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use callgate_wire::Version;
use tokio::time::timeout;
use url::{Host, Url};

use super::key_set::KeySet;
use crate::endpoint::{self, EndpointError};
use crate::fetch::{self, FetchError, Fetcher, Resolve};
use crate::guard::{Guard, Network};
use crate::http_message::{MAX_BODY, Request, Response};
use crate::metadata::{Issuer, MetadataError, jwks_uri};

/// The keys of an issuer could not be fetched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeysError {
    /// A request failed.
    #[error("cannot fetch {url}")]
    Fetch {
        /// URL of the request.
        url: Url,
        /// Error of the request.
        #[source]
        source: FetchError,
    },
    /// The issuer answered with an error status.
    #[error("{url} answered with the status {status}")]
    Status {
        /// URL of the request.
        url: Url,
        /// HTTP status.
        status: u16,
    },
    /// The issuer has no metadata.
    #[error("the issuer has no metadata: {0}")]
    NoMetadata(String),
    /// The metadata is not used.
    #[error(transparent)]
    Metadata(#[from] MetadataError),
    /// The key set is malformed.
    #[error("the keys at {url} are malformed")]
    Malformed {
        /// URL of the key set.
        url: Url,
        /// Error of the parser.
        #[source]
        source: serde_json::Error,
    },
    /// The document is too long.
    #[error("the document at {url} is too large")]
    TooLong {
        /// URL of the document.
        url: Url,
    },
    /// No key is usable.
    #[error("no key at {url} has an accepted signature algorithm")]
    NoKey {
        /// URL of the key set.
        url: Url,
    },
    /// The time limit was exceeded.
    #[error("the issuer did not answer within {0:?}")]
    TimedOut(Duration),
}

impl KeysError {
    /// Returns true if the keys may be available later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Fetch { source, .. } => source.is_transient(),
            Self::Status { status, .. } => Response::new(*status, "").is_transient(),
            Self::TimedOut(_) => true,
            Self::NoMetadata(_) | Self::Metadata(_) => false,
            Self::Malformed { .. } | Self::TooLong { .. } | Self::NoKey { .. } => false,
        }
    }
}

/// Source of an issuer's keys.
#[derive(Debug)]
pub(super) struct Source {
    issuer: Issuer,
    candidates: Vec<Url>,
    fetcher: Fetcher,
    resolver: Arc<dyn Resolve>,
}

/// Reads the URL of an endpoint from the metadata of an issuer.
type ReadEndpoint = fn(&[u8], &Issuer) -> Result<Url, MetadataError>;

/// Time limit for all documents together.
const TIMEOUT: Duration = Duration::from_secs(30);

impl Source {
    pub(super) fn new(issuer: &str, config: fetch::Config) -> Result<Self, SourceError> {
        endpoint::parse(issuer)?;
        let issuer = Issuer::Named(issuer.to_owned());
        let candidates = issuer.candidates();
        Ok(Self {
            candidates: candidates.expect("the name is an address"),
            issuer,
            resolver: config.resolver.clone(),
            fetcher: Fetcher::new(config)?,
        })
    }

    pub(super) fn issuer(&self) -> &str {
        self.issuer.name()
    }

    /// Fetches the keys. Dropping the future closes the connections.
    pub(super) async fn load(&self) -> Result<KeySet, KeysError> {
        let load = timeout(TIMEOUT, self.load_slowly()).await;
        load.unwrap_or(Err(KeysError::TimedOut(TIMEOUT)))
    }

    async fn load_slowly(&self) -> Result<KeySet, KeysError> {
        let guard = self.guard().await;
        let url = self.find_guarded(guard, jwks_uri).await?;
        let response = self.fetch(guard, &url).await?;
        let Some(body) = response.success() else {
            let status = response.status;
            return Err(KeysError::Status { url, status });
        };
        match KeySet::parse(body) {
            Ok(keys) if keys.len() == 0 => Err(KeysError::NoKey { url }),
            Ok(keys) => Ok(keys),
            Err(source) => Err(KeysError::Malformed { url, source }),
        }
    }

    /// Finds an endpoint in the metadata of the issuer.
    pub(super) async fn find(&self, read: ReadEndpoint) -> Result<Url, KeysError> {
        self.find_guarded(self.guard().await, read).await
    }

    /// Sends a form, and returns the body of a successful response. A URL that the operator chose may be
    /// on any network.
    pub(super) async fn post(
        &self,
        request: &Request,
        is_chosen: bool,
    ) -> Result<Vec<u8>, KeysError> {
        let guard = match is_chosen {
            true => Guard::public()
                .allow(Network::Loopback)
                .allow(Network::Private),
            false => self.guard().await,
        };
        let response = self.send(guard, request).await?;
        let (url, status) = (request.url.clone(), response.status);
        match response.success() {
            Some(body) => Ok(body.to_vec()),
            None => Err(KeysError::Status { url, status }),
        }
    }

    async fn find_guarded(&self, guard: Guard, read: ReadEndpoint) -> Result<Url, KeysError> {
        let mut refused = None;
        for candidate in &self.candidates {
            let response = self.fetch(guard, candidate).await?;
            let Some(body) = response.success() else {
                continue;
            };
            match read(body, &self.issuer) {
                Ok(url) => return Ok(url),
                // Many servers answer every path with a page, so text that is not JSON counts as
                // absent.
                Err(MetadataError::Malformed(_)) => {}
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        Err(match refused {
            Some(error) => error.into(),
            None => KeysError::NoMetadata(self.issuer.name().to_owned()),
        })
    }

    /// Fetches a document. A temporary error ends the search: the next URL could be an older
    /// description.
    async fn fetch(&self, guard: Guard, url: &Url) -> Result<Response, KeysError> {
        let request = Request::document(url.clone(), Version::LATEST.as_str());
        self.send(guard, &request).await
    }

    async fn send(&self, guard: Guard, request: &Request) -> Result<Response, KeysError> {
        let response = self.fetcher.fetch(guard, request).await;
        let url = request.url.clone();
        let response = response.map_err(|source| KeysError::Fetch {
            url: url.clone(),
            source,
        })?;
        let status = response.status;
        if response.is_transient() {
            return Err(KeysError::Status { url, status });
        }
        if response.body.len() > MAX_BODY {
            return Err(KeysError::TooLong { url });
        }
        Ok(response)
    }

    /// Allows the network of the issuer, because the operator of this server chose it.
    async fn guard(&self) -> Guard {
        let host = self.candidates.first().and_then(Url::host);
        let addresses: Vec<IpAddr> = match host {
            None => Vec::new(),
            Some(Host::Ipv4(address)) => vec![address.into()],
            Some(Host::Ipv6(address)) => vec![address.into()],
            // The connection attempt reports a name that does not resolve.
            Some(Host::Domain(name)) => self.resolver.resolve(name).await.unwrap_or_default(),
        };
        let networks = addresses.into_iter().map(Network::of);
        networks.fold(Guard::public(), Guard::allow)
    }
}

/// The issuer can never be asked for keys.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// The issuer is not a usable URL.
    #[error(transparent)]
    Issuer(#[from] EndpointError),
    /// The HTTP client cannot be created.
    #[error(transparent)]
    Fetch(#[from] FetchError),
}
