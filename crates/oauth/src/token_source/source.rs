use std::sync::Arc;
use std::time::Duration;

use callgate_mcp::transport::http::client::{Authorizer, Credentials, Outgoing, Refused, Verdict};
use callgate_mcp::{BoxFuture, Error};
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue, StatusCode};
use tokio::time::timeout;
use url::Url;

use super::cache::{RetryPlan, TokenCache};
use super::clock::unix_time;
use super::config::Config;
use super::credentials::challenge;
use super::error::TokenError;
use super::freshness::Freshness;
use super::probe;
use super::refresh::{RefreshOutcome, RefreshUrgency};
use super::revocation::Revocation;
use super::shared::{ServerRefusal, Shared};
use super::single_flight::{FlightKind, FlightOutcome, SingleFlight};
use super::status::{LoginState, LoginStatus};
use crate::Challenge;

/// Gets the access tokens for one server, stores them and refreshes them.
///
/// Refreshes a token once for all waiting requests, token sources and processes (single flight).
/// A token is refreshed before it expires, while requests go on with the old one.
/// Tokens are deleted only if the authorization server has revoked them.
/// Dropping any of the futures is safe: the task that gets a token goes on, and the next request uses it.
///
/// ```no_run
/// use callgate_mcp::transport::http::client::{self, ModernHttpClient};
/// use callgate_oauth::fetch::{self, Fetcher};
/// use callgate_oauth::token_source::{Config, TokenSource};
/// use callgate_oauth::store::{LoginStore, StoreLimits};
///
/// let url = "https://api.githubcopilot.com/mcp/";
/// let mut config = Config::new("github", url.parse()?, Fetcher::new(fetch::Config::default())?);
/// config.store = Some(LoginStore::new("mcp-auth.json", StoreLimits::default()));
/// let mut http = client::HttpConfig::new("github");
/// http.authorizer = Some(TokenSource::new(config));
/// let client = ModernHttpClient::new(url, http)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct TokenSource {
    pub(super) shared: Arc<Shared>,
}

/// Condition for a new login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoginMode {
    /// Log in only if the server refuses the stored login.
    IfNeeded,
    /// Log in even if the stored login works.
    Again,
}

/// Time that a request waits for an early refresh. After that it is sent with the old token, which
/// still works.
const EARLY_REFRESH_WAIT: Duration = Duration::from_secs(2);
/// Time limit for the probe before a logout. Without an answer the logout goes on with what is known.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

impl TokenSource {
    /// Creates the token source. Nothing is read or sent yet.
    #[must_use]
    pub fn new(config: Config) -> Arc<Self> {
        Arc::new(Self {
            shared: Arc::new(Shared::new(config)),
        })
    }

    /// URL of the server.
    #[must_use]
    pub fn server(&self) -> &Url {
        &self.shared.config.server
    }

    /// Ensures that there is a login; asks the user if necessary.
    ///
    /// # Errors
    /// The login failed; [`TokenError::Unwanted`] if the server needs none.
    pub async fn log_in(self: &Arc<Self>, when: LoginMode) -> Result<LoginStatus, Arc<TokenError>> {
        let config = &self.shared.config;
        if when == LoginMode::IfNeeded {
            self.shared.load().await?;
            if self.shared.cache().token.is_some() {
                // A refused probe is handled like any refused request: by a refresh or a login.
                let outcome = probe::request(config, self.clone()).await;
                outcome.map_err(TokenError::behind)?;
                let status = self.status().await?;
                if status.state == LoginState::LoggedIn {
                    return Ok(status);
                }
            }
        }
        let refusal = match probe::refusal(config).await? {
            None if probe::is_open(config).await => return Err(TokenError::Unwanted.into()),
            // A server that answers this request without a token may refuse others, so the login goes on.
            refusal => refusal.unwrap_or_default(),
        };
        self.remember_refusal(&refusal);
        let shared = self.shared.clone();
        let work = Box::pin(async move { shared.log_in(refusal).await });
        self.run_exclusively(work).await?;
        Ok(self.status().await?)
    }

    /// Logs out: revokes the tokens and deletes the login from the store.
    ///
    /// # Errors
    /// The login could not be deleted.
    pub async fn log_out(&self) -> Result<Revocation, TokenError> {
        // The address of the server decides which hosts the tokens may be sent to, so it is asked
        // first.
        let probe = probe::refusal(&self.shared.config);
        if let Ok(Ok(Some(refusal))) = timeout(PROBE_TIMEOUT, probe).await {
            self.remember_refusal(&refusal);
        }
        self.shared.log_out().await
    }

    /// Status of the stored login.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn status(&self) -> Result<LoginStatus, TokenError> {
        Ok(LoginStatus::of(&self.shared.storage.login().await?))
    }

    /// Waits until no task is getting a token.
    ///
    /// A program must call this before it exits, or it may lose a refresh token that was issued
    /// only once.
    pub async fn wait_idle(&self) {
        loop {
            let flight = in_flight(&self.shared.cache());
            let Some(flight) = flight else { break };
            // The requests that wait for the token report the error.
            drop(flight.end().await);
        }
        if let Err(error) = self.shared.save_unsaved().await {
            tracing::error!(%error, server = %self.shared.config.name, "a refreshed token could not be stored and is lost");
        }
    }

    /// Waits until an exit loses nothing: like [`wait_idle`](Self::wait_idle), but not for a user who
    /// is being asked.
    pub async fn wait_settled(&self) {
        let mut waits_for_user = self.shared.waits_for_user.subscribe();
        tokio::select! {
            () = self.wait_idle() => {}
            // An error is impossible while this token source has the sender.
            _ = waits_for_user.wait_for(|it| *it) => {}
        }
    }

    /// Runs `work` as the single flight, after the one that is running.
    async fn run_exclusively(
        &self,
        work: BoxFuture<'static, Result<(), TokenError>>,
    ) -> FlightOutcome {
        let flight = loop {
            let other = {
                let mut cache = self.shared.cache();
                match in_flight(&cache) {
                    Some(other) => other,
                    // The lock is held from the check to the start, so that no other task begins between
                    // them.
                    None => break self.shared.start(&mut cache, FlightKind::Login, work),
                }
            };
            // Its purpose and its result do not matter here.
            drop(other.end().await);
        };
        flight.end().await
    }

    /// Credentials for a request: the token, refreshed if it is due.
    ///
    /// Without a token the request is sent all the same, because the challenge of the server begins
    /// the login.
    async fn current_credentials(&self, request: Outgoing<'_>) -> Result<Credentials, TokenError> {
        self.shared.load().await?;
        let (refresh, is_started, freshness) = {
            let mut cache = self.shared.cache();
            let Some(token) = &cache.token else {
                return Ok(Credentials::none());
            };
            let freshness = token.freshness(unix_time());
            let has_refresh_token = token.tokens.refresh_token.is_some();
            let is_renewable = has_refresh_token || !self.shared.config.grant.needs_user();
            // An expired token that cannot be renewed is sent too: the refusal of the server then begins the
            // login.
            if freshness == Freshness::Fresh || !is_renewable {
                return cache.credentials(request);
            }
            match in_flight(&cache) {
                Some(flight) => (Some(flight), false, freshness),
                // The authorization server has just failed. The old token may still work meanwhile.
                None if cache.backing_off().is_some() => (None, false, freshness),
                None => {
                    let flight = self.start_refresh(&mut cache, freshness);
                    (Some(flight), true, freshness)
                }
            }
        };
        match refresh {
            // All requests wait for the refresh of an expired token, but only the one that began an early
            // refresh waits for that.
            Some(flight) if freshness == Freshness::Expired => drop(flight.end().await),
            Some(flight) if is_started => drop(timeout(EARLY_REFRESH_WAIT, flight.end()).await),
            _ => {}
        }
        // After a failed refresh the server decides about the old token: our clock may be wrong.
        self.shared.cache().credentials(request)
    }

    fn start_refresh(&self, cache: &mut TokenCache, freshness: Freshness) -> SingleFlight {
        let urgency = match freshness {
            Freshness::Expired => RefreshUrgency::Expired,
            Freshness::Fresh | Freshness::Due => RefreshUrgency::Early,
        };
        let shared = self.shared.clone();
        let seen = cache
            .token
            .as_ref()
            .map(|it| it.tokens.access_token.clone());
        self.shared.start(cache, FlightKind::Refresh, async move {
            let Some(seen) = seen else { return Ok(()) };
            let refusal = shared.known_refusal();
            let error = match shared.refresh(&seen, urgency, &refusal).await {
                Ok(RefreshOutcome::Done) => return Ok(()),
                Ok(RefreshOutcome::NeedsLogin(reason)) => shared.needs_login(reason),
                Err(error) => error,
            };
            tracing::warn!(%error, server = %shared.config.name, "cannot refresh a token");
            // Otherwise each request until the expiry would try in vain again.
            if !error.is_transient() {
                shared.cache().stop_early_refresh();
            }
            Err(error)
        })
    }

    /// Waits until a refused request can be sent again with another token.
    async fn retry(
        &self,
        status: StatusCode,
        used: Option<&HeaderValue>,
        refusal: ServerRefusal,
    ) -> Result<Verdict, Arc<TokenError>> {
        let kind = match status {
            StatusCode::UNAUTHORIZED => FlightKind::Recover,
            _ => FlightKind::StepUp,
        };
        loop {
            let flight = {
                let mut cache = self.shared.cache();
                // Another request has replaced the token since this one was sent.
                if cache.differs_from(used) {
                    return Ok(Verdict::SendAgain);
                }
                match in_flight(&cache) {
                    Some(flight) => flight,
                    None => match self.start_plan(&mut cache, kind, used, &refusal) {
                        Ok(flight) => flight,
                        Err(verdict) => return Ok(verdict),
                    },
                }
            };
            // A task with another purpose says nothing about this refusal. The state is looked at anew after
            // it.
            let is_same = flight.kind() == kind;
            match flight.end().await {
                Ok(()) if is_same => return Ok(Verdict::SendAgain),
                Err(error) if is_same => return Err(error),
                _ => {}
            }
        }
    }

    /// Starts the task that a refusal calls for, or returns the verdict if no task helps.
    fn start_plan(
        &self,
        cache: &mut TokenCache,
        kind: FlightKind,
        used: Option<&HeaderValue>,
        refusal: &ServerRefusal,
    ) -> Result<SingleFlight, Verdict> {
        let plan = match (kind, &refusal.challenge) {
            (FlightKind::Recover, challenge) => {
                let wants_nonce = challenge.as_ref().is_some_and(Challenge::is_use_dpop_nonce);
                cache.unauthorized(used, wants_nonce, unix_time())
            }
            (_, Some(challenge)) => cache.forbidden(used, challenge),
            (_, None) => RetryPlan::GiveUp,
        };
        let (shared, refusal) = (self.shared.clone(), refusal.clone());
        match plan {
            RetryPlan::SendAgain => Err(Verdict::SendAgain),
            RetryPlan::GiveUp => Err(Verdict::GiveUp),
            RetryPlan::Recover => Ok(self
                .shared
                .start(cache, kind, async move { shared.recover(refusal).await })),
            // The grant has issued this token just now, and would issue the next one in the same way.
            RetryPlan::ReloadOrRefresh(_) if !self.shared.config.grant.needs_user() => {
                Err(Verdict::GiveUp)
            }
            RetryPlan::ReloadOrRefresh(source) => Ok(self.shared.start(cache, kind, async move {
                shared.reload_or_refresh(source, refusal).await
            })),
            RetryPlan::StepUp(scopes) => {
                Ok(self.shared.start(
                    cache,
                    kind,
                    async move { shared.cover(scopes, refusal).await },
                ))
            }
        }
    }

    fn remember_refusal(&self, refusal: &ServerRefusal) {
        let mut cache = self.shared.cache();
        cache.peer = refusal.peer.or(cache.peer);
        let named = refusal.challenge.as_ref();
        if let Some(named) = named.and_then(|it| it.resource_metadata.as_ref()) {
            cache.resource_metadata = Some(named.clone());
        }
    }
}

impl Authorizer for TokenSource {
    fn credentials<'a>(
        &'a self,
        request: Outgoing<'a>,
    ) -> BoxFuture<'a, Result<Credentials, Error>> {
        Box::pin(async move {
            let current_credentials = self.current_credentials(request).await;
            current_credentials
                .map_err(|error| Arc::new(error).of_request(&self.shared.config.name))
        })
    }

    fn observe(&self, status: StatusCode, headers: &HeaderMap) {
        let mut cache = self.shared.cache();
        if status.is_success() {
            cache.mark_accepted();
        }
        cache.learn(headers);
    }

    fn refused<'a>(&'a self, refused: Refused<'a>) -> BoxFuture<'a, Result<Verdict, Error>> {
        Box::pin(async move {
            let refusal = ServerRefusal {
                challenge: challenge(refused.headers),
                peer: refused.peer,
            };
            self.remember_refusal(&refusal);
            let used = refused.credentials.headers().get(AUTHORIZATION);
            let verdict = self.retry(refused.status, used, refusal).await;
            verdict.map_err(|error| error.of_request(&self.shared.config.name))
        })
    }
}

fn in_flight(cache: &TokenCache) -> Option<SingleFlight> {
    cache.flight.clone().filter(SingleFlight::is_in_flight)
}
