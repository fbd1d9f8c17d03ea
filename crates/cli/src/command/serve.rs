use std::env;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;

use anyhow::Context;
use callgate_mcp::Service;
use callgate_mcp::layer::ProgressFilter;
use callgate_mcp::router::Router;
use callgate_tools::workspace::{self, Workspace};
use tokio::time::timeout;

use crate::args::Serve;
use crate::config::load::Configuration;
use crate::config::places::LoadOptions;
use crate::config::read_file::MaxText;
use crate::data_dir::{DataDir, resolved};
use crate::endpoint::{self, ErrorDetail, HttpEndpoint};
use crate::error::CommandError;
use crate::gateway::{
    CatalogFiles, Gateway, GatewaySettings, LimitedResults, Loaded, PublicServers, PublishedRecord,
    RecordedEndpoint, Reload, SharedServers, Sharing, WORKSPACE, keep_current, keep_recorded,
    log_states,
};
use crate::instance::{EndpointAuth, InstanceRecord, Registry, SERVE, SERVE_STDIO, Turn};
use crate::stop::{self, ReloadSignal, ServingSignals, StopSignals};
use crate::{output, server};

/// Serves the configured servers and the built-in tools until the client leaves or the user stops it.
pub(crate) async fn run(
    args: &Serve,
    config: Option<&Path>,
    data_dir: Option<&Path>,
    json: bool,
) -> Result<(), CommandError> {
    let mut reload = Reload {
        options: LoadOptions::new(config, data_dir)?,
        data_dir: data_dir.map(Path::to_owned),
        attaches: args.stdio && !args.no_attach,
        reserved: None,
    };
    let configuration = reload.load()?.configuration;
    for notice in &configuration.notices {
        output::note(&format!("notice: {notice}"));
    }
    for notice in configuration.faulty_notices() {
        output::note(&format!("warning: {notice}"));
    }
    // Before a server is connected: a signal must not lose a login that is being renewed.
    let signals = match args.stdio {
        true => ServingSignals::of_one_client(),
        false => ServingSignals::of_service(),
    };
    let mut signals = signals.context("cannot listen for signals")?;
    let router = router(args, &configuration, data_dir)?;
    if router.is_some() {
        reload.reserved = Some(WORKSPACE);
    }
    let gateway = Arc::new(Gateway::new(GatewaySettings {
        data_dir: data_dir.map(Path::to_owned),
        catalogs: DataDir::locate(data_dir)
            .ok()
            .map(|it| CatalogFiles::new(&it)),
        naming: configuration.settings.naming.unwrap_or_default(),
        max_subscriptions: args.max_subscriptions,
        shares: reload.attaches,
        ..GatewaySettings::default()
    }));
    if let Some(router) = router {
        gateway.add_workspace(Arc::new(router)).await?;
    }
    let turn = match configuration.servers.is_empty() {
        true => None,
        false => tokio::select! {
            turn = reload.turn() => turn,
            () = signals.stop.next() => return Ok(()),
        },
    };
    // Without the server that the built-in tools take the place of.
    let loaded = reload.load()?;
    gateway.apply(&loaded.members).await;
    let command = match args.stdio {
        true => SERVE_STDIO,
        false => SERVE,
    };
    let published = DataDir::locate(data_dir).ok();
    let published = published.map(|it| PublishedRecord::new(gateway.clone(), &it, command));
    let service = Serving {
        gateway: gateway.clone(),
        reload: Arc::new(reload),
        loaded,
        published: published.map(Arc::new),
    };
    let published = service.published.clone();
    let served = match args.stdio {
        true => service.over_stdio(data_dir, turn, signals).await,
        false => service.over_http(args, data_dir, json, signals).await,
    };
    if let Some(published) = &published {
        published.end().await;
    }
    match served {
        Err(error) if error.is_interrupt() => Err(error),
        served => close(&gateway).await.and(served),
    }
}

/// A gateway with the source of its servers.
struct Serving {
    gateway: Arc<Gateway>,
    reload: Arc<Reload>,
    loaded: Loaded,
    /// Record for other processes; `None` without a data directory.
    published: Option<Arc<PublishedRecord>>,
}

impl Serving {
    /// Serves one client. `turn` ends when other processes can see which servers this one runs.
    async fn over_stdio(
        self,
        data_dir: Option<&Path>,
        turn: Option<Turn>,
        signals: ServingSignals,
    ) -> Result<(), CommandError> {
        let service = Arc::new(ProgressFilter::new(self.limited(self.gateway.clone())));
        let published = self.published.clone().filter(|_| self.reload.attaches);
        let sharing = published.map(|published| {
            let gateway = self.gateway.clone();
            let shared = self.limited(Arc::new(SharedServers(gateway.clone())));
            Sharing::new(gateway, shared, published, data_dir)
        });
        if let Some(sharing) = &sharing {
            sharing.update().await;
        }
        drop(turn);
        let serve = endpoint::serve_stdio(service, signals.stop);
        let served = self
            .while_served(serve, signals.reload, sharing.as_ref())
            .await;
        if let Some(sharing) = &sharing {
            sharing.end().await;
        }
        served
    }

    async fn over_http(
        self,
        args: &Serve,
        data_dir: Option<&Path>,
        json: bool,
        signals: ServingSignals,
    ) -> Result<(), CommandError> {
        let address = endpoint::address(&args.http, self.loaded.configuration.settings.listen)?;
        let running = DataDir::locate(data_dir).ok();
        let running = running.and_then(|data_dir| Registry::new(&data_dir).http_gateway());
        // Clients with our token are agents of the user; others are clients of the issuer.
        let detail = match args.http.issuer {
            Some(_) => ErrorDetail::Nothing,
            None => ErrorDetail::NamesServers,
        };
        let service = self.limited(match detail {
            ErrorDetail::NamesServers => self.gateway.clone(),
            ErrorDetail::Nothing => Arc::new(PublicServers(self.gateway.clone())),
        });
        let (service, header_params) = endpoint::for_clients(service, detail);
        let endpoint = HttpEndpoint::bind(
            &args.http,
            address,
            service,
            header_params,
            data_dir,
            signals.stop,
        )
        .await
        .map_err(|error| match &running {
            Some(running) if is_at(running, address) => error.hint(format!(
                "`callgate serve` runs there already, as process {}",
                running.process.pid
            )),
            _ => error,
        })?;
        let Some(endpoint) = endpoint else {
            return Ok(());
        };
        if let Some(running) = &running {
            output::note(&format!(
                "notice: another `callgate serve` runs already, as process {} at {}; commands use that one, and this one starts the servers again",
                running.process.pid,
                running.url.as_deref().unwrap_or_default()
            ));
        }
        let recorded = RecordedEndpoint {
            url: endpoint.url.clone(),
            auth: match (&args.http.issuer, args.http.no_auth) {
                (Some(_), _) => EndpointAuth::Issuer,
                (None, true) => EndpointAuth::Open,
                (None, false) => EndpointAuth::Token,
            },
        };
        // Before the address is printed: a program that reads it may attach at once.
        if let Some(published) = &self.published {
            published.set_endpoint(Some(recorded)).await;
        }
        self.while_served(endpoint.run(json), signals.reload, None)
            .await
    }

    /// The service, with long texts of results as links unless the configuration wants them whole.
    fn limited(&self, service: Arc<dyn Service>) -> Arc<dyn Service> {
        let settings = &self.loaded.configuration.settings;
        match settings.max_text.unwrap_or_default() {
            MaxText::Off => service,
            MaxText::Bytes(bytes) => Arc::new(LimitedResults::new(service, bytes)),
        }
    }

    /// Serves, and meanwhile keeps servers, records and catalogs current, and logs which servers fail.
    async fn while_served(
        self,
        serve: impl Future<Output = Result<(), CommandError>>,
        reload: ReloadSignal,
        sharing: Option<&Sharing>,
    ) -> Result<(), CommandError> {
        let gateway = &self.gateway;
        let current = keep_current(gateway, self.reload, reload, self.loaded, sharing);
        let current = Box::pin(current);
        tokio::select! {
            served = serve => served,
            never = current => match never {},
            never = log_states(gateway) => match never {},
            never = keep_recorded(gateway, self.published.as_deref()) => match never {},
        }
    }
}

/// True if a running process listens on this address.
fn is_at(running: &InstanceRecord, address: SocketAddr) -> bool {
    let url = running.url.as_deref().unwrap_or_default();
    url == format!("http://{address}/mcp")
}

/// Ends all connections within a limited time, which a signal ends.
async fn close(gateway: &Gateway) -> Result<(), CommandError> {
    let mut stop = StopSignals::listen()?;
    let close = pin!(timeout(stop::GRACE, gateway.close()));
    tokio::select! {
        _ = close => Ok(()),
        () = stop.next() => Err(CommandError::interrupted()),
    }
}

/// The built-in tools; `None` if they are turned off, a configured server has their name, or no directory was chosen and
/// the one of this process is too wide.
fn router(
    args: &Serve,
    configuration: &Configuration,
    data_dir: Option<&Path>,
) -> Result<Option<Router>, CommandError> {
    if args.no_workspace {
        return Ok(None);
    }
    if configuration.server(WORKSPACE).is_some() {
        let message = format!(
            "the configuration has a server `{WORKSPACE}`, which is the name of the built-in tools"
        );
        if args.workspace.is_some() {
            return Err(CommandError::usage(message).hint("give the server another name"));
        }
        output::note(&format!(
            "warning: {message}, so they are left out; give the server another name, or pass --no-workspace"
        ));
        return Ok(None);
    }
    let configured = configuration.settings.workspace.clone();
    let path = match args.workspace.clone().or(configured) {
        Some(path) => path,
        None => match unsuitable_directory() {
            Some(directory) => {
                output::note(&format!(
                    "notice: the workspace tools are left out, since this process was started in {}; pass --workspace DIR to name a directory for them, or --no-workspace to hide this notice",
                    directory.display()
                ));
                return Ok(None);
            }
            None => PathBuf::from("."),
        },
    };
    let workspace = open_workspace(&path, data_dir)?;
    let router = Router::new(server::own_name());
    workspace::add_tools(&router, &workspace).context("cannot register the workspace tools")?;
    // In the background: a large workspace must not delay the first answer.
    tokio::task::spawn_blocking(move || workspace.remove_temporary_files());
    Ok(Some(match args.max_subscriptions {
        Some(max) => router.max_subscriptions(max),
        None => router,
    }))
}

/// The directory of this process, if it is too wide for tools that write.
fn unsuitable_directory() -> Option<PathBuf> {
    let home = env::home_dir().map(|home| resolved(&home));
    let directory = env::current_dir().ok()?;
    is_too_wide(&resolved(&directory), home.as_deref()).then_some(directory)
}

/// True for a directory that has no project but everything of the user: a root, the home directory, or one around
/// it. Clients start their servers there, and it was not chosen for the tools.
fn is_too_wide(directory: &Path, home: Option<&Path>) -> bool {
    directory.parent().is_none() || home.is_some_and(|home| home.starts_with(directory))
}

/// Opens the workspace. A data directory is not for its tools: it holds the token and the logins. That of
/// this process is one, and the one that other processes of the user have by default is another.
fn open_workspace(path: &Path, data_dir: Option<&Path>) -> Result<Workspace, CommandError> {
    let mut workspace = Workspace::open(path)
        .with_context(|| format!("cannot open the workspace {}", path.display()))
        .map_err(|error| CommandError::from(error).hint(NAME_A_DIRECTORY))?;
    // Without a data directory there is nothing to keep.
    let own = DataDir::locate(data_dir).ok();
    if let Some(own) = &own {
        check_apart(path, own)?;
        workspace = workspace.excluding(own.path());
    }
    let other = DataDir::locate(None).ok().filter(|other| {
        let is_own = |own: &DataDir| own.resolved() == other.resolved();
        !own.as_ref().is_some_and(is_own)
    });
    if let Some(other) = &other {
        // One that is not there yet is no reason to warn, and may be made while this process runs.
        if other.path().exists() {
            check_apart(path, other)?;
        }
        workspace = workspace.excluding(other.path());
    }
    Ok(workspace)
}

/// Refuses a workspace in a data directory, and warns of one around it.
fn check_apart(path: &Path, data_dir: &DataDir) -> Result<(), CommandError> {
    let (inner, outer) = (data_dir.resolved(), resolved(path));
    let shown = |text: &str| format!("{} {text} {}", path.display(), data_dir.path().display());
    if outer.starts_with(&inner) {
        let message = shown("is in the data directory");
        return Err(CommandError::usage(message).hint(NAME_A_DIRECTORY));
    }
    if inner.starts_with(&outer) {
        let message = shown("contains the data directory");
        if cfg!(not(unix)) {
            return Err(CommandError::usage(message).hint(NAME_A_DIRECTORY));
        }
        output::note(&format!(
            "warning: the workspace {message}, which its tools cannot use; a smaller workspace is safer"
        ));
    }
    Ok(())
}

const NAME_A_DIRECTORY: &str = "name a directory with --workspace DIR";

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_directory_around_the_home_is_too_wide() {
        for (directory, home, expect) in [
            ("/", Some("/srv/me"), true),
            ("/", None, true),
            ("/srv", Some("/srv/me"), true),
            ("/srv/me", Some("/srv/me"), true),
            ("/srv/me/project", Some("/srv/me"), false),
            ("/srv/m", Some("/srv/me"), false),
            ("/opt", Some("/srv/me"), false),
            ("/opt", None, false),
        ] {
            let found = is_too_wide(Path::new(directory), home.map(Path::new));
            assert_eq!(found, expect, "{directory} {home:?}");
        }
    }
}
