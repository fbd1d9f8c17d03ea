use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use callgate_wire::Version;
use tokio::time::timeout;
use url::{Host, Url};

use super::key_set::KeySet;
use crate::endpoint::{self, EndpointError};
use crate::exchange::{MAX_BODY, Request, Response};
use crate::fetch::{self, FetchError, Fetcher, Resolve};
use crate::guard::{Guard, Network};
use crate::metadata::{Issuer, MetadataError, jwks_uri};

/// Why there are no keys of an issuer.
#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    /// Something cannot be fetched.
    #[error("cannot fetch {url}")]
    Fetch {
        /// What.
        url: Url,
        /// Why not.
        #[source]
        source: FetchError,
    },
    /// The issuer has a bad moment, or says no.
    #[error("{url} answered with the status {status}")]
    Status {
        /// What was asked for.
        url: Url,
        /// The HTTP status.
        status: u16,
    },
    /// The issuer publishes nothing about itself.
    #[error("there is no metadata of the issuer {0}")]
    NoMetadata(String),
    /// What the issuer publishes about itself is not used.
    #[error(transparent)]
    Metadata(#[from] MetadataError),
    /// The document is not one of keys.
    #[error("the keys at {url} are malformed")]
    Malformed {
        /// Where it is.
        url: Url,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
    /// The document has more bytes than are read.
    #[error("the document at {url} is too long")]
    TooLong {
        /// Where it is.
        url: Url,
    },
    /// None of the keys is of a kind that is trusted.
    #[error("none of the keys at {url} is one for signatures that are accepted")]
    NoKey {
        /// Where they are.
        url: Url,
    },
    /// It took too long.
    #[error("the issuer did not answer within {0:?}")]
    TimedOut(Duration),
}

impl KeysError {
    /// Whether the same issuer may have keys later.
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

/// Where the keys of an issuer come from.
#[derive(Debug)]
pub(super) struct Source {
    issuer: Issuer,
    candidates: Vec<Url>,
    fetcher: Fetcher,
    resolver: Arc<dyn Resolve>,
}

/// How long the documents of an issuer may take together.
const PATIENCE: Duration = Duration::from_secs(30);

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
        let load = timeout(PATIENCE, self.load_slowly()).await;
        load.unwrap_or(Err(KeysError::TimedOut(PATIENCE)))
    }

    async fn load_slowly(&self) -> Result<KeySet, KeysError> {
        let guard = self.guard().await;
        let url = self.jwks_uri(guard).await?;
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

    async fn jwks_uri(&self, guard: Guard) -> Result<Url, KeysError> {
        let mut refused = None;
        for candidate in &self.candidates {
            let response = self.fetch(guard, candidate).await?;
            let Some(body) = response.success() else {
                continue;
            };
            match jwks_uri(body, &self.issuer) {
                Ok(url) => return Ok(url),
                // Many servers answer all paths with a page.
                Err(MetadataError::Malformed(_)) => {}
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        Err(match refused {
            Some(error) => error.into(),
            None => KeysError::NoMetadata(self.issuer.name().to_owned()),
        })
    }

    /// What was found, unless the issuer has a bad moment: to look elsewhere could find something older.
    async fn fetch(&self, guard: Guard, url: &Url) -> Result<Response, KeysError> {
        let request = Request::document(url.clone(), Version::LATEST.as_str());
        let response = self.fetcher.fetch(guard, &request).await;
        let response = response.map_err(|source| KeysError::Fetch {
            url: url.clone(),
            source,
        })?;
        let url = url.clone();
        let status = response.status;
        if response.is_transient() {
            return Err(KeysError::Status { url, status });
        }
        if response.body.len() > MAX_BODY {
            return Err(KeysError::TooLong { url });
        }
        Ok(response)
    }

    /// Lets the network be reached that the issuer is on: whoever runs this server chose the issuer.
    async fn guard(&self) -> Guard {
        let host = self.candidates.first().and_then(Url::host);
        let addresses: Vec<IpAddr> = match host {
            None => Vec::new(),
            Some(Host::Ipv4(address)) => vec![address.into()],
            Some(Host::Ipv6(address)) => vec![address.into()],
            // A name that leads nowhere is reported by whoever connects to it.
            Some(Host::Domain(name)) => self.resolver.resolve(name).await.unwrap_or_default(),
        };
        let networks = addresses.into_iter().map(Network::of);
        networks.fold(Guard::public(), Guard::allow)
    }
}

/// Why an issuer cannot be asked for keys at all.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// Its name is not an address that may be used.
    #[error(transparent)]
    Issuer(#[from] EndpointError),
    /// Nothing can be fetched.
    #[error(transparent)]
    Fetch(#[from] FetchError),
}
