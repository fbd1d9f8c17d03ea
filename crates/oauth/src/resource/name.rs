use std::fmt;

use url::Url;

use crate::endpoint::{self, EndpointError};
use crate::metadata::ProtectedResource;

/// The address under which clients know a server, which is its name in tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceName(Url);

/// Says why an address cannot be the name of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResourceNameError {
    /// No client would use it.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// It has a query, which the address of its description would have to have too.
    #[error("it has a query")]
    Query,
}

impl ResourceName {
    /// Parses the address: https, or http to this machine.
    ///
    /// # Errors
    /// Says why it cannot be a name.
    pub fn parse(text: &str) -> Result<Self, ResourceNameError> {
        let url = endpoint::parse(text)?;
        if url.query().is_some() {
            return Err(ResourceNameError::Query);
        }
        Ok(Self(url))
    }

    /// The address.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.0
    }

    /// The name as it is written in a description.
    pub(super) fn canonical(&self) -> String {
        ProtectedResource::canonical(&self.0)
    }

    /// The names that a token may be for: an origin is often written with a slash.
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
    fn a_name_is_what_clients_write() {
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
    fn what_no_client_would_use_is_no_name() {
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
