use std::path::Path;
use std::pin::pin;
use std::time::Duration;

use anyhow::Context;
use callgate_mcp::client::{CallOptions, Client};
use tokio::time::timeout;

use crate::args::ConnectionArgs;
use crate::error::CommandError;
use crate::server::{self, Server};
use crate::stop;

/// Connection of one command to a server that is given on the command line.
pub(crate) struct Target {
    pub(crate) client: Client,
    server: Server,
}

impl Target {
    /// Connects to the server; one at a URL is not contacted yet.
    pub(crate) fn connect(
        connection: &ConnectionArgs,
        url: Option<&str>,
        data_dir: Option<&Path>,
    ) -> Result<Self, CommandError> {
        let server = Server::connect(&connection.server, url, data_dir)?;
        let options = CallOptions::default().idle(Duration::from_secs(connection.timeout));
        let client = Client::builder(server.service())
            .info(server::own_name())
            .options(options)
            .build();
        Ok(Self { client, server })
    }

    /// Does `work` with the server, then closes the connection.
    ///
    /// On a signal it ends soon, but not at once: the new token of a refresh that has begun would be lost.
    ///
    /// # Errors
    /// Those of `work`, or it was not finished.
    pub(crate) async fn finish<T>(
        self,
        work: impl Future<Output = Result<T, CommandError>>,
    ) -> Result<T, CommandError> {
        let mut stop = pin!(stop::signal().context("cannot listen for signals")?);
        let done = tokio::select! {
            done = work => Some(done),
            () = &mut stop => None,
        };
        let mut close = pin!(self.server.close());
        if let Some(done) = done {
            tokio::select! {
                () = &mut close => return done,
                () = &mut stop => {}
            }
        }
        // A second signal, or one during the work: the end must come soon.
        let _ = timeout(stop::GRACE, close).await;
        Err(CommandError::interrupted())
    }
}
