use bytes::BytesMut;
use callgate_wire::{header, sse};
use futures_util::FutureExt;
use http::Request;
use http::header::{
    ACCEPT, ALLOW, CONTENT_TYPE, HeaderMap, HeaderName, RETRY_AFTER, WWW_AUTHENTICATE,
};
use http::response::Parts;
use http_body_util::{BodyExt, Collected};

use super::config::HttpLimits;
use super::request::Body;
use super::response::Content;
use crate::transport::observer::{MessageObserver, WireMessage};

/// Shows a request to the observer, without the headers of the user and without credentials.
pub(super) fn request(observer: &MessageObserver, request: &Request<Body>) {
    // The whole message is in memory, so collecting it never waits.
    let body = request.body().clone().collect().now_or_never();
    let body = body.and_then(Result::ok).map(Collected::to_bytes);
    let target = request.uri().to_string();
    observer.observe(WireMessage::RequestSent {
        method: request.method().as_str(),
        target: &target,
        headers: &shown(request.headers(), &REQUEST_HEADERS),
        body: body.as_deref().unwrap_or_default(),
    });
}

/// Shows the head of a response, and returns the observer of its body.
pub(super) fn response(
    observer: &MessageObserver,
    head: &Parts,
    limits: &HttpLimits,
) -> BodyObserver {
    observer.observe(WireMessage::ResponseReceived {
        status: head.status.as_u16(),
        headers: &shown(&head.headers, &RESPONSE_HEADERS),
    });
    BodyObserver {
        observer: observer.clone(),
        content: match Content::of(&head.headers) {
            Content::Events => ObservedContent::Events(sse::Parser::new(limits.event)),
            Content::Json | Content::Other => ObservedContent::Whole {
                read: BytesMut::new(),
                limit: limits.json,
            },
        },
    }
}

/// Observer of one body. It shows a body that is not read to its end when it is dropped.
pub(super) struct BodyObserver {
    observer: MessageObserver,
    content: ObservedContent,
}

enum ObservedContent {
    /// Each event is shown when it is complete.
    Events(sse::Parser),
    /// The body is shown at its end, up to `limit` bytes.
    Whole { read: BytesMut, limit: usize },
}

impl BodyObserver {
    /// Takes the next part of the body.
    pub(super) fn part(&mut self, part: &[u8]) {
        match &mut self.content {
            ObservedContent::Events(parser) => {
                let mut events = Vec::new();
                // The reader of the response reports an event over the limit.
                let _ = parser.push(part, &mut events);
                for event in events {
                    self.observer.observe(WireMessage::EventReceived {
                        event: event.event.as_deref(),
                        id: event.id.as_deref(),
                        data: &event.data,
                    });
                }
            }
            ObservedContent::Whole { read, limit } => {
                let room = limit.saturating_sub(read.len()).min(part.len());
                read.extend_from_slice(part.get(..room).unwrap_or_default());
            }
        }
    }

    /// Shows the body, if it is shown as a whole and has not been shown yet.
    pub(super) fn end(&mut self) {
        if let ObservedContent::Whole { read, .. } = &mut self.content
            && !read.is_empty()
        {
            let body = read.split();
            self.observer.observe(WireMessage::BodyReceived(&body));
        }
    }
}

impl Drop for BodyObserver {
    fn drop(&mut self) {
        self.end();
    }
}

const REQUEST_HEADERS: [HeaderName; 2] = [ACCEPT, CONTENT_TYPE];
const RESPONSE_HEADERS: [HeaderName; 4] = [ALLOW, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE];

/// Headers of the protocol whose values are shown.
const PROTOCOL_HEADERS: [&str; 3] = [header::PROTOCOL_VERSION, header::METHOD, header::NAME];

/// Beginning of the names of headers that repeat arguments of a tool.
const PARAM_PREFIX: &str = "mcp-param-";

/// The headers of the protocol and those in `others`, sorted by name.
///
/// Only values that are known to be harmless are shown. The id of a session of an older revision is not
/// among them: it is all that an attacker needs to take part in it.
fn shown<'a>(headers: &'a HeaderMap, others: &[HeaderName]) -> Vec<(&'a str, &'a str)> {
    let is_plain = |name: &HeaderName| {
        let text = name.as_str();
        PROTOCOL_HEADERS.contains(&text) || text.starts_with(PARAM_PREFIX) || others.contains(name)
    };
    let mut shown: Vec<_> = headers
        .iter()
        .filter(|(name, _)| name.as_str().starts_with("mcp-") || others.contains(name))
        .map(
            |(name, value)| match is_plain(name) && !value.is_sensitive() {
                true => (name.as_str(), value.to_str().unwrap_or("(not text)")),
                false => (name.as_str(), "***"),
            },
        )
        .collect();
    shown.sort_unstable();
    shown
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[test]
    fn a_body_is_shown_once_and_up_to_the_limit() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = seen.clone();
        let observer = MessageObserver::new(move |message| {
            if let WireMessage::BodyReceived(body) = message {
                log.lock().unwrap().push(body.to_vec());
            }
        });
        let (head, ()) = http::Response::new(()).into_parts();
        let limits = HttpLimits {
            json: 5,
            ..HttpLimits::default()
        };
        let mut body = response(&observer, &head, &limits);
        body.part(b"abc");
        body.part(b"defg");
        body.end();
        drop(body);
        assert_eq!(*seen.lock().unwrap(), [b"abcde".to_vec()]);
    }
}
