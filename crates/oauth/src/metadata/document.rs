use serde::de::DeserializeOwned;
use url::Url;

use crate::endpoint::{self, EndpointError};
use crate::provider::shown;

/// The metadata document is not used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MetadataError {
    /// The document is not a JSON object of the expected shape.
    #[error("the metadata is malformed")]
    Malformed(#[source] serde_json::Error),
    /// The document describes another server.
    #[error("the metadata must be for {server}, but it is for {}", shown(resource))]
    Resource {
        /// Resource that the document names.
        resource: String,
        /// Server that was contacted.
        server: Url,
    },
    /// The document names no authorization server.
    #[error("the metadata must name an authorization server, but it names none")]
    NoAuthorizationServer,
    /// The document belongs to another issuer.
    #[error(
        "the metadata must be of the issuer {expected}, but it is of {}",
        shown(found)
    )]
    Issuer {
        /// Issuer that the document names.
        found: String,
        /// Issuer that was expected.
        expected: String,
    },
    /// The document names a URL that is not used.
    #[error("{name} {:?} is not used: {reason}", shown(url))]
    Endpoint {
        /// Member of the document or of the challenge.
        name: &'static str,
        /// URL.
        url: String,
        /// Reason for the refusal.
        reason: EndpointError,
    },
    /// The document lacks an endpoint that the login needs.
    #[error("the metadata must name the {0}, but it does not")]
    NoEndpoint(&'static str),
    /// The authorization server does not support PKCE, so that a code could be stolen.
    #[error("a login needs PKCE with S256, but {issuer} lists other PKCE methods only")]
    NoPkce {
        /// Issuer without PKCE.
        issuer: String,
    },
    /// The authorization server does not say if it supports PKCE.
    #[error("a login needs PKCE with S256, but the metadata of {issuer} lists no PKCE methods")]
    PkceNotListed {
        /// Issuer without the list.
        issuer: String,
    },
}

pub(super) fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, MetadataError> {
    serde_json::from_slice(body).map_err(MetadataError::Malformed)
}

/// Parses the URL of a member.
pub(super) fn endpoint(name: &'static str, url: &str) -> Result<Url, MetadataError> {
    endpoint::parse(url).map_err(|reason| MetadataError::Endpoint {
        name,
        url: url.to_owned(),
        reason,
    })
}

/// Well-known URL: the name goes between the host and the path.
pub(super) fn well_known(base: &Url, name: &str, path: &str) -> Url {
    let mut url = base.clone();
    url.set_fragment(None);
    url.set_path(&format!(
        "/.well-known/{name}{}",
        path.trim_end_matches('/')
    ));
    url
}

#[cfg(test)]
mod tests {
    use super::MetadataError;
    use crate::endpoint::EndpointError;

    #[test]
    fn strangers_cannot_write_to_the_terminal() {
        let hostile = format!("\u{1b}[2J\u{202e}{}", "x".repeat(1 << 20));
        let errors = [
            MetadataError::Resource {
                resource: hostile.clone(),
                server: "https://a.example".parse().unwrap(),
            },
            MetadataError::Issuer {
                found: hostile.clone(),
                expected: "https://a.example".to_owned(),
            },
            MetadataError::Endpoint {
                name: "token_endpoint",
                url: hostile,
                reason: EndpointError::Syntax,
            },
        ];
        for error in errors.map(|error| error.to_string()) {
            assert!(error.contains("[2J x"), "{error}");
            assert!(!error.contains(['\u{1b}', '\u{202e}']), "{error}");
            assert!(error.len() < 400, "{}", error.len());
        }
    }
}
