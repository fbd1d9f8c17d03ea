//! MCP and JSON-RPC as bytes and plain types; no I/O, no async, no clock.
//!
//! A message is found in the bytes it came in. It can be decoded into the types of the protocol, or
//! be passed on with an edit that leaves every other byte as it is.
//!
//! ```
//! use callgate_wire::tool::CallToolParams;
//! use callgate_wire::{Frame, Limits, RawJson, Splice};
//!
//! let line = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":1e2}}}"#;
//! let Frame::Request(request) = Frame::parse(&line.into(), &Limits::default())? else {
//!     panic!("a message with a method and an id is a request");
//! };
//! let params: CallToolParams = request.params.decode()?;
//! assert_eq!(params.name, "add");
//!
//! let name = RawJson::string("sum");
//! let renamed = Splice::new(&request.params).set(&["name"], &name).finish()?;
//! assert_eq!(renamed.as_str(), r#"{"name":"sum","arguments":{"a":1e2}}"#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Layout
//! - [`RawJson`]: one valid JSON value as the bytes it arrived in; [`Cursor`] reads it in one pass.
//! - [`Frame`]: one JSON-RPC message, found in a single strict scan; [`encode`] writes one.
//! - [`RawParams`]: the params of a request, whose members that scan has found.
//! - [`Splice`], [`ObjectEdit`]: edit members of a [`RawJson`] and keep all others.
//! - [`ArrayWriter`], [`ObjectWriter`]: build a [`RawJson`] of others without reading them again.
//! - [`Id`], [`Method`], [`Version`], [`RpcError`], [`meta`]: the parts of a message.
//! - [`tool`], [`content`], [`resource`], [`prompt`], [`completion`], [`discover`],
//!   [`subscription`], [`task`], [`skill`]: the parameters and results of requests.
//! - [`input`], [`elicitation`], [`sampling`], [`roots`]: requests for input that a server sends to a client.
//! - [`progress`], [`logging`], [`cancel`]: the parameters of notifications.
//! - [`capabilities`], [`implementation`], [`cache`], [`pagination`], [`params`], [`result`],
//!   [`error_data`], [`Meta`], [`Map`], [`Number`], [`tag`]: the parts of these.
//! - [`legacy`]: types of older revisions.
//! - [`sse`]: server-sent events, both directions.
//! - [`header`]: values in `Mcp-*` HTTP headers.
//!
//! Types have the names of the specification, without the words `Request` and `Notification` before
//! `Params`: `CallToolRequestParams` is [`tool::CallToolParams`].
//!
//! # Invariants
//! - Nothing here panics on any input, and every limit is explicit ([`Limits`]).
//! - Numbers, key order and unknown members pass untouched from input to output.
//! - In a request no key occurs twice at any depth, so two readers cannot see two messages.

pub mod cache;
pub mod cancel;
pub mod capabilities;
pub mod completion;
pub mod content;
mod cursor;
mod decode;
pub mod discover;
pub mod elicitation;
pub mod encode;
pub mod error_data;
mod frame;
pub mod header;
mod id;
pub mod implementation;
pub mod input;
pub mod legacy;
pub mod logging;
mod map;
mod member_table;
mod members;
pub mod meta;
mod meta_object;
pub mod method;
mod number;
mod object_edit;
pub mod pagination;
pub mod params;
mod peek;
pub mod progress;
pub mod prompt;
mod raw;
mod raw_params;
pub mod resource;
pub mod result;
pub mod roots;
mod rpc_error;
pub mod sampling;
mod scan;
pub mod skill;
mod splice;
pub mod sse;
pub mod subscription;
pub mod tag;
pub mod task;
mod text;
pub mod tool;
mod tool_result_writer;
mod version;
mod writer;

pub use cursor::Cursor;
pub use decode::DecodeError;
pub use frame::{Frame, FrameError, Notification, Request, Response};
pub use id::{Id, IdError};
pub use map::Map;
pub use members::{Member, Members};
pub use meta_object::{Meta, MetaError};
pub use method::Method;
pub use number::{Number, NumberError};
pub use object_edit::ObjectEdit;
pub use raw::{Kind, RawJson};
pub use raw_params::RawParams;
pub use rpc_error::{RpcError, code};
pub use scan::{Limits, ScanError};
pub use splice::{Splice, SpliceError};
pub use text::{LoneSurrogate, RawText};
pub use version::Version;
pub use writer::{ArrayWriter, ObjectWriter};
