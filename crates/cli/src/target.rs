use std::path::Path;
use std::pin::pin;
use std::time::Duration;

use anyhow::Context;
use callgate_mcp::client::{CallOptions, Client};
use callgate_mcp::wire::RawJson;
use callgate_mcp::wire::capabilities::{ClientCapabilities, ElicitationCapability};
use tokio::time::timeout;

use crate::args::ConnectionArgs;
use crate::elicitation::{ask_form, ask_page, is_interactive};
use crate::error::CommandError;
use crate::server::{self, Server};
use crate::stop;

/// Connection of one command to a server that is given on the command line.
pub(crate) struct Target {
    pub(crate) client: Client,
    server: Server,
}

/// The user, as far as a server can ask one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum User {
    /// Reads questions and types answers.
    AtTerminal,
    /// Cannot be asked.
    Away,
}

impl User {
    /// The user of this process.
    pub(crate) fn of_this_process() -> Self {
        match is_interactive() {
            true => Self::AtTerminal,
            false => Self::Away,
        }
    }

    /// Capabilities of a client that has this user, and neither a model nor roots.
    fn capabilities(self) -> ClientCapabilities {
        let mut capabilities = ClientCapabilities::default();
        if let Self::AtTerminal = self {
            let mut elicitation = ElicitationCapability::default();
            elicitation.form = Some(RawJson::empty_object());
            elicitation.url = Some(RawJson::empty_object());
            capabilities.elicitation = Some(elicitation);
        }
        capabilities
    }
}

impl Target {
    /// Connects to the server; one at a URL is not contacted yet.
    pub(crate) fn connect(
        connection: &ConnectionArgs,
        url: Option<&str>,
        data_dir: Option<&Path>,
        user: User,
    ) -> Result<Self, CommandError> {
        let capabilities = user.capabilities();
        let server = Server::connect(&connection.server, url, data_dir, Some(capabilities))?;
        let options = CallOptions::default().idle(Duration::from_secs(connection.timeout));
        let mut client = Client::builder(server.service())
            .info(server::own_name())
            .options(options);
        if let User::AtTerminal = user {
            let name = connection.server.stdio.as_deref().or(url);
            let name = name.unwrap_or_default().to_owned();
            let same = name.clone();
            client = client
                .elicitation(move |form| ask_form(name.clone(), form))
                .elicitation_url(move |page| ask_page(same.clone(), page));
        }
        Ok(Self {
            client: client.build(),
            server,
        })
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
