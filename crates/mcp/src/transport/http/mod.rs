//! Streamable HTTP of revision 2026-07-28.

#[cfg(feature = "http-client")]
mod certificates;
#[cfg(feature = "http-client")]
pub mod client;
#[cfg(feature = "http-client")]
pub mod connect;
#[cfg(feature = "http-client")]
mod proxy;
#[cfg(feature = "http-server")]
pub mod server;
#[cfg(feature = "http-client")]
mod tls;
#[cfg(feature = "http-client")]
mod tunnel;
