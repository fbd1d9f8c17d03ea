//! The floor: the least that a server of the protocol can do for the echo tool.
//!
//! It reads the envelope and the parts of `params` that decide the answer, and nothing else: no
//! cancellation, no schema, no strict scan, no limits.

use std::borrow::Cow;

use anyhow::{Result, ensure};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::payload::VERSION;

/// One `tools/call` request for the echo tool.
pub struct Call<'a> {
    id: &'a RawValue,
    method: Cow<'a, str>,
    name: Cow<'a, str>,
    version: Cow<'a, str>,
    text: Cow<'a, str>,
}

impl<'a> Call<'a> {
    /// Reads a request, refusing everything that is not a call of the echo tool.
    pub fn parse(message: &'a [u8]) -> Result<Self> {
        let envelope: Envelope<'a> = serde_json::from_slice(message)?;
        ensure!(envelope.jsonrpc == "2.0", "not JSON-RPC 2.0");
        ensure!(envelope.method == "tools/call", "unknown method");
        let params: Params<'a> = serde_json::from_str(envelope.params.get())?;
        ensure!(params.name == "echo", "unknown tool");
        ensure!(
            params.meta.version == VERSION,
            "unsupported protocol version"
        );
        ensure!(
            params.meta.capabilities.get().starts_with('{'),
            "malformed capabilities"
        );
        let arguments: Arguments<'a> = serde_json::from_str(params.arguments.get())?;
        Ok(Self {
            id: envelope.id,
            method: envelope.method,
            name: params.name,
            version: params.meta.version,
            text: arguments.text,
        })
    }

    /// Returns whether the three headers that mirror the body agree with it.
    #[must_use]
    pub fn matches(&self, version: &[u8], method: &[u8], name: &[u8]) -> bool {
        version == self.version.as_bytes()
            && method == self.method.as_bytes()
            && name == self.name.as_bytes()
    }

    /// Appends the reply to `out`.
    pub fn answer(&self, out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
        out.extend_from_slice(self.id.get().as_bytes());
        out.extend_from_slice(
            b",\"result\":{\"resultType\":\"complete\",\"content\":[{\"type\":\"text\",\"text\":",
        );
        serde_json::to_writer(&mut *out, &self.text)?;
        out.extend_from_slice(b"}],\"_meta\":");
        out.extend_from_slice(META.as_bytes());
        out.extend_from_slice(b"}}");
        Ok(())
    }
}

/// Name and version of the server, which each result has in its `_meta`.
const META: &str = concat!(
    "{\"io.modelcontextprotocol/serverInfo\":{\"name\":\"bench\",\"version\":\"",
    env!("CARGO_PKG_VERSION"),
    "\"}}"
);

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    jsonrpc: Cow<'a, str>,
    #[serde(borrow)]
    id: &'a RawValue,
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    params: &'a RawValue,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    arguments: &'a RawValue,
    #[serde(borrow, rename = "_meta")]
    meta: Meta<'a>,
}

#[derive(Deserialize)]
struct Meta<'a> {
    #[serde(borrow, rename = "io.modelcontextprotocol/protocolVersion")]
    version: Cow<'a, str>,
    #[serde(borrow, rename = "io.modelcontextprotocol/clientCapabilities")]
    capabilities: &'a RawValue,
}

#[derive(Deserialize)]
struct Arguments<'a> {
    #[serde(borrow)]
    text: Cow<'a, str>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payload::{FIRST_ID, Request, check_reply};

    #[test]
    fn the_echo_tool_is_answered() {
        let mut request = Request::line();
        let message = request.with_id(FIRST_ID);
        let mut reply = Vec::new();
        Call::parse(message).unwrap().answer(&mut reply).unwrap();
        check_reply(&reply, FIRST_ID).unwrap();
    }

    #[test]
    fn a_header_that_differs_from_the_body_is_noticed() {
        let mut request = Request::line();
        let call = Call::parse(request.with_id(FIRST_ID)).unwrap();
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
