use serde::{Deserialize, Serialize};

use crate::raw::RawJson;

/// The error of a JSON-RPC response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RpcError {
    /// Error code; see [`code`].
    pub code: i64,
    /// Message for people.
    pub message: String,
    /// Further data about the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<RawJson>,
}

impl RpcError {
    /// An error without data.
    #[must_use]
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    /// The same error with `data`.
    #[must_use]
    pub fn with_data(mut self, data: RawJson) -> Self {
        self.data = Some(data);
        self
    }
}

/// The error codes of JSON-RPC and of revision 2026-07-28.
pub mod code {
    /// The message is not JSON.
    pub const PARSE_ERROR: i64 = -32700;
    /// The message is not a JSON-RPC message.
    pub const INVALID_REQUEST: i64 = -32600;
    /// The method does not exist.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The parameters do not fit the method.
    pub const INVALID_PARAMS: i64 = -32602;
    /// The receiver failed.
    pub const INTERNAL_ERROR: i64 = -32603;
    /// A mirrored header is missing, malformed or differs from the body.
    pub const HEADER_MISMATCH: i64 = -32020;
    /// The request needs a capability that its client did not declare.
    pub const MISSING_REQUIRED_CLIENT_CAPABILITY: i64 = -32021;
    /// The server does not speak the revision of the request.
    pub const UNSUPPORTED_PROTOCOL_VERSION: i64 = -32022;
    /// Too many requests; an application code outside the range that JSON-RPC reserves.
    pub const RATE_LIMITED: i64 = 42900;
    /// A rule of the server forbids the request.
    pub const DENIED: i64 = 40300;
    /// The request waits for the approval of a person.
    pub const APPROVAL_REQUIRED: i64 = 42800;
}
