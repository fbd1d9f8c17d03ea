use std::env;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow};
use callgate_mcp::Service;
use callgate_mcp::client::{CallOptions, Client};
use callgate_mcp::transport::child::{ChildConfig, Environment, Supervisor};
use callgate_mcp::transport::http::client::HttpConfig;
use callgate_mcp::upstream::{Process, Remote};
use callgate_mcp::wire::implementation::Implementation;
use callgate_oauth::token_source::TokenSource;
use tokio::time::timeout;

use crate::args::ConnectionArgs;
use crate::credentials::Credentials;
use crate::error::{CommandError, Exit};
use crate::logins::{Logins, http_url};
use crate::network::Network;
use crate::stop;

/// Connection of one command to a server that is given on the command line.
pub(crate) struct Target {
    pub(crate) client: Client,
    server: Server,
}

/// A connected server of any revision.
enum Server {
    Process(Arc<Process>),
    Remote {
        remote: Arc<Remote>,
        token_source: Option<Arc<TokenSource>>,
    },
}

impl Target {
    /// Starts the command, or prepares a client of the URL, which is not contacted yet.
    pub(crate) fn connect(
        connection: &ConnectionArgs,
        url: Option<&str>,
        data_dir: Option<&Path>,
    ) -> Result<Self, CommandError> {
        let server = match (&connection.stdio, url) {
            (Some(command), _) => Server::Process(Arc::new(spawn(command)?)),
            (None, Some(url)) => remote(connection, url, data_dir)?,
            (None, None) => {
                return Err(CommandError::usage("no server is given")
                    .hint("name a URL, or a command with --stdio"));
            }
        };
        let options = CallOptions::default().idle(Duration::from_secs(connection.timeout));
        let client = Client::builder(server.service())
            .info(Implementation::new("callgate", env!("CARGO_PKG_VERSION")))
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
        let mut close = pin!(self.close());
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

    /// Stops the server process with its children, or finishes token refreshes of a remote server.
    async fn close(self) {
        match self.server {
            Server::Process(process) => process.close().await,
            Server::Remote {
                remote,
                token_source,
            } => {
                remote.close().await;
                if let Some(token_source) = token_source {
                    token_source.wait_idle().await;
                }
            }
        }
    }
}

impl Server {
    fn service(&self) -> Arc<dyn Service> {
        match self {
            Self::Process(process) => process.clone(),
            Self::Remote { remote, .. } => remote.clone(),
        }
    }
}

fn spawn(command: &str) -> Result<Process, CommandError> {
    let words = shlex::split(command).filter(|words| !words.is_empty());
    let mut words = words.unwrap_or_default().into_iter();
    let program = words.next().ok_or_else(|| {
        CommandError::usage(format!("`{command}` is not a command"))
            .hint("quote it as one word, for example --stdio \"npx -y some-server\"")
    })?;
    let mut config = ChildConfig::new(program.as_str(), &program);
    config.args = words.map(Into::into).collect();
    config.environment = Environment::from_pairs(env::vars_os());
    // We are our own supervisor; see `main`.
    let own = env::current_exe().ok();
    config.supervisor = own.map(Supervisor::new);
    Process::spawn(&config).map_err(|error| {
        CommandError::new(Exit::of(error.kind()), error)
            .hint("check that the program is installed and its name is right")
    })
}

/// The argument is not a URL.
pub(crate) fn not_a_url(text: &str) -> CommandError {
    CommandError::usage(format!("`{text}` is not an http(s) URL")).hint(
        "begin a URL with http:// or https://; for a server that is a command, use --stdio COMMAND",
    )
}

fn remote(
    connection: &ConnectionArgs,
    url: &str,
    data_dir: Option<&Path>,
) -> Result<Server, CommandError> {
    let server = http_url(url).ok_or_else(|| not_a_url(url))?;
    let mut config = HttpConfig::new(url);
    for header in &connection.header {
        let (name, value) = header.split_once(':').ok_or_else(|| {
            // The text is not repeated: it may be a secret without its name.
            CommandError::usage("the value of --header is not a header")
                .hint("write it as NAME: VALUE")
        })?;
        let headers = config.headers.with(name.trim(), value.trim());
        config.headers = headers.map_err(anyhow::Error::from)?;
    }
    let mut options = Logins::options_at(data_dir, &server, connection.account.as_deref());
    if let Some(path) = &connection.ca_file {
        options.ca_file = Some(path.clone());
    }
    Network::new(options.ca_file.as_deref())?.apply(&mut config);
    let mut token_source = None;
    match Credentials::find(connection, &server, data_dir, &options)? {
        Credentials::Given => {}
        Credentials::Token(token) => {
            let headers = config
                .headers
                .with("authorization", &format!("Bearer {token}"));
            config.headers = headers
                .map_err(|_| anyhow!("the token holds characters that cannot stand in a header"))?;
        }
        Credentials::Login(login) => {
            config.authorizer = Some(login.clone());
            token_source = Some(login);
        }
    }
    let remote = Arc::new(Remote::new(url, config)?);
    Ok(Server::Remote {
        remote,
        token_source,
    })
}
