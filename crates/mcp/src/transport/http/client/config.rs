use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{
    ACCEPT, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, HOST, TE, TRAILER, TRANSFER_ENCODING,
    UPGRADE,
};
use http::{HeaderMap, HeaderName, HeaderValue};

use super::authorizer::Authorizer;
use crate::transport::MessageObserver;
use crate::transport::http::connect::Proxies;

/// Configuration of the connection to one server.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HttpConfig {
    /// Name of the server in errors and logs.
    pub name: Arc<str>,
    /// Headers of every request, in addition to those of the protocol.
    pub headers: Headers,
    /// Source of credentials that change over time.
    pub authorizer: Option<Arc<dyn Authorizer>>,
    /// Limits of a response.
    pub limits: HttpLimits,
    /// Timeout of a new connection, its TLS handshake included.
    pub connect_timeout: Duration,
    /// Certificates to trust besides those of the platform, in DER form.
    pub extra_roots: Vec<Bytes>,
    /// Proxies of the connections.
    pub proxies: Proxies,
    /// Observer of all requests, responses and events.
    pub observer: Option<MessageObserver>,
}

/// Limits of a response, beyond which it is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpLimits {
    /// Maximum bytes of a response that is one JSON message.
    pub json: usize,
    /// Maximum bytes of one server-sent event.
    pub event: usize,
    /// Maximum bytes of the body of an HTTP error that are read.
    pub error: usize,
}

/// Headers of the user, for example `authorization`. `Debug` hides their values.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Headers(pub(super) HeaderMap);

/// A header cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeaderError {
    /// The name is not valid for a header.
    #[error("`{0}` is not the name of a header")]
    Name(String),
    /// The value has characters that no header may have.
    #[error("the value of header `{0}` has characters that no header may have")]
    Value(String),
    /// The transport sets this header itself.
    #[error("header `{0}` is set by the transport and cannot be configured")]
    Reserved(String),
}

impl HttpConfig {
    /// A server called `name`, with the limits that fit almost every server.
    #[must_use]
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self {
            name: name.into(),
            headers: Headers::default(),
            authorizer: None,
            limits: HttpLimits::default(),
            connect_timeout: Duration::from_secs(30),
            extra_roots: Vec::new(),
            proxies: Proxies::default(),
            observer: None,
        }
    }
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            json: 16 * 1024 * 1024,
            event: 16 * 1024 * 1024,
            error: 64 * 1024,
        }
    }
}

impl Headers {
    /// Adds a header, or replaces the one with the same name.
    ///
    /// # Errors
    /// The header is malformed, or the transport sets it itself.
    pub fn with(mut self, name: &str, value: &str) -> Result<Self, HeaderError> {
        let header: HeaderName = name
            .parse()
            .map_err(|_| HeaderError::Name(name.to_owned()))?;
        // The headers of the protocol repeat the body of each request; a fixed value would contradict it.
        if RESERVED.contains(&header) || header.as_str().starts_with("mcp-") {
            return Err(HeaderError::Reserved(header.as_str().to_owned()));
        }
        let mut value = HeaderValue::from_str(value)
            .map_err(|_| HeaderError::Value(header.as_str().to_owned()))?;
        value.set_sensitive(true);
        self.0.insert(header, value);
        Ok(self)
    }

    /// Adds another secret to hide, which is not checked.
    #[cfg(feature = "legacy")]
    pub(crate) fn and_secret(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.0.insert(name, value);
        self
    }
}

impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hidden = format_args!("{HIDDEN}");
        f.debug_map()
            .entries(self.0.keys().map(|name| (name.as_str(), hidden)))
            .finish()
    }
}

/// Removes every value of `secrets` from a text, in case the server has echoed them.
///
/// Best-effort: a value that the server has changed in any way is not found.
pub(super) fn hide(secrets: &HeaderMap, mut text: String) -> String {
    for value in secrets.values().filter_map(|value| value.to_str().ok()) {
        // The credentials after a scheme such as `Bearer` are secret on their own.
        let credentials = value.split_once(' ').map_or(value, |(_, rest)| rest);
        for secret in [value, credentials] {
            if secret.len() >= SHORTEST_SECRET && text.contains(secret) {
                text = text.replace(secret, HIDDEN);
            }
        }
    }
    text
}

const HIDDEN: &str = "***";

/// Shortest value that is hidden; shorter ones occur in texts by chance.
const SHORTEST_SECRET: usize = 6;

/// Headers that the transport sets itself, and cookies, which it does not keep.
const RESERVED: [HeaderName; 10] = [
    ACCEPT,
    CONNECTION,
    CONTENT_LENGTH,
    CONTENT_TYPE,
    COOKIE,
    HOST,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_values_are_never_shown() {
        let mut config = HttpConfig::new("files");
        config.headers = Headers::default()
            .with("Authorization", "Bearer top-secret")
            .unwrap()
            .with("x-api-key", "key-123456")
            .unwrap();
        let shown = format!("{config:?}");
        assert!(
            shown.contains(r#"headers: {"authorization": ***, "x-api-key": ***}"#),
            "{shown}"
        );
        assert!(
            !shown.contains("secret") && !shown.contains("123456"),
            "{shown}"
        );
    }

    #[test]
    fn headers_of_the_transport_cannot_be_configured() {
        for name in [
            "Host",
            "content-length",
            "Mcp-Method",
            "MCP-Anything",
            "cookie",
        ] {
            assert_eq!(
                Headers::default().with(name, "x"),
                Err(HeaderError::Reserved(name.to_ascii_lowercase()))
            );
        }
        assert_eq!(
            Headers::default().with("a b", "x"),
            Err(HeaderError::Name("a b".to_owned()))
        );
        assert_eq!(
            Headers::default().with("x-key", "a\r\nb: c"),
            Err(HeaderError::Value("x-key".to_owned()))
        );
    }

    #[test]
    fn an_echoed_value_is_taken_out() {
        let headers = Headers::default()
            .with("authorization", "Bearer top-secret")
            .unwrap()
            .with("x-mode", "fast")
            .unwrap();
        assert_eq!(
            hide(
                &headers.0,
                "fast: `Bearer top-secret` or top-secret".to_owned()
            ),
            "fast: `***` or ***"
        );
    }
}
