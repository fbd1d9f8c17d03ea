//! The one request that every variant answers, and the check that it was answered.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// The protocol revision that requests are sent in.
pub const VERSION: &str = "2026-07-28";

/// The text that the echo tool is called with.
pub const TEXT: &str = "abcdefghijklmnopqrstuvwxyz012345";

/// The smallest request id; every id from here on has the same number of digits, so that requests
/// can be patched in place and all have the same length.
pub const FIRST_ID: u64 = 1_000_000_000;

const ID_DIGITS: usize = 10;

/// A ready-made request whose id can be replaced without building it again.
#[derive(Debug, Clone)]
pub struct Request {
    bytes: Vec<u8>,
    id_at: usize,
}

impl Request {
    /// Builds the request as an HTTP POST to `authority`.
    #[must_use]
    pub fn http(authority: &str) -> Self {
        let body = message();
        let head = format!(
            "POST /mcp HTTP/1.1\r\n\
             Host: {authority}\r\n\
             Content-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\n\
             MCP-Protocol-Version: {VERSION}\r\n\
             Mcp-Method: tools/call\r\n\
             Mcp-Name: echo\r\n\
             Content-Length: {}\r\n\r\n",
            body.len()
        );
        Self::new(head + &body)
    }

    /// Builds the request as one line for a stdio server.
    #[must_use]
    pub fn line() -> Self {
        Self::new(message() + "\n")
    }

    /// Returns the bytes to send, with `id` as the request id.
    pub fn with_id(&mut self, id: u64) -> &[u8] {
        let digits = self
            .bytes
            .get_mut(self.id_at..self.id_at + ID_DIGITS)
            .expect("the constructor found the id there");
        let mut rest = id;
        for digit in digits.iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        &self.bytes
    }

    fn new(text: String) -> Self {
        let id_at = text
            .find(&FIRST_ID.to_string())
            .expect("the message carries the first id");
        Self {
            bytes: text.into_bytes(),
            id_at,
        }
    }
}

/// Checks that `reply` is the echo tool's complete result for request `id`.
pub fn check_reply(reply: &[u8], id: u64) -> Result<()> {
    let reply: Value = serde_json::from_slice(reply).context("the reply is not JSON")?;
    let echoed = reply
        .pointer("/result/content/0/text")
        .and_then(Value::as_str);
    ensure!(
        reply.pointer("/id").and_then(Value::as_u64) == Some(id)
            && reply.pointer("/result/resultType").and_then(Value::as_str) == Some("complete")
            && echoed == Some(TEXT),
        "not the echo tool's result for request {id}: {reply}"
    );
    Ok(())
}

fn message() -> String {
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{FIRST_ID},\"method\":\"tools/call\",\"params\":{{\
         \"name\":\"echo\",\"arguments\":{{\"text\":\"{TEXT}\"}},\"_meta\":{{\
         \"io.modelcontextprotocol/protocolVersion\":\"{VERSION}\",\
         \"io.modelcontextprotocol/clientInfo\":{{\"name\":\"bench\",\"version\":\"1.0.0\"}},\
         \"io.modelcontextprotocol/clientCapabilities\":{{}}}}}}}}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_changes_only_its_id() {
        let mut request = Request::line();
        let before = String::from_utf8(request.with_id(FIRST_ID).to_vec()).unwrap();
        let after = String::from_utf8(request.with_id(1_234_567_890).to_vec()).unwrap();
        assert_eq!(after, before.replace("1000000000", "1234567890"));
    }

    #[test]
    fn the_content_length_is_the_length_of_the_body() {
        let mut request = Request::http("127.0.0.1:1");
        let text = String::from_utf8(request.with_id(FIRST_ID).to_vec()).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.ends_with(&format!("Content-Length: {}", body.len())));
        assert!(serde_json::from_str::<Value>(body).is_ok());
    }

    #[test]
    fn a_reply_must_carry_the_id_and_the_text() {
        let reply = |id: u64, text: &str| {
            let reply = format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","content":[{{"type":"text","text":"{text}"}}]}}}}"#
            );
            check_reply(reply.as_bytes(), FIRST_ID).is_ok()
        };
        assert_eq!(
            [
                reply(FIRST_ID, TEXT),
                reply(FIRST_ID + 1, TEXT),
                reply(FIRST_ID, "other")
            ],
            [true, false, false]
        );
    }
}
