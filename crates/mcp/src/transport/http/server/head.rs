use http::{Method, Uri};

use super::answer::Refusal;
use super::caller;
use super::config::Config;
use super::fields::{Field, Fields};
use super::guard::Policy;
use crate::service::Caller;

/// What the head of a request settled.
#[derive(Debug)]
pub(super) struct Admitted {
    pub(super) caller: Caller,
    pub(super) accepts: Accepts,
}

/// The forms of response that a client takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Accepts {
    pub(super) json: bool,
    pub(super) events: bool,
}

/// Judges everything that can be judged before the body is read, in the order of the specification.
///
/// The host has been checked already.
pub(super) async fn admit(
    method: &Method,
    uri: &Uri,
    fields: &Fields<'_>,
    policy: &Policy,
    config: &Config,
) -> Result<Admitted, Refusal> {
    policy.check_origin(fields)?;
    if uri.path() != config.path {
        return Err(Refusal::NotFound);
    }
    if !allows(config, method) {
        return Err(Refusal::MethodNotAllowed {
            allow: allowed(config),
        });
    }
    let caller = caller::identify(fields, &config.auth).await?;
    let accepts = Accepts::read(fields);
    if method != Method::POST {
        return Ok(Admitted { caller, accepts });
    }
    if !sends_json(fields) {
        return Err(Refusal::UnsupportedMediaType);
    }
    if accepts == Accepts::default() {
        return Err(Refusal::NotAcceptable);
    }
    Ok(Admitted { caller, accepts })
}

/// Whether `method` is used here; only older revisions have others than POST.
fn allows(config: &Config, method: &Method) -> bool {
    *method == Method::POST
        || config.legacy.is_some() && matches!(*method, Method::GET | Method::DELETE)
}

fn allowed(config: &Config) -> &'static str {
    match config.legacy {
        Some(_) => "GET, POST, DELETE",
        None => "POST",
    }
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

    /// Reads `Accept`; a client without one takes anything.
    fn read(fields: &Fields<'_>) -> Self {
        match fields.accept {
            Field::Absent => return Self::ANYTHING,
            // What the specification asks for, word for word.
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

/// Whether a media range has the weight zero.
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
