use bytes::Bytes;
use callgate_wire::{Frame, FrameError, Limits, RawJson};

use crate::transport::http::client::parse;

/// The messages of a body or an event: one, or several where a server of 2025-03-26 sends a batch.
pub(super) fn frames(bytes: &Bytes, limit: usize) -> Result<Vec<Frame>, FrameError> {
    if bytes.trim_ascii_start().first() != Some(&b'[') {
        return Ok(vec![parse(bytes, limit)?]);
    }
    let limits = Limits {
        bytes: limit,
        ..Limits::default()
    };
    match RawJson::parse(bytes.clone(), &limits) {
        Ok(batch) => {
            let messages = batch.elements().into_iter().map(RawJson::into_bytes);
            messages.map(|message| parse(&message, limit)).collect()
        }
        // What is no JSON has no messages either; this says what is wrong with it.
        Err(_) => Ok(vec![parse(bytes, limit)?]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: Option<&[&str]>) {
        let seen = frames(&Bytes::copy_from_slice(text.as_bytes()), 100).ok();
        let seen = seen.map(|frames| {
            let method = |frame| match frame {
                Frame::Notification(notification) => notification.method.to_string(),
                other => panic!("not a notification: {other:?}"),
            };
            frames.into_iter().map(method).collect::<Vec<_>>()
        });
        let expect = expect.map(|all| all.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>());
        assert_eq!(seen, expect, "{text}");
    }

    #[test]
    fn a_batch_is_its_messages() {
        let one = |method: &str| format!(r#"{{"jsonrpc":"2.0","method":"{method}"}}"#);
        check(&one("a"), Some(&["a"]));
        check(&format!(" [{},{}]", one("a"), one("b")), Some(&["a", "b"]));
        check("[]", Some(&[]));
        check(&format!("[{},7]", one("a")), None);
        check("[", None);
        check(&format!("[{}]", one(&"a".repeat(100))), None);
    }
}
