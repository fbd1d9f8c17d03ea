//! HTTP requests and responses of a login, as values. [`fetch`](crate::fetch) sends them.

use std::fmt;

use url::Url;
use url::form_urlencoded;

use crate::Secret;

/// Maximum bytes of a response body.
pub const MAX_BODY: usize = 1 << 20;

/// HTTP request: a `POST` if it has a body, else a `GET`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Request {
    /// URL. Only the redirects of a `GET` are followed.
    pub url: Url,
    /// Headers, which may contain credentials.
    pub headers: Vec<(&'static str, Secret)>,
    /// Body, which may contain credentials.
    pub body: Option<Secret>,
}

/// HTTP response of any status.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Response {
    /// HTTP status.
    pub status: u16,
    /// Body, cut one byte after [`MAX_BODY`].
    pub body: Vec<u8>,
    /// Header `DPoP-Nonce`, for the next proof.
    pub dpop_nonce: Option<String>,
    /// Header `Retry-After`, if it is a number of seconds.
    pub retry_after: Option<u64>,
    /// Header `Date`, as the server wrote it.
    pub date: Option<String>,
}

impl Request {
    /// `GET` without headers.
    #[must_use]
    pub const fn new(url: Url) -> Self {
        Self {
            url,
            headers: Vec::new(),
            body: None,
        }
    }

    /// `GET` of a public JSON document.
    pub(crate) fn document(url: Url, protocol_version: &str) -> Self {
        let version = ("mcp-protocol-version", Secret::new(protocol_version));
        Self {
            url,
            headers: vec![ACCEPT_JSON.header(), version],
            body: None,
        }
    }

    /// `POST` of a JSON document.
    pub(crate) fn json(url: Url, body: String) -> Self {
        Self {
            url,
            headers: vec![ACCEPT_JSON.header(), CONTENT_JSON.header()],
            body: Some(Secret::new(body)),
        }
    }

    /// `POST` of a form.
    pub(crate) fn form(url: Url, fields: &[(&str, &str)]) -> Self {
        let body = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(fields)
            .finish();
        Self {
            url,
            headers: vec![ACCEPT_JSON.header(), CONTENT_FORM.header()],
            body: Some(Secret::new(body)),
        }
    }
}

impl Response {
    /// Response without special headers.
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            body: body.into(),
            dpop_nonce: None,
            retry_after: None,
            date: None,
        }
    }

    /// Returns true if the server may answer otherwise later.
    pub(crate) fn is_transient(&self) -> bool {
        matches!(self.status, 408 | 425 | 429 | 500..)
    }

    /// Body of a successful response, unless it is too long.
    pub(crate) fn success(&self) -> Option<&[u8]> {
        let found = matches!(self.status, 200..300) && self.body.len() <= MAX_BODY;
        found.then_some(&self.body)
    }
}

impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response")
            .field("status", &self.status)
            .field("bytes", &self.body.len())
            .finish()
    }
}

const ACCEPT_JSON: Header = Header("accept", "application/json");
const CONTENT_JSON: Header = Header("content-type", "application/json");
const CONTENT_FORM: Header = Header("content-type", "application/x-www-form-urlencoded");

struct Header(&'static str, &'static str);

impl Header {
    fn header(&self) -> (&'static str, Secret) {
        (self.0, Secret::new(self.1))
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_BODY, Request, Response};

    #[test]
    fn debug_shows_no_body() {
        let url = "https://a.example/token".parse().unwrap();
        let request = format!("{:?}", Request::form(url, &[("code", "canary")]));
        let response = format!("{:?}", Response::new(200, "canary"));
        assert!(!request.contains("canary"));
        assert_eq!(response, "Response { status: 200, bytes: 6 }");
    }

    #[test]
    fn long_bodies_are_failures() {
        let of = |len| Response::new(200, vec![b' '; len]);
        assert!(of(MAX_BODY).success().is_some());
        assert!(of(MAX_BODY + 1).success().is_none());
    }
}
