//! The Streamable HTTP client against scripted servers. `sm_c…` names a rule of the transport.

mod connections;
mod failures;
mod headers;
mod peer;
mod relay;
mod requests;
mod schemas;
mod streams;
mod tls;
