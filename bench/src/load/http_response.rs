//! Responses in the bytes that a connection received.

use std::borrow::Cow;

use anyhow::{Context, Result, ensure};
use memchr::memmem;

/// Position of a complete response in the received bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Response {
    status: u16,
    head_end: usize,
    body: Vec<(usize, usize)>,
    end: usize,
}

impl Response {
    /// Finds the first response; `None` while it is incomplete.
    pub(super) fn find(received: &[u8]) -> Result<Option<Self>> {
        let Some(head_end) = memmem::find(received, b"\r\n\r\n") else {
            return Ok(None);
        };
        let head = std::str::from_utf8(received.get(..head_end).unwrap_or_default())?;
        let status = head
            .strip_prefix("HTTP/1.1 ")
            .and_then(|rest| rest.get(..3)?.parse().ok());
        let status = status.with_context(|| format!("expected a response: {head}"))?;
        let body_at = head_end + 4;
        let body = match header(head, "content-length") {
            Some(length) => {
                let end = body_at + length.parse::<usize>()?;
                (received.len() >= end).then(|| (vec![(body_at, end)], end))
            }
            None if header(head, "transfer-encoding") == Some("chunked") => {
                chunks(received, body_at)?
            }
            None => Some((Vec::new(), body_at)),
        };
        Ok(body.map(|(body, end)| Self {
            status,
            head_end,
            body,
            end,
        }))
    }

    /// Fails unless the status is 200.
    pub(super) fn check_status(&self) -> Result<()> {
        ensure!(self.status == 200, "expected status 200: {}", self.status);
        Ok(())
    }

    /// End of the response in the received bytes.
    pub(super) fn end(&self) -> usize {
        self.end
    }

    /// Value of a header.
    pub(super) fn header<'a>(&self, received: &'a [u8], name: &str) -> Option<&'a str> {
        let head = std::str::from_utf8(received.get(..self.head_end)?).ok()?;
        header(head, name)
    }

    /// Returns the JSON-RPC message of a successful response: the body, or its last event with data.
    pub(super) fn message<'a>(&self, received: &'a [u8]) -> Result<Cow<'a, [u8]>> {
        self.check_status()?;
        let part = |span: &(usize, usize)| received.get(span.0..span.1).unwrap_or_default();
        let body: Cow<'a, [u8]> = match &self.body[..] {
            [whole] => part(whole).into(),
            parts => parts.iter().flat_map(part).copied().collect(),
        };
        let media_type = self.header(received, "content-type").unwrap_or_default();
        if !media_type.starts_with("text/event-stream") {
            return Ok(body);
        }
        let text = std::str::from_utf8(&body)?;
        let mut data = text.lines().filter_map(|line| line.strip_prefix("data:"));
        let last = data.rfind(|data| !data.trim().is_empty());
        let last = last.context("an event stream without a message")?;
        Ok(last.as_bytes().to_vec().into())
    }
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.split("\r\n").skip(1).find_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

/// Spans of the chunks from `at` on and the end of the body; `None` while it is incomplete.
type Chunks = Option<(Vec<(usize, usize)>, usize)>;

fn chunks(received: &[u8], mut at: usize) -> Result<Chunks> {
    let mut spans = Vec::new();
    loop {
        let rest = received.get(at..).unwrap_or_default();
        let Some(line) = memmem::find(rest, b"\r\n") else {
            return Ok(None);
        };
        let size = std::str::from_utf8(rest.get(..line).unwrap_or_default())?;
        let size = usize::from_str_radix(size, 16).context("malformed chunk")?;
        let begin = at + line + 2;
        at = begin + size + 2;
        if received.len() < at {
            return Ok(None);
        }
        if size == 0 {
            return Ok(Some((spans, at)));
        }
        spans.push((begin, begin + size));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(response: &[u8], message: &str) {
        for incomplete in 0..response.len() {
            assert_eq!(Response::find(&response[..incomplete]).unwrap(), None);
        }
        let found = Response::find(response).unwrap().unwrap();
        assert_eq!(found.end(), response.len());
        let body = found.message(response).unwrap();
        assert_eq!(std::str::from_utf8(&body).unwrap().trim(), message);
    }

    #[test]
    fn a_response_is_found_once_it_is_complete() {
        check(
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\ndate: now\r\n\r\nhello",
            "hello",
        );
    }

    #[test]
    fn the_last_event_of_a_chunked_stream_is_the_message() {
        check(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
              transfer-encoding: chunked\r\n\r\n\
              8\r\nid: 1\nda\r\n8\r\nta: {}\n\n\r\n0\r\n\r\n",
            "{}",
        );
    }

    #[test]
    fn only_a_success_counts() {
        let refused = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n";
        let refused = Response::find(refused).unwrap().unwrap();
        assert!(refused.check_status().is_err());
    }
}
