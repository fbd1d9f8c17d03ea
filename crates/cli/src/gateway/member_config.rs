use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use callgate_hub::reconnect::Start;
use callgate_hub::{ServerConfig, ToolChange, ToolPattern, ToolPolicy};
use callgate_mcp::layer::TimeLimits;
use callgate_mcp::transport::child::{CloseBy, InheritEnv};
use callgate_mcp::wire::roots::Root;
use callgate_oauth::Scopes;
use callgate_oauth::store::{ChosenClient, ChosenKind};
use url::Url;

use super::service::GatewaySettings;
use crate::config::definition::{ServerDefinition, StartTime, Timeouts};
use crate::config::load::ConfiguredServer;
use crate::config::resolve::{ResolvedConnection, ResolvedLogin, ResolvedOAuth, ResolvedServer};
use crate::config::template::{self, Expanded};
use crate::data_dir::DataDir;
use crate::debug::secrets_of_configured;
use crate::error::CommandError;
use crate::instance::{EarlierProcess, Registry};
use crate::server::{LoginSpec, ProcessSpec, RemoteSpec, ServerConnector, ServerSpec};

/// Variable with the hash of its definition, for a server that is a program. A `serve` that finds this definition in
/// its own configuration would start itself, without end.
pub(super) const STARTED_AS: &str = "CALLGATE_STARTED_AS";

/// A configured server for the hub. Variables of its definition get their values here.
///
/// # Errors
/// A variable has no value, or the server is not trusted.
pub(super) fn server_config(
    server: &ConfiguredServer,
    settings: &GatewaySettings,
) -> Result<ServerConfig, CommandError> {
    let definition = &server.definition;
    let mut spec = spec_of(server)?;
    let mut earlier = None;
    if let ServerSpec::Process(spec) = &mut spec {
        spec.close_by = settings.close_by;
        let data_dir = DataDir::locate(settings.data_dir.as_deref()).ok();
        earlier = data_dir.map(|data_dir| EarlierProcess {
            registry: Registry::new(&data_dir),
            server: server.name.to_string(),
            definition: server.process_hash().to_string(),
        });
    }
    let connector = ServerConnector {
        secrets: secrets_of_configured(definition, &spec),
        spec,
        data_dir: settings.data_dir.clone(),
        capabilities: settings.capabilities.clone(),
        roots: roots_of(server)?,
        earlier,
    };
    let mut config = ServerConfig::new(server.name.clone(), Arc::new(connector));
    config.enabled = definition.enabled || settings.uses_disabled;
    config.start = match definition.start {
        StartTime::Eager => Start::AtOnce,
        StartTime::Lazy => Start::OnFirstUse,
    };
    config.idle_stop = definition.idle_stop;
    let timeouts = &definition.timeouts;
    if let Some(connect) = timeouts.connect {
        config.connect_timeout = connect;
    }
    config.call_limits = call_limits(timeouts, settings.call_timeout);
    config.tools = tool_policy(definition);
    config.neighbors.clone_from(&server.neighbors);
    if let Some(catalogs) = &settings.catalogs {
        let key = server.definition_hash();
        config.saved_catalog = catalogs.load(key.as_str()).map(|(catalog, _)| catalog);
        config.catalog_key = Some(Arc::from(key.as_str()));
    }
    Ok(config)
}

/// Time limits of the calls to a server. `asked` comes before its own idle limit, and no maximum cuts it short.
pub(crate) fn call_limits(timeouts: &Timeouts, asked: Option<Duration>) -> TimeLimits {
    let mut limits = TimeLimits::default();
    if let Some(idle) = timeouts.call {
        limits = limits.with_idle(idle);
    }
    if let Some(maximum) = timeouts.max {
        limits.maximum = maximum;
    }
    asked.map_or(limits, |asked| limits.with_idle(asked))
}

/// The server with the values of its variables, ready to connect.
pub(crate) fn spec_of(server: &ConfiguredServer) -> Result<ServerSpec, CommandError> {
    let name = server.name.as_arc().clone();
    let ResolvedServer {
        connection,
        file_values,
        ..
    } = server.resolve()?;
    let file_values = file_values.iter().map(|it| it.as_str().to_owned());
    let file_values = file_values.collect();
    let started_as = (STARTED_AS.to_owned(), server.definition_hash().to_string());
    Ok(match connection {
        ResolvedConnection::Command(command) => ServerSpec::Process(ProcessSpec {
            name,
            program: command.program.as_str().to_owned(),
            args: command
                .args
                .iter()
                .map(|it| it.as_str().to_owned())
                .collect(),
            env: owned(&command.env)
                .into_iter()
                .chain([started_as])
                .collect(),
            file_values,
            cwd: command.cwd,
            inherit_env: match command.inherit_all {
                true => InheritEnv::All,
                false => InheritEnv::AllowList,
            },
            close_by: CloseBy::ThisProcess,
        }),
        ResolvedConnection::Url(url) => ServerSpec::Remote(Box::new(RemoteSpec {
            name,
            headers: owned(&url.headers),
            headers_helper: url.headers_helper,
            file_values,
            login: login(&url.oauth)?,
            url: url.url,
            transport: url.transport,
            ca_file: None,
        })),
    })
}

/// Roots of a server: URIs as they are, paths from the directory of their file.
fn roots_of(server: &ConfiguredServer) -> Result<Vec<Root>, CommandError> {
    if server.definition.roots.is_empty() {
        return Ok(Vec::new());
    }
    let directory = server.origin.path.parent().unwrap_or(Path::new("."));
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let root = |text: &str| {
        if text.contains("://") {
            return Ok(Root::new(text));
        }
        let path = template::path(text, directory, home.as_deref());
        let uri = Url::from_directory_path(&path);
        let uri = uri.map_err(|()| {
            let message = format!(
                "the root {} of `{}` is not absolute",
                path.display(),
                server.name
            );
            CommandError::usage(message).hint("write the whole path, or a file: URI")
        })?;
        Ok(Root::new(uri.as_str().trim_end_matches('/')))
    };
    let resolved = server.resolve()?;
    resolved
        .roots
        .iter()
        .map(|text| root(text.as_str()))
        .collect()
}

fn login(oauth: &ResolvedOAuth) -> Result<LoginSpec, CommandError> {
    let login = match oauth {
        ResolvedOAuth::Off => {
            return Ok(LoginSpec {
                is_off: true,
                ..LoginSpec::default()
            });
        }
        ResolvedOAuth::On(login) => login,
    };
    let scopes: Scopes = login.scopes.iter().collect();
    if let Some(word) = login.scopes.iter().find(|word| !scopes.contains(word)) {
        return Err(CommandError::usage(format!("`{word}` is not a scope"))
            .hint("write each scope of `oauth.scope` as the server names it"));
    }
    Ok(LoginSpec {
        account: login.account.clone(),
        client: chosen_client(login),
        scopes: (!login.scopes.is_empty()).then_some(scopes),
        callback_port: login.callback_port,
        options: login.options.clone(),
        ..LoginSpec::default()
    })
}

/// Client of the configuration, which was registered by hand.
fn chosen_client(login: &ResolvedLogin) -> Option<ChosenClient> {
    let mut client = ChosenClient::new(login.client_id.clone()?, ChosenKind::Registered);
    client.client_secret.clone_from(&login.client_secret);
    Some(client)
}

/// Filter and changes of the tools of a server.
pub(crate) fn tool_policy(definition: &ServerDefinition) -> ToolPolicy {
    let patterns = |texts: &[String]| texts.iter().map(ToolPattern::new).collect();
    let mut policy = ToolPolicy::new();
    policy.allow = definition.allowed_tools.as_deref().map(patterns);
    policy.deny = patterns(&definition.disabled_tools);
    for (own, written) in &definition.tools {
        let mut change = ToolChange::new();
        change.name.clone_from(&written.name);
        change.description.clone_from(&written.description);
        change.hidden = written.hidden;
        change.fixed.clone_from(&written.fixed);
        change.defaults.clone_from(&written.defaults);
        policy.changes.insert(own.clone(), change);
    }
    policy
}

fn owned(pairs: &[(String, Expanded)]) -> Vec<(String, String)> {
    let pairs = pairs.iter();
    pairs
        .map(|(name, value)| (name.clone(), value.as_str().to_owned()))
        .collect()
}
