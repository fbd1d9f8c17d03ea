use serde::de::DeserializeOwned;
use url::Url;

use crate::endpoint::{self, EndpointError};
use crate::provider::shown;

/// Says why a metadata document is not used.
#[derive(Debug, thiserror::Error)]
pub enum MetadataError {
    /// It is not the JSON object that it should be.
    #[error("the metadata is malformed")]
    Malformed(#[source] serde_json::Error),
    /// It describes another server than the one that was contacted.
    #[error("the metadata is for {}, not for {server}", shown(resource))]
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
    #[error("the metadata is of the issuer {}, not of {expected}", shown(found))]
    Issuer {
        /// The issuer that the document names.
        found: String,
        /// The issuer that was asked for.
        expected: String,
    },
    /// It names an address that is not used.
    #[error("{name} {:?} is not used: {reason}", shown(url))]
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
