//! Changes from outside while servers run: of the configuration, of logins, and of the gateway that this process uses.

use std::collections::HashMap;
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use std::{env, fs};

use callgate_hub::ServerName;
use callgate_oauth::store::Login;
use tokio::time::sleep;

use super::member_config::STARTED_AS;
use super::plan::{Member, plan};
use super::service::Gateway;
use crate::config::definition::Connection;
use crate::config::load::{Configuration, ConfiguredServer, load};
use crate::config::places::LoadOptions;
use crate::config::resolve::{ResolvedConnection, ResolvedOAuth};
use crate::config::trust;
use crate::data_dir::DataDir;
use crate::error::CommandError;
use crate::instance::Registry;
use crate::logins::{self, Logins};
use crate::stop::ReloadSignal;

/// Source of the servers of a process.
pub(crate) struct Reload {
    pub(crate) options: LoadOptions,
    pub(crate) data_dir: Option<PathBuf>,
    /// True if the servers of a running gateway are used through it.
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

impl Reload {
    /// Reads the servers that this process is to have now.
    pub(crate) fn load(&self) -> Result<Loaded, CommandError> {
        let stamps = self.stamps();
        let mut configuration = load(&self.options)?;
        leave_out_siblings(&mut configuration, env::var(STARTED_AS).ok().as_deref());
        if let Some(reserved) = self.reserved {
            let servers = &mut configuration.servers;
            servers.retain(|server| server.name.as_str() != reserved);
        }
        let data_dir = DataDir::locate(self.data_dir.as_deref()).ok();
        let gateway = data_dir
            .filter(|_| self.attaches)
            .and_then(|data_dir| Registry::new(&data_dir).gateway());
        let members = plan(&configuration, gateway.as_ref());
        Ok(Loaded {
            configuration,
            members,
            stamps,
        })
    }

    fn stamps(&self) -> Stamps {
        let data_dir = DataDir::locate(self.data_dir.as_deref()).ok();
        let mut paths = self.options.watched_files();
        // A project file that the user trusts meanwhile is the same file.
        paths.extend(data_dir.as_ref().map(|data_dir| data_dir.file(trust::FILE)));
        let gateway = data_dir
            .filter(|_| self.attaches)
            .and_then(|data_dir| Registry::new(&data_dir).gateway());
        Stamps {
            files: paths.iter().map(|path| stamp(path)).collect(),
            gateway: gateway.map(|gateway| gateway.process.pid),
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

/// Applies changes of the configuration and of logins until the future is dropped.
///
/// The files are looked at each second: their times and sizes, and their content only if those changed. A
/// configuration with a mistake is reported, and the servers stay as they are.
pub(crate) async fn keep_current(
    gateway: &Gateway,
    reload: Arc<Reload>,
    mut signal: ReloadSignal,
    first: Loaded,
) -> Infallible {
    let mut stamps = first.stamps;
    let mut logins = LoginWatch::new(&reload, &first.configuration).await;
    loop {
        let is_asked = tokio::select! {
            () = sleep(INTERVAL) => false,
            () = signal.next() => true,
        };
        for name in logins.changed(&reload).await {
            gateway.login_changed(&name);
        }
        let now = reload.stamps();
        if is_asked || now != stamps {
            // Taken before the files are read, and kept after a mistake, which is reported once.
            stamps = now;
            let reader = reload.clone();
            // Files are read, and the keychain is not asked.
            let read = tokio::task::spawn_blocking(move || reader.load()).await;
            match read {
                // The entry may be that of a server that runs.
                Ok(Ok(loaded)) if !loaded.configuration.faulty.is_empty() => {
                    for faulty in &loaded.configuration.faulty {
                        faulty.error().warn("the configuration is not reloaded");
                    }
                }
                Ok(Ok(loaded)) => {
                    gateway.apply(&loaded.members).await;
                    logins.follow(&reload, &loaded.configuration).await;
                }
                Ok(Err(error)) => error.warn("the configuration is not reloaded"),
                Err(error) => tracing::warn!(%error, "the configuration is not reloaded"),
            }
        }
    }
}

/// Time and size of a file; `None` if there is none.
type Stamp = Option<(SystemTime, u64)>;

/// All that decides about the servers, as far as a look at the files shows it.
#[derive(Debug, PartialEq)]
struct Stamps {
    /// In the order of [`LoadOptions::watched_files`], and the list of trusted files.
    files: Vec<Stamp>,
    /// Process number of the running gateway.
    gateway: Option<u32>,
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

    /// Watches the logins of these servers from now on.
    async fn follow(&mut self, reload: &Reload, configuration: &Configuration) {
        let servers = configuration.servers.iter();
        self.servers = servers.filter_map(login_of).collect();
        self.stamp = self.file.as_deref().and_then(stamp);
        self.known = self.read(reload).await;
    }

    /// Servers whose login is another one than before. Other logins change whenever one is renewed, which is no
    /// reason to contact a server that waits for its own.
    async fn changed(&mut self, reload: &Reload) -> Vec<ServerName> {
        let now = self.file.as_deref().and_then(stamp);
        if now == self.stamp || self.servers.is_empty() {
            return Vec::new();
        }
        self.stamp = now;
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
