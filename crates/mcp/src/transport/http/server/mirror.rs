use std::sync::Arc;

use callgate_wire::{RawJson, RawParams, Request, Version, header, method};
use http::HeaderMap;

use super::fields::{Field, Fields};
use crate::error::{Error, Kind};
use crate::header_param::{HeaderParam, HeaderParams};
use crate::server::accept::{RequestMeta, SUPPORTED};
use crate::service::PeerInfo;

/// True if a request may be one of a revision that is served here without a session: all others
/// name an older revision in their header, and their bodies need not be read to know it.
pub(super) fn may_be_supported(fields: &Fields<'_>) -> bool {
    match fields.protocol_version {
        Field::Once(value) => {
            let named = value.to_str().ok().and_then(Version::parse);
            // A revision that we do not know is let through here: `version` answers it with those that we
            // support.
            named.is_none_or(|version| SUPPORTED.contains(&version))
        }
        Field::Absent | Field::Repeated => true,
    }
}

/// Checks that the mirrored headers of a request equal its body, in the order of the specification.
///
/// A proxy in front of the server may have decided by the headers, and the service reads the body:
/// they must not differ.
pub(super) fn check(
    headers: &HeaderMap,
    fields: &Fields<'_>,
    request: &Request,
    params: Option<&HeaderParams>,
) -> Result<Arc<PeerInfo>, Error> {
    let member = header::name_member(&request.method);
    let peer = version(fields, &request.params)?;
    let named = text(fields.method, header::METHOD)?;
    let named = named.ok_or_else(|| missing(header::METHOD))?;
    if named != request.method.as_str() {
        return Err(mismatch(header::METHOD));
    }
    let Some(member) = member else {
        return Ok(peer);
    };
    let name = request.params.get(member);
    match (text(fields.name, header::NAME)?, &name) {
        (Some(value), Some(name)) => {
            if !header::decode_value(value).is_ok_and(|value| name.is(&value)) {
                return Err(mismatch(header::NAME));
            }
        }
        (Some(_), None) => return Err(mismatch(header::NAME)),
        (None, Some(name)) if name.text().is_some() => return Err(missing(header::NAME)),
        // The body is wrong: the error of the service says more than ours.
        (None, _) => {}
    }
    if let (Some(find), method::TOOLS_CALL) = (params, request.method.as_str())
        && let Some(tool) = name.as_ref().and_then(RawJson::text)
        && let Some(params) = find(&tool)
    {
        mirrored_params(headers, request, &params)?;
    }
    Ok(peer)
}

/// True if a request calls a tool that is not known yet, so that [`check`] could not check its headers.
pub(super) fn calls_unknown_tool(request: &Request, find: &HeaderParams) -> bool {
    request.method.as_str() == method::TOOLS_CALL
        && request
            .params
            .get("name")
            .as_ref()
            .and_then(RawJson::text)
            .is_some_and(|tool| find(&tool).is_none())
}

fn version(fields: &Fields<'_>, params: &RawParams) -> Result<Arc<PeerInfo>, Error> {
    let named = text(fields.protocol_version, header::PROTOCOL_VERSION)?;
    let Some(named) = named else {
        return Err(missing(header::PROTOCOL_VERSION).with_data(supported()));
    };
    let meta = match RequestMeta::read(params) {
        Ok(meta) => meta,
        // A client of an unknown revision need not send the metadata of this one, so the error is about its
        // revision.
        Err(_) if !SUPPORTED.iter().any(|version| version.as_str() == named) => {
            return Err(Error::unsupported_version(named, &SUPPORTED));
        }
        Err(incomplete) => return Err(incomplete.into_error()),
    };
    if !meta.names(named) {
        return Err(mismatch(header::PROTOCOL_VERSION));
    }
    meta.into_peer()
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
        let name = &param.header;
        let field = Field::of(headers, name.as_str());
        match (text(field, name)?, param.value(&arguments)) {
            (None, None) => {}
            (Some(header), Some(value)) if HeaderParam::agrees(header, &value) => {}
            (Some(_), _) => return Err(mismatch(name)),
            (None, Some(value)) if HeaderParam::encode(&value).is_some() => {
                return Err(missing(name));
            }
            // No header can carry this value: the service refuses the body.
            (None, Some(_)) => {}
        }
    }
    Ok(())
}

/// Text of a field that must not occur twice.
fn text<'a>(field: Field<'a>, name: &str) -> Result<Option<&'a str>, Error> {
    match field {
        Field::Absent => Ok(None),
        Field::Once(value) => value
            .to_str()
            .map(Some)
            .map_err(|_| header_error(format!("header `{name}` has invalid characters"))),
        Field::Repeated => Err(header_error(format!("header `{name}` occurs twice"))),
    }
}

fn missing(name: &str) -> Error {
    header_error(format!("header `{name}` is missing"))
}

fn mismatch(name: &str) -> Error {
    header_error(format!("header `{name}` differs from the body"))
}

fn header_error(message: String) -> Error {
    Error::new(Kind::HeaderMismatch, message)
}

/// Data for a client of another revision.
fn supported() -> RawJson {
    let supported = SUPPORTED.map(Version::as_str);
    RawJson::encode(&serde_json::json!({ "supported": supported }))
        .expect("a list of strings is always JSON")
}
