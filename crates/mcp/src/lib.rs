//! The Model Context Protocol (MCP) for clients, servers and everything between them.
//!
//! A server is a [`Router`] of plain async functions. A client is a [`Client`] over any
//! [`Service`]: a server at a URL ([`Remote`]), a child process ([`Process`]), or a router in the
//! same process. All of them speak every revision of the protocol.
//!
//! ```
//! use std::sync::Arc;
//!
//! use callgate_mcp::{Client, Error, Implementation, Json, Router};
//!
//! #[derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
//! struct Add {
//!     a: i64,
//!     b: i64,
//! }
//!
//! #[derive(serde::Serialize, schemars::JsonSchema)]
//! struct Sum {
//!     sum: i64,
//! }
//!
//! async fn add(Add { a, b }: Add) -> Json<Sum> {
//!     Json(Sum { sum: a.saturating_add(b) })
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Error> {
//! let server = Router::new(Implementation::new("calculator", "1.0")).tool("add", "Adds", add);
//! // To other programs, `stdio::serve` or `http_server::Listener` would serve it.
//! let client = Client::builder(Arc::new(server)).build();
//! let result = client.call_tool("add", &Add { a: 2, b: 3 }).await?;
//! let sum = result.structured_content.expect("the tool has an output schema");
//! assert_eq!(sum.as_str(), r#"{"sum":5}"#);
//! # Ok(())
//! # }
//! ```
//!
//! A server elsewhere takes the place of the router:
//!
//! ```no_run
//! # use std::sync::Arc;
//! use callgate_mcp::{ChildConfig, Client, Process};
//!
//! # async fn connect() -> Result<(), callgate_mcp::Error> {
//! let server = Process::spawn(&ChildConfig::new("files", "files-server"))?;
//! let client = Client::builder(Arc::new(server)).build();
//! for tool in client.list_tools().await? {
//!     println!("{}", tool.name);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Layout
//! - [`Service`], [`Call`], [`Cx`], [`Reply`]: the trait that everything implements, and the types
//!   that pass through it. Read them first.
//! - [`Error`]: the kind of a failure, the party at fault, and the safety of a retry.
//! - [`Notifier`]: bounded sink for the notifications of one request.
//! - [`router`]: a typed server, where a tool is a plain async function.
//! - [`client`]: a typed client over any service.
//! - [`upstream`]: servers of any revision at a URL, as a child process or on streams; this is what a
//!   client, a hub or a relay connects with.
//! - [`layer`]: services around a service: timeout, input rounds, progress filter, panic guard,
//!   header parameters, public errors, links to large results, roots.
//! - [`transport`]: serving over [`stdio`] and Streamable HTTP ([`http_server`]), [`memory`] pairs, and
//!   the transports of the newest revision that `upstream` uses.
//! - [`skill`]: skills, which are folders of instructions for agents, on both sides.
//! - [`seal`], [`subscribers`], [`schema`]: sealed request state, publishing of changes, JSON Schemas.
//! - [`allocator`]: memory of processes that serve large messages.
//! - `server`: from a message to a call and back to a message.
//! - `legacy`: the revisions before 2026-07-28, translated.
//!
//! # Features
//! - `http-client`, `http-server`, `server-tls` (default): Streamable HTTP, with TLS and HTTP/2.
//! - `legacy` (default): the revisions before 2026-07-28, on both sides.
//! - `schema`: checks arguments and results against any JSON Schema.
//!
//! # Invariants
//! - Dropping the future of a call cancels it, here and at the peer.
//! - Each hop has ids of its own. A service reports to its caller under the caller's progress token
//!   and the id of the [`Cx`].
//! - Every queue is bounded, and reading from a peer never waits for a consumer.

pub mod allocator;
pub mod client;
mod error;
mod header_param;
pub mod layer;
mod legacy;
mod mutex;
mod notifier;
mod percent;
pub mod router;
pub mod schema;
pub mod seal;
mod server;
mod service;
pub mod skill;
pub mod subscribers;
mod tool_headers;
pub mod transport;
pub mod upstream;

pub use callgate_wire as wire;
pub use callgate_wire::content::Content;
pub use callgate_wire::implementation::Implementation;
pub use callgate_wire::{Id, Method, Notification, RawJson, Version};
pub use client::{CallOptions, Client};
pub use error::{Error, Kind, Origin, Retry};
pub use header_param::{HeaderParam, HeaderParamError, HeaderParams};
pub use notifier::{Notifications, Notifier};
pub use router::{Elicited, Json, RequestCx, Router, ToolError, with};
pub use server::SessionLimits;
pub use service::{
    BoxFuture, Call, Caller, Cx, Extensions, PeerInfo, Principal, Reply, Service, Source,
    TraceContext, TransportKind,
};
#[cfg(feature = "http-server")]
pub use transport::http::server as http_server;
pub use transport::{memory, stdio};
pub use upstream::{ChildConfig, Process};
#[cfg(feature = "http-client")]
pub use upstream::{HttpConfig, Remote};
