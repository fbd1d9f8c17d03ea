use std::sync::Arc;
use std::time::Duration;

use callgate_mcp::transport::http::client::{Authorizer, Credentials, Outgoing, Refused, Verdict};
use callgate_mcp::{BoxFuture, Error};
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue, StatusCode};
use tokio::time::timeout;
use url::Url;

use super::clock::unix_time;
use super::config::Config;
use super::credentials::challenge;
use super::error::KeeperError;
use super::flight::{Flight, Kind, Outcome};
use super::freshness::Freshness;
use super::held::{Held, Plan};
use super::probe;
use super::renewal::{Renewal, Urgency};
use super::revocation::Revocation;
use super::shared::{Circumstances, Shared};
use super::status::{State, Status};
use crate::Challenge;

/// Gets the tokens for one server, keeps them and renews them.
///
/// However many requests, keepers and processes want another token, one of them gets it, and all use it.
/// A token is renewed before it ends; what goes wrong meanwhile does not concern the requests.
/// Nothing is forgotten unless the authorization server said that it is worth nothing.
/// Dropping any of its futures is safe: who gets a token goes on, and the next request finds it.
///
/// ```no_run
/// use callgate_mcp::transport::http::client::{self, HttpClient};
/// use callgate_oauth::fetch::{self, Fetcher};
/// use callgate_oauth::keeper::{Config, Keeper};
/// use callgate_oauth::store::{Limits, Store};
///
/// let url = "https://api.githubcopilot.com/mcp/";
/// let mut config = Config::new("github", url.parse()?, Fetcher::new(fetch::Config::default())?);
/// config.store = Some(Store::new("mcp-auth.json", Limits::default()));
/// let mut http = client::Config::new("github");
/// http.authorizer = Some(Keeper::new(config));
/// let client = HttpClient::new(url, http)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Keeper {
    shared: Arc<Shared>,
}

/// Whether a login that works is good enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogIn {
    /// Only log in if the server refuses what there is.
    IfNeeded,
    /// Log in whatever there is.
    Again,
}

/// How long a request waits for the renewal of a token that still works.
const EARLY_PATIENCE: Duration = Duration::from_secs(2);
/// How long a server may take to say what it wants from somebody who logs out.
const PROBE_PATIENCE: Duration = Duration::from_secs(5);

impl Keeper {
    /// Keeps the tokens for one server. Nothing is read or sent yet.
    #[must_use]
    pub fn new(config: Config) -> Arc<Self> {
        Arc::new(Self {
            shared: Arc::new(Shared::new(config)),
        })
    }

    /// The server that the tokens are for.
    #[must_use]
    pub fn server(&self) -> &Url {
        &self.shared.config.server
    }

    /// Makes sure that there is a login, through the consent of a person if need be.
    ///
    /// # Errors
    /// There is none; [`KeeperError::Unwanted`] if none is needed.
    pub async fn log_in(self: &Arc<Self>, when: LogIn) -> Result<Status, Arc<KeeperError>> {
        let config = &self.shared.config;
        if when == LogIn::IfNeeded {
            self.shared.load().await?;
            if self.shared.held().token.is_some() {
                // The refusals that this leads to are dealt with on the way.
                let outcome = probe::request(config, self.clone()).await;
                outcome.map_err(KeeperError::behind)?;
                let status = self.status().await?;
                if status.state == State::LoggedIn {
                    return Ok(status);
                }
            }
        }
        let refusal = match probe::refusal(config).await? {
            None if probe::is_open(config).await => return Err(KeeperError::Unwanted.into()),
            refusal => refusal.unwrap_or_default(),
        };
        self.remember(&refusal);
        let shared = self.shared.clone();
        let work = Box::pin(async move { shared.log_in(refusal).await });
        self.do_alone(work).await?;
        Ok(self.status().await?)
    }

    /// Tells the authorization server that the tokens are not used any more, and forgets everything.
    ///
    /// # Errors
    /// The login could not be forgotten.
    pub async fn log_out(&self) -> Result<Revocation, KeeperError> {
        // Where the server is decides where the tokens may be sent.
        let probe = probe::refusal(&self.shared.config);
        if let Ok(Ok(Some(refusal))) = timeout(PROBE_PATIENCE, probe).await {
            self.remember(&refusal);
        }
        self.shared.log_out().await
    }

    /// What is known about the login.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn status(&self) -> Result<Status, KeeperError> {
        Ok(Status::of(&self.shared.vault.login().await?))
    }

    /// Waits until nobody is getting a token any more.
    ///
    /// A program that ends before loses what the authorization server gives only once.
    pub async fn settle(&self) {
        loop {
            let flight = under_way(&self.shared.held());
            let Some(flight) = flight else { break };
            // Whoever wanted the token is told how it ended.
            drop(flight.end().await);
        }
        if let Err(error) = self.shared.save_pending().await {
            tracing::error!(%error, server = %self.shared.config.name, "a renewed token is lost");
        }
    }

    /// Does `work` once nobody else is getting a token.
    async fn do_alone(&self, work: BoxFuture<'static, Result<(), KeeperError>>) -> Outcome {
        let flight = loop {
            let other = {
                let mut held = self.shared.held();
                match under_way(&held) {
                    Some(other) => other,
                    None => break self.shared.start(&mut held, Kind::LogIn, work),
                }
            };
            // What it is for, and how it ends, does not matter.
            drop(other.end().await);
        };
        flight.end().await
    }

    /// What to send: the token, renewed if it is about time. Without one, the server says what it wants.
    async fn current(&self, request: Outgoing<'_>) -> Result<Credentials, KeeperError> {
        self.shared.load().await?;
        let (renewal, is_started, freshness) = {
            let mut held = self.shared.held();
            let Some(token) = &held.token else {
                return Ok(Credentials::none());
            };
            let freshness = token.freshness(unix_time());
            let has_refresh_token = token.tokens.refresh_token.is_some();
            let is_renewable = has_refresh_token || !self.shared.config.grant.takes_person();
            if freshness == Freshness::Fresh || !is_renewable {
                return held.credentials(request);
            }
            match under_way(&held) {
                Some(flight) => (Some(flight), false, freshness),
                None if held.pausing().is_some() => (None, false, freshness),
                None => {
                    let flight = self.start_renewal(&mut held, freshness);
                    (Some(flight), true, freshness)
                }
            }
        };
        match renewal {
            Some(flight) if freshness == Freshness::Ended => drop(flight.end().await),
            Some(flight) if is_started => drop(timeout(EARLY_PATIENCE, flight.end()).await),
            _ => {}
        }
        // If it failed, the server decides what the old token is worth: its clock may not be ours.
        self.shared.held().credentials(request)
    }

    fn start_renewal(&self, held: &mut Held, freshness: Freshness) -> Flight {
        let urgency = match freshness {
            Freshness::Ended => Urgency::Ended,
            Freshness::Fresh | Freshness::Due => Urgency::Early,
        };
        let shared = self.shared.clone();
        let seen = held.token.as_ref().map(|it| it.tokens.access_token.clone());
        self.shared.start(held, Kind::Renew, async move {
            let Some(seen) = seen else { return Ok(()) };
            let circumstances = shared.remembered();
            let error = match shared.renew(&seen, urgency, &circumstances).await {
                Ok(Renewal::Done) => return Ok(()),
                Ok(Renewal::NeedsLogin(reason)) => shared.needs_login(reason),
                Err(error) => error,
            };
            tracing::warn!(%error, server = %shared.config.name, "a token could not be renewed");
            if !error.is_transient() {
                shared.held().stop_renewing_early();
            }
            Err(error)
        })
    }

    /// Has a refused request sent again once there is another token.
    async fn retry(
        &self,
        status: StatusCode,
        used: Option<&HeaderValue>,
        circumstances: Circumstances,
    ) -> Result<Verdict, Arc<KeeperError>> {
        let kind = match status {
            StatusCode::UNAUTHORIZED => Kind::Recover,
            _ => Kind::StepUp,
        };
        loop {
            let flight = {
                let mut held = self.shared.held();
                if held.has_other_than(used) {
                    return Ok(Verdict::SendAgain);
                }
                match under_way(&held) {
                    Some(flight) => flight,
                    None => match self.act(&mut held, kind, used, &circumstances) {
                        Ok(flight) => flight,
                        Err(verdict) => return Ok(verdict),
                    },
                }
            };
            let is_same = flight.kind() == kind;
            match flight.end().await {
                Ok(()) if is_same => return Ok(Verdict::SendAgain),
                Err(error) if is_same => return Err(error),
                _ => {}
            }
        }
    }

    /// Starts what helps against a refusal, or says that nothing needs to be or can be done.
    fn act(
        &self,
        held: &mut Held,
        kind: Kind,
        used: Option<&HeaderValue>,
        circumstances: &Circumstances,
    ) -> Result<Flight, Verdict> {
        let plan = match (kind, &circumstances.challenge) {
            (Kind::Recover, challenge) => {
                let wants_nonce = challenge.as_ref().is_some_and(Challenge::is_use_dpop_nonce);
                held.unauthorized(used, wants_nonce, unix_time())
            }
            (_, Some(challenge)) => held.forbidden(used, challenge),
            (_, None) => Plan::GiveUp,
        };
        let (shared, circumstances) = (self.shared.clone(), circumstances.clone());
        match plan {
            Plan::SendAgain => Err(Verdict::SendAgain),
            Plan::GiveUp => Err(Verdict::GiveUp),
            Plan::Recover => {
                Ok(self.shared.start(
                    held,
                    kind,
                    async move { shared.recover(circumstances).await },
                ))
            }
            Plan::LookAgain(_) if !self.shared.config.grant.takes_person() => Err(Verdict::GiveUp),
            Plan::LookAgain(source) => Ok(self.shared.start(held, kind, async move {
                shared.look_again(source, circumstances).await
            })),
            Plan::StepUp(scopes) => Ok(self.shared.start(held, kind, async move {
                shared.cover(scopes, circumstances).await
            })),
        }
    }

    fn remember(&self, circumstances: &Circumstances) {
        let mut held = self.shared.held();
        held.peer = circumstances.peer.or(held.peer);
        let named = circumstances.challenge.as_ref();
        if let Some(named) = named.and_then(|it| it.resource_metadata.as_ref()) {
            held.resource_metadata = Some(named.clone());
        }
    }
}

impl Authorizer for Keeper {
    fn credentials<'a>(
        &'a self,
        request: Outgoing<'a>,
    ) -> BoxFuture<'a, Result<Credentials, Error>> {
        Box::pin(async move {
            let current = self.current(request).await;
            current.map_err(|error| Arc::new(error).of_request(&self.shared.config.name))
        })
    }

    fn observe(&self, status: StatusCode, headers: &HeaderMap) {
        let mut held = self.shared.held();
        if status.is_success() {
            held.succeed();
        }
        held.learn(headers);
    }

    fn refused<'a>(&'a self, refusal: Refused<'a>) -> BoxFuture<'a, Result<Verdict, Error>> {
        Box::pin(async move {
            let circumstances = Circumstances {
                challenge: challenge(refusal.headers),
                peer: refusal.peer,
            };
            self.remember(&circumstances);
            let used = refusal.credentials.headers().get(AUTHORIZATION);
            let verdict = self.retry(refusal.status, used, circumstances).await;
            verdict.map_err(|error| error.of_request(&self.shared.config.name))
        })
    }
}

fn under_way(held: &Held) -> Option<Flight> {
    held.flight.clone().filter(Flight::is_under_way)
}
