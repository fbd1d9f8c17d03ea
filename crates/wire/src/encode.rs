//! Writes messages, always on one line.

use bytes::{BufMut, BytesMut};
use memchr::memchr2;

use crate::id::Id;
use crate::method::Method;
use crate::object_edit::ObjectEdit;
use crate::raw::{RawJson, to_line};
use crate::rpc_error::RpcError;

/// Appends a request.
pub fn request(out: &mut BytesMut, id: &Id, method: &Method, params: &RawJson) {
    out.reserve(64 + id.as_raw().as_bytes().len() + params.as_bytes().len());
    request_prefix(out, id, method);
    value(out, params);
    out.put_slice(REQUEST_SUFFIX);
}

/// Appends the bytes before the params of a request: with [`REQUEST_SUFFIX`] params can be
/// framed without copying them.
pub fn request_prefix(out: &mut BytesMut, id: &Id, method: &Method) {
    out.put_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    put_id(out, id);
    method_and_key(out, method);
}

/// Bytes after the params in a request.
pub const REQUEST_SUFFIX: &[u8] = b"}";

/// Appends a notification.
pub fn notification(out: &mut BytesMut, method: &Method, params: &RawJson) {
    out.reserve(64 + params.as_bytes().len());
    out.put_slice(b"{\"jsonrpc\":\"2.0\"");
    method_and_key(out, method);
    value(out, params);
    out.put_slice(REQUEST_SUFFIX);
}

/// Appends a response with a result.
pub fn result(out: &mut BytesMut, id: &Id, result: &RawJson) {
    // Exactly, so that the buffer of a lone response becomes `Bytes` without another allocation.
    out.reserve(RESULT_OVERHEAD + id.as_raw().as_bytes().len() + result.as_bytes().len());
    result_prefix(out, id);
    value(out, result);
    out.put_slice(RESULT_SUFFIX);
}

/// Appends a response whose result is the outcome of `edit`, in one copy.
pub fn edited_result(out: &mut BytesMut, id: &Id, edit: &ObjectEdit<'_>) {
    out.reserve(RESULT_OVERHEAD + id.as_raw().as_bytes().len() + edit.max_len());
    result_prefix(out, id);
    let start = out.len();
    edit.write(out);
    // Members that were kept have the white space of their source, and a line break would end the message.
    if let Some(written) = out.get_mut(start..)
        && memchr2(b'\n', b'\r', written).is_some()
    {
        to_line(written);
    }
    out.put_slice(RESULT_SUFFIX);
}

/// Appends the bytes before the result of a response: with [`RESULT_SUFFIX`] a result can be
/// framed without copying it.
pub fn result_prefix(out: &mut BytesMut, id: &Id) {
    out.put_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    put_id(out, id);
    out.put_slice(b",\"result\":");
}

/// Bytes after the result in a response.
pub const RESULT_SUFFIX: &[u8] = b"}";

/// Length of a response without its id and its result.
const RESULT_OVERHEAD: usize = r#"{"jsonrpc":"2.0","id":,"result":}"#.len();

/// Appends a response with an error, without an id if the request's id could not be read.
pub fn error(out: &mut BytesMut, id: Option<&Id>, error: &RpcError) {
    let error = RawJson::encode(error).expect("an error is always JSON");
    raw_error(out, id, &error);
}

/// Appends a response with an error that is already JSON.
pub fn raw_error(out: &mut BytesMut, id: Option<&Id>, error: &RawJson) {
    out.put_slice(b"{\"jsonrpc\":\"2.0\",");
    if let Some(id) = id {
        out.put_slice(b"\"id\":");
        put_id(out, id);
        out.put_slice(b",");
    }
    out.put_slice(b"\"error\":");
    value(out, error);
    out.put_slice(b"}");
}

/// Appends the method and the key of the params that follow.
fn method_and_key(out: &mut BytesMut, method: &Method) {
    out.put_slice(b",\"method\":");
    let name = method.as_str();
    // The known names have no characters to escape.
    if method.known_name().is_some() || name.bytes().all(is_plain) {
        out.put_u8(b'"');
        out.put_slice(name.as_bytes());
        out.put_u8(b'"');
    } else {
        value(out, &RawJson::string(name));
    }
    out.put_slice(b",\"params\":");
}

/// Appends an id. A string or an integer has no line breaks, so none are looked for.
fn put_id(out: &mut BytesMut, id: &Id) {
    out.put_slice(id.as_raw().as_bytes());
}

/// True if a byte stands for itself inside a JSON string.
fn is_plain(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'_' | b'-' | b'.')
}

fn value(out: &mut BytesMut, value: &RawJson) {
    let bytes = value.as_bytes();
    // A line break ends a message on lines, and a peer may have put some between its tokens.
    if memchr2(b'\n', b'\r', bytes).is_none() {
        out.put_slice(bytes);
    } else {
        out.put_slice(value.to_line().as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Frame, Limits, Notification, Request, Response};
    use bytes::Bytes;

    fn raw(text: &'static str) -> RawJson {
        RawJson::parse(Bytes::from_static(text.as_bytes()), &Limits::default()).unwrap()
    }

    fn written(write: impl FnOnce(&mut BytesMut)) -> Frame {
        let mut out = BytesMut::new();
        write(&mut out);
        assert!(!out.contains(&b'\n'), "{out:?}");
        Frame::parse(&out.freeze(), &Limits::default()).unwrap()
    }

    #[test]
    fn known_methods_are_written_as_any_other() {
        for name in ["tools/call", "x/y", "x\"y", "é"] {
            let mut out = BytesMut::new();
            notification(&mut out, &Method::new(name), &raw("{}"));
            let expect = serde_json::json!({"jsonrpc": "2.0", "method": name, "params": {}});
            let seen: serde_json::Value = serde_json::from_slice(&out).unwrap();
            assert_eq!(seen, expect);
        }
    }

    #[test]
    fn encoded_values_read_back_on_one_line() {
        let id = Id::text("a\nb");
        let (method, params) = (Method::new("odd\n\"method"), raw("{\n\"a\": 1e2}"));
        let line = raw("{ \"a\": 1e2}");
        assert_eq!(
            written(|out| request(out, &id, &method, &params)),
            Frame::Request(Request {
                id: id.clone(),
                method: method.clone(),
                params: line.clone().into()
            })
        );
        assert_eq!(
            written(|out| notification(out, &method, &params)),
            Frame::Notification(Notification {
                method,
                params: line.clone()
            })
        );
        assert_eq!(
            written(|out| result(out, &id, &params)),
            Frame::Response(Response {
                id: Some(id.clone()),
                outcome: Ok(line)
            })
        );
        assert_eq!(
            written(|out| error(out, None, &RpcError::new(-32700, "bad"))),
            Frame::Response(Response {
                id: None,
                outcome: Err(raw(r#"{"code":-32700,"message":"bad"}"#))
            })
        );
    }
}
