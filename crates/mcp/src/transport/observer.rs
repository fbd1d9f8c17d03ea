use std::fmt;
use std::sync::Arc;

/// Function that sees every message of a connection, in both directions, as it is on the wire.
///
/// It is called before a message is written and after one was read, before any translation between
/// revisions. It runs where the connection is driven, so it must not block for long. Messages hold
/// whatever the two sides say to each other, secrets included; only credentials of the connection
/// itself are left out.
///
/// ```
/// use callgate_mcp::upstream::{ChildConfig, MessageObserver, WireMessage};
///
/// let mut config = ChildConfig::new("files", "files-server");
/// config.observer = Some(MessageObserver::new(|message| {
///     if let WireMessage::LineReceived(line) = message {
///         println!("{}", String::from_utf8_lossy(line));
///     }
/// }));
/// ```
#[derive(Clone)]
pub struct MessageObserver(Arc<dyn Fn(WireMessage<'_>) + Send + Sync>);

/// One message, or a part of one, on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WireMessage<'a> {
    /// A line to the server, without its end.
    LineSent(&'a [u8]),
    /// A line from the server that is a message.
    LineReceived(&'a [u8]),
    /// A line from the server that is no message.
    LineSkipped {
        /// The line; empty if it is over the limit.
        line: &'a [u8],
        /// Cause of the refusal.
        reason: &'a str,
    },
    /// A line of the standard error of the server.
    Stderr(&'a str),
    /// An HTTP request to the server.
    RequestSent {
        /// HTTP method.
        method: &'a str,
        /// Path and query.
        target: &'a str,
        /// Headers of the protocol; those of the user and credentials are left out.
        headers: &'a [(&'a str, &'a str)],
        /// The message, empty where there is none.
        body: &'a [u8],
    },
    /// Beginning of an HTTP response.
    ResponseReceived {
        /// HTTP status.
        status: u16,
        /// Headers of the protocol.
        headers: &'a [(&'a str, &'a str)],
    },
    /// Body of an HTTP response that is no stream of events, as far as it was read.
    BodyReceived(&'a [u8]),
    /// A server-sent event of an HTTP response.
    EventReceived {
        /// Name of the event, if it has one.
        event: Option<&'a str>,
        /// Id of the event, if it has one.
        id: Option<&'a str>,
        /// Its data, which usually is one message.
        data: &'a [u8],
    },
}

impl MessageObserver {
    /// An observer that calls `observe` for each message.
    pub fn new(observe: impl Fn(WireMessage<'_>) + Send + Sync + 'static) -> Self {
        Self(Arc::new(observe))
    }

    pub(crate) fn observe(&self, message: WireMessage<'_>) {
        (self.0)(message);
    }
}

impl fmt::Debug for MessageObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MessageObserver")
    }
}
