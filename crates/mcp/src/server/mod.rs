//! From a message to a call, and from its outcome back to a message.

pub(crate) mod accept;
pub(crate) mod reply;
