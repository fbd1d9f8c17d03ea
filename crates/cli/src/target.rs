use std::env;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow};
use callgate_mcp::Service;
use callgate_mcp::client::{CallOptions, Client};
use callgate_mcp::transport::child::{ChildConfig, Environment, Supervisor};
use callgate_mcp::transport::http::client::{Config, Headers};
use callgate_mcp::upstream::{self, Process, Remote};
use callgate_mcp::wire::implementation::Implementation;

use crate::args::Reach;
use crate::error::CommandError;

const TOKEN_VARIABLE: &str = "CALLGATE_TOKEN";

/// A server that is given on the command line, for as long as one command needs it.
pub(crate) struct Target {
    pub(crate) client: Client,
    server: Server,
}

/// Whatever revision it speaks.
enum Server {
    Process(Arc<Process>),
    Remote(Arc<Remote>),
}

impl Target {
    /// Starts the command, or prepares to speak with the URL, which is not contacted yet.
    pub(crate) fn connect(reach: &Reach, url: Option<&str>) -> Result<Self, CommandError> {
        let server = match (&reach.stdio, url) {
            (Some(command), _) => Server::Process(Arc::new(spawn(command)?)),
            (None, Some(url)) => Server::Remote(Arc::new(remote(reach, url)?)),
            (None, None) => {
                return Err(CommandError::usage("no server is given")
                    .hint("name a URL, or a command with --stdio"));
            }
        };
        let options = CallOptions::default().idle(Duration::from_secs(reach.timeout));
        let client = Client::builder(server.service())
            .info(Implementation::new("callgate", env!("CARGO_PKG_VERSION")))
            .options(options)
            .build();
        Ok(Self { client, server })
    }

    /// Stops what was started, and all that it started.
    pub(crate) async fn close(self) {
        match self.server {
            Server::Process(process) => process.close().await,
            Server::Remote(remote) => remote.close().await,
        }
    }
}

impl Server {
    fn service(&self) -> Arc<dyn Service> {
        match self {
            Self::Process(process) => process.clone(),
            Self::Remote(remote) => remote.clone(),
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
    config.supervisor = own.map(|program| Supervisor {
        program,
        args: Vec::new(),
    });
    Ok(Process::spawn(&config, upstream::Config::default())?)
}

fn remote(reach: &Reach, url: &str) -> Result<Remote, CommandError> {
    let mut headers = Headers::default();
    for header in &reach.header {
        let (name, value) = header.split_once(':').ok_or_else(|| {
            CommandError::usage(format!("`{header}` is not a header"))
                .hint("write it as NAME: VALUE")
        })?;
        headers = headers
            .with(name.trim(), value.trim())
            .map_err(anyhow::Error::from)?;
    }
    if let Some(token) = bearer_token(reach)? {
        headers = headers
            .with("authorization", &format!("Bearer {token}"))
            .map_err(|_| anyhow!("the token holds characters that cannot stand in a header"))?;
    }
    let config = Config {
        headers,
        ..Config::new(url)
    };
    Ok(Remote::new(url, config)?)
}

fn bearer_token(reach: &Reach) -> Result<Option<String>, CommandError> {
    let token = match &reach.token_file {
        Some(path) => Some(
            fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?,
        ),
        None => env::var(TOKEN_VARIABLE).ok(),
    };
    Ok(token
        .map(|token| token.trim().to_owned())
        .filter(|token| !token.is_empty()))
}
