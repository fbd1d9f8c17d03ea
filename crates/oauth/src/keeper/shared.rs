use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use url::Url;

use super::clock::unix_time;
use super::config::Config;
use super::error::{KeeperError, NeedsLogin, Reason};
use super::flight::{Flight, Kind};
use super::held::{Held, Source};
use super::vault::Vault;
use crate::Challenge;
use crate::store::Login;

/// What a keeper shares with the tasks that get its tokens.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) config: Config,
    pub(super) vault: Vault,
    held: Mutex<Held>,
}

/// What the server said when it refused a request.
#[derive(Debug, Clone, Default)]
pub(super) struct Circumstances {
    pub(super) challenge: Option<Challenge>,
    pub(super) peer: Option<IpAddr>,
}

impl Shared {
    pub(super) fn new(config: Config) -> Self {
        Self {
            vault: Vault::new(&config),
            config,
            held: Mutex::default(),
        }
    }

    pub(super) fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks into the vault, unless that has been done.
    pub(super) async fn load(&self) -> Result<(), KeeperError> {
        if self.held().is_loaded {
            return Ok(());
        }
        let login = self.vault.login().await?;
        let login = if self.is_for_server(&login) {
            login
        } else {
            Login::default()
        };
        let (luck, now) = (luck(), unix_time());
        let mut held = self.held();
        if held.is_loaded {
            return Ok(());
        }
        if let Err(error) = held.adopt(login, Source::Vault, luck, now) {
            // Without a token the server asks for one, and whoever gets it replaces this login.
            tracing::warn!(%error, server = %self.config.name, "a login cannot be used");
        }
        Ok(())
    }

    /// Uses the tokens of `login` from now on.
    pub(super) fn adopt(&self, login: Login, source: Source) -> Result<(), KeeperError> {
        let (luck, now) = (luck(), unix_time());
        self.held().adopt(login, source, luck, now)
    }

    /// Whether `login` was made for this server, however its address was written.
    pub(super) fn is_for_server(&self, login: &Login) -> bool {
        let url = login.server_url.as_deref();
        url.and_then(|url| Url::parse(url).ok()).as_ref() == Some(&self.config.server)
    }

    /// What is known without a refusal at hand.
    pub(super) fn remembered(&self) -> Circumstances {
        self.remembered_with(&Login::default())
    }

    /// The same, with what `login` tells.
    pub(super) fn remembered_with(&self, login: &Login) -> Circumstances {
        let held = self.held();
        let resource_metadata = login.resource_metadata.as_ref();
        let resource_metadata = resource_metadata.or(held.resource_metadata.as_ref());
        let resource_metadata = resource_metadata.cloned();
        Circumstances {
            challenge: resource_metadata.is_some().then(|| Challenge {
                resource_metadata,
                ..Challenge::default()
            }),
            peer: held.peer,
        }
    }

    /// Says that a person has to log in.
    pub(super) fn needs_login(&self, reason: Reason) -> KeeperError {
        KeeperError::NeedsLogin(NeedsLogin {
            server: self.config.server.clone(),
            reason,
        })
    }

    /// Has a task do `work`, which `held` then knows about.
    pub(super) fn start<F>(self: &Arc<Self>, held: &mut Held, kind: Kind, work: F) -> Flight
    where
        F: Future<Output = Result<(), KeeperError>> + Send + 'static,
    {
        let (flight, landing) = Flight::new(kind);
        held.flight = Some(flight.clone());
        let shared = self.clone();
        tokio::spawn(async move {
            let outcome = work.await.map_err(Arc::new);
            shared.held().flight = None;
            landing.send_replace(Some(outcome));
        });
        flight
    }
}

/// A number from 0 to 1.
pub(super) fn luck() -> f64 {
    let mut bytes = [0; 4];
    match getrandom::fill(&mut bytes) {
        Ok(()) => f64::from(u32::from_ne_bytes(bytes)) / f64::from(u32::MAX),
        Err(_) => 0.5,
    }
}
