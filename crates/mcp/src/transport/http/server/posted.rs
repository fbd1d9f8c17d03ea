use bytes::Bytes;
use callgate_wire::{Frame, FrameError, Id, Limits, meta};

use crate::legacy::server::is_batch;

/// The body of a request.
#[derive(Debug)]
pub(crate) enum Posted {
    /// One message.
    One(Frame),
    /// A JSON array, of messages as may be.
    Array(Bytes, FrameError),
    /// Nothing of either kind.
    Malformed(FrameError),
}

impl Posted {
    pub(crate) fn parse(body: &Bytes, limits: &Limits) -> Self {
        match Frame::parse(body, limits) {
            Ok(frame) => Self::One(frame),
            Err(error) if is_batch(body) => Self::Array(body.clone(), error),
            Err(error) => Self::Malformed(error),
        }
    }

    /// The id to answer with.
    pub(crate) fn id(&self) -> Option<&Id> {
        match self {
            Self::One(Frame::Request(request)) => Some(&request.id),
            _ => None,
        }
    }

    /// The method, of messages that have one; `None` where there is no message at all.
    pub(crate) fn method(&self) -> Option<Option<&str>> {
        match self {
            Self::One(Frame::Request(request)) => Some(Some(request.method.as_str())),
            Self::One(Frame::Notification(notification)) => {
                Some(Some(notification.method.as_str()))
            }
            Self::One(Frame::Response(_)) | Self::Array(..) => Some(None),
            Self::Malformed(_) => None,
        }
    }

    /// Whether the metadata of the message names a revision.
    pub(crate) fn names_version(&self) -> bool {
        let params = match self {
            Self::One(Frame::Request(request)) => &request.params,
            Self::One(Frame::Notification(notification)) => &notification.params,
            _ => return false,
        };
        params.at(&["_meta", meta::PROTOCOL_VERSION]).is_some()
    }
}
