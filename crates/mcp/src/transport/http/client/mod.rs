//! Client of Streamable HTTP of the newest revision: every call is one POST.
//!
//! # Layout
//! - [`ModernHttpClient`]: the service; read it first.
//! - [`HttpConfig`]: headers, credentials and limits; [`Authorizer`]: credentials that change over time.
//! - `http_upstream`: one server, its connections and the headers of every request; `authorized`:
//!   requests with credentials.
//! - `request`: headers and body of one POST.
//! - `response`: from an HTTP response to a reply; `pending_request`: the meaning of each message.
//! - [`HttpFailure`]: an HTTP response without a message.
//! - `observed`: shows requests and responses to a [`MessageObserver`](crate::transport::MessageObserver).
//! - `pool`, `connection`, `body`, `endpoint`: connections, and the URL that they lead to.

mod authorized;
mod authorizer;
mod body;
mod config;
mod connection;
mod endpoint;
mod failure;
mod http_client;
mod http_upstream;
mod observed;
mod pending_request;
mod pool;
mod request;
mod response;

#[cfg(feature = "legacy")]
pub(crate) use body::BodyError;
pub(crate) use body::BodyStream;
pub(crate) use failure::ErrorStatus;
pub(crate) use http_upstream::HttpUpstream;
#[cfg(feature = "legacy")]
pub(crate) use request::Body;
pub(crate) use request::{framed, headers};
pub(crate) use response::{Content, carries_message, finish, parse};
#[cfg(feature = "legacy")]
pub(crate) use response::{retry_after, with_retry_after};

pub use authorizer::{Authorizer, Credentials, MAX_SENDS, Outgoing, Refused, Verdict};
pub use config::{HeaderError, Headers, HttpConfig, HttpLimits};
pub use failure::HttpFailure;
pub use http_client::ModernHttpClient;
