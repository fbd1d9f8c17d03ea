//! The requests that every variant answers, and the check that they were answered.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::workload::{Era, Shape};

/// The smallest request id; every id from here on has the same number of digits, so that requests
/// can be patched in place and all have the same length.
pub const FIRST_ID: u64 = 1_000_000_000;

/// First message of a session.
pub const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1.0.0"}}}"#;

/// Second message of a session, which has no answer.
pub const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

const ID_DIGITS: usize = 10;

/// A ready-made request whose id can be replaced without building it again.
#[derive(Debug, Clone)]
pub struct Request {
    bytes: Vec<u8>,
    id_at: usize,
    era: Era,
    shape: Shape,
}

impl Request {
    /// Builds the request as an HTTP POST to `authority`, in `session` if there is one.
    #[must_use]
    pub fn http(authority: &str, shape: Shape, tool: &str, session: Option<&str>) -> Self {
        let era = match session {
            None => Era::Stateless,
            Some(_) => Era::Session,
        };
        let headers = match session {
            None => format!("Mcp-Method: tools/call\r\nMcp-Name: {tool}\r\n"),
            Some(session) => format!("Mcp-Session-Id: {session}\r\n"),
        };
        let post = post(authority, era, &headers, &message(era, shape, tool));
        Self::new(post, era, shape)
    }

    /// Builds the request as one line for a stdio server.
    #[must_use]
    pub fn line(era: Era, shape: Shape) -> Self {
        Self::new(message(era, shape, shape.tool()) + "\n", era, shape)
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

    /// Checks that `reply` is the complete result of this request with the given id.
    pub fn check_reply(&self, reply: &[u8], id: u64) -> Result<()> {
        let reply: Value = serde_json::from_slice(reply).context("the reply is not JSON")?;
        let string = |path| reply.pointer(path).and_then(Value::as_str);
        let kind = match self.era {
            Era::Stateless => Some("complete"),
            Era::Session => None,
        };
        ensure!(
            reply.pointer("/id").and_then(Value::as_u64) == Some(id)
                && string("/result/resultType") == kind
                && string("/result/content/0/text") == Some(&self.shape.answer()),
            "not the result of request {id}: {reply}"
        );
        Ok(())
    }

    fn new(text: String, era: Era, shape: Shape) -> Self {
        let id_at = text
            .find(&FIRST_ID.to_string())
            .expect("the message carries the first id");
        Self {
            bytes: text.into_bytes(),
            id_at,
            era,
            shape,
        }
    }
}

/// Builds an HTTP POST with additional `headers`.
#[must_use]
pub fn post(authority: &str, era: Era, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST /mcp HTTP/1.1\r\n\
         Host: {authority}\r\n\
         Content-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\n\
         MCP-Protocol-Version: {era}\r\n\
         {headers}Content-Length: {length}\r\n\r\n{body}"
    )
}

/// Builds the request that opens a stream of change notifications.
#[must_use]
pub fn listen(authority: &str) -> String {
    let body = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"subscriptions/listen\",\"params\":{{\
         \"notifications\":{{\"toolsListChanged\":true}}{}}}}}",
        meta(Era::Stateless)
    );
    let headers = "Mcp-Method: subscriptions/listen\r\n";
    post(authority, Era::Stateless, headers, &body)
}

fn message(era: Era, shape: Shape, tool: &str) -> String {
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{FIRST_ID},\"method\":\"tools/call\",\"params\":{{\
         \"name\":\"{tool}\",\"arguments\":{}{}}}}}",
        shape.arguments(),
        meta(era)
    )
}

/// Metadata of a request, which only the newest revision requires.
fn meta(era: Era) -> &'static str {
    match era {
        Era::Session => "",
        Era::Stateless => {
            r#","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1.0.0"},"io.modelcontextprotocol/clientCapabilities":{}}"#
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line() -> Request {
        Request::line(Era::Stateless, Shape::Echo)
    }

    #[test]
    fn a_request_changes_only_its_id() {
        let mut request = line();
        let before = String::from_utf8(request.with_id(FIRST_ID).to_vec()).unwrap();
        let after = String::from_utf8(request.with_id(1_234_567_890).to_vec()).unwrap();
        assert_eq!(after, before.replace("1000000000", "1234567890"));
    }

    #[test]
    fn the_content_length_is_the_length_of_the_body() {
        for session in [None, Some("s")] {
            let mut request = Request::http("127.0.0.1:1", Shape::Argument(100), "a", session);
            let text = String::from_utf8(request.with_id(FIRST_ID).to_vec()).unwrap();
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            assert!(head.ends_with(&format!("Content-Length: {}", body.len())));
            assert!(serde_json::from_str::<Value>(body).is_ok());
        }
    }

    #[test]
    fn a_reply_must_carry_the_id_and_the_text() {
        let reply = |id: u64, text: &str| {
            let reply = format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","content":[{{"type":"text","text":"{text}"}}]}}}}"#
            );
            line().check_reply(reply.as_bytes(), FIRST_ID).is_ok()
        };
        assert_eq!(
            [
                reply(FIRST_ID, Shape::TEXT),
                reply(FIRST_ID + 1, Shape::TEXT),
                reply(FIRST_ID, "other")
            ],
            [true, false, false]
        );
    }
}
