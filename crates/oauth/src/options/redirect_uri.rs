use std::fmt;
use std::net::{IpAddr, Ipv4Addr};

use serde::{Deserialize, Serialize};
use url::{Host, Url};

use crate::endpoint::is_loopback;

/// Redirect URI of a client that was registered by hand: plain http to this machine.
///
/// It is sent as it is written, because providers compare it byte for byte. Without a port, any port is
/// used (RFC 8252, section 7.3).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RedirectUri {
    text: String,
    ip: IpAddr,
    port: Option<u16>,
    /// Path that a browser requests.
    path: String,
}

/// The text cannot be the redirect URI of a program.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` cannot be the redirect URI: it must be http to a loopback host (localhost, 127.0.0.1 or [::1]), without credentials, query and fragment, for example http://localhost:8123/callback"
)]
pub struct RedirectUriError(String);

impl RedirectUri {
    /// Parses the URI.
    ///
    /// # Errors
    /// The URI is not one of this machine.
    pub fn parse(text: &str) -> Result<Self, RedirectUriError> {
        let error = || RedirectUriError(text.to_owned());
        let url = Url::parse(text).map_err(|_| error())?;
        // If the parser changes the text, the browser would too, and the request would not fit.
        let bare = text.strip_suffix('/').unwrap_or(text);
        let is_plain = url.as_str().strip_suffix('/').unwrap_or(url.as_str()) == bare;
        let fits = url.scheme() == "http" && is_loopback(&url) && url.username().is_empty();
        if !(is_plain && fits && url.query().is_none() && url.fragment().is_none()) {
            return Err(error());
        }
        let ip = match url.host() {
            Some(Host::Ipv4(ip)) => ip.into(),
            Some(Host::Ipv6(ip)) => ip.into(),
            _ => Ipv4Addr::LOCALHOST.into(),
        };
        Ok(Self {
            text: text.to_owned(),
            ip,
            port: url.port(),
            path: url.path().to_owned(),
        })
    }

    /// Port, if the URI names one.
    #[must_use]
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// Address to listen on.
    pub(crate) fn ip(&self) -> IpAddr {
        self.ip
    }

    /// Path that a browser requests.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Returns true if the host is the name `localhost`, which a browser may resolve to IPv6.
    pub(crate) fn is_localhost(&self) -> bool {
        self.text.starts_with("http://localhost")
    }

    /// URI with `port`, if it names none itself.
    pub(crate) fn with_port(&self, port: u16) -> String {
        if self.port.is_some() {
            return self.text.clone();
        }
        let rest = self.text.strip_prefix("http://").unwrap_or_default();
        let end = rest.find('/').unwrap_or(rest.len());
        let (host, path) = rest.split_at(end);
        format!("http://{host}:{port}{path}")
    }
}

impl fmt::Display for RedirectUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl TryFrom<String> for RedirectUri {
    type Error = RedirectUriError;

    fn try_from(text: String) -> Result<Self, RedirectUriError> {
        Self::parse(&text)
    }
}

impl From<RedirectUri> for String {
    fn from(uri: RedirectUri) -> Self {
        uri.text
    }
}

#[cfg(test)]
mod tests {
    use super::RedirectUri;

    #[test]
    fn a_redirect_uri_is_on_this_machine() {
        for (text, port, path, sent) in [
            (
                "http://localhost:8123/cb",
                Some(8123),
                "/cb",
                "http://localhost:8123/cb",
            ),
            ("http://127.0.0.1:1/", Some(1), "/", "http://127.0.0.1:1/"),
            (
                "http://localhost:8123",
                Some(8123),
                "/",
                "http://localhost:8123",
            ),
            ("http://[::1]:1/a/b", Some(1), "/a/b", "http://[::1]:1/a/b"),
            ("http://localhost", None, "/", "http://localhost:7"),
            ("http://localhost/", None, "/", "http://localhost:7/"),
            ("http://[::1]/cb", None, "/cb", "http://[::1]:7/cb"),
        ] {
            let uri = RedirectUri::parse(text).unwrap();
            let found = (uri.port(), uri.path(), uri.with_port(7));
            assert_eq!(found, (port, path, sent.to_owned()), "{text}");
            assert_eq!(uri.to_string(), text);
        }
    }

    #[test]
    fn other_redirect_uris_are_refused() {
        for text in [
            "",
            "localhost:8123/cb",
            "https://localhost:8123/cb",
            "http://a.example:1/cb",
            "http://localhost.a.example/cb",
            "http://0.0.0.0:1/cb",
            "http://u@localhost:1/cb",
            "http://localhost:1/cb?x=1",
            "http://localhost:1/cb#f",
            "http://localhost:1/a/../cb",
            "http://localhost:1/a b",
            "http://LOCALHOST:1/cb",
        ] {
            assert!(RedirectUri::parse(text).is_err(), "{text}");
        }
    }
}
