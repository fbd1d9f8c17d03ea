//! The floor: the least that a server of the protocol can do for the measured tools.
//!
//! It reads the envelope and the parts of `params` that decide the answer, and nothing else: no
//! cancellation, no schema, no strict scan, no limits.

use std::borrow::Cow;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::workload::{Era, text};

/// One message of a client.
pub enum Message<'a> {
    /// A call of a tool.
    Call(Call<'a>),
    /// Any other request, or a notification, which has no id.
    Other {
        /// Id of a request.
        id: Option<&'a RawValue>,
        /// Method of the message.
        method: Cow<'a, str>,
    },
}

/// One `tools/call` request for a measured tool.
pub struct Call<'a> {
    id: &'a RawValue,
    name: Cow<'a, str>,
    version: Option<Cow<'a, str>>,
    /// Text of the answer.
    text: Cow<'a, str>,
}

impl<'a> Message<'a> {
    /// Reads a message in the given revision.
    pub fn parse(message: &'a [u8], era: Era) -> Result<Self> {
        let envelope: Envelope<'a> = serde_json::from_slice(message)?;
        ensure!(envelope.jsonrpc == "2.0", "not JSON-RPC 2.0");
        if envelope.method != "tools/call" {
            let (id, method) = (envelope.id, envelope.method);
            return Ok(Self::Other { id, method });
        }
        let params = envelope.params.context("a call has params")?;
        let params: Params<'a> = serde_json::from_str(params.get())?;
        let version = match (era, params.meta) {
            (Era::Session, _) => None,
            (Era::Stateless, None) => bail!("no metadata"),
            (Era::Stateless, Some(meta)) => {
                ensure!(
                    meta.version.as_deref() == Some(era.version()),
                    "unsupported protocol version"
                );
                let capabilities = meta.capabilities.context("no capabilities")?;
                ensure!(
                    capabilities.get().starts_with('{'),
                    "malformed capabilities"
                );
                meta.version
            }
        };
        let arguments: Arguments<'a> = serde_json::from_str(params.arguments.get())?;
        let text = match (&*params.name, arguments.text, arguments.length) {
            ("echo", Some(text), _) => text,
            ("measure", Some(text), _) => text.len().to_string().into(),
            ("produce", _, Some(length)) => text(length).into(),
            _ => bail!("unknown tool"),
        };
        Ok(Self::Call(Call {
            id: envelope.id.context("a call has an id")?,
            name: params.name,
            version,
            text,
        }))
    }
}

impl Call<'_> {
    /// Returns whether the three headers that mirror the body agree with it.
    #[must_use]
    pub fn matches(&self, version: &[u8], method: &[u8], name: &[u8]) -> bool {
        self.version
            .as_ref()
            .is_some_and(|own| own.as_bytes() == version)
            && method == b"tools/call"
            && name == self.name.as_bytes()
    }

    /// Appends the reply to `out`.
    pub fn answer(&self, out: &mut Vec<u8>) -> Result<()> {
        begin_result(self.id, out);
        if self.version.is_some() {
            out.extend_from_slice(b"\"resultType\":\"complete\",");
        }
        out.extend_from_slice(b"\"content\":[{\"type\":\"text\",\"text\":");
        serde_json::to_writer(&mut *out, &self.text)?;
        out.extend_from_slice(b"}],\"_meta\":");
        out.extend_from_slice(META.as_bytes());
        out.extend_from_slice(b"}}");
        Ok(())
    }
}

/// Appends the reply to a request that is no call to `out`.
pub fn answer_other(method: &str, id: &RawValue, era: Era, out: &mut Vec<u8>) {
    let members = match (method, era) {
        ("server/discover", Era::Stateless) => DISCOVERED,
        ("initialize", Era::Session) => INITIALIZED,
        ("tools/list", _) => TOOLS,
        _ => {
            out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
            out.extend_from_slice(id.get().as_bytes());
            out.extend_from_slice(b",\"error\":{\"code\":-32601,\"message\":\"unknown method\"}}");
            return;
        }
    };
    begin_result(id, out);
    out.extend_from_slice(members.as_bytes());
    out.extend_from_slice(b"}}");
}

fn begin_result(id: &RawValue, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    out.extend_from_slice(id.get().as_bytes());
    out.extend_from_slice(b",\"result\":{");
}

/// Name and version of the server, which each result has in its `_meta`.
const META: &str = concat!(
    "{\"io.modelcontextprotocol/serverInfo\":{\"name\":\"bench\",\"version\":\"",
    env!("CARGO_PKG_VERSION"),
    "\"}}"
);

const DISCOVERED: &str = r#""resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":3600000,"cacheScope":"public","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"bench","version":"1.0.0"}}"#;

const INITIALIZED: &str = r#""protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"bench","version":"1.0.0"}"#;

const TOOLS: &str = r#""resultType":"complete","ttlMs":3600000,"cacheScope":"public","tools":[{"name":"echo","inputSchema":{"type":"object"}},{"name":"measure","inputSchema":{"type":"object"}},{"name":"produce","inputSchema":{"type":"object"}}]"#;

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    jsonrpc: Cow<'a, str>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    arguments: &'a RawValue,
    #[serde(borrow, rename = "_meta")]
    meta: Option<Meta<'a>>,
}

#[derive(Deserialize)]
struct Meta<'a> {
    #[serde(borrow, rename = "io.modelcontextprotocol/protocolVersion")]
    version: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "io.modelcontextprotocol/clientCapabilities")]
    capabilities: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Arguments<'a> {
    #[serde(borrow)]
    text: Option<Cow<'a, str>>,
    length: Option<usize>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payload::{FIRST_ID, Request};
    use crate::workload::Shape;

    #[test]
    fn every_shape_is_answered_in_both_revisions() {
        for era in Era::ALL {
            for shape in Shape::ALL {
                let mut request = Request::line(era, shape);
                let message = request.with_id(FIRST_ID).to_vec();
                let Message::Call(call) = Message::parse(&message, era).unwrap() else {
                    panic!("no call");
                };
                let mut reply = Vec::new();
                call.answer(&mut reply).unwrap();
                request.check_reply(&reply, FIRST_ID).unwrap();
            }
        }
    }

    #[test]
    fn a_header_that_differs_from_the_body_is_noticed() {
        let mut request = Request::line(Era::Stateless, Shape::Echo);
        let message = request.with_id(FIRST_ID);
        let Message::Call(call) = Message::parse(message, Era::Stateless).unwrap() else {
            panic!("no call");
        };
        assert_eq!(
            [
                call.matches(b"2026-07-28", b"tools/call", b"echo"),
                call.matches(b"2025-11-25", b"tools/call", b"echo"),
                call.matches(b"2026-07-28", b"tools/list", b"echo"),
                call.matches(b"2026-07-28", b"tools/call", b"other"),
            ],
            [true, false, false, false]
        );
    }
}
