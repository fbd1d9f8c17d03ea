//! Streams of messages that belong to no request.
