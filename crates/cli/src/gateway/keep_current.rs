//! Changes from outside while servers run: of the configuration, of logins, and of the gateway that this process uses.

use std::collections::HashMap;
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use std::{env, fs};

use callgate_hub::ServerName;
use callgate_oauth::store::Login;
use tokio::time::{Instant, sleep};

use super::member_config::STARTED_AS;
use super::plan::{Current, Member, plan};
use super::service::Gateway;
use super::sharing::Sharing;
use crate::config::definition::Connection;
use crate::config::load::{Configuration, ConfiguredServer, load};
use crate::config::places::LoadOptions;
use crate::config::resolve::{ResolvedConnection, ResolvedOAuth};
use crate::config::trust;
use crate::data_dir::DataDir;
use crate::error::CommandError;
use crate::instance::{InstanceRecord, ProcessIdentity, Registry, Turn};
use crate::logins::{self, Logins};
use crate::stop::ReloadSignal;

/// Source of the servers of a process.
pub(crate) struct Reload {
    pub(crate) options: LoadOptions,
    pub(crate) data_dir: Option<PathBuf>,
    /// True if servers are used through other processes that run them, and shared with them.
    pub(crate) attaches: bool,
    /// Names that servers of the configuration cannot have here.
    pub(crate) reserved: Option<&'static str>,
}

/// The configuration and its servers, as they were read.
pub(crate) struct Loaded {
    pub(crate) configuration: Configuration,
    pub(crate) members: Vec<Member>,
    /// Taken before the files were read, so that a change during the reading is seen later.
    stamps: Stamps,
}

/// Time for which a process waits for its turn. It is less than clients give a server to start, and another process
/// needs as much only while it ends servers.
const TURN: Duration = Duration::from_secs(5);

impl Reload {
    /// The right to decide which servers this process connects itself; `None` where it is not asked for, or cannot be
    /// had. It is kept until the servers are applied and told to other processes.
    pub(crate) async fn turn(&self) -> Option<Turn> {
        let data_dir = DataDir::locate(self.data_dir.as_deref()).ok();
        let data_dir = data_dir.filter(|_| self.attaches)?;
        match Registry::new(&data_dir).turn(TURN).await {
            Ok(Some(turn)) => return Some(turn),
            Ok(None) => tracing::warn!("another process decides for long which servers it starts"),
            Err(error) => tracing::warn!("other processes may start the same servers: {error:#}"),
        }
        None
    }

    /// Reads the servers that a process without servers is to have now.
    pub(crate) fn load(&self) -> Result<Loaded, CommandError> {
        let stamps = self.stamps();
        let configuration = self.configuration()?;
        let members = self.members(&configuration, &Current::default());
        Ok(Loaded {
            configuration,
            members,
            stamps,
        })
    }

    fn configuration(&self) -> Result<Configuration, CommandError> {
        let mut configuration = load(&self.options)?;
        leave_out_siblings(&mut configuration, env::var(STARTED_AS).ok().as_deref());
        if let Some(reserved) = self.reserved {
            let servers = &mut configuration.servers;
            servers.retain(|server| server.name.as_str() != reserved);
        }
        Ok(configuration)
    }

    /// The servers beside the other processes that run now.
    fn members(&self, configuration: &Configuration, current: &Current) -> Vec<Member> {
        plan(configuration, self.gateways(), current)
    }

    fn gateways(&self) -> Vec<InstanceRecord> {
        let data_dir = DataDir::locate(self.data_dir.as_deref()).ok();
        let gateways = data_dir
            .filter(|_| self.attaches)
            .map(|data_dir| Registry::new(&data_dir).gateways());
        gateways.unwrap_or_default()
    }

    fn stamps(&self) -> Stamps {
        let data_dir = DataDir::locate(self.data_dir.as_deref()).ok();
        let mut paths = self.options.watched_files();
        // A project file that the user trusts meanwhile is the same file.
        paths.extend(data_dir.map(|data_dir| data_dir.file(trust::FILE)));
        let gateways = self.gateways().into_iter().map(|gateway| {
            let servers = gateway.definitions();
            let servers =
                servers.map(|(name, definition)| (name.to_owned(), definition.to_owned()));
            GatewayStamp {
                process: gateway.process,
                is_serve: gateway.is_serve(),
                servers: servers.collect(),
            }
        });
        Stamps {
            files: paths.iter().map(|path| stamp(path)).collect(),
            gateways: gateways.collect(),
        }
    }
}

/// Leaves out the servers of a configuration with the definition as which this process was started: it would start
/// itself, and the process that started it has the others already.
fn leave_out_siblings(configuration: &mut Configuration, started_as: Option<&str>) {
    let is_this =
        |server: &&ConfiguredServer| Some(server.definition_hash().as_str()) == started_as;
    if let Some(this) = configuration.servers.iter().find(is_this) {
        configuration.notices.push(format!(
            "this process is the server `{}` of its own configuration, so it serves no other of it",
            this.name
        ));
        configuration.servers.clear();
    }
}

/// Time between two looks at the files.
const INTERVAL: Duration = Duration::from_secs(1);

/// Time for which a process leaves a change to others: more than the interval in which each of them looks.
const DELAY: Duration = Duration::from_millis(1500);

/// Applies changes of the configuration and of logins until the future is dropped.
///
/// The files are looked at each second: their times and sizes, and their content only if those changed. A
/// configuration with a mistake is reported, and the servers stay as they are.
pub(crate) async fn keep_current(
    gateway: &Gateway,
    reload: Arc<Reload>,
    mut signal: ReloadSignal,
    first: Loaded,
    sharing: Option<&Sharing>,
) -> Infallible {
    let mut stamps = first.stamps;
    let mut known = Arc::new(first.configuration);
    let mut logins = LoginWatch::new(&reload, &known).await;
    let mut delayed: Option<Instant> = None;
    loop {
        let is_asked = tokio::select! {
            () = sleep(INTERVAL) => false,
            () = gateway.attached_ended() => false,
            () = signal.next() => true,
        };
        for name in logins.changed(&reload).await {
            gateway.login_changed(&name);
        }
        let now = reload.stamps();
        let are_files_new = is_asked || now.files != stamps.files;
        if !are_files_new && now == stamps {
            delayed = None;
            continue;
        }
        // The process that runs the servers sees a new configuration within the same second. It comes first: until
        // then its servers are not those of the configuration, and this process would start them itself. It comes last
        // when it leaves its servers to a `serve`: those that use them here are to be there before.
        let is_later = match are_files_new {
            true => gateway.is_attached(),
            false => gateway.runs_servers() && now.has_new_serve(&stamps),
        };
        if is_later && !is_asked && delayed.get_or_insert_with(Instant::now).elapsed() < DELAY {
            continue;
        }
        delayed = None;
        // Taken before the files are read, and kept after a mistake, which is reported once.
        stamps = now;
        let _turn = reload.turn().await;
        let read = match are_files_new {
            true => read(&reload).await,
            false => None,
        };
        let is_new = read.is_some();
        if let Some(read) = read {
            known = Arc::new(read);
        }
        if is_new {
            // Before servers are connected: a login that is stored from now on is seen at the next look.
            for name in logins.follow(&reload, &known).await {
                gateway.login_changed(&name);
            }
        }
        let (planner, configuration, current) = (reload.clone(), known.clone(), gateway.current());
        let planned = move || planner.members(&configuration, &current);
        match tokio::task::spawn_blocking(planned).await {
            Ok(members) => gateway.apply(&members).await,
            Err(error) => tracing::warn!(%error, "the servers stay as they are"),
        }
        if let Some(sharing) = sharing {
            sharing.update().await;
        }
    }
}

/// Reads the configuration; `None` if it has a mistake, which is reported.
async fn read(reload: &Arc<Reload>) -> Option<Configuration> {
    let reader = reload.clone();
    // Files are read, and the keychain is not asked.
    let read = tokio::task::spawn_blocking(move || reader.configuration()).await;
    match read {
        // The entry may be that of a server that runs.
        Ok(Ok(configuration)) if !configuration.faulty.is_empty() => {
            for faulty in &configuration.faulty {
                faulty.error().warn("the configuration is not reloaded");
            }
        }
        Ok(Ok(configuration)) => return Some(configuration),
        Ok(Err(error)) => error.warn("the configuration is not reloaded"),
        Err(error) => tracing::warn!(%error, "the configuration is not reloaded"),
    }
    None
}

/// Time and size of a file; `None` if there is none.
type Stamp = Option<(SystemTime, u64)>;

/// All that decides about the servers, as far as a look at the files shows it.
#[derive(Debug, PartialEq)]
struct Stamps {
    /// In the order of [`LoadOptions::watched_files`], and the list of trusted files.
    files: Vec<Stamp>,
    /// The other processes that can be used.
    gateways: Vec<GatewayStamp>,
}

#[derive(Debug, PartialEq)]
struct GatewayStamp {
    process: ProcessIdentity,
    is_serve: bool,
    /// Names of its servers, and the hashes of their definitions.
    servers: Vec<(String, String)>,
}

impl Stamps {
    /// True if a `serve` over HTTP is there that was not there before.
    fn has_new_serve(&self, before: &Self) -> bool {
        let mut gateways = self.gateways.iter();
        gateways.any(|gateway| gateway.is_serve && !before.gateways.contains(gateway))
    }
}

fn stamp(path: &Path) -> Stamp {
    let found = fs::metadata(path).ok()?;
    Some((found.modified().ok()?, found.len()))
}

/// The stored logins of the servers, without their secrets.
struct LoginWatch {
    file: Option<PathBuf>,
    stamp: Stamp,
    servers: Vec<(ServerName, url::Url, Option<String>)>,
    known: HashMap<ServerName, Option<Login>>,
}

impl LoginWatch {
    async fn new(reload: &Reload, configuration: &Configuration) -> Self {
        let data_dir = DataDir::locate(reload.data_dir.as_deref()).ok();
        let mut watch = Self {
            file: data_dir.map(|data_dir| data_dir.file(logins::FILE)),
            stamp: None,
            servers: Vec::new(),
            known: HashMap::new(),
        };
        watch.follow(reload, configuration).await;
        watch
    }

    /// Watches the logins of these servers from now on. Returns those that were watched before and have another login
    /// by now.
    async fn follow(&mut self, reload: &Reload, configuration: &Configuration) -> Vec<ServerName> {
        let servers = configuration.servers.iter();
        let servers = servers.filter_map(login_of).collect();
        let before = std::mem::replace(&mut self.servers, servers);
        self.stamp = self.file.as_deref().and_then(stamp);
        let mut changed = self.read_changes(reload).await;
        changed.retain(|name| {
            let mut servers = self.servers.iter().filter(|server| before.contains(server));
            servers.any(|(same, ..)| same == name)
        });
        changed
    }

    /// Servers whose login is another one than before. Other logins change whenever one is renewed, which is no
    /// reason to contact a server that waits for its own.
    async fn changed(&mut self, reload: &Reload) -> Vec<ServerName> {
        let now = self.file.as_deref().and_then(stamp);
        if now == self.stamp || self.servers.is_empty() {
            return Vec::new();
        }
        self.stamp = now;
        self.read_changes(reload).await
    }

    /// Reads the logins, and returns the servers whose login is another one than before.
    async fn read_changes(&mut self, reload: &Reload) -> Vec<ServerName> {
        let read = self.read(reload).await;
        let changed = read
            .iter()
            .filter(|(name, login)| self.known.get(*name) != Some(*login));
        let changed = changed.map(|(name, _)| name.clone()).collect();
        self.known = read;
        changed
    }

    async fn read(&self, reload: &Reload) -> HashMap<ServerName, Option<Login>> {
        let (servers, data_dir) = (self.servers.clone(), reload.data_dir.clone());
        let read = move || {
            let Ok(logins) = Logins::open(data_dir.as_deref()) else {
                return HashMap::new();
            };
            let login = |url: &url::Url, account: Option<&str>| {
                let account = logins.account_at(url, account).ok()?;
                logins.store().login_without_secrets(&account.name).ok()?
            };
            servers
                .into_iter()
                .map(|(name, url, account)| {
                    let login = login(&url, account.as_deref());
                    (name, login)
                })
                .collect()
        };
        tokio::task::spawn_blocking(read).await.unwrap_or_default()
    }
}

/// URL and account of a server that may have a login.
fn login_of(server: &ConfiguredServer) -> Option<(ServerName, url::Url, Option<String>)> {
    if !server.trusted || !matches!(server.definition.connection, Connection::Url(_)) {
        return None;
    }
    let ResolvedConnection::Url(url) = server.resolve().ok()?.connection else {
        return None;
    };
    match url.oauth {
        ResolvedOAuth::Off => None,
        ResolvedOAuth::On(login) => Some((server.name.clone(), url.url, login.account)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reload(directory: &Path) -> Reload {
        let config = directory.join("config.json");
        let text = r#"{"mcpServers":{"s":{"url":"https://s.example/mcp"}}}"#;
        fs::write(&config, text).unwrap();
        Reload {
            options: LoadOptions {
                config: Some(config),
                current_dir: directory.to_owned(),
                data_dir: Some(directory.to_owned()),
                user_dir: None,
                home: None,
            },
            data_dir: Some(directory.to_owned()),
            attaches: false,
            reserved: None,
        }
    }

    fn store_login(directory: &Path) {
        let url = "https://s.example/mcp".to_owned();
        let logins = Logins::open(Some(directory)).unwrap();
        let stored = logins.store().update(&url.clone(), |login| {
            login.server_url = Some(url);
        });
        stored.unwrap();
    }

    #[tokio::test]
    async fn a_login_that_is_stored_during_a_change_of_the_configuration_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let reload = reload(directory.path());
        let configuration = reload.configuration().unwrap();
        let mut watch = LoginWatch::new(&reload, &configuration).await;
        let nothing: [ServerName; 0] = [];
        assert_eq!(watch.follow(&reload, &configuration).await, nothing);
        store_login(directory.path());
        let server = ServerName::new("s").unwrap();
        assert_eq!(watch.follow(&reload, &configuration).await, [server]);
        assert_eq!(watch.changed(&reload).await, nothing);
    }

    #[tokio::test]
    async fn the_login_of_a_new_server_is_what_it_is_connected_with() {
        let directory = tempfile::tempdir().unwrap();
        let reload = reload(directory.path());
        let mut watch = LoginWatch::new(&reload, &Configuration::default()).await;
        store_login(directory.path());
        let configuration = reload.configuration().unwrap();
        let nothing: [ServerName; 0] = [];
        assert_eq!(watch.follow(&reload, &configuration).await, nothing);
    }
}
