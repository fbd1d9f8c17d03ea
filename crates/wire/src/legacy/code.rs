//! Error codes that 2026-07-28 no longer sends.

/// There is no such resource; still to be understood.
pub const RESOURCE_NOT_FOUND: i64 = -32002;
/// The user has to open a URL first; only in 2025-11-25.
pub const URL_ELICITATION_REQUIRED: i64 = -32042;
/// A failure that the server has no other code for.
pub const SERVER_ERROR: i64 = -32000;
