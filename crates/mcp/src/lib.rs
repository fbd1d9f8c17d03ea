//! Speak MCP: one trait that every server, client and relay implements, and the transports.
//!
//! ```
//! use std::sync::Arc;
//!
//! use callgate_mcp::client::Client;
//! use callgate_mcp::router::{Json, Router};
//! use callgate_mcp::transport::memory;
//! use callgate_mcp::wire::implementation::Implementation;
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
//! # async fn main() -> Result<(), callgate_mcp::Error> {
//! let server = Router::new(Implementation::new("calculator", "1.0")).tool("add", "Adds", add);
//! let (connection, serving) = memory::pair(Arc::new(server));
//! tokio::spawn(serving);
//!
//! let client = Client::builder(Arc::new(connection)).build();
//! let result = client.call_tool("add", &Add { a: 2, b: 3 }).await?;
//! let sum = result.structured_content.expect("the tool has an output schema");
//! assert_eq!(sum.as_str(), r#"{"sum":5}"#);
//! # Ok(())
//! # }
//! ```
//!
//! # Layout
//! - [`Service`]: answers MCP requests. Read [`service`](Service) first; all else composes it.
//! - [`Error`]: what failed, whose fault it was, and whether a retry is safe.
//! - [`Notifier`]: the bounded sink for the notifications of one request.
//! - `server`: from a message to a call and back to a message.
//! - `seal`: what clients carry for us between the rounds of a request.
//! - [`router`]: a typed server, where a tool is a plain async function.
//! - [`client`]: a typed client over any service.
//! - [`transport`]: stdio, child processes, Streamable HTTP and in-memory pairs.
//! - [`legacy`]: the revisions before 2026-07-28. [`upstream`]: servers of any revision.
//!
//! # Invariants
//! - Dropping the future of a call cancels it, here and at the peer.
//! - A service speaks to its caller in the caller's terms: the progress token of the params, the
//!   id of the [`Cx`]. Each hop has ids of its own.
//! - Every queue is bounded, and nobody who reads from a peer waits for a consumer.

pub mod client;
mod error;
mod header_param;
pub mod legacy;
mod notifier;
pub mod router;
mod seal;
mod server;
mod service;
pub mod transport;
pub mod upstream;

pub use callgate_wire as wire;
pub use error::{Error, Kind, Origin, Retry};
pub use header_param::{HeaderParam, HeaderParamError, HeaderParams};
pub use notifier::{Notifications, Notifier};
pub use service::{BoxFuture, Call, Caller, Cx, PeerInfo, Reply, Service};
