//! Servers: from a definition, on the command line or in the configuration, to a connection.
//!
//! # Layout
//! - [`ServerSpec`]: a server with everything that is needed to connect to it.
//! - `ad_hoc`: the server that the arguments of a command describe. `configured`: a server of the configuration.
//! - [`Server`]: a connection. `headers_helper`: headers that a command prints. `helper_headers`: the same for all
//!   requests of a connection, printed anew when the server refuses them.
//! - [`RefusedCredentials`]: what a person can do about a refusal.
//! - [`ServerConnector`]: connects a server for the hub, as often as needed.

mod ad_hoc;
mod connection;
mod connector;
mod headers_helper;
mod helper_headers;
mod refused_credentials;
mod spec;

pub(crate) use ad_hoc::of_args;
pub(crate) use connection::{Server, own_name};
pub(crate) use connector::{ServerConnector, is_client_missing, is_login_missing};
pub(crate) use refused_credentials::RefusedCredentials;
pub(crate) use spec::{LoginSpec, ProcessSpec, RemoteSpec, ServerSpec};
