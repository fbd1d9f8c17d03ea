use std::fmt;

use http::uri::{InvalidUri, Scheme};
use http::{HeaderValue, Uri};

/// The URL that every request is posted to.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Endpoint(Uri);

/// Reason why a URL is refused. No text repeats the URL, which may hold secrets.
#[derive(Debug, thiserror::Error)]
pub(super) enum EndpointError {
    #[error("the URL of the server is malformed")]
    Malformed(#[from] InvalidUri),
    #[error("the URL of the server must start with `http://` or `https://`")]
    Scheme,
    #[error("the URL of the server must not contain a user name or password; use a header")]
    Userinfo,
}

impl Endpoint {
    pub(super) fn parse(url: &str) -> Result<Self, EndpointError> {
        let uri: Uri = url.parse()?;
        let scheme = uri.scheme().ok_or(EndpointError::Scheme)?;
        if *scheme != Scheme::HTTP && *scheme != Scheme::HTTPS {
            return Err(EndpointError::Scheme);
        }
        // The authority exists: a URI with a scheme is not parsed without one.
        if uri.authority().is_some_and(|a| a.as_str().contains('@')) {
            return Err(EndpointError::Userinfo);
        }
        Ok(Self(uri))
    }

    pub(super) fn uri(&self) -> &Uri {
        &self.0
    }

    /// Host and port to connect to.
    pub(super) fn host_and_port(&self) -> (&str, u16) {
        let default_port = if self.is_https() { 443 } else { 80 };
        let port = self.0.port_u16().unwrap_or(default_port);
        (self.0.host().unwrap_or_default(), port)
    }

    /// Request target: path and query.
    pub(super) fn target(&self) -> Uri {
        let path = self.0.path_and_query().cloned();
        path.map(Uri::from).unwrap_or_default()
    }

    /// Value of the `Host` header: with the port only if it is not the default of the scheme.
    pub(super) fn host(&self) -> HeaderValue {
        let host = match (self.host_and_port(), self.is_https()) {
            ((host, 443), true) | ((host, 80), false) => host.to_owned(),
            ((host, port), _) => format!("{host}:{port}"),
        };
        HeaderValue::try_from(host).expect("a host has no characters that a header cannot have")
    }

    pub(super) fn is_https(&self) -> bool {
        self.0.scheme() == Some(&Scheme::HTTPS)
    }
}

/// The scheme, host and port of a URI that has them.
pub(super) fn origin(uri: &Uri) -> Option<String> {
    let authority = uri.authority()?.as_str();
    // The target of a redirect may have a user name and a password, which no error may show.
    let host_and_port = authority.rsplit('@').next().unwrap_or(authority);
    Some(format!("{}://{host_and_port}", uri.scheme_str()?))
}

/// Shows the URL without its query, which may hold secrets.
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let origin = origin(&self.0).unwrap_or_default();
        write!(f, "{origin}{}", self.0.path())
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_names_its_host_and_path() {
        for (url, host, target) in [
            ("http://localhost:3000", "localhost:3000", "/"),
            ("https://host/mcp?key=1", "host", "/mcp?key=1"),
            ("https://host:443/mcp", "host", "/mcp"),
            ("http://host:443/mcp", "host:443", "/mcp"),
            ("http://host:80?a", "host", "/?a"),
            ("https://[::1]:8443/a#part", "[::1]:8443", "/a"),
        ] {
            let endpoint = Endpoint::parse(url).unwrap();
            assert_eq!(
                (
                    endpoint.host().to_str().unwrap(),
                    endpoint.target().to_string()
                ),
                (host, target.to_owned())
            );
        }
    }

    #[test]
    fn only_plain_http_urls_are_endpoints() {
        const SCHEME: &str = "the URL of the server must start with `http://` or `https://`";
        const USERINFO: &str =
            "the URL of the server must not contain a user name or password; use a header";
        const MALFORMED: &str = "the URL of the server is malformed";
        for (url, expect) in [
            ("http://localhost:3000", Ok("http://localhost:3000/")),
            ("https://host/mcp?key=secret", Ok("https://host/mcp")),
            ("HTTPS://[::1]:8443/a/b#part", Ok("https://[::1]:8443/a/b")),
            ("ftp://host/mcp", Err(SCHEME)),
            ("ws://host/mcp", Err(SCHEME)),
            ("localhost:3000", Err(SCHEME)),
            ("/mcp", Err(SCHEME)),
            ("http://me:secret@host/mcp", Err(USERINFO)),
            ("http://me@host/mcp", Err(USERINFO)),
            ("http:///mcp", Err(MALFORMED)),
            ("http://host/a b", Err(MALFORMED)),
            ("", Err(MALFORMED)),
        ] {
            let seen = Endpoint::parse(url)
                .map(|endpoint| format!("{endpoint:?}"))
                .map_err(|error| error.to_string());
            assert_eq!(seen.as_deref().map_err(String::as_str), expect, "{url}");
        }
    }
}
