use std::fmt;

use url::Url;

use crate::endpoint::{self, EndpointError};
use crate::metadata::ProtectedResource;

/// Public URL of a server, which is its name in tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceName(Url);

/// The URL cannot be the name of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResourceNameError {
    /// Clients would not use the URL.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// The URL has a query, which its metadata URL would need too.
    #[error("it has a query")]
    Query,
}

impl ResourceName {
    /// Parses the URL: https, or http to this machine.
    ///
    /// # Errors
    /// The URL cannot be a name.
    pub fn parse(text: &str) -> Result<Self, ResourceNameError> {
        let url = endpoint::parse(text)?;
        if url.query().is_some() {
            return Err(ResourceNameError::Query);
        }
        Ok(Self(url))
    }

    /// URL.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.0
    }

    /// Name in the metadata document.
    pub(super) fn canonical(&self) -> String {
        ProtectedResource::canonical(&self.0)
    }

    /// Accepted audiences. An origin is often written with a final slash.
    pub(super) fn audiences(&self) -> Vec<String> {
        let mut names = vec![self.canonical()];
        if self.0.path() == "/" {
            names.push(self.0.to_string());
        }
        names
    }
}

impl fmt::Display for ResourceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.canonical())
    }
}

#[cfg(test)]
mod tests {
    use super::{ResourceName, ResourceNameError};
    use crate::EndpointError;

    #[test]
    fn a_resource_name_is_the_url_that_clients_use() {
        let cases: [(&str, &[&str]); 4] = [
            ("https://A.example/mcp", &["https://a.example/mcp"]),
            ("https://a.example/mcp/", &["https://a.example/mcp/"]),
            (
                "https://a.example:443",
                &["https://a.example", "https://a.example/"],
            ),
            ("http://127.0.0.1:3000/mcp", &["http://127.0.0.1:3000/mcp"]),
        ];
        for (text, expected) in cases {
            let name = ResourceName::parse(text).unwrap();
            assert_eq!(name.audiences(), expected, "{text}");
        }
    }

    #[test]
    fn urls_that_no_client_uses_are_no_resource_names() {
        let cases = [
            ("mcp", EndpointError::Syntax.into()),
            ("http://a.example/mcp", EndpointError::Scheme.into()),
            ("https://u@a.example/mcp", EndpointError::Credentials.into()),
            ("https://a.example/mcp#f", EndpointError::Fragment.into()),
            ("https://a.example/mcp?x=\"", ResourceNameError::Query),
        ];
        for (text, expected) in cases {
            assert_eq!(ResourceName::parse(text), Err(expected), "{text}");
        }
    }
}
