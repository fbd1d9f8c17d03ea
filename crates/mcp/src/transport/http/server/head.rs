use callgate_wire::header as mirrored;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};

use super::auth;
use super::config::Config;
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
    config: &Config,
    serves_sessions: bool,
) -> Result<Admission, Refusal> {
    policy.check_origin(fields)?;
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
    let caller = auth::identify(fields, &config.auth).await?;
    let accepts = Accepts::read(fields);
    if head.method == Method::POST {
        if !sends_json(fields) {
            return Err(Refusal::UnsupportedMediaType);
        }
        if accepts == Accepts::default() {
            return Err(Refusal::NotAcceptable);
        }
    }
    Ok(Admission {
        caller,
        source,
        trace: fields.trace(),
        accepts,
    })
}

fn sends_json(fields: &Fields<'_>) -> bool {
    let media = fields.content_type.once().map(media_type);
    media.is_some_and(|media| media.eq_ignore_ascii_case(b"application/json"))
}

impl Accepts {
    const ANYTHING: Self = Self {
        json: true,
        events: true,
    };

    /// Reads `Accept`; a client without it accepts anything.
    fn read(fields: &Fields<'_>) -> Self {
        match fields.accept {
            Field::Absent => return Self::ANYTHING,
            // The exact text of the specification: most clients send it.
            Field::Once(value) if value == "application/json, text/event-stream" => {
                return Self::ANYTHING;
            }
            _ => {}
        }
        let mut accepts = Self::default();
        let values = fields.accept_values();
        for range in values.flat_map(|value| value.split(|byte| *byte == b',')) {
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

/// Header fields that requests are checked by, found in one pass.
#[derive(Debug)]
pub(super) struct Fields<'a> {
    pub(super) host: Field<'a>,
    pub(super) origin: Field<'a>,
    pub(super) sec_fetch_site: Field<'a>,
    pub(super) authorization: Field<'a>,
    pub(super) content_type: Field<'a>,
    pub(super) transfer_encoding: Field<'a>,
    pub(super) accept: Field<'a>,
    pub(super) protocol_version: Field<'a>,
    pub(super) method: Field<'a>,
    pub(super) name: Field<'a>,
    /// True if there is any field of a trace context.
    has_trace: bool,
    /// All fields, for those that are not known beforehand.
    all: &'a HeaderMap,
}

/// Occurrence of one field in a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field<'a> {
    Absent,
    Once(&'a HeaderValue),
    Repeated,
}

impl<'a> Fields<'a> {
    pub(super) fn read(headers: &'a HeaderMap) -> Self {
        let mut fields = Self {
            host: Field::Absent,
            origin: Field::Absent,
            sec_fetch_site: Field::Absent,
            authorization: Field::Absent,
            content_type: Field::Absent,
            transfer_encoding: Field::Absent,
            accept: Field::Absent,
            protocol_version: Field::Absent,
            method: Field::Absent,
            name: Field::Absent,
            has_trace: false,
            all: headers,
        };
        for (name, value) in headers {
            if let Some(field) = fields.known(name) {
                field.add(value);
            }
        }
        fields
    }

    fn known(&mut self, name: &HeaderName) -> Option<&mut Field<'a>> {
        Some(match *name {
            header::HOST => &mut self.host,
            header::ORIGIN => &mut self.origin,
            header::AUTHORIZATION => &mut self.authorization,
            header::CONTENT_TYPE => &mut self.content_type,
            header::TRANSFER_ENCODING => &mut self.transfer_encoding,
            header::ACCEPT => &mut self.accept,
            _ => match name.as_str() {
                mirrored::PROTOCOL_VERSION => &mut self.protocol_version,
                mirrored::METHOD => &mut self.method,
                mirrored::NAME => &mut self.name,
                "sec-fetch-site" => &mut self.sec_fetch_site,
                "traceparent" | "tracestate" | "baggage" => {
                    self.has_trace = true;
                    return None;
                }
                _ => return None,
            },
        })
    }

    /// The field `name`, which is not one of the others here.
    pub(super) fn other(&self, name: &str) -> Field<'a> {
        let mut field = Field::Absent;
        for value in self.all.get_all(name) {
            field.add(value);
        }
        field
    }

    /// The trace context, if there is any. Boxed, since few requests have one.
    fn trace(&self) -> Option<Box<TraceContext>> {
        if !self.has_trace {
            return None;
        }
        let values = TraceContext::KEYS.map(|name| {
            let values = self.all.get_all(name).into_iter();
            let values: Vec<_> = values.filter_map(|value| value.to_str().ok()).collect();
            (!values.is_empty()).then_some(values)
        });
        let [parent, state, baggage] = values;
        // A list may be spread over several fields; a `traceparent` that occurs twice is invalid.
        let parent = parent.filter(|values| values.len() == 1);
        let joined = |values: Option<Vec<&str>>| values.map(|values| values.join(","));
        let trace = TraceContext::new([joined(parent), joined(state), joined(baggage)]);
        Some(Box::new(trace))
    }

    /// Every value of `Accept`, the one field here that may be repeated.
    pub(super) fn accept_values(&self) -> impl Iterator<Item = &'a [u8]> {
        let values = self.all.get_all(header::ACCEPT).into_iter();
        values.map(HeaderValue::as_bytes)
    }
}

impl<'a> Field<'a> {
    fn add(&mut self, value: &'a HeaderValue) {
        *self = match self {
            Field::Absent => Field::Once(value),
            _ => Field::Repeated,
        };
    }

    /// The value of a field that is there exactly once.
    pub(super) fn once(self) -> Option<&'a [u8]> {
        match self {
            Field::Once(value) => Some(value.as_bytes()),
            Field::Absent | Field::Repeated => None,
        }
    }
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
                Accepts::read(&Fields::read(&headers)),
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
    fn only_json_is_taken() {
        let check = |values: &[&'static str], expect: bool| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(CONTENT_TYPE, HeaderValue::from_static(value));
            }
            assert_eq!(sends_json(&Fields::read(&headers)), expect, "{values:?}");
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
