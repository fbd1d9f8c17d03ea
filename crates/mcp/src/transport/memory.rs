//! A client and a server connected inside one process.

use std::future::Future;
use std::sync::Arc;

use super::line::{LineConfig, ModernConnection, serve};
use crate::error::Error;
use crate::service::Service;

/// Connects a client to `service` through the framing that stdio uses.
///
/// The second value serves; run it beside the calls, for example with `tokio::spawn`. It ends
/// when the connection is dropped. Needs a tokio runtime.
pub fn pair(
    service: Arc<dyn Service>,
) -> (
    ModernConnection,
    impl Future<Output = Result<(), Error>> + Send + 'static,
) {
    let config = LineConfig::default();
    let (client, server) = tokio::io::duplex(PIPE_BYTES);
    let (reader, writer) = tokio::io::split(client);
    let connection = ModernConnection::new("memory", reader, writer, config);
    let (reader, writer) = tokio::io::split(server);
    (connection, serve(service, reader, writer, config))
}

/// Capacity of the connection in bytes, as that of a pipe of the operating system.
const PIPE_BYTES: usize = 64 * 1024;
