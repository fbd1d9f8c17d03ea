//! Requests for the server under test.

use std::fmt::Write as _;
use std::net::SocketAddr;

/// A request, right in every way until it is changed.
#[derive(Debug, Clone)]
pub(crate) struct Post {
    pub(crate) method: &'static str,
    pub(crate) target: String,
    headers: Vec<(String, String)>,
    body: String,
}

/// The `_meta` that every request carries.
pub(crate) const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"progressToken":"p"}"#;

impl Post {
    /// A call of the tool `name`.
    pub(crate) fn tool(name: &str) -> Self {
        Self::request("tools/call", &format!(r#""name":"{name}""#)).set("mcp-name", name)
    }

    /// A request of `method` with these members of the params.
    pub(crate) fn request(method: &str, members: &str) -> Self {
        let separator = if members.is_empty() { "" } else { "," };
        let params = format!("{{{members}{separator}{META}}}");
        Self::message(&format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#
        ))
        .set("mcp-method", method)
    }

    /// Any body at all, with the headers that all requests have.
    pub(crate) fn message(body: &str) -> Self {
        let post = Self {
            method: "POST",
            target: "/mcp".to_owned(),
            headers: Vec::new(),
            body: body.to_owned(),
        };
        post.set("content-type", "application/json")
            .set("accept", "application/json, text/event-stream")
            .set("mcp-protocol-version", "2026-07-28")
    }

    /// The same request with this value of the header alone.
    pub(crate) fn set(self, name: &str, value: &str) -> Self {
        self.without(name).and(name, value)
    }

    /// The same request with one more header.
    pub(crate) fn and(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same request without the header.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers
            .retain(|(other, _)| !other.eq_ignore_ascii_case(name));
        self
    }

    /// The same request by another HTTP method.
    pub(crate) fn by(mut self, method: &'static str) -> Self {
        self.method = method;
        self
    }

    /// The same request to another target.
    pub(crate) fn to(mut self, target: &str) -> Self {
        target.clone_into(&mut self.target);
        self
    }

    /// The same request with a body in chunks of `size` bytes.
    pub(crate) fn in_chunks_of(mut self, size: usize) -> Self {
        let chunks = self.body.as_bytes().chunks(size);
        let chunks = chunks.map(|chunk| std::str::from_utf8(chunk).unwrap());
        let body: String = chunks
            .chain([""])
            .map(|chunk| format!("{:x}\r\n{chunk}\r\n", chunk.len()))
            .collect();
        self.body = body;
        self.set("transfer-encoding", "chunked")
    }

    /// The whole request; the host is the address, unless it has been set.
    pub(crate) fn bytes(&self, address: SocketAddr) -> String {
        if self.has("host") {
            return self.bytes_without_host();
        }
        let with_host = self.clone().and("host", &address.to_string());
        with_host.bytes_without_host()
    }

    /// The whole request, with the headers that have been set and no others but the length.
    pub(crate) fn bytes_without_host(&self) -> String {
        let mut bytes = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        for (name, value) in &self.headers {
            write!(bytes, "{name}: {value}\r\n").unwrap();
        }
        if !self.has("content-length") && !self.has("transfer-encoding") {
            write!(bytes, "content-length: {}\r\n", self.body.len()).unwrap();
        }
        bytes + "\r\n" + &self.body
    }

    fn has(&self, name: &str) -> bool {
        self.headers
            .iter()
            .any(|(other, _)| other.eq_ignore_ascii_case(name))
    }
}
