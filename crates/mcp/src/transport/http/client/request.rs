use std::io::IoSlice;

use bytes::buf::Chain;
use bytes::{Buf, Bytes, BytesMut};
use callgate_wire::{Id, Method, RawJson, Version, encode, header, meta};
use http::header::{ACCEPT, CONTENT_TYPE, HOST, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue};
use http_body_util::Full;

use super::config::Headers;
use super::endpoint::Endpoint;
use crate::error::Error;
use crate::header_param::HeaderParam;
use crate::service::Call;

/// Body of a request.
pub(crate) type Body = Full<Message>;

/// One message: an envelope around params, which neither this nor a clone copies.
#[derive(Debug)]
pub(crate) struct Message(Chain<Chain<Bytes, Bytes>, Bytes>);

/// Frames `params` as the request `id`.
pub(super) fn body(id: &Id, method: &Method, params: &RawJson) -> Body {
    let mut prefix = BytesMut::with_capacity(96);
    encode::request_prefix(&mut prefix, id, method);
    let suffix = Bytes::from_static(encode::REQUEST_SUFFIX);
    Full::new(Message::new(
        prefix.freeze(),
        params.clone().into_bytes(),
        suffix,
    ))
}

/// A message that is framed already.
pub(crate) fn framed(message: Bytes) -> Body {
    Full::new(Message::new(message, Bytes::new(), Bytes::new()))
}

impl Message {
    fn new(prefix: Bytes, params: Bytes, suffix: Bytes) -> Self {
        Self(prefix.chain(params).chain(suffix))
    }
}

impl Clone for Message {
    fn clone(&self) -> Self {
        let (begin, suffix) = (self.0.first_ref(), self.0.last_ref());
        Self::new(
            begin.first_ref().clone(),
            begin.last_ref().clone(),
            suffix.clone(),
        )
    }
}

impl Buf for Message {
    fn remaining(&self) -> usize {
        self.0.remaining()
    }

    fn chunk(&self) -> &[u8] {
        self.0.chunk()
    }

    fn chunks_vectored<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        self.0.chunks_vectored(slices)
    }

    fn advance(&mut self, count: usize) {
        self.0.advance(count);
    }

    fn copy_to_bytes(&mut self, length: usize) -> Bytes {
        self.0.copy_to_bytes(length)
    }
}

/// Headers that are the same in every request.
pub(super) fn constant_headers(endpoint: &Endpoint, configured: &Headers) -> HeaderMap {
    let mut headers = configured.0.clone();
    headers.insert(HOST, endpoint.host());
    headers
        .entry(USER_AGENT)
        .or_insert(HeaderValue::from_static(concat!(
            "callgate/",
            env!("CARGO_PKG_VERSION")
        )));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(
        ACCEPT,
        HeaderValue::from_static("application/json, text/event-stream"),
    );
    // A clone keeps the room, so that the headers of one request need no other table.
    headers.reserve(USUAL_HEADERS);
    headers
}

/// Number of headers that most requests have beside the constant ones.
const USUAL_HEADERS: usize = 4;

static PROTOCOL_VERSION: HeaderName = HeaderName::from_static(header::PROTOCOL_VERSION);
static METHOD: HeaderName = HeaderName::from_static(header::METHOD);
static NAME: HeaderName = HeaderName::from_static(header::NAME);
static LATEST: HeaderValue = HeaderValue::from_static(Version::LATEST.as_str());

/// The target of a call, such as the name of its tool; `None` if its method has none.
///
/// # Errors
/// The member that names it is missing, or not a string.
pub(super) fn target(call: &Call) -> Result<Option<String>, Error> {
    let Some(key) = call.method.target_member() else {
        return Ok(None);
    };
    let target = call.params().get(key);
    let target = target.as_ref().and_then(RawJson::text);
    let method = &call.method;
    let missing =
        || Error::invalid_params(format!("params of `{method}` must have the string `{key}`"));
    Ok(Some(target.ok_or_else(missing)?.into_owned()))
}

/// All headers of the request that makes `call` with this target.
pub(crate) fn headers(
    constant: &HeaderMap,
    call: &Call,
    target: Option<&str>,
    mirrored: &[HeaderParam],
) -> Result<HeaderMap, Error> {
    // The specification wants the header to equal `_meta`, so the revision is read from there even where this
    // client would choose another.
    let mut headers = constant.clone();
    let version = match call.cx.peer().named_version() {
        Some(version) if version.is(Version::LATEST.as_str()) => LATEST.clone(),
        version => {
            let version = version.and_then(RawJson::text).ok_or_else(|| {
                Error::invalid_params(format!("`_meta` must have `{}`", meta::PROTOCOL_VERSION))
            })?;
            value_of(&PROTOCOL_VERSION, &version)?
        }
    };
    insert(&mut headers, &PROTOCOL_VERSION, version)?;
    insert(&mut headers, &METHOD, method_value(&call.method)?)?;
    if let Some(target) = target {
        let target = value_of(&NAME, &header::encode_value(target))?;
        insert(&mut headers, &NAME, target)?;
    }
    if !mirrored.is_empty() {
        let arguments = call
            .params()
            .get("arguments")
            .unwrap_or_else(RawJson::empty_object);
        for param in mirrored {
            // A value that no header can hold is not mirrored; the server refuses the call then.
            if let Some(value) = param
                .value(&arguments)
                .as_ref()
                .and_then(HeaderParam::encode)
            {
                let name = &param.header;
                let header: HeaderName = name.parse().map_err(|_| unfit(name))?;
                let value = value_of(&header, &value)?;
                insert(&mut headers, &header, value)?;
            }
        }
    }
    Ok(headers)
}

/// All headers of one notification, whose metadata need not name a revision.
pub(super) fn notification_headers(
    constant: &HeaderMap,
    method: &Method,
) -> Result<HeaderMap, Error> {
    let mut headers = constant.clone();
    insert(&mut headers, &PROTOCOL_VERSION, LATEST.clone())?;
    insert(&mut headers, &METHOD, method_value(method)?)?;
    Ok(headers)
}

/// The value of the header with the method, which is copied only if it is not a known one.
fn method_value(method: &Method) -> Result<HeaderValue, Error> {
    match method.known_name() {
        Some(name) => Ok(HeaderValue::from_static(name)),
        None => value_of(&METHOD, method.as_str()),
    }
}

fn value_of(name: &HeaderName, value: &str) -> Result<HeaderValue, Error> {
    HeaderValue::from_str(value).map_err(|_| unfit(name.as_str()))
}

fn insert(headers: &mut HeaderMap, name: &HeaderName, value: HeaderValue) -> Result<(), Error> {
    // `insert` panics at the maximum number of headers, which the schema of a hostile server could exceed.
    let is_full = headers.try_insert(name, value).is_err();
    match is_full {
        true => Err(unfit(name.as_str())),
        false => Ok(()),
    }
}

fn unfit(name: &str) -> Error {
    Error::invalid_params(format!("header `{name}` cannot hold its value"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::Cx;
    use callgate_wire::Limits;

    fn check(method: &str, members: &str, expect: Result<&[(&str, &str)], &str>) {
        let params = format!(
            r#"{{{members}"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}}"#
        );
        let params = RawJson::parse(params.into(), &Limits::default()).unwrap();
        let mirrored = [
            HeaderParam {
                header: "mcp-param-region".to_owned(),
                path: vec!["region".to_owned()],
            },
            HeaderParam {
                header: "mcp-param-limit".to_owned(),
                path: vec!["page".to_owned(), "limit".to_owned()],
            },
        ];
        let call = Call::new(Method::new(method), params, Cx::new(Id::number(1)));
        let seen = target(&call)
            .and_then(|target| headers(&HeaderMap::new(), &call, target.as_deref(), &mirrored))
            .map(|headers| {
                headers
                    .iter()
                    .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
                    .filter(|(name, _)| name != "mcp-protocol-version")
                    .collect::<Vec<_>>()
            })
            .map_err(|error| error.to_string());
        let expect = expect
            .map(|headers| {
                headers
                    .iter()
                    .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                    .collect()
            })
            .map_err(str::to_owned);
        assert_eq!(seen, expect, "{method} {members}");
    }

    #[test]
    fn the_name_of_the_target_is_mirrored() {
        let tool = |name: &'static str| [("mcp-method", "tools/call"), ("mcp-name", name)];
        check("tools/list", "", Ok(&[("mcp-method", "tools/list")]));
        check("tools/call", r#""name":"echo","#, Ok(&tool("echo")));
        check("tools/call", r#""name":"\u0065cho","#, Ok(&tool("echo")));
        check(
            "tools/call",
            r#""name":" é","#,
            Ok(&tool("=?base64?IMOp?=")),
        );
        check(
            "prompts/get",
            r#""name":"p","#,
            Ok(&[("mcp-method", "prompts/get"), ("mcp-name", "p")]),
        );
        check(
            "resources/read",
            r#""name":"no","uri":"file:///a","#,
            Ok(&[("mcp-method", "resources/read"), ("mcp-name", "file:///a")]),
        );
        for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
            check(
                method,
                r#""taskId":"t-1","#,
                Ok(&[("mcp-method", method), ("mcp-name", "t-1")]),
            );
        }
        for name in ["", r#""name":7,"#, r#""name":"\ud800","#] {
            check(
                "tools/call",
                name,
                Err("params of `tools/call` must have the string `name`"),
            );
        }
        check("a\nb", "", Err("header `mcp-method` cannot hold its value"));
    }

    #[test]
    fn annotated_arguments_are_mirrored() {
        check(
            "tools/call",
            r#""name":"t","arguments":{"region":"日本","page":{"limit":4.2e1},"other":1},"#,
            Ok(&[
                ("mcp-method", "tools/call"),
                ("mcp-name", "t"),
                ("mcp-param-region", "=?base64?5pel5pys?="),
                ("mcp-param-limit", "42"),
            ]),
        );
        check(
            "tools/call",
            r#""name":"t","arguments":{"region":null,"page":{"limit":1.5}},"#,
            Ok(&[("mcp-method", "tools/call"), ("mcp-name", "t")]),
        );
    }

    #[test]
    fn a_request_without_a_version_is_not_sent() {
        let params = RawJson::empty_object();
        let call = Call::new(Method::new("x"), params, Cx::new(Id::number(1)));
        let error = headers(&HeaderMap::new(), &call, None, &[]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`_meta` must have `io.modelcontextprotocol/protocolVersion`"
        );
    }
}
