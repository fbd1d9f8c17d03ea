use callgate_wire::header;
use http::header::{ACCEPT, HeaderName};
use http::{HeaderMap, Uri};

use super::session_id::SessionId;

/// Names the session of a request.
pub(super) static SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
static LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// The parameter of the query that names the session of HTTP+SSE.
pub(super) const SESSION_PARAMETER: &str = "sessionId";

/// What a request says of one thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Said<T> {
    Nothing,
    Once(T),
    /// It is said twice, or cannot be understood.
    Wrong,
}

/// The session that the header names.
pub(super) fn session(headers: &HeaderMap) -> Said<SessionId> {
    match once(headers, &SESSION_ID) {
        Said::Nothing => Said::Nothing,
        Said::Once(name) => SessionId::parse(name).map_or(Said::Wrong, Said::Once),
        Said::Wrong => Said::Wrong,
    }
}

/// The session that the query names.
pub(super) fn queried_session(uri: &Uri) -> Said<SessionId> {
    let Some(query) = uri.query() else {
        return Said::Nothing;
    };
    let mut said = Said::Nothing;
    for parameter in query.split('&') {
        if let Some((SESSION_PARAMETER, value)) = parameter.split_once('=') {
            said = match (said, SessionId::parse(value.as_bytes())) {
                (Said::Nothing, Some(id)) => Said::Once(id),
                _ => Said::Wrong,
            };
        }
    }
    said
}

/// The event that the client has seen last.
pub(super) fn last_event(headers: &HeaderMap) -> Said<&[u8]> {
    once(headers, &LAST_EVENT_ID)
}

/// The revision that the header names; one that nobody knows where it is unreadable.
pub(super) fn version(headers: &HeaderMap) -> Option<&str> {
    let name = HeaderName::from_static(header::PROTOCOL_VERSION);
    match once(headers, &name) {
        Said::Nothing => None,
        Said::Once(value) => Some(std::str::from_utf8(value).unwrap_or_default()),
        Said::Wrong => Some(""),
    }
}

/// Whether the client asks for events by name: a browser takes anything.
pub(super) fn asks_for_events(headers: &HeaderMap) -> bool {
    let values = headers.get_all(ACCEPT).into_iter();
    let mut ranges = values.flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
    ranges.any(|range| {
        let media = range.split(|byte| *byte == b';').next();
        media.is_some_and(|media| {
            media
                .trim_ascii()
                .eq_ignore_ascii_case(b"text/event-stream")
        })
    })
}

fn once<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Said<&'a [u8]> {
    let mut values = headers.get_all(name).into_iter();
    match (values.next(), values.next()) {
        (None, _) => Said::Nothing,
        (Some(value), None) => Said::Once(value.as_bytes()),
        (Some(_), Some(_)) => Said::Wrong,
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
            ("/mcp".to_owned(), Said::Nothing),
            ("/mcp?x=1".to_owned(), Said::Nothing),
            (format!("/mcp?sessionId={ID}"), Said::Once(id)),
            (format!("/mcp?x=1&sessionId={ID}&y"), Said::Once(id)),
            (format!("/mcp?sessionId={ID}&sessionId={ID}"), Said::Wrong),
            ("/mcp?sessionId=".to_owned(), Said::Wrong),
            (format!("/mcp?sessionId={ID}x"), Said::Wrong),
        ] {
            assert_eq!(queried_session(&query.parse().unwrap()), said, "{query}");
        }
        let mut headers = HeaderMap::new();
        assert_eq!(session(&headers), Said::Nothing);
        headers.append(&SESSION_ID, HeaderValue::from_static(ID));
        assert_eq!(session(&headers), Said::Once(id));
        headers.append(&SESSION_ID, HeaderValue::from_static(ID));
        assert_eq!(session(&headers), Said::Wrong);
    }

    #[test]
    fn events_are_asked_for_by_name() {
        for (accept, asks) in [
            ("text/event-stream", true),
            ("application/json, Text/Event-Stream;q=0.5", true),
            ("*/*", false),
            ("text/*", false),
            ("text/html", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.append(ACCEPT, HeaderValue::from_static(accept));
            assert_eq!(asks_for_events(&headers), asks, "{accept}");
        }
    }
}
