use http::Method;
use http::header::{self, HeaderMap, HeaderName};
use http::request::Parts;

use super::auth;
use super::config::HttpServerConfig;
use super::fields::{Field, Fields};
use super::host_policy::HostPolicy;
use super::response::Refusal;
use crate::service::{Caller, Source, TraceContext};

/// Outcome of the checks on the head of a request.
#[derive(Debug)]
pub(crate) struct Admission {
    pub(crate) caller: Caller,
    pub(crate) source: Source,
    pub(crate) trace: Option<Box<TraceContext>>,
    pub(crate) accepts: Accepts,
}

/// Media types of responses that a client accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Accepts {
    pub(crate) json: bool,
    pub(crate) events: bool,
}

/// Checks everything that can be checked before the body is read.
///
/// The host has been checked already. The origin comes next, so that a web page learns nothing from
/// the other answers; the path and the method come before the token, which may take a while to
/// verify; the media types come last, because their errors are for clients that may call.
pub(super) async fn admit(
    head: &Parts,
    fields: &Fields<'_>,
    source: Source,
    policy: &HostPolicy,
    config: &HttpServerConfig,
    serves_sessions: bool,
) -> Result<Admission, Refusal> {
    // Without these fields no web page has sent the request.
    if fields.is_of_browser {
        policy.check_origin(&head.headers)?;
    }
    if head.uri.path() != config.path {
        return Err(Refusal::NotFound);
    }
    // Only older revisions have other methods than POST.
    match head.method {
        Method::POST => {}
        Method::GET | Method::DELETE if serves_sessions => {}
        _ => {
            let allow = match serves_sessions {
                true => "GET, POST, DELETE",
                false => "POST",
            };
            return Err(Refusal::MethodNotAllowed { allow });
        }
    }
    let caller = auth::identify(&head.headers, &head.method, &config.auth).await?;
    let accepts = Accepts::read(fields.accept, &head.headers);
    if head.method == Method::POST {
        if !sends_json(fields.content_type) {
            return Err(Refusal::UnsupportedMediaType);
        }
        if accepts == Accepts::default() {
            return Err(Refusal::NotAcceptable);
        }
    }
    Ok(Admission {
        caller,
        source,
        trace: fields.has_trace.then(|| trace(&head.headers)).flatten(),
        accepts,
    })
}

fn sends_json(content_type: Field<'_>) -> bool {
    let media = content_type.once().map(media_type);
    media.is_some_and(|media| media.eq_ignore_ascii_case(b"application/json"))
}

impl Accepts {
    const ANYTHING: Self = Self {
        json: true,
        events: true,
    };

    /// Reads `Accept`; a client without it accepts anything.
    fn read(accept: Field<'_>, headers: &HeaderMap) -> Self {
        match accept {
            Field::Absent => return Self::ANYTHING,
            // The exact text of the specification: most clients send it.
            Field::Once(value) if value == "application/json, text/event-stream" => {
                return Self::ANYTHING;
            }
            _ => {}
        }
        let mut accepts = Self::default();
        let values = headers.get_all(header::ACCEPT).iter();
        for range in values.flat_map(|value| value.as_bytes().split(|byte| *byte == b',')) {
            if is_refused(range) {
                continue;
            }
            let media = media_type(range);
            let is = |name: &[u8]| media.eq_ignore_ascii_case(name);
            accepts.json |= is(b"application/json") || is(b"application/*") || is(b"*/*");
            accepts.events |= is(b"text/event-stream") || is(b"text/*") || is(b"*/*");
        }
        accepts
    }
}

/// The media type without its parameters.
fn media_type(value: &[u8]) -> &[u8] {
    value
        .split(|byte| *byte == b';')
        .next()
        .unwrap_or_default()
        .trim_ascii()
}

/// True if a media range has the weight zero.
fn is_refused(range: &[u8]) -> bool {
    range.split(|byte| *byte == b';').skip(1).any(|parameter| {
        let parameter = parameter.trim_ascii();
        let weight = parameter
            .strip_prefix(b"q=")
            .or_else(|| parameter.strip_prefix(b"Q="));
        weight.is_some_and(|weight| {
            !weight.is_empty() && weight.iter().all(|byte| matches!(byte, b'0' | b'.'))
        })
    })
}

/// Headers of a trace context, in the order of [`TraceContext::KEYS`].
static TRACE: [HeaderName; 3] = [
    HeaderName::from_static(TraceContext::KEYS[0]),
    HeaderName::from_static(TraceContext::KEYS[1]),
    HeaderName::from_static(TraceContext::KEYS[2]),
];

/// The trace context, if there is any. Boxed, since few requests have one.
fn trace(headers: &HeaderMap) -> Option<Box<TraceContext>> {
    let values = TRACE.each_ref().map(|name| {
        let values = headers.get_all(name).into_iter();
        let values: Vec<_> = values.filter_map(|value| value.to_str().ok()).collect();
        (!values.is_empty()).then_some(values)
    });
    if values.iter().all(Option::is_none) {
        return None;
    }
    let [parent, state, baggage] = values;
    // A list may be spread over several fields; a `traceparent` that occurs twice is invalid.
    let parent = parent.filter(|values| values.len() == 1);
    let joined = |values: Option<Vec<&str>>| values.map(|values| values.join(","));
    let trace = TraceContext::new([joined(parent), joined(state), joined(baggage)]);
    Some(Box::new(trace))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::header::{ACCEPT, CONTENT_TYPE};
    use http::{HeaderMap, HeaderValue};

    #[test]
    fn a_response_has_a_form_that_the_client_takes() {
        let check = |values: &[&'static str], json: bool, events: bool| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(ACCEPT, HeaderValue::from_static(value));
            }
            assert_eq!(
                Accepts::read(Fields::of(&headers).accept, &headers),
                Accepts { json, events },
                "{values:?}"
            );
        };
        check(&[], true, true);
        check(&["application/json, text/event-stream"], true, true);
        check(&["application/json", "text/event-stream"], true, true);
        check(&["*/*"], true, true);
        check(&["Application/JSON;q=0.5"], true, false);
        check(&["application/*"], true, false);
        check(&["text/event-stream;charset=utf-8"], false, true);
        check(&["text/*"], false, true);
        check(
            &["application/json;q=0, text/event-stream;q=0.001"],
            false,
            true,
        );
        check(&["text/html"], false, false);
        check(&[""], false, false);
        check(&["application/jsonx"], false, false);
    }

    #[test]
    fn fields_of_browsers_and_traces_are_noticed() {
        let check = |name: &'static str, origin: bool, trace: bool| {
            let mut headers = HeaderMap::new();
            headers.append(ACCEPT, HeaderValue::from_static("*/*"));
            headers.append(name, HeaderValue::from_static(""));
            let fields = Fields::of(&headers);
            let seen = (fields.is_of_browser, fields.has_trace);
            assert_eq!(seen, (origin, trace), "{name}");
        };
        check("origin", true, false);
        check("sec-fetch-site", true, false);
        check("traceparent", false, true);
        check("tracestate", false, true);
        check("baggage", false, true);
        check("host", false, false);
    }

    #[test]
    fn only_json_is_taken() {
        let check = |values: &[&'static str], expect: bool| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(CONTENT_TYPE, HeaderValue::from_static(value));
            }
            let content_type = Fields::of(&headers).content_type;
            assert_eq!(sends_json(content_type), expect, "{values:?}");
        };
        check(&["application/json"], true);
        check(&["application/json; charset=utf-8"], true);
        check(&["APPLICATION/JSON ;x"], true);
        check(&[], false);
        check(&["text/plain"], false);
        check(&["application/jsonp"], false);
        check(&["application/json, text/plain"], false);
        check(&["text/plain; application/json"], false);
        check(&["application/json", "application/json"], false);
    }
}
