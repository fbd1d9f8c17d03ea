//! MCP and JSON-RPC as bytes and plain types; no I/O, no async, no clock.
//!
//! # Layout
//! - [`RawJson`]: one valid JSON value as the bytes it arrived in.
//! - [`Frame`]: one JSON-RPC message, found in a single strict scan; [`encode`] writes one.
//! - [`Splice`]: edits members of a [`RawJson`] and keeps every other byte.
//! - [`Id`], [`Method`], [`Version`], [`RpcError`], [`meta`]: the parts of a message.
//! - [`sse`]: server-sent events, both directions.
//! - [`header`]: how values travel in `Mcp-*` HTTP headers.
//!
//! # Invariants
//! - Nothing here panics on any input, and every limit is explicit ([`Limits`]).
//! - Numbers, key order and unknown members pass untouched from input to output.
//! - In a request no key occurs twice at any depth, so two readers cannot see two messages.

pub mod encode;
mod frame;
pub mod header;
mod id;
mod members;
pub mod meta;
pub mod method;
mod raw;
mod rpc_error;
mod scan;
mod splice;
pub mod sse;
mod text;
mod version;

pub use frame::{Frame, FrameError, Notification, Request, Response};
pub use id::{Id, IdError};
pub use members::{Member, Members};
pub use method::Method;
pub use raw::{DecodeError, Kind, RawJson};
pub use rpc_error::{RpcError, code};
pub use scan::{Limits, ScanError};
pub use splice::{Splice, SpliceError};
pub use text::LoneSurrogate;
pub use version::Version;
