//! Messages between this process and a server, as `debug` shows and saves them.
//!
//! # Layout
//! - [`Recorder`]: takes each message, prints it, saves it and counts.
//! - `entry`: one message without its secrets, as a line of text and as JSON.
//! - [`Secrets`]: values that are never shown. `redaction`: takes them out of texts and JSON.
//! - [`RecordedLogin`]: the credentials of a login, which are secrets too.
//! - [`Transcript`]: the file of saved messages. [`replay`]: a server that answers as a transcript does.

mod entry;
mod recorded_login;
mod recorder;
mod redaction;
pub(crate) mod replay;
mod secrets;
mod transcript;

pub(crate) use recorded_login::RecordedLogin;
pub(crate) use recorder::{Form, Recorder};
pub(crate) use redaction::redact_text;
pub(crate) use secrets::{Secrets, secrets_of_configured, secrets_of_definition, secrets_of_spec};
pub(crate) use transcript::{DebuggedServer, Transcript};
