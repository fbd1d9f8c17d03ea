//! A client of Streamable HTTP: every call is one POST.
//!
//! # Layout
//! - [`HttpClient`]: the service; read it first.
//! - [`Config`]: what it may send and how much it accepts.
//! - [`Authorizer`]: where the credentials of every request come from.
//! - `site`: one server, its connections and the headers of every request, with `authorized` and
//!   `hold_ups` for those that need credentials.
//! - `request`: the headers and the body of one POST.
//! - `response`: from an HTTP response to a reply, with `exchange` for what each message means.
//! - [`HttpFailure`]: an HTTP response that carries no message.
//! - `schemas`: which tool parameters travel in headers.
//! - `pool`, `connector`, `body`, `endpoint`: connections that are used again, and their bytes.

mod authorized;
mod authorizer;
mod body;
mod config;
mod connector;
mod endpoint;
mod exchange;
mod failure;
mod hold_ups;
mod http_client;
mod pool;
mod request;
mod response;
mod schemas;
mod site;

pub(crate) use body::{BodyError, Stream};
pub(crate) use failure::ErrorStatus;
pub(crate) use request::{Body, framed, headers};
pub(crate) use response::{Content, carries_message, finish, parse};
pub(crate) use site::Site;

pub use authorizer::{Authorizer, Credentials, MAX_SENDS, Outgoing, Refused, Verdict};
pub use config::{Config, HeaderError, Headers, Limits};
pub use failure::HttpFailure;
pub use http_client::HttpClient;
