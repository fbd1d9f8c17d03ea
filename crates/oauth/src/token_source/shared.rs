use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use url::Url;

use super::cache::{TokenCache, TokenOrigin};
use super::clock::unix_time;
use super::config::Config;
use super::error::{LoginReason, NeedsLogin, TokenError};
use super::single_flight::{FlightKind, SingleFlight};
use super::storage::LoginStorage;
use crate::Challenge;
use crate::store::Login;

/// State that a token source shares with its background task.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) config: Config,
    pub(super) storage: LoginStorage,
    cache: Mutex<TokenCache>,
    /// Set while the task waits for the user, and for nothing else.
    pub(super) waits_for_user: watch::Sender<bool>,
}

/// Refusal of a request by the MCP server.
#[derive(Debug, Clone, Default)]
pub(super) struct ServerRefusal {
    pub(super) challenge: Option<Challenge>,
    pub(super) peer: Option<IpAddr>,
}

impl Shared {
    pub(super) fn new(config: Config) -> Self {
        Self {
            storage: LoginStorage::new(&config),
            config,
            cache: Mutex::default(),
            waits_for_user: watch::Sender::new(false),
        }
    }

    pub(super) fn cache(&self) -> MutexGuard<'_, TokenCache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the store, once.
    pub(super) async fn load(&self) -> Result<(), TokenError> {
        if self.cache().is_loaded {
            return Ok(());
        }
        let login = self.storage.login().await?;
        let login = if self.is_for_server(&login) {
            login
        } else {
            Login::default()
        };
        let (jitter, now) = (jitter(), unix_time());
        let mut cache = self.cache();
        // Another request may have loaded it meanwhile, and a newer token may be in the cache by now.
        if cache.is_loaded {
            return Ok(());
        }
        if let Err(error) = cache.adopt(login, TokenOrigin::Store, jitter, now) {
            // Without a token, the server answers with a challenge, and the login that follows
            // replaces this one.
            tracing::warn!(%error, server = %self.config.name, "the stored login cannot be used");
        }
        Ok(())
    }

    /// Replaces the cached token by that of `login`.
    pub(super) fn adopt(&self, login: Login, origin: TokenOrigin) -> Result<(), TokenError> {
        let (jitter, now) = (jitter(), unix_time());
        self.cache().adopt(login, origin, jitter, now)
    }

    /// Compares the URLs after parsing, because they may be spelled differently.
    pub(super) fn is_for_server(&self, login: &Login) -> bool {
        let url = login.server_url.as_deref();
        url.and_then(|url| Url::parse(url).ok()).as_ref() == Some(&self.config.server)
    }

    /// Last known challenge and address of the server.
    pub(super) fn known_refusal(&self) -> ServerRefusal {
        self.known_refusal_with(&Login::default())
    }

    /// The same, with the metadata URL of `login` first.
    pub(super) fn known_refusal_with(&self, login: &Login) -> ServerRefusal {
        let cache = self.cache();
        let resource_metadata = login.resource_metadata.as_ref();
        let resource_metadata = resource_metadata.or(cache.resource_metadata.as_ref());
        let resource_metadata = resource_metadata.cloned();
        ServerRefusal {
            challenge: resource_metadata.is_some().then(|| Challenge {
                resource_metadata,
                ..Challenge::default()
            }),
            peer: cache.peer,
        }
    }

    /// Error that asks the user to log in.
    pub(super) fn needs_login(&self, reason: LoginReason) -> TokenError {
        TokenError::NeedsLogin(Box::new(NeedsLogin {
            server: self.config.server.clone(),
            account: self.config.account.clone(),
            reason,
        }))
    }

    /// Spawns the single flight for `work`, and registers it in the cache.
    pub(super) fn start<F>(
        self: &Arc<Self>,
        cache: &mut TokenCache,
        kind: FlightKind,
        work: F,
    ) -> SingleFlight
    where
        F: Future<Output = Result<(), TokenError>> + Send + 'static,
    {
        let (flight, completion) = SingleFlight::new(kind);
        cache.flight = Some(flight.clone());
        let shared = self.clone();
        tokio::spawn(async move {
            let outcome = work.await.map_err(Arc::new);
            shared.cache().flight = None;
            completion.send_replace(Some(outcome));
        });
        flight
    }
}

pub(super) fn jitter() -> f64 {
    let mut bytes = [0; 4];
    match getrandom::fill(&mut bytes) {
        Ok(()) => f64::from(u32::from_ne_bytes(bytes)) / f64::from(u32::MAX),
        // Jitter is no secret, so a system without random numbers can do without it.
        Err(_) => 0.5,
    }
}
