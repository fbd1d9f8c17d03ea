use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow};
use callgate_mcp::Service;
use callgate_mcp::client::{CallOptions, Client};
use callgate_mcp::layer::TimeLimits;
use callgate_mcp::transport::child::CloseBy;
use callgate_mcp::wire::RawJson;
use callgate_mcp::wire::capabilities::{ClientCapabilities, ElicitationCapability};
use tokio::time::timeout;

use crate::args::ConnectionArgs;
use crate::config::definition::Timeouts;
use crate::config::load::ConfiguredServer;
use crate::data_dir::DataDir;
use crate::doctor::programs::split_command_line;
use crate::elicitation::{ask_form, ask_page, is_interactive};
use crate::error::{CommandError, Exit};
use crate::gateway::{
    CALL_IDLE, CatalogFiles, Gateway, GatewaySettings, Member, ReadsKinds, SERVERS_METHOD,
    ServerReport, ServersParams, ServersResult, Status, WHOLE_RESULTS, call_limits, gateway_spec,
    record_at, record_ending,
};
use crate::instance::{OwnRecord, Registry};
use crate::output::argument;
use crate::server::{self, RefusedCredentials, Server, ServerSpec};
use crate::{age, stop};

/// Connection of one command to a server.
pub(crate) struct Target {
    pub(crate) client: Client,
    connection: TargetConnection,
    /// Time that a configured server has to connect and to send its lists.
    connect: Duration,
}

/// Connection that ends with the command.
enum TargetConnection {
    /// To the server itself, or to the running gateway that has it.
    Server(Server),
    /// The servers of the command, as in a gateway.
    Own {
        gateway: Arc<Gateway>,
        _record: Option<OwnRecord>,
        /// Directory and name under which programs are recorded that end after this command.
        ending: Option<(DataDir, String)>,
    },
}

/// The user, as far as a server can ask one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum User {
    /// Reads questions and types answers.
    AtTerminal,
    /// Cannot be asked.
    Away,
    /// Is not asked anything: the command only reads the lists of a configured server. It declares what `serve` does,
    /// so that both see the same items.
    NotAsked,
}

/// Way in which a command uses configured servers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Use<'a> {
    /// Name of the command, for `ps`.
    pub(crate) command: &'a str,
    pub(crate) data_dir: Option<&'a Path>,
    /// Seconds without an answer or progress, in place of those of the server.
    pub(crate) timeout: Option<u64>,
    /// True if a running gateway is not used.
    pub(crate) direct: bool,
    pub(crate) user: User,
}

/// Time that a server has to connect and to send its lists, without `--timeout`.
const CONNECT: Duration = Duration::from_secs(60);

/// Time that a running gateway has for its answer after that.
const ANSWER: Duration = Duration::from_secs(5);

impl User {
    /// The user of this process.
    pub(crate) fn of_this_process() -> Self {
        match is_interactive() {
            true => Self::AtTerminal,
            false => Self::Away,
        }
    }

    /// Capabilities of a client that has this user, and neither a model nor roots; `None` for all.
    fn capabilities(self) -> Option<ClientCapabilities> {
        let mut capabilities = ClientCapabilities::default();
        match self {
            Self::AtTerminal => {
                let mut elicitation = ElicitationCapability::default();
                elicitation.form = Some(RawJson::empty_object());
                elicitation.url = Some(RawJson::empty_object());
                capabilities.elicitation = Some(elicitation);
            }
            Self::Away => {}
            Self::NotAsked => return None,
        }
        Some(capabilities)
    }

    /// Client of a service that asks this user as the server `name`.
    fn client(self, service: Arc<dyn Service>, name: &str, limits: TimeLimits) -> Client {
        let options = CallOptions::default().idle(limits.idle);
        let mut client = Client::builder(service)
            .info(server::own_name())
            .options(options.maximum(limits.maximum));
        if let Self::AtTerminal = self {
            let (name, same) = (name.to_owned(), name.to_owned());
            client = client
                .elicitation(move |form| ask_form(name.clone(), form))
                .elicitation_url(move |page| ask_page(same.clone(), page));
        }
        client.build()
    }
}

impl Target {
    /// A target over a server that is connected already.
    pub(crate) fn of_server(client: Client, server: Server) -> Self {
        Self {
            client,
            connection: TargetConnection::Server(server),
            connect: CONNECT,
        }
    }

    /// Connects to the server of the command line; one at a URL is not contacted yet.
    pub(crate) async fn connect(
        connection: &ConnectionArgs,
        url: Option<&str>,
        data_dir: Option<&Path>,
        user: User,
    ) -> Result<Self, CommandError> {
        let spec = server::of_args(&connection.server, url)?;
        let server = Server::connect(&spec, data_dir, user.capabilities()).await?;
        let name = connection.server.stdio.as_deref().or(url);
        let timeout = connection.timeout.map(Duration::from_secs);
        let limits = call_limits(&Timeouts::default(), timeout);
        Ok(Self {
            client: user.client(server.service(), name.unwrap_or_default(), limits),
            connection: TargetConnection::Server(server),
            connect: CONNECT,
        })
    }

    /// Connects a configured server: through a process that runs it, else in this process.
    pub(crate) async fn open(
        configured: &ConfiguredServer,
        how: Use<'_>,
    ) -> Result<Self, CommandError> {
        let timeout = how.timeout.map(Duration::from_secs);
        let connect = timeout.unwrap_or(CONNECT);
        let limits = call_limits(&configured.definition.timeouts, timeout);
        let data_dir = DataDir::locate(how.data_dir).ok();
        if let Some(data_dir) = data_dir.as_ref().filter(|_| !how.direct)
            && let Some(running) = Registry::new(data_dir)
                .gateway_with(configured.name.as_str(), configured.process_hash().as_str())
        {
            let spec = gateway_spec(&running, data_dir)?;
            let server = Server::connect(&spec, how.data_dir, None).await?;
            let service = Arc::new(ReadsKinds {
                gateway: server.service(),
                server: configured.name.as_arc().clone(),
                refused: RefusedCredentials::of(configured),
            });
            let client = how.user.client(service, configured.name.as_str(), limits);
            let options = options_behind_gateway(client.options().clone(), timeout);
            let target = Self {
                client: client.with_options(options),
                connection: TargetConnection::Server(server),
                connect,
            };
            return Ok(target);
        }
        configured.check_trust()?;
        // The gateway would report the error, without its hints.
        let spec = crate::gateway::spec_of(configured)?;
        if let ServerSpec::Process(spec) = &spec
            && let Some(hint) = split_command_line(spec)
        {
            let (name, program) = (&spec.name, &spec.program);
            let error = anyhow!("cannot start server `{name}`: there is no program `{program}`");
            return Err(CommandError::new(Exit::Unreachable, error).hint(hint));
        }
        // Without a record, the next command could not wait for a program that is still ending. The first process of a
        // container cannot leave a program behind: the system kills it.
        let ending = data_dir.clone().filter(|_| std::process::id() != 1);
        let ending = ending.map(|data_dir| (data_dir, how.command.to_owned()));
        let gateway = Arc::new(Gateway::new(GatewaySettings {
            close_by: match ending {
                Some(_) => CloseBy::Supervisor,
                None => CloseBy::ThisProcess,
            },
            data_dir: how.data_dir.map(Path::to_owned),
            capabilities: how.user.capabilities(),
            catalogs: data_dir.as_ref().map(CatalogFiles::new),
            call_timeout: timeout,
            // The user names the server, which is reason enough to use it once.
            uses_disabled: true,
            ..GatewaySettings::default()
        }));
        gateway.apply(&[Member::own(configured)]).await;
        let record = data_dir.and_then(|it| record_at(&gateway, &it, how.command));
        Ok(Self {
            client: how
                .user
                .client(gateway.clone(), configured.name.as_str(), limits),
            connection: TargetConnection::Own {
                gateway,
                _record: record,
                ending,
            },
            connect,
        })
    }

    /// Waits until a configured server is connected or has failed, and returns its state.
    ///
    /// A part of the work that is given to [`Target::finish`], which guards it against signals: the server may be
    /// refreshing its token while it connects.
    ///
    /// # Errors
    /// It does neither within its time.
    pub(crate) fn report<'n>(
        &self,
        name: &'n str,
    ) -> impl Future<Output = Result<Option<ServerReport>, CommandError>> + use<'n> {
        let (client, connect) = (self.client.clone(), self.connect);
        async move {
            let wait = u64::try_from(connect.as_millis()).unwrap_or(u64::MAX);
            let params = ServersParams {
                server: Some(name.to_owned()),
                wait: Some(wait),
            };
            let options = CallOptions::default().idle(connect.saturating_add(ANSWER));
            let client = client.with_options(options);
            let result = client.request(SERVERS_METHOD, &params).await?;
            let result: ServersResult = result.decode().map_err(anyhow::Error::from)?;
            let report = result.servers.into_iter().next();
            let is_late = |report: &ServerReport| {
                report.status == Status::Connecting && report.reason.is_none()
            };
            if report.as_ref().is_some_and(is_late) {
                let limit = age::span(connect.as_secs());
                let error = anyhow!("server `{name}` did not connect within {limit}");
                return Err(CommandError::new(Exit::Unreachable, error).hint(format!(
                    "give it more time with --timeout SECONDS, or run `callgate debug {}` to see what it does",
                    argument(name)
                )));
            }
            Ok(report)
        }
    }

    /// Revision of a server of the command line, once it has answered.
    pub(crate) fn revision(&self) -> Option<String> {
        match &self.connection {
            TargetConnection::Server(server) => server.version().map(|version| version.to_string()),
            TargetConnection::Own { .. } => None,
        }
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
        let mut close = pin!(self.connection.close());
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

/// Options of the calls to a server that another process runs, which has time limits of its own for them.
fn options_behind_gateway(options: CallOptions, timeout: Option<Duration>) -> CallOptions {
    let options = options.meta(WHOLE_RESULTS, &true);
    let Some(timeout) = timeout else {
        return options;
    };
    let milliseconds = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
    options.meta(CALL_IDLE, &milliseconds)
}

impl TargetConnection {
    async fn close(&self) {
        match self {
            Self::Server(server) => server.close().await,
            Self::Own {
                gateway, ending, ..
            } => {
                gateway.keep_catalogs();
                if let Some((data_dir, command)) = ending {
                    let registry = Registry::new(data_dir);
                    for record in record_ending(gateway, &registry, command) {
                        record.keep();
                    }
                }
                gateway.close().await;
            }
        }
    }
}
