use bytes::Bytes;
use callgate_mcp::transport::WireMessage;
use callgate_mcp::wire::{Limits, ObjectWriter, RawJson};

use super::redaction::{MASK, is_secret_name, redact_json, redact_text, redact_url};
use super::secrets::Secrets;
use crate::visible::{cut, visible_line};

/// One message or a part of one, without secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) sender: Sender,
    /// Stream, HTTP method or status, or part of a response that it came in.
    pub(super) channel: String,
    /// Path and query of a request, name of an event, cause of a refusal.
    pub(super) detail: Option<String>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) content: Option<Content>,
    /// Bytes on the wire.
    pub(super) bytes: usize,
}

/// Side that sent a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sender {
    Client,
    Server,
}

/// Content of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content {
    Json(RawJson),
    Text(String),
}

/// Maximum characters of a message in a line of text.
const SHOWN: usize = 400;

impl Entry {
    pub(super) fn new(message: WireMessage<'_>, secrets: &Secrets) -> Self {
        let content = |bytes: &[u8]| Content::new(bytes, secrets);
        let entry = |sender, channel: &str, bytes: &[u8]| Self {
            sender,
            channel: channel.to_owned(),
            detail: None,
            headers: Vec::new(),
            content: content(bytes),
            bytes: bytes.len(),
        };
        match message {
            WireMessage::LineSent(line) => entry(Sender::Client, "stdin", line),
            WireMessage::LineReceived(line) => entry(Sender::Server, "stdout", line),
            WireMessage::LineSkipped { line, reason } => Self {
                detail: Some(format!("not a message ({reason})")),
                ..entry(Sender::Server, "stdout", line)
            },
            WireMessage::Stderr(line) => entry(Sender::Server, "stderr", line.as_bytes()),
            WireMessage::RequestSent {
                method,
                target,
                headers,
                body,
            } => Self {
                detail: Some(redact_url(&redact_text(target, secrets))),
                headers: shown(headers, secrets),
                ..entry(Sender::Client, method, body)
            },
            WireMessage::ResponseReceived { status, headers } => Self {
                headers: shown(headers, secrets),
                ..entry(Sender::Server, &status.to_string(), &[])
            },
            WireMessage::BodyReceived(body) => entry(Sender::Server, "body", body),
            // The address to post to names the session.
            WireMessage::EventReceived {
                event: Some("endpoint"),
                data,
                ..
            } => {
                let address = redact_url(&String::from_utf8_lossy(data));
                Self {
                    detail: Some("endpoint".to_owned()),
                    ..entry(Sender::Server, "event", address.as_bytes())
                }
            }
            WireMessage::EventReceived { event, data, .. } => Self {
                detail: event.filter(|name| *name != "message").map(str::to_owned),
                ..entry(Sender::Server, "event", data)
            },
            other => entry(Sender::Server, "other", format!("{other:?}").as_bytes()),
        }
    }

    /// The message, if it is one.
    pub(super) fn message(&self) -> Option<&RawJson> {
        match &self.content {
            Some(Content::Json(json)) if self.channel != "stderr" => Some(json),
            _ => None,
        }
    }

    /// The entry in one line.
    pub(super) fn to_text(&self, milliseconds: u128, full: bool) -> String {
        let arrow = match self.sender {
            Sender::Client => "->",
            Sender::Server => "<-",
        };
        let mut line = format!("{milliseconds:>6} ms {arrow} {:<6}", self.channel);
        if let Some(detail) = &self.detail {
            line = format!("{line} {}", visible_line(detail));
        }
        if !self.headers.is_empty() {
            let headers = self.headers.iter();
            let headers = headers.map(|(name, value)| format!("{name}: {value}"));
            let headers = headers.collect::<Vec<_>>().join("; ");
            line = format!("{line} [{}]", visible_line(&headers));
        }
        let content = match &self.content {
            Some(Content::Json(json)) => json.to_line().as_str().to_owned(),
            Some(Content::Text(text)) => visible_line(text),
            None => return line.trim_end().to_owned(),
        };
        match full {
            true => format!("{line} {content}"),
            false => format!("{line} {}", cut(&content, SHOWN)),
        }
    }

    /// The entry as one JSON object.
    pub(super) fn to_json(&self, milliseconds: u128) -> RawJson {
        let text = |text: &str| RawJson::string(text);
        let sender = match self.sender {
            Sender::Client => "client",
            Sender::Server => "server",
        };
        let milliseconds = u64::try_from(milliseconds).unwrap_or(u64::MAX);
        let milliseconds = RawJson::encode(&milliseconds).unwrap_or_else(|_| text("?"));
        let mut object = ObjectWriter::new()
            .member("ms", &milliseconds)
            .member("from", &text(sender))
            .member("channel", &text(&self.channel));
        if let Some(detail) = &self.detail {
            object = object.member("detail", &text(detail));
        }
        if !self.headers.is_empty() {
            let headers = self.headers.iter();
            let headers = headers.fold(ObjectWriter::new(), |headers, (name, value)| {
                headers.member(name, &text(value))
            });
            object = object.member("headers", &headers.finish());
        }
        match &self.content {
            Some(Content::Json(json)) => object.member("message", &json.to_line()),
            Some(Content::Text(found)) => object.member("text", &text(found)),
            None => object,
        }
        .finish()
    }
}

impl Content {
    fn new(bytes: &[u8], secrets: &Secrets) -> Option<Self> {
        if bytes.is_empty() {
            return None;
        }
        let limits = Limits::default().with_bytes(bytes.len());
        Some(
            match RawJson::parse(Bytes::copy_from_slice(bytes), &limits) {
                Ok(json) => Self::Json(redact_json(&json, secrets)),
                Err(_) => Self::Text(redact_text(&String::from_utf8_lossy(bytes), secrets)),
            },
        )
    }
}

fn shown(headers: &[(&str, &str)], secrets: &Secrets) -> Vec<(String, String)> {
    let headers = headers.iter().map(|(name, value)| {
        let value = match is_secret_name(name) {
            true => MASK.to_owned(),
            false => redact_text(value, secrets),
        };
        ((*name).to_owned(), value)
    });
    headers.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(message: WireMessage<'_>, text: &str, json: &str) {
        let secrets = Secrets::default();
        secrets.add("canary-1");
        let entry = Entry::new(message, &secrets);
        assert_eq!(entry.to_text(7, false), text);
        assert_eq!(entry.to_json(7).as_str(), json);
    }

    #[test]
    fn each_kind_of_message_has_a_line_without_its_secrets() {
        check(
            WireMessage::LineSent(br#"{"id":1,"a":"canary-1"}"#),
            r#"     7 ms -> stdin  {"id":1,"a":"***"}"#,
            r#"{"ms":7,"from":"client","channel":"stdin","message":{"id":1,"a":"***"}}"#,
        );
        check(
            WireMessage::LineSkipped {
                line: b"canary-1 \x1b[2J",
                reason: "no JSON",
            },
            r"     7 ms <- stdout not a message (no JSON) *** \u{1b}[2J",
            r#"{"ms":7,"from":"server","channel":"stdout","detail":"not a message (no JSON)","text":"*** \u001b[2J"}"#,
        );
        check(
            WireMessage::RequestSent {
                method: "POST",
                target: "/mcp?key=1&x=canary-1",
                headers: &[("mcp-method", "tools/list"), ("mcp-param-token", "abc")],
                body: b"{}",
            },
            "     7 ms -> POST   /mcp?key=***&x=*** [mcp-method: tools/list; mcp-param-token: ***] {}",
            r#"{"ms":7,"from":"client","channel":"POST","detail":"/mcp?key=***&x=***","headers":{"mcp-method":"tools/list","mcp-param-token":"***"},"message":{}}"#,
        );
        check(
            WireMessage::ResponseReceived {
                status: 202,
                headers: &[],
            },
            "     7 ms <- 202",
            r#"{"ms":7,"from":"server","channel":"202"}"#,
        );
        check(
            WireMessage::EventReceived {
                event: Some("endpoint"),
                id: None,
                data: b"/messages?sessionId=abc",
            },
            "     7 ms <- event  endpoint /messages?sessionId=***",
            r#"{"ms":7,"from":"server","channel":"event","detail":"endpoint","text":"/messages?sessionId=***"}"#,
        );
    }

    #[test]
    fn a_long_message_is_cut_unless_all_of_it_is_wanted() {
        let entry = Entry::new(
            WireMessage::Stderr(&"x".repeat(2 * SHOWN)),
            &Secrets::default(),
        );
        let start = "     7 ms <- stderr ";
        assert_eq!(
            entry.to_text(7, false),
            format!("{start}{}…", "x".repeat(SHOWN))
        );
        assert_eq!(
            entry.to_text(7, true),
            format!("{start}{}", "x".repeat(2 * SHOWN))
        );
    }
}
