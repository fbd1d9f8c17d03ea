use serde::de::DeserializeOwned;
use url::Url;

use crate::endpoint::{self, EndpointError};

/// Says why a metadata document is not used.
#[derive(Debug, thiserror::Error)]
pub enum MetadataError {
    /// It is not the JSON object that it should be.
    #[error("the metadata is malformed")]
    Malformed(#[source] serde_json::Error),
    /// It describes another server than the one that was contacted.
    #[error("the metadata is for {resource}, not for {server}")]
    Resource {
        /// What the document describes.
        resource: String,
        /// What was contacted.
        server: Url,
    },
    /// It names nobody who could issue a token.
    #[error("the metadata names no authorization server")]
    NoAuthorizationServer,
    /// It is that of another issuer.
    #[error("the metadata is of the issuer {found}, not of {expected}")]
    Issuer {
        /// The issuer that the document names.
        found: String,
        /// The issuer that was asked for.
        expected: String,
    },
    /// It names an address that is not used.
    #[error("{name} {url:?} is not used: {reason}")]
    Endpoint {
        /// The member of the document or of the challenge.
        name: &'static str,
        /// The address.
        url: String,
        /// What is wrong with it.
        reason: EndpointError,
    },
    /// A login needs an endpoint that it does not name.
    #[error("the metadata has no {0}")]
    NoEndpoint(&'static str),
    /// It does not say that codes are bound to whoever asked for them.
    #[error("the authorization server {issuer} does not say that it supports PKCE with S256")]
    NoPkce {
        /// Who does not say so.
        issuer: String,
    },
}

/// Reads a document.
pub(super) fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, MetadataError> {
    serde_json::from_slice(body).map_err(MetadataError::Malformed)
}

/// Parses the address that a member names.
pub(super) fn endpoint(name: &'static str, url: &str) -> Result<Url, MetadataError> {
    endpoint::parse(url).map_err(|reason| MetadataError::Endpoint {
        name,
        url: url.to_owned(),
        reason,
    })
}

/// The address of a well-known document: the name goes between the host and the path.
pub(super) fn well_known(base: &Url, name: &str, path: &str) -> Url {
    let mut url = base.clone();
    url.set_fragment(None);
    url.set_path(&format!(
        "/.well-known/{name}{}",
        path.trim_end_matches('/')
    ));
    url
}
