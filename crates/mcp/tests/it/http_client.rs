//! The Streamable HTTP client against scripted servers. `sm_c…` names a rule of the transport.

mod connections;
mod failures;
mod headers;
pub(crate) mod peer;
mod proxies;
mod relay;
mod requests;
mod schemas;
mod streams;
mod tls;
