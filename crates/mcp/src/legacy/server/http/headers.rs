use super::session_table::SessionId;
use callgate_wire::header;
use http::header::{ACCEPT, HeaderName};
use http::{HeaderMap, Uri};

/// Header with the id of the session.
pub(super) static SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
static PROTOCOL_VERSION: HeaderName = HeaderName::from_static(header::PROTOCOL_VERSION);
static LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Query parameter with the id of a session of HTTP+SSE.
pub(super) const SESSION_PARAMETER: &str = "sessionId";

/// Header or query parameter that may occur once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeaderField<T> {
    Absent,
    Value(T),
    /// It occurs twice, or is malformed.
    Invalid,
}

/// The session id in the header.
pub(super) fn session(headers: &HeaderMap) -> HeaderField<SessionId> {
    match once(headers, &SESSION_ID) {
        HeaderField::Absent => HeaderField::Absent,
        HeaderField::Value(name) => {
            SessionId::parse(name).map_or(HeaderField::Invalid, HeaderField::Value)
        }
        HeaderField::Invalid => HeaderField::Invalid,
    }
}

/// The session id in the query.
pub(super) fn queried_session(uri: &Uri) -> HeaderField<SessionId> {
    let Some(query) = uri.query() else {
        return HeaderField::Absent;
    };
    let mut said = HeaderField::Absent;
    for parameter in query.split('&') {
        if let Some((SESSION_PARAMETER, value)) = parameter.split_once('=') {
            said = match (said, SessionId::parse(value.as_bytes())) {
                (HeaderField::Absent, Some(id)) => HeaderField::Value(id),
                _ => HeaderField::Invalid,
            };
        }
    }
    said
}

/// The last event that the client has received.
pub(super) fn last_event(headers: &HeaderMap) -> HeaderField<&[u8]> {
    once(headers, &LAST_EVENT_ID)
}

/// The revision in the header; empty, which no revision is, if it is repeated or unreadable.
pub(super) fn version(headers: &HeaderMap) -> Option<&str> {
    match once(headers, &PROTOCOL_VERSION) {
        HeaderField::Absent => None,
        HeaderField::Value(value) => Some(std::str::from_utf8(value).unwrap_or_default()),
        HeaderField::Invalid => Some(""),
    }
}

/// True if the client asks for events by name. A browser, which accepts anything, does not.
pub(super) fn asks_for_events(headers: &HeaderMap) -> bool {
    has_range(headers, &[b"text/event-stream"])
}

/// True if the client accepts events, by name or as anything.
pub(super) fn accepts_events(headers: &HeaderMap) -> bool {
    let ranges: [&[u8]; 3] = [b"text/event-stream", b"text/*", b"*/*"];
    !headers.contains_key(ACCEPT) || has_range(headers, &ranges)
}

/// True if `Accept` has one of these media ranges.
fn has_range(headers: &HeaderMap, wanted: &[&[u8]]) -> bool {
    let values = headers.get_all(ACCEPT).into_iter();
    let mut ranges = values.flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
    ranges.any(|range| {
        let media = range.split(|byte| *byte == b';').next().unwrap_or_default();
        let is = |wanted: &&[u8]| media.trim_ascii().eq_ignore_ascii_case(wanted);
        wanted.iter().any(is)
    })
}

fn once<'a>(headers: &'a HeaderMap, name: &HeaderName) -> HeaderField<&'a [u8]> {
    let mut values = headers.get_all(name).into_iter();
    match (values.next(), values.next()) {
        (None, _) => HeaderField::Absent,
        (Some(value), None) => HeaderField::Value(value.as_bytes()),
        (Some(_), Some(_)) => HeaderField::Invalid,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    const ID: &str = "abcdefghijklmnopqrstuvwxyz012345";

    #[test]
    fn a_session_is_named_once_or_not_at_all() {
        let id = SessionId::parse(ID.as_bytes()).unwrap();
        for (query, said) in [
            ("/mcp".to_owned(), HeaderField::Absent),
            ("/mcp?x=1".to_owned(), HeaderField::Absent),
            (format!("/mcp?sessionId={ID}"), HeaderField::Value(id)),
            (format!("/mcp?x=1&sessionId={ID}&y"), HeaderField::Value(id)),
            (
                format!("/mcp?sessionId={ID}&sessionId={ID}"),
                HeaderField::Invalid,
            ),
            ("/mcp?sessionId=".to_owned(), HeaderField::Invalid),
            (format!("/mcp?sessionId={ID}x"), HeaderField::Invalid),
        ] {
            assert_eq!(queried_session(&query.parse().unwrap()), said, "{query}");
        }
        let mut headers = HeaderMap::new();
        assert_eq!(session(&headers), HeaderField::Absent);
        headers.append(&SESSION_ID, HeaderValue::from_static(ID));
        assert_eq!(session(&headers), HeaderField::Value(id));
        headers.append(&SESSION_ID, HeaderValue::from_static(ID));
        assert_eq!(session(&headers), HeaderField::Invalid);
    }

    #[test]
    fn events_are_asked_for_by_name_and_accepted_as_anything() {
        for (accept, expect) in [
            ("text/event-stream", (true, true)),
            ("application/json, Text/Event-Stream;q=0.5", (true, true)),
            ("*/*", (false, true)),
            ("text/*", (false, true)),
            ("text/html", (false, false)),
        ] {
            let mut headers = HeaderMap::new();
            headers.append(ACCEPT, HeaderValue::from_static(accept));
            let seen = (asks_for_events(&headers), accepts_events(&headers));
            assert_eq!(seen, expect, "{accept}");
        }
    }
}
