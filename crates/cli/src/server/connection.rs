use std::env;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;

use anyhow::anyhow;
use callgate_mcp::transport::child::{ChildConfig, Environment, Supervisor};
use callgate_mcp::transport::http::client::HttpConfig;
use callgate_mcp::upstream::{Process, Remote, RestartingProcess, UpstreamConfig};
use callgate_mcp::wire::capabilities::ClientCapabilities;
use callgate_mcp::wire::implementation::Implementation;
use callgate_mcp::{Service, Version};
use callgate_oauth::token_source::TokenSource;
use tokio::time::timeout;

use super::helper_headers::{HelperHeaders, WithHelper};
use super::spec::{ProcessSpec, RemoteSpec, ServerSpec};
use crate::config::definition::UrlTransport;
use crate::credentials::Credentials;
use crate::debug::{RecordedLogin, Recorder};
use crate::error::{CommandError, Exit};
use crate::logins::Logins;
use crate::network::Network;
use crate::stop::{self, StopSignals};

/// A connected server of any revision.
#[derive(Clone)]
pub(crate) enum Server {
    Process(Arc<Process>),
    Restarting(Arc<RestartingProcess>),
    Remote {
        remote: Arc<Remote>,
        token_source: Option<Arc<TokenSource>>,
        /// The server as its callers use it.
        service: Arc<dyn Service>,
    },
}

impl Server {
    /// Starts the program, or prepares a client of the URL, which is not contacted yet.
    ///
    /// A program is told of `capabilities`, if they are given, and otherwise of all; a URL of those in each call.
    pub(crate) async fn connect(
        spec: &ServerSpec,
        data_dir: Option<&Path>,
        capabilities: Option<ClientCapabilities>,
    ) -> Result<Self, CommandError> {
        Self::observed(spec, data_dir, capabilities, None).await
    }

    /// The same, with a record of every message.
    pub(crate) async fn observed(
        spec: &ServerSpec,
        data_dir: Option<&Path>,
        capabilities: Option<ClientCapabilities>,
        recorder: Option<&Recorder>,
    ) -> Result<Self, CommandError> {
        match spec {
            ServerSpec::Process(spec) => {
                let mut config = UpstreamConfig::default();
                config.capabilities = capabilities;
                let process = spawn(spec, recorder)?.with_config(config);
                Ok(Self::Process(Arc::new(process)))
            }
            ServerSpec::Remote(spec) => remote(spec, data_dir, recorder.cloned()).await,
        }
    }

    /// The server at the URL of `spec`. Its refusals name the command that prints its headers.
    fn at_url(remote: Remote, token_source: Option<Arc<TokenSource>>, spec: &RemoteSpec) -> Self {
        let remote = Arc::new(remote);
        let service: Arc<dyn Service> = match spec.headers_helper {
            Some(_) => Arc::new(WithHelper {
                remote: remote.clone(),
                login: token_source.as_ref().map(|_| spec.name.clone()),
            }),
            None => remote.clone(),
        };
        Self::Remote {
            remote,
            token_source,
            service,
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
            Self::Remote { service, .. } => service.clone(),
        }
    }

    /// Revision that the server speaks, if it was detected.
    pub(crate) fn version(&self) -> Option<Version> {
        match self {
            Self::Process(process) => process.version(),
            Self::Restarting(_) => None,
            Self::Remote { remote, .. } => remote.version(),
        }
    }

    /// Stops the server process with its children, or finishes token refreshes of a remote server.
    pub(crate) async fn close(&self) {
        match self {
            Self::Process(process) => process.close().await,
            Self::Restarting(process) => process.close().await,
            Self::Remote {
                remote,
                token_source,
                ..
            } => {
                remote.close().await;
                if let Some(token_source) = token_source {
                    token_source.wait_idle().await;
                }
            }
        }
    }

    /// Closes the connection within a limited time, which a signal ends.
    pub(crate) async fn close_soon(&self) -> Result<(), CommandError> {
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

fn spawn(spec: &ProcessSpec, recorder: Option<&Recorder>) -> Result<Process, CommandError> {
    let mut config = ChildConfig::new(spec.name.clone(), &spec.program);
    config.args = spec.args.iter().map(Into::into).collect();
    config.environment = Environment::from_pairs(env::vars_os());
    config.inherit_env = spec.inherit_env;
    let variables = spec.env.iter();
    config.env = variables
        .map(|(name, value)| (name.into(), value.into()))
        .collect();
    config.cwd.clone_from(&spec.cwd);
    config.close_by = spec.close_by;
    config.observer = recorder.map(Recorder::observer);
    config.supervisor = own_program().map(Supervisor::new);
    Process::spawn(&config).map_err(|error| {
        CommandError::new(Exit::of(error.kind()), error)
            .hint("check that the program is installed and its name is right")
    })
}

/// The program of this process, which is its own supervisor; see `main`.
///
/// It may have been replaced by a new version since the start. Linux still has the one that runs.
fn own_program() -> Option<PathBuf> {
    let running = Path::new("/proc/self/exe");
    match env::current_exe() {
        Ok(path) if path.exists() => Some(path),
        _ if cfg!(target_os = "linux") => Some(running.to_owned()),
        _ => None,
    }
}

async fn remote(
    spec: &RemoteSpec,
    data_dir: Option<&Path>,
    recorder: Option<Recorder>,
) -> Result<Server, CommandError> {
    let mut config = HttpConfig::new(spec.name.clone());
    config.observer = recorder.as_ref().map(Recorder::observer);
    let secrets = recorder.map(|recorder| recorder.secrets().clone());
    let mut helper = None;
    if let Some(command) = spec.headers_helper.clone() {
        helper = Some(HelperHeaders::of_command(command, secrets.clone()).await?);
    }
    for (name, value) in &spec.headers {
        if let Some(secrets) = &secrets {
            secrets.add(value);
        }
        let headers = config.headers.with(name, value);
        config.headers = headers.map_err(anyhow::Error::from)?;
    }
    let is_authorized = helper.as_mut().is_some_and(HelperHeaders::is_authorized)
        || spec
            .headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
    // The login file is read, and the keychain may be asked.
    let (spec, data_dir) = (spec.clone(), data_dir.map(Path::to_owned));
    let prepare = move || {
        let data_dir = data_dir.as_deref();
        let stored = Logins::options_at(data_dir, &spec.url, spec.login.account.as_deref());
        let mut options = spec.login.options.clone().over(&stored);
        if let Some(path) = &spec.ca_file {
            options.ca_file = Some(path.clone());
        }
        Network::new(options.ca_file.as_deref())?.apply(&mut config);
        let mut token_source = None;
        match Credentials::find(&spec.login, is_authorized, &spec.url, data_dir, &options)? {
            Credentials::Given => {}
            Credentials::Token(token) => {
                if let Some(secrets) = &secrets {
                    secrets.add(&token);
                }
                let headers = config
                    .headers
                    .with("authorization", &format!("Bearer {token}"));
                config.headers = headers.map_err(|_| {
                    anyhow!("the token holds characters that cannot stand in a header")
                })?;
            }
            Credentials::Login(login) => {
                config.authorizer = Some(match &secrets {
                    Some(secrets) => Arc::new(RecordedLogin {
                        login: login.clone(),
                        secrets: secrets.clone(),
                    }),
                    None => login.clone(),
                });
                token_source = Some(login);
            }
        }
        if let Some(helper) = helper {
            let login = config.authorizer.take();
            config.authorizer = Some(Arc::new(helper.with_login(login)));
        }
        let mut remote = Remote::new(spec.url.as_str(), config)?;
        if spec.transport == UrlTransport::Sse {
            remote = remote.assume_sse();
        }
        Ok(Server::at_url(remote, token_source, &spec))
    };
    tokio::task::spawn_blocking(prepare)
        .await
        .map_err(anyhow::Error::from)?
}
