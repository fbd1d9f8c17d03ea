//! Detection of the revision of a server at a URL.

use std::error::Error as StdError;

use bytes::{Bytes, BytesMut};
use callgate_wire::{Frame, Id, Method, RawJson, Splice, Version, code, encode, meta, method, sse};
use http::Request;
use http::response::Parts;

use super::era::{Era, code_of};
use crate::error::{Error, Kind};
use crate::service::{Call, Cx};
use crate::transport::http::client::{
    BodyStream, Content, ErrorStatus, HttpFailure, HttpUpstream, carries_message, finish, framed,
    headers, parse,
};

/// Outcome of the probe of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Probe {
    Known(Era),
    /// The server has no `server/discover`, and says so as a modern one would. Relays in front of
    /// old servers answer so too: the handshake decides.
    Unclear,
}

/// Asks a server for `server/discover`, which no old server has, with the metadata of `params`.
///
/// # Errors
/// There is no answer, or one that says nothing about the era.
pub(crate) async fn probe(upstream: &HttpUpstream, params: &RawJson) -> Result<Probe, Error> {
    let method = Method::new(method::SERVER_DISCOVER);
    let call = Call::new(method, probe_params(params), Cx::new(Id::number(0)));
    let mut message = BytesMut::new();
    encode::request(&mut message, &call.cx.id, &call.method, call.params());
    let mut request = Request::new(framed(message.freeze()));
    *request.method_mut() = http::Method::POST;
    *request.uri_mut() = upstream.target.clone();
    *request.headers_mut() = headers(&upstream.constant_headers, &call, None, &[])?;

    let (head, body) = upstream.send(request).await?;
    let (content, body) = answer(upstream, &head, body).await;
    judge(head.status.as_u16(), content, &body).ok_or_else(|| no_era(upstream, &head, &body))
}

/// Meaning of a response to `server/discover`; `None` if it is about something else.
fn judge(status: u16, content: Content, body: &Bytes) -> Option<Probe> {
    // Credentials, redirects and failures of a proxy say nothing about the server behind them.
    if matches!(status, 401 | 403) || !(200..300).contains(&status) && !(400..500).contains(&status)
    {
        return None;
    }
    let is_success = status < 300;
    let message = match content {
        Content::Other if is_success => None,
        // Servers refuse with all kinds of content types: the body of a refusal is always read.
        // The body was read within a limit already.
        _ => parse(body, usize::MAX).ok(),
    };
    let Some(Frame::Response(response)) = message else {
        return Some(Probe::Known(Era::OLD));
    };
    let era = match &response.outcome {
        Ok(result) if is_success => Era::of_result(result),
        Ok(_) => Ok(Era::OLD),
        Err(error) if status == 404 && code_of(error) == Some(code::METHOD_NOT_FOUND) => {
            return Some(Probe::Unclear);
        }
        Err(error) => Era::of_error(error),
    };
    // If it speaks none of ours, its own answer to the call says that best.
    Some(Probe::Known(era.unwrap_or(Era::Modern)))
}

/// True if the failure of a request to a modern server shows that the server is an old one by now:
/// it refused the request without carrying it out, in a way that no modern server does.
pub(crate) fn contradicts_modern(name: &Method, error: &Error) -> bool {
    match status_of(error) {
        // About credentials, time, size or rate, and not about the era.
        Some(401 | 403 | 408 | 413 | 429 | 431) => false,
        // Modern servers refuse with these codes as well.
        Some(400..500) => !matches!(
            rpc_code(error),
            Some(
                code::HEADER_MISMATCH
                    | code::MISSING_REQUIRED_CLIENT_CAPABILITY
                    | code::UNSUPPORTED_PROTOCOL_VERSION
                    | code::INVALID_PARAMS
                    | code::METHOD_NOT_FOUND
                    | code::PARSE_ERROR
            )
        ),
        _ => {
            // The specification demands this method of every modern server.
            name.as_str() == method::SERVER_DISCOVER
                && rpc_code(error) == Some(code::METHOD_NOT_FOUND)
        }
    }
}

/// True if the failure of a handshake shows that the server is a modern one by now.
#[cfg(feature = "legacy")]
pub(crate) fn contradicts_old(error: &Error) -> bool {
    let refused = matches!(status_of(error), Some(400..500)) || rpc_code(error).is_some();
    // These are about credentials, time, size or rate, as with a modern server.
    refused && !matches!(status_of(error), Some(401 | 403 | 408 | 413 | 429 | 431))
}

/// True if a handshake failed inside the server or a proxy.
#[cfg(feature = "legacy")]
pub(crate) fn is_server_failure(error: &Error) -> bool {
    matches!(status_of(error), Some(500..600))
}

/// True if a handshake failed as with a server that speaks only HTTP+SSE.
#[cfg(feature = "legacy")]
pub(crate) fn may_speak_http_sse(error: &Error) -> bool {
    let is_modern = matches!(
        rpc_code(error),
        Some(
            code::HEADER_MISMATCH
                | code::MISSING_REQUIRED_CLIENT_CAPABILITY
                | code::UNSUPPORTED_PROTOCOL_VERSION
        )
    );
    // The specification names these statuses for the fallback to HTTP+SSE.
    !is_modern && matches!(status_of(error), Some(400 | 404 | 405))
}

/// HTTP status among the causes of an error.
pub(super) fn status_of(error: &Error) -> Option<u16> {
    causes(error).find_map(|cause| {
        let failure = cause.downcast_ref::<HttpFailure>();
        let status = cause.downcast_ref::<ErrorStatus>();
        failure
            .map(|failure| failure.status)
            .or(status.map(|status| status.0.as_u16()))
    })
}

/// JSON-RPC code among the causes of an error.
fn rpc_code(error: &Error) -> Option<i64> {
    causes(error).find_map(|cause| {
        let error = cause.downcast_ref::<Error>()?;
        code_of(error.raw()?)
    })
}

fn causes(error: &Error) -> impl Iterator<Item = &(dyn StdError + 'static)> {
    let first: &(dyn StdError + 'static) = error;
    std::iter::successors(Some(first), |cause: &&(dyn StdError + 'static)| {
        (*cause).source()
    })
}

/// Params with the metadata of another request, without the members that belong to that one only.
fn probe_params(params: &RawJson) -> RawJson {
    let newest = RawJson::string(Version::LATEST.as_str());
    let none = RawJson::empty_object();
    let meta = params.get("_meta").filter(RawJson::is_object);
    let meta = meta.unwrap_or_else(RawJson::empty_object);
    let mut splice = Splice::new(&meta)
        .remove(&[meta::PROGRESS_TOKEN])
        .remove(&[meta::LOG_LEVEL])
        .set(&[meta::PROTOCOL_VERSION], &newest);
    if meta.get(meta::CLIENT_CAPABILITIES).is_none() {
        splice = splice.set(&[meta::CLIENT_CAPABILITIES], &none);
    }
    let meta = splice.finish().unwrap_or(meta.clone());
    Splice::new(&none)
        .set(&["_meta"], &meta)
        .finish()
        .expect("a member can be added to an empty object")
}

/// Message of a response, and the kind of the body that it came in.
async fn answer(upstream: &HttpUpstream, head: &Parts, body: BodyStream) -> (Content, Bytes) {
    let limits = upstream.config().limits;
    match Content::of(&head.headers) {
        Content::Events if head.status.is_success() => {
            let (mut parser, mut events) = (sse::Parser::new(limits.event), Vec::new());
            let mut body = body;
            while let Some(Ok(part)) = body.next().await {
                let is_too_large = parser.push(&part, &mut events).is_err();
                for event in events.drain(..).filter(carries_message) {
                    if let Ok(Frame::Response(_)) = parse(&event.data, limits.event) {
                        finish(body).await;
                        return (Content::Json, event.data);
                    }
                }
                if is_too_large {
                    break;
                }
            }
            (Content::Other, Bytes::new())
        }
        content if head.status.is_success() => match body.whole(limits.json).await {
            Ok(body) => (content, body),
            Err(_) => (Content::Other, Bytes::new()),
        },
        content => (content, body.beginning(limits.error).await),
    }
}

fn no_era(upstream: &HttpUpstream, head: &Parts, body: &[u8]) -> Error {
    let config = upstream.config();
    let failure = HttpFailure::new(head, body, &config.headers);
    let text = format!("server `{}` answered with {failure}", config.name);
    let error = Error::new(failure.kind(), text).from_upstream(&config.name);
    let error = match failure.kind() {
        // The request that needed the era was not sent yet.
        Kind::Connect => error.retry_safe(),
        _ => error,
    };
    error.with_source(failure)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use http::StatusCode;

    fn error(code: i64) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":0,"error":{{"code":{code},"message":"m"}}}}"#)
    }

    fn result(result: &str) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":0,"result":{result}}}"#)
    }

    fn unsupported(supported: &str) -> String {
        format!(
            r#"{{"jsonrpc":"2.0","id":0,"error":{{"code":-32022,"message":"m","data":{{"supported":{supported}}}}}}}"#
        )
    }

    fn check(status: u16, json: bool, body: &str, expect: Option<Era>) {
        check_probe(status, json, body, expect.map(Probe::Known));
    }

    fn check_probe(status: u16, json: bool, body: &str, expect: Option<Probe>) {
        let content = match json {
            true => Content::Json,
            false => Content::Other,
        };
        let seen = judge(status, content, &Bytes::copy_from_slice(body.as_bytes()));
        assert_eq!(seen, expect, "{status} json={json} {body}");
    }

    #[test]
    fn credentials_redirects_and_failures_tell_nothing() {
        for status in [101, 301, 302, 307, 308, 401, 403, 500, 501, 502, 503, 504] {
            for json in [true, false] {
                for body in ["", "<html>", &error(-32022), &error(-32000), &result("{}")] {
                    check(status, json, body, None);
                }
            }
        }
    }

    #[test]
    fn a_success_is_modern_only_where_it_says_so() {
        let complete = r#"{"resultType":"complete"}"#;
        let versions = |list: &str| {
            result(&format!(
                r#"{{"resultType":"complete","supportedVersions":{list}}}"#
            ))
        };
        check(200, true, &result(complete), Some(Era::Modern));
        check(200, true, &versions(r#"["2026-07-28"]"#), Some(Era::Modern));
        check(
            200,
            true,
            &versions(r#"["2025-11-25","2026-07-28"]"#),
            Some(Era::Modern),
        );
        check(200, true, &versions(r#"["2031-01-01"]"#), Some(Era::Modern));
        check(200, true, &versions(r#"["2025-11-25"]"#), Some(Era::OLD));
        check(200, true, &result("{}"), Some(Era::OLD));
        check(200, true, &result(r#"{"tools":[]}"#), Some(Era::OLD));
        for code in [-32020, -32021, -32022] {
            check(200, true, &error(code), Some(Era::Modern));
        }
        for code in [-32601, -32602, -32600, -32000, -32603, 1] {
            check(200, true, &error(code), Some(Era::OLD));
        }
        check(200, false, &result(complete), Some(Era::OLD));
        for body in ["", "<html>", "[]", r#"{"ok":true}"#] {
            check(200, true, body, Some(Era::OLD));
            check(202, false, body, Some(Era::OLD));
        }
    }

    #[test]
    fn a_refusal_is_modern_only_with_an_error_that_only_modern_servers_have() {
        for status in [400, 402, 404, 405, 406, 409, 410, 415, 422, 429] {
            for json in [true, false] {
                for code in [-32020, -32021, -32022] {
                    check(status, json, &error(code), Some(Era::Modern));
                }
                for code in [-32602, -32600, -32700, -32000, -32001, -32603, 0] {
                    check(status, json, &error(code), Some(Era::OLD));
                }
                for body in [
                    "",
                    "Bad Request",
                    "<html>",
                    "{}",
                    "[]",
                    &result("{}"),
                    r#"{"error":{"code":-32022}}"#,
                    r#"{"jsonrpc":"2.0","error":{"code":"-32022"}}"#,
                ] {
                    check(status, json, body, Some(Era::OLD));
                }
            }
            let not_found = match status {
                404 => Probe::Unclear,
                _ => Probe::Known(Era::OLD),
            };
            check_probe(status, true, &error(-32601), Some(not_found));
        }
    }

    #[test]
    fn hc_19_versions_that_only_a_handshake_can_agree_on_are_old() {
        check(
            400,
            true,
            &unsupported(r#"["2024-11-05","2025-06-18"]"#),
            Some(Era::Old(Version::V2025_06_18)),
        );
        check(
            400,
            true,
            &unsupported(r#"["2026-07-28"]"#),
            Some(Era::Modern),
        );
        check(
            400,
            true,
            &unsupported(r#"["2099-01-01"]"#),
            Some(Era::Modern),
        );
        check(400, true, &unsupported("[]"), Some(Era::Modern));
        check(400, true, &unsupported("7"), Some(Era::Modern));
    }

    /// An error as a response with this status becomes one.
    fn refused(status: u16, code: Option<i64>) -> Error {
        let name = Arc::from("s");
        let status = StatusCode::from_u16(status).unwrap();
        match code {
            Some(code) => {
                let raw = RawJson::encode(&callgate_wire::RpcError::new(code, "m")).unwrap();
                let error = Error::rpc(&name, raw);
                if status.is_success() {
                    return error;
                }
                error.with_source(ErrorStatus(status))
            }
            None => {
                let response = http::Response::builder().status(status).body(()).unwrap();
                let (head, ()) = response.into_parts();
                let failure = HttpFailure::new(&head, b"", &Default::default());
                Error::new(Kind::Protocol, "m").with_source(failure)
            }
        }
    }

    #[test]
    fn a_modern_server_is_doubted_after_a_refusal_that_none_gives() {
        for (status, code, expect) in [
            (400, None, true),
            (404, None, true),
            (405, None, true),
            (400, Some(-32000), true),
            (400, Some(-32600), true),
            (404, Some(-32601), false),
            (400, Some(-32020), false),
            (400, Some(-32021), false),
            (400, Some(-32022), false),
            (400, Some(-32602), false),
            (401, None, false),
            (403, None, false),
            (429, None, false),
            (500, None, false),
            (200, Some(-32000), false),
            (200, Some(-32601), false),
        ] {
            let seen = contradicts_modern(&Method::new("tools/call"), &refused(status, code));
            assert_eq!(seen, expect, "{status} {code:?}");
        }
        let discover = Method::new("server/discover");
        assert!(contradicts_modern(&discover, &refused(200, Some(-32601))));
        let lost = Error::new(Kind::Closed, "lost");
        assert!(!contradicts_modern(&discover, &lost));
    }

    #[cfg(feature = "legacy")]
    #[test]
    fn a_refused_handshake_is_recognized_in_any_wrapping() {
        let wrapped = |status, code| {
            let inner = refused(status, code).shared();
            Error::new(Kind::Connect, "no handshake").with_source(inner)
        };
        for (status, code, old_in_doubt, http_sse) in [
            (400, None, true, true),
            (404, None, true, true),
            (405, None, true, true),
            (400, Some(-32000), true, true),
            (400, Some(-32022), true, false),
            (404, Some(-32601), true, true),
            (200, Some(-32601), true, false),
            (406, None, true, false),
            (401, None, false, false),
            (403, None, false, false),
            (429, None, false, false),
            (503, None, false, false),
        ] {
            let error = wrapped(status, code);
            let seen = (contradicts_old(&error), may_speak_http_sse(&error));
            assert_eq!(seen, (old_in_doubt, http_sse), "{status} {code:?}");
        }
    }

    #[test]
    fn the_probe_carries_the_metadata_of_the_request_it_is_for() {
        let check = |params: &str, expect: &str| {
            let params: RawJson = serde_json::from_str(params).unwrap();
            assert_eq!(probe_params(&params).as_str(), expect);
        };
        check(
            "{}",
            r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}"#,
        );
        check(
            r#"{"name":"t","_meta":{"io.modelcontextprotocol/clientCapabilities":{"roots":{}},"progressToken":1,"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#,
            r#"{"_meta":{"io.modelcontextprotocol/clientCapabilities":{"roots":{}},"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#,
        );
    }
}
