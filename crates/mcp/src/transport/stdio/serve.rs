use std::sync::Arc;

use callgate_wire::Limits;

#[cfg(not(unix))]
use super::portable as streams;
#[cfg(unix)]
use super::unix as streams;
use crate::error::{Error, Kind};
use crate::service::Service;
use crate::transport::line::{self, LineConfig};

/// Serves the process that started this one, until it closes our standard input.
///
/// Standard input and output are taken over first: afterwards the process reads nothing from
/// standard input, and its prints go to standard error. So a stray `println!` cannot corrupt the
/// stream, and a child process cannot read a message. Call this once, before anything is read or
/// printed.
///
/// A message may have 4 MiB, as over HTTP.
///
/// # Errors
/// Standard input or output cannot be used, or fails other than because the peer closed it.
pub async fn serve(service: Arc<dyn Service>) -> Result<(), Error> {
    let limits = Limits::default().with_bytes(MAX_MESSAGE);
    let config = LineConfig {
        limits,
        ..LineConfig::default()
    };
    serve_with(service, config).await
}

/// Maximum bytes of a message. A longer one is answered with an error.
const MAX_MESSAGE: usize = 4 * 1024 * 1024;

/// Like [`serve`], with limits.
///
/// # Errors
/// As for [`serve`].
pub async fn serve_with(service: Arc<dyn Service>, config: LineConfig) -> Result<(), Error> {
    let (reader, writer) = streams::take().map_err(|error| {
        let text = format!("cannot use standard input and output: {error}");
        Error::new(Kind::Connect, text).with_source(error)
    })?;
    line::serve(service, reader, writer, config).await
}
