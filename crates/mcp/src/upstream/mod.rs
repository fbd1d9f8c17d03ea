//! Servers of any revision: the types that a client, a hub or a relay connects with.
//!
//! Each is a [`Service`](crate::Service) of the newest revision. The first call detects the revision
//! of the server; a server before 2026-07-28 is connected to through the feature `legacy`.
//!
//! # Layout
//! - [`Remote`]: a server at a URL, configured by [`HttpConfig`]; [`Authorizer`]: its credentials.
//! - [`Process`]: a server that runs as a child process, configured by [`ChildConfig`].
//! - [`RestartingProcess`]: the same, started again when a call finds that it has exited.
//! - [`StreamPair`]: a server at the other end of a pair of byte streams.
//! - [`UpstreamConfig`]: timeouts of detection, and limits for old servers.
//! - [`MessageObserver`]: sees every message on the wire.
//! - [`ConnectionState`], [`CloseReason`]: what `state()` and `closed()` of each return.
//! - [`Era`]: the family of revisions that a server speaks, and the one function that decides it.
//! - `detection`, `line_detection`: detection on lines, once for all calls; `identity`: the probe.
//! - `http_detection`, `era_cache`: detection at a URL, and how long its outcome holds.
//! - `old_sessions`, `session_table`: our sessions with an old server at a URL.

pub(crate) mod config;
mod detection;
mod era;
#[cfg(feature = "http-client")]
mod era_cache;
#[cfg(feature = "http-client")]
mod http_detection;
pub(crate) mod identity;
mod line_detection;
#[cfg(all(feature = "http-client", feature = "legacy"))]
mod old_sessions;
mod process;
#[cfg(feature = "http-client")]
mod remote;
mod restarting_process;
#[cfg(any(feature = "http-client", feature = "legacy"))]
pub(crate) mod server_timeout;
#[cfg(all(feature = "http-client", feature = "legacy"))]
mod session_table;
mod stream_pair;

#[cfg(feature = "legacy")]
pub(crate) use era::spoken;

pub use crate::seal::StateKey;
pub use crate::transport::child::{
    ChildConfig, Environment, ExitTimeouts, InheritEnv, Supervisor, supervisor,
};
#[cfg(feature = "http-client")]
pub use crate::transport::http::client::{
    Authorizer, Credentials, HeaderError, Headers, HttpConfig, HttpFailure, HttpLimits, Outgoing,
    Refused, Verdict,
};
pub use crate::transport::line::LineConfig;
pub use crate::transport::{CloseReason, ConnectionState, MessageObserver, WireMessage};
pub use config::UpstreamConfig;
pub use era::Era;
pub use process::Process;
#[cfg(feature = "http-client")]
pub use remote::Remote;
pub use restarting_process::RestartingProcess;
pub use stream_pair::StreamPair;
