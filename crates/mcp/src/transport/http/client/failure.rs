use std::fmt;

use http::header::{CONTENT_TYPE, HeaderMap, LOCATION, WWW_AUTHENTICATE};
use http::response::Parts;
use http::{HeaderValue, StatusCode, Uri};

use super::authorizer::Credentials;
use super::config::{Headers, hide};
use super::endpoint::origin;
use crate::error::Kind;

/// HTTP response without a message of the protocol. It is the source of the error of the call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpFailure {
    /// The status of the response.
    pub status: u16,
    /// Its challenges, one per `WWW-Authenticate` header.
    pub www_authenticate: Vec<String>,
    /// Beginning of its body, on one line.
    pub body_excerpt: String,
    content_type: Option<String>,
    /// Origin of the target of a redirect.
    redirect: Option<String>,
}

impl HttpFailure {
    /// Describes a response, without the values of our headers and credentials that it may echo.
    pub(crate) fn new(head: &Parts, body: &[u8], ours: &Headers) -> Self {
        let credentials = head.extensions.get::<Credentials>();
        let redact = |bytes: &[u8]| {
            let text = hide(&ours.0, String::from_utf8_lossy(bytes).into_owned());
            match credentials {
                Some(credentials) => hide(credentials.headers(), text),
                None => text,
            }
        };
        let text = |value: &HeaderValue| redact(value.as_bytes());
        Self {
            status: head.status.as_u16(),
            www_authenticate: head
                .headers
                .get_all(WWW_AUTHENTICATE)
                .iter()
                .map(text)
                .collect(),
            // Secrets are hidden before the text is cut: a part of one would no longer be found.
            body_excerpt: excerpt(&redact(body), excerpt_length(&head.headers)),
            content_type: head.headers.get(CONTENT_TYPE).map(text),
            redirect: head.status.is_redirection().then(|| target(&head.headers)),
        }
    }

    /// True if the server refused the name that it was called by, or the origin: the protection
    /// against DNS rebinding, which local servers have.
    fn refuses_host(&self) -> bool {
        let body = self.body_excerpt.to_ascii_lowercase();
        // Whole words, because `localhost` or `hostname` in a text says nothing about such a check.
        let names = |word: &str| {
            body.split(|c: char| !c.is_ascii_alphanumeric())
                .any(|found| found == word)
        };
        matches!(self.status, 403 | 421)
            && self.www_authenticate.is_empty()
            && (names("host") || names("origin"))
    }

    pub(crate) fn kind(&self) -> Kind {
        match self.status {
            // No login helps.
            _ if self.refuses_host() => Kind::Protocol,
            401 | 403 => Kind::Unauthorized,
            413 | 431 => Kind::TooLarge,
            429 => Kind::Busy,
            // A gateway answers these when it cannot reach the server behind it.
            502..=504 => Kind::Connect,
            _ => Kind::Protocol,
        }
    }
}

impl fmt::Display for HttpFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match StatusCode::from_u16(self.status) {
            Ok(status) => write!(f, "HTTP status {status}")?,
            Err(_) => write!(f, "HTTP status {}", self.status)?,
        }
        if let Some(redirect) = &self.redirect {
            return write!(f, ", a redirect to {redirect}, which is not followed");
        }
        match &self.content_type {
            Some(content_type) => write!(f, " with content type `{content_type}`")?,
            None => f.write_str(" without a content type")?,
        }
        if !self.body_excerpt.is_empty() {
            write!(f, ": {}", self.body_excerpt)?;
        }
        if self.refuses_host() {
            f.write_str(
                " (the server checks the `Host` and `Origin` headers: use the name or address that it \
                 expects in its URL, or allow this one in the settings of the server)",
            )?;
        }
        Ok(())
    }
}

impl std::error::Error for HttpFailure {}

/// Status of an HTTP response that has an error of the protocol. It is the source of that error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("HTTP status {0}")]
pub(crate) struct ErrorStatus(pub(crate) StatusCode);

/// Maximum characters of a body that are shown.
const EXCERPT: usize = 256;

/// Maximum characters of a page for people, which begins with markup.
const PAGE_EXCERPT: usize = 80;

fn excerpt_length(headers: &HeaderMap) -> usize {
    let content_type = headers
        .get(CONTENT_TYPE)
        .map_or(b"" as &[u8], HeaderValue::as_bytes);
    let begin = content_type.get(..b"text/html".len()).unwrap_or_default();
    match begin.eq_ignore_ascii_case(b"text/html") {
        true => PAGE_EXCERPT,
        false => EXCERPT,
    }
}

/// The first words of `text`, with every run of white space and control characters as one space.
fn excerpt(text: &str, length: usize) -> String {
    let mut words = text
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty());
    let mut excerpt = words.next().unwrap_or_default().to_owned();
    for word in words {
        // A character has at most four bytes.
        if excerpt.len() > length * 4 {
            break;
        }
        excerpt.push(' ');
        excerpt.push_str(word);
    }
    if let Some((end, _)) = excerpt.char_indices().nth(length) {
        excerpt.truncate(end);
        excerpt.push('…');
    }
    excerpt
}

/// Origin that a redirect names. Its path and query are left out: they may hold secrets.
fn target(headers: &HeaderMap) -> String {
    let location = headers
        .get(LOCATION)
        .and_then(|location| Uri::try_from(location.as_bytes()).ok());
    match location {
        Some(location) => origin(&location).unwrap_or_else(|| "its own origin".to_owned()),
        None => "an unknown location".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Response;

    fn check(
        status: u16,
        headers: &[(&'static str, &str)],
        body: &str,
        expect: (Kind, &str, &[&str]),
    ) {
        let mut response = Response::builder().status(status);
        for (name, value) in headers {
            response = response.header(*name, *value);
        }
        let (head, ()) = response.body(()).unwrap().into_parts();
        let ours = Headers::default()
            .with("authorization", "Bearer top-secret")
            .unwrap();
        let failure = HttpFailure::new(&head, body.as_bytes(), &ours);
        assert_eq!(
            (
                failure.kind(),
                failure.to_string().as_str(),
                failure.www_authenticate.as_slice()
            ),
            (
                expect.0,
                expect.1,
                expect
                    .2
                    .iter()
                    .map(|s| (*s).to_owned())
                    .collect::<Vec<_>>()
                    .as_slice()
            )
        );
    }

    #[test]
    fn a_failure_quotes_the_unexpected_response() {
        check(
            502,
            &[("content-type", "text/html")],
            "<html>\r\n  <h1>Bad\tGateway</h1>\0",
            (
                Kind::Connect,
                "HTTP status 502 Bad Gateway with content type `text/html`: <html> <h1>Bad Gateway</h1>",
                &[],
            ),
        );
        let page = format!(
            "HTTP status 404 Not Found with content type `text/HTML; charset=utf-8`: {}…",
            "x".repeat(PAGE_EXCERPT)
        );
        check(
            404,
            &[("content-type", "text/HTML; charset=utf-8")],
            &"x".repeat(200),
            (Kind::Protocol, &page, &[]),
        );
        check(
            401,
            &[
                ("www-authenticate", "Bearer realm=\"a\""),
                ("www-authenticate", "Basic"),
            ],
            "no top-secret here",
            (
                Kind::Unauthorized,
                "HTTP status 401 Unauthorized without a content type: no *** here",
                &["Bearer realm=\"a\"", "Basic"],
            ),
        );
        for (status, kind, text) in [
            (403, Kind::Unauthorized, "403 Forbidden"),
            (404, Kind::Protocol, "404 Not Found"),
            (405, Kind::Protocol, "405 Method Not Allowed"),
            (413, Kind::TooLarge, "413 Payload Too Large"),
            (429, Kind::Busy, "429 Too Many Requests"),
            (431, Kind::TooLarge, "431 Request Header Fields Too Large"),
            (500, Kind::Protocol, "500 Internal Server Error"),
            (503, Kind::Connect, "503 Service Unavailable"),
            (599, Kind::Protocol, "599 <unknown status code>"),
        ] {
            let text = format!("HTTP status {text} without a content type");
            check(status, &[], "", (kind, &text, &[]));
        }
    }

    #[test]
    fn a_server_that_checks_its_host_is_explained() {
        const WHY: &str = "(the server checks the `Host` and `Origin` headers: use the name or address that it expects in its URL, or allow this one in the settings of the server)";
        for (status, named, body) in [
            (403, "403 Forbidden", "Invalid Host: a.example"),
            (403, "403 Forbidden", "Origin not allowed"),
            (421, "421 Misdirected Request", "Invalid Host header"),
        ] {
            let text = format!("HTTP status {named} without a content type: {body} {WHY}");
            check(status, &[], body, (Kind::Protocol, &text, &[]));
        }
        for body in ["no access", "hosting is closed"] {
            let text = format!("HTTP status 403 Forbidden without a content type: {body}");
            check(403, &[], body, (Kind::Unauthorized, &text, &[]));
        }
    }

    #[test]
    fn a_redirect_names_an_origin_and_nothing_more() {
        for (location, shown) in [
            (
                "https://u:p@other.example:444/a?token=1",
                "https://other.example:444",
            ),
            ("/login?token=1", "its own origin"),
            ("http://a b", "an unknown location"),
        ] {
            let text = format!(
                "HTTP status 307 Temporary Redirect, a redirect to {shown}, which is not followed"
            );
            check(
                307,
                &[("location", location)],
                "body",
                (Kind::Protocol, &text, &[]),
            );
        }
    }

    #[test]
    fn an_excerpt_is_short() {
        assert_eq!(
            excerpt(&"é".repeat(10_000), EXCERPT),
            format!("{}…", "é".repeat(EXCERPT))
        );
        assert_eq!(
            excerpt(&"a ".repeat(10_000), EXCERPT),
            format!("{}…", "a ".repeat(EXCERPT / 2))
        );
        assert_eq!(excerpt(" \n ", EXCERPT), "");
    }
}
