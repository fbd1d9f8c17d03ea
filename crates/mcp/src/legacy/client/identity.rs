use callgate_wire::RawJson;

/// Who we say we are to an old server, in the terms of the newest revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    /// A `ClientCapabilities` object.
    pub(crate) capabilities: RawJson,
    /// An `Implementation` object.
    pub(crate) client_info: RawJson,
}
