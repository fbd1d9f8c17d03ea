use bytes::Bytes;
#[cfg(all(feature = "legacy", feature = "http-server"))]
use callgate_wire::Id;
use callgate_wire::{Frame, FrameError};

/// Message of a client that is not, or not known to be, a request of the newest revision.
#[derive(Debug)]
pub(crate) enum ClientMessage {
    /// One JSON-RPC message.
    One(Frame),
    /// A JSON array, with the error of reading it as one message. Only an old revision has batches.
    Array(Bytes, FrameError),
}

impl ClientMessage {
    /// Sorts out JSON arrays from bytes that are not one message.
    ///
    /// # Errors
    /// `error` again, if the bytes are not an array.
    pub(crate) fn from_malformed(bytes: &Bytes, error: FrameError) -> Result<Self, FrameError> {
        match bytes.trim_ascii_start().first() {
            Some(b'[') => Ok(Self::Array(bytes.clone(), error)),
            _ => Err(error),
        }
    }

    /// Id of a request.
    #[cfg(all(feature = "legacy", feature = "http-server"))]
    pub(crate) fn request_id(&self) -> Option<&Id> {
        match self {
            Self::One(Frame::Request(request)) => Some(&request.id),
            _ => None,
        }
    }
}
