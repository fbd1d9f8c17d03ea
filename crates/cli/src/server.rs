use std::env;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;

use anyhow::anyhow;
use callgate_mcp::Service;
use callgate_mcp::transport::child::{ChildConfig, Environment, Supervisor};
use callgate_mcp::transport::http::client::HttpConfig;
use callgate_mcp::upstream::{Process, Remote, RestartingProcess};
use callgate_mcp::wire::implementation::Implementation;
use callgate_oauth::token_source::TokenSource;
use tokio::time::timeout;

use crate::args::ServerArgs;
use crate::credentials::Credentials;
use crate::error::{CommandError, Exit};
use crate::logins::{Logins, http_url};
use crate::network::Network;
use crate::stop::{self, StopSignals};

/// A connected server of any revision that is given on the command line.
pub(crate) enum Server {
    Process(Arc<Process>),
    Restarting(Arc<RestartingProcess>),
    Remote {
        remote: Arc<Remote>,
        token_source: Option<Arc<TokenSource>>,
    },
}

impl Server {
    /// Starts the command, or prepares a client of the URL, which is not contacted yet.
    pub(crate) fn connect(
        args: &ServerArgs,
        url: Option<&str>,
        data_dir: Option<&Path>,
    ) -> Result<Self, CommandError> {
        match (&args.stdio, url) {
            (Some(command), _) => Ok(Self::Process(Arc::new(spawn(command, &args.env)?))),
            (None, Some(url)) => remote(args, url, data_dir),
            (None, None) => Err(CommandError::usage("no server is given")
                .hint("name a URL, or a command with --stdio")),
        }
    }

    /// The same server; if it is a command, it is started again when it has exited.
    pub(crate) fn restarting(self) -> Self {
        match self {
            Self::Process(process) => Self::Restarting(Arc::new(RestartingProcess::new(process))),
            server => server,
        }
    }

    pub(crate) fn service(&self) -> Arc<dyn Service> {
        match self {
            Self::Process(process) => process.clone(),
            Self::Restarting(process) => process.clone(),
            Self::Remote { remote, .. } => remote.clone(),
        }
    }

    /// Stops the server process with its children, or finishes token refreshes of a remote server.
    pub(crate) async fn close(self) {
        match self {
            Self::Process(process) => process.close().await,
            Self::Restarting(process) => process.close().await,
            Self::Remote {
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

    /// Closes the connection within a limited time, which a signal ends.
    pub(crate) async fn close_soon(self) -> Result<(), CommandError> {
        let mut stop = StopSignals::listen()?;
        let close = pin!(timeout(stop::GRACE, self.close()));
        tokio::select! {
            _ = close => Ok(()),
            () = stop.next() => Err(CommandError::interrupted()),
        }
    }
}

/// Name and version of this program as a client.
pub(crate) fn own_name() -> Implementation {
    Implementation::new("callgate", env!("CARGO_PKG_VERSION"))
}

/// The argument is not a URL.
pub(crate) fn not_a_url(text: &str) -> CommandError {
    CommandError::usage(format!("`{text}` is not an http(s) URL")).hint(
        "begin a URL with http:// or https://; for a server that is a command, use --stdio COMMAND",
    )
}

fn spawn(command: &str, variables: &[(String, String)]) -> Result<Process, CommandError> {
    let words = shlex::split(command).filter(|words| !words.is_empty());
    let mut words = words.unwrap_or_default().into_iter();
    let program = words.next().ok_or_else(|| {
        CommandError::usage(format!("`{command}` is not a command"))
            .hint("quote it as one word, for example --stdio \"npx -y some-server\"")
    })?;
    let mut config = ChildConfig::new(program.as_str(), &program);
    config.args = words.map(Into::into).collect();
    config.environment = Environment::from_pairs(env::vars_os());
    let variables = variables.iter();
    config.env = variables
        .map(|(name, value)| (name.into(), value.into()))
        .collect();
    // We are our own supervisor; see `main`.
    let own = env::current_exe().ok();
    config.supervisor = own.map(Supervisor::new);
    Process::spawn(&config).map_err(|error| {
        CommandError::new(Exit::of(error.kind()), error)
            .hint("check that the program is installed and its name is right")
    })
}

fn remote(args: &ServerArgs, url: &str, data_dir: Option<&Path>) -> Result<Server, CommandError> {
    let server = http_url(url).ok_or_else(|| not_a_url(url))?;
    let mut config = HttpConfig::new(url);
    for header in &args.header {
        let (name, value) = header.split_once(':').ok_or_else(|| {
            // The text is not repeated: it may be a secret without its name.
            CommandError::usage("the value of --header is not a header")
                .hint("write it as NAME: VALUE")
        })?;
        let headers = config.headers.with(name.trim(), value.trim());
        config.headers = headers.map_err(anyhow::Error::from)?;
    }
    let mut options = Logins::options_at(data_dir, &server, args.account.as_deref());
    if let Some(path) = &args.ca_file {
        options.ca_file = Some(path.clone());
    }
    Network::new(options.ca_file.as_deref())?.apply(&mut config);
    let mut token_source = None;
    match Credentials::find(args, &server, data_dir, &options)? {
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
