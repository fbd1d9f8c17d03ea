use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use callgate_mcp::transport::{MessageObserver, WireMessage};
use callgate_mcp::wire::{RawJson, Version, method};
use serde::Serialize;

use super::entry::{Entry, Sender};
use super::redaction::redact_text;
use super::secrets::Secrets;
use super::transcript::Transcript;
use crate::error::CommandError;
use crate::output;

/// Record of a connection: each message is printed as it happens, saved if the user wants so, and counted.
#[derive(Debug, Clone)]
pub(crate) struct Recorder {
    shared: Arc<Mutex<Record>>,
    secrets: Secrets,
}

/// Form in which messages are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// A line of text each, with the beginning of a long message.
    Brief,
    /// A line of text each, with the whole message.
    Full,
    /// A line of JSON each.
    Json,
}

#[derive(Debug)]
struct Record {
    form: Form,
    start: Instant,
    transcript: Option<Transcript>,
    sent: Traffic,
    received: Traffic,
    malformed: u64,
    discovery: Discovery,
    connected: Option<Duration>,
}

#[derive(Debug, Clone, Copy, Default, Serialize)]
struct Traffic {
    messages: u64,
    bytes: u64,
}

/// Fate of the request by which the revision of a server is detected.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Discovery {
    NotSent,
    /// Sent with this id.
    Sent(Option<String>),
    Answered,
    /// Refused with this JSON-RPC error or HTTP status.
    Refused(String),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Summary {
    revision: Option<&'static str>,
    reason: String,
    connected_ms: Option<u64>,
    sent: Traffic,
    received: Traffic,
    malformed_lines: u64,
}

impl Recorder {
    /// A record that begins now.
    pub(crate) fn new(form: Form, transcript: Option<Transcript>, secrets: Secrets) -> Self {
        Self {
            shared: Arc::new(Mutex::new(Record {
                form,
                start: Instant::now(),
                transcript,
                sent: Traffic::default(),
                received: Traffic::default(),
                malformed: 0,
                discovery: Discovery::NotSent,
                connected: None,
            })),
            secrets,
        }
    }

    pub(crate) fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// The observer that feeds the record.
    pub(crate) fn observer(&self) -> MessageObserver {
        let recorder = self.clone();
        MessageObserver::new(move |message| recorder.record(message))
    }

    /// Marks the end of the discovery.
    pub(crate) fn connected(&self) {
        let mut record = self.lock();
        record.connected = Some(record.start.elapsed());
    }

    /// The text without secrets.
    pub(crate) fn redact(&self, text: &str) -> String {
        redact_text(text, &self.secrets)
    }

    /// Prints and saves the summary; `version` is the revision of the server, if it was detected.
    ///
    /// # Errors
    /// The transcript could not be written.
    pub(crate) fn finish(&self, version: Option<Version>) -> Result<(), CommandError> {
        let mut record = self.lock();
        let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let summary = Summary {
            revision: version.map(Version::as_str),
            reason: record.discovery.reason(version),
            connected_ms: record.connected.map(milliseconds),
            sent: record.sent,
            received: record.received,
            malformed_lines: record.malformed,
        };
        let json = RawJson::encode(&serde_json::json!({ "summary": summary }));
        let json = json.map_err(anyhow::Error::from)?;
        match record.form {
            Form::Json => output::json(&json)?,
            Form::Brief | Form::Full => output::text(&summary.to_text())?,
        }
        match &mut record.transcript {
            Some(transcript) => {
                transcript.write(&json);
                transcript.finish()
            }
            None => Ok(()),
        }
    }

    fn record(&self, message: WireMessage<'_>) {
        let entry = Entry::new(message, &self.secrets);
        // Under the lock, so that the order of the lines is that of the times.
        let mut record = self.lock();
        record.count(&message, &entry);
        let time = record.start.elapsed().as_millis();
        let json = entry.to_json(time);
        // A closed output, as after `| head`, does not stop the connection.
        let _ = match record.form {
            Form::Json => output::json(&json),
            Form::Brief => output::text(&entry.to_text(time, false)),
            Form::Full => output::text(&entry.to_text(time, true)),
        };
        if let Some(transcript) = &mut record.transcript {
            transcript.write(&json);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Record> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Record {
    fn count(&mut self, message: &WireMessage<'_>, entry: &Entry) {
        match message {
            WireMessage::LineSkipped { .. } => self.malformed += 1,
            WireMessage::ResponseReceived { status, .. }
                if matches!(self.discovery, Discovery::Sent(_)) && *status >= 400 =>
            {
                self.discovery = Discovery::Refused(format!("HTTP status {status}"));
            }
            _ => {}
        }
        let Some(json) = entry.message() else {
            return;
        };
        let traffic = match entry.sender {
            Sender::Client => &mut self.sent,
            Sender::Server => &mut self.received,
        };
        traffic.messages += 1;
        traffic.bytes += entry.bytes as u64;
        self.discovery.follow(entry.sender, json);
    }
}

impl Discovery {
    fn follow(&mut self, sender: Sender, message: &RawJson) {
        let id = message.get("id").map(|id| id.as_str().to_owned());
        let is = |name: &str| message.get("method").is_some_and(|method| method.is(name));
        match (&*self, sender) {
            (Self::NotSent, Sender::Client) if is(method::SERVER_DISCOVER) => {
                *self = Self::Sent(id);
            }
            (Self::Sent(sent), Sender::Server)
                if *sent == id && message.get("result").is_some() =>
            {
                *self = Self::Answered;
            }
            (Self::Sent(sent), Sender::Server) if *sent == id => {
                if let Some(code) = message.at(&["error", "code"]) {
                    *self = Self::Refused(format!("error {}", code.as_str()));
                }
            }
            _ => {}
        }
    }

    /// Cause of the decision for a revision.
    fn reason(&self, version: Option<Version>) -> String {
        let asked = match self {
            Self::NotSent => return "the transport is that of the first revision".to_owned(),
            Self::Sent(_) => "the server did not answer `server/discover`".to_owned(),
            Self::Answered => "the server answered `server/discover`".to_owned(),
            Self::Refused(how) => format!("the server answered `server/discover` with {how}"),
        };
        match version {
            Some(version) if version != Version::LATEST => {
                format!("{asked}, and agreed on this revision in the handshake")
            }
            _ => asked,
        }
    }
}

impl Summary {
    fn to_text(&self) -> String {
        let revision = self.revision.unwrap_or("unknown");
        let connected = match self.connected_ms {
            Some(time) => format!("after {time} ms"),
            None => "never".to_owned(),
        };
        let traffic =
            |traffic: Traffic| format!("{} messages, {} bytes", traffic.messages, traffic.bytes);
        format!(
            "revision:  {revision} ({})\nconnected: {connected}\nsent:      {}\nreceived:  {}\nmalformed: {} lines",
            self.reason,
            traffic(self.sent),
            traffic(self.received),
            self.malformed_lines
        )
    }
}

#[cfg(test)]
mod tests {
    use callgate_mcp::wire::Limits;

    use super::*;

    fn check(answer: &str, version: Version, expect: &str) {
        let parse =
            |text: &str| RawJson::parse(text.to_owned().into(), &Limits::default()).unwrap();
        let mut discovery = Discovery::NotSent;
        let request = parse(r#"{"id":1,"method":"server/discover"}"#);
        discovery.follow(Sender::Client, &request);
        discovery.follow(Sender::Server, &parse(answer));
        assert_eq!(discovery.reason(Some(version)), expect);
    }

    #[test]
    fn the_revision_has_a_reason() {
        let later = ", and agreed on this revision in the handshake";
        check(
            r#"{"id":1,"result":{}}"#,
            Version::LATEST,
            "the server answered `server/discover`",
        );
        check(
            r#"{"id":1,"error":{"code":-32601}}"#,
            Version::V2025_06_18,
            &format!("the server answered `server/discover` with error -32601{later}"),
        );
        check(
            r#"{"id":2,"result":{}}"#,
            Version::V2025_06_18,
            &format!("the server did not answer `server/discover`{later}"),
        );
    }
}
