use callgate_wire::{Method, RawJson, Request, header, method};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde::Serialize;

use super::config::HeaderParams;
use crate::error::{Error, Kind};
use crate::header_param::HeaderParam;
use crate::server::accept::{RequestMeta, SUPPORTED};
use crate::service::PeerInfo;

static PROTOCOL_VERSION: HeaderName = HeaderName::from_static(header::PROTOCOL_VERSION);
static METHOD: HeaderName = HeaderName::from_static(header::METHOD);
static NAME: HeaderName = HeaderName::from_static(header::NAME);

/// Checks that the headers of a request say what its body says, in the order of the specification.
///
/// Whoever stands before us may have decided by the headers; everything behind us reads the body.
pub(super) fn check(
    headers: &HeaderMap,
    request: &Request,
    params: Option<&HeaderParams>,
) -> Result<PeerInfo, Error> {
    let peer = version(headers, request)?;
    let named = single(headers, &METHOD)?.ok_or_else(|| missing(&METHOD))?;
    if named != request.method.as_str() {
        return Err(mismatch(&METHOD));
    }
    let Some(member) = name_member(&request.method) else {
        return Ok(peer);
    };
    let value = request.params.get(member);
    let name = value.as_ref().and_then(RawJson::text);
    match (single(headers, &NAME)?, &name) {
        (Some(header), Some(name)) => {
            if header::decode_value(header).ok().as_ref() != Some(name) {
                return Err(mismatch(&NAME));
            }
        }
        (Some(_), None) => return Err(mismatch(&NAME)),
        (None, Some(_)) => return Err(missing(&NAME)),
        // The service says what is wrong with the body.
        (None, None) => {}
    }
    if let (Some(tool), Some(find), method::TOOLS_CALL) = (&name, params, request.method.as_str())
        && let Some(params) = find(tool)
    {
        mirrored_params(headers, request, &params)?;
    }
    Ok(peer)
}

fn version(headers: &HeaderMap, request: &Request) -> Result<PeerInfo, Error> {
    let Some(named) = single(headers, &PROTOCOL_VERSION)? else {
        return Err(missing(&PROTOCOL_VERSION).with_data(supported()));
    };
    let meta = match RequestMeta::read(&request.params) {
        Ok(meta) => meta,
        Err(_) if !SUPPORTED.iter().any(|version| version.as_str() == named) => {
            return Err(Error::unsupported_version(named, &SUPPORTED));
        }
        Err(error) => return Err(error),
    };
    if !meta.names(named) {
        return Err(mismatch(&PROTOCOL_VERSION));
    }
    meta.into_peer()
}

/// The member of the params that the name header mirrors.
fn name_member(method: &Method) -> Option<&'static str> {
    match method.as_str() {
        method::TOOLS_CALL | method::PROMPTS_GET => Some("name"),
        method::RESOURCES_READ => Some("uri"),
        method::TASKS_GET | method::TASKS_UPDATE | method::TASKS_CANCEL => Some("taskId"),
        _ => None,
    }
}

fn mirrored_params(
    headers: &HeaderMap,
    request: &Request,
    params: &[HeaderParam],
) -> Result<(), Error> {
    let arguments = request
        .params
        .get("arguments")
        .unwrap_or_else(RawJson::empty_object);
    for param in params {
        let mut values = headers.get_all(param.header.as_str()).iter();
        let header = match (values.next(), values.next()) {
            (Some(value), None) => Some(text(value, &param.header)?),
            (None, _) => None,
            _ => return Err(repeated(&param.header)),
        };
        match (header, param.value(&arguments)) {
            (None, None) => {}
            (Some(header), Some(value)) if HeaderParam::agrees(header, &value) => {}
            (Some(_), _) => return Err(mismatch(&param.header)),
            (None, Some(value)) if HeaderParam::encode(&value).is_some() => {
                return Err(missing(&param.header));
            }
            // No header could say this: the service says what is wrong with the body.
            (None, Some(_)) => {}
        }
    }
    Ok(())
}

/// The value of a header that must not occur twice.
fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, Error> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => text(value, name).map(Some),
        _ => Err(repeated(name)),
    }
}

fn text(value: &HeaderValue, name: impl AsRef<str>) -> Result<&str, Error> {
    value.to_str().map_err(|_| {
        let name = name.as_ref();
        header_error(format!("header `{name}` has invalid characters"))
    })
}

fn missing(name: impl AsRef<str>) -> Error {
    header_error(format!("header `{}` is missing", name.as_ref()))
}

fn mismatch(name: impl AsRef<str>) -> Error {
    header_error(format!("header `{}` differs from the body", name.as_ref()))
}

fn repeated(name: impl AsRef<str>) -> Error {
    header_error(format!("header `{}` occurs twice", name.as_ref()))
}

fn header_error(message: String) -> Error {
    Error::new(Kind::HeaderMismatch, message)
}

/// What a client of another revision needs to know.
fn supported() -> RawJson {
    #[derive(Serialize)]
    struct Data {
        supported: [&'static str; SUPPORTED.len()],
    }
    RawJson::encode(&Data {
        supported: SUPPORTED.map(callgate_wire::Version::as_str),
    })
    .expect("a list of strings is always JSON")
}
