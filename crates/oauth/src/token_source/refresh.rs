use std::time::Duration;

use tokio::time::sleep;

use super::backoff::{Attempt, LONGEST_WAIT, attempt};
use super::cache::TokenOrigin;
use super::clock::unix_time;
use super::error::{LoginReason, TokenError};
use super::flow_run::{FlowFailure, FlowRun, Interaction};
use super::shared::{ServerRefusal, Shared, jitter};
use super::storage::StoragePermit;
use super::stored_tokens;
use crate::flow::{self, FlowError, Goal, KnownServer};
use crate::registration::{ClientInfo, ClientOptions};
use crate::store::{Login, RefreshDecision, Tokens};
use crate::token_endpoint::TokenEndpointError;
use crate::{Scopes, Secret, dpop, endpoint};

/// Result of a refresh.
#[derive(Debug)]
pub(super) enum RefreshOutcome {
    /// The cache has another token.
    Done,
    /// Only a login helps.
    NeedsLogin(LoginReason),
}

/// Urgency of a refresh.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RefreshUrgency {
    /// The token still works, so a failure can wait.
    Early,
    /// The token has expired by our clock, so a failure is retried at once. But our clock may be
    /// wrong.
    Expired,
    /// The server refused the token.
    Refused,
}

/// Delays before the retries of an urgent refresh.
const RETRY_DELAYS: [Duration; 2] = [Duration::from_millis(200), Duration::from_secs(1)];

impl Shared {
    /// Replaces the token `seen`, unless another process has done so.
    pub(super) async fn refresh(
        &self,
        seen: &Secret,
        urgency: RefreshUrgency,
        refusal: &ServerRefusal,
    ) -> Result<RefreshOutcome, TokenError> {
        // The store still has the older token of one that could not be saved. Without this it would pass for
        // the newer token of another process.
        self.save_unsaved().await?;
        let began = unix_time();
        loop {
            let permit = match self.storage.begin_refresh(seen).await? {
                RefreshDecision::Replaced(login) if self.is_for_server(&login) => {
                    return Ok(self.use_stored(login));
                }
                // The user has logged out, or has given the name to another URL: the old token is not used
                // any more.
                RefreshDecision::Replaced(_) | RefreshDecision::NoTokens => {
                    self.forget();
                    return Ok(RefreshOutcome::NeedsLogin(LoginReason::NoLogin));
                }
                RefreshDecision::Permitted(permit) => StoragePermit::new(permit),
            };
            let failure = permit.last_failure();
            match attempt(failure, urgency, began, unix_time()) {
                // Other processes wait for this permit, and find the new token in the store when it ends.
                Attempt::Now => return self.replace(&permit, urgency, refusal).await,
                Attempt::After(wait) => {
                    // Without the permit: other processes wait by themselves, or fail at once.
                    drop(permit);
                    sleep(wait).await;
                }
                Attempt::Failed(wait) => {
                    let cause = failure.map(|it| it.reason.clone()).unwrap_or_default();
                    let failures = failure.map_or(0, |it| it.failures);
                    self.cache().share_backoff(cause.clone(), failures, wait);
                    return Err(TokenError::TooEarly { cause, wait });
                }
            }
        }
    }

    /// Requests new tokens under a permit.
    async fn replace(
        &self,
        permit: &StoragePermit,
        urgency: RefreshUrgency,
        refusal: &ServerRefusal,
    ) -> Result<RefreshOutcome, TokenError> {
        let goal = match self.refresh_goal(permit.login()).await? {
            Ok(goal) => goal,
            Err(reason) => return Ok(RefreshOutcome::NeedsLogin(reason)),
        };
        if let Some(error) = self.cache().backing_off() {
            return Err(error);
        }
        if matches!(goal, Goal::Refresh { .. }) {
            // A refresh token is spent by its use. If the new one could not be stored, the login
            // would be lost.
            permit.check_writable().await?;
        }
        let known = self.known_server(permit.login(), &goal, refusal);
        let flow_run = |known| FlowRun {
            goal: goal.clone(),
            known,
            refusal: refusal.clone(),
            options: self.client_options(),
            dpop_key: self.dpop_key(permit.login()),
            waits_for_user: self.waits_for_user.clone(),
        };
        match self.run(flow_run, known, urgency).await {
            Ok((login, asked_at)) => {
                self.cache().end_backoff();
                let tokens = stored_tokens::refreshed(&login, asked_at, unix_time());
                let refresh = self.store_refreshed(permit, tokens).await;
                // After the tokens, because this may be lost: the next refresh names the same server.
                self.record_server(permit.login(), &login).await;
                refresh
            }
            Err(failure) => {
                self.remember_refused_assertion(&goal, &failure.error);
                self.handle_failure(permit, urgency, failure).await
            }
        }
    }

    /// Remembers a refused identity token: sending it again cannot help.
    pub(super) fn remember_refused_assertion(&self, goal: &Goal, error: &TokenError) {
        let refused = match (goal, error) {
            (Goal::JwtBearer(token), TokenError::Flow(FlowError::Token(error))) => {
                error.is_invalid_grant().then_some(token)
            }
            (Goal::Enterprise(_, token), TokenError::Flow(FlowError::IdentityProvider(error))) => {
                error.is_invalid_grant().then_some(token)
            }
            _ => None,
        };
        if let Some(token) = refused {
            self.cache().refused_assertion = Some(token.clone());
        }
    }

    /// Binds a login to the issuer that refreshed it, and stores its token endpoint.
    ///
    /// Imported logins of OpenCode name neither, older ones no endpoint, and those of grants
    /// without a user belong to any issuer that the server names.
    async fn record_server(&self, login: &Login, granted: &flow::GrantedTokens) {
        let endpoint = Some(stored_tokens::endpoint(granted));
        let issuer = Some(granted.issuer.clone());
        if login.issuer == issuer && login.token_endpoint == endpoint {
            return;
        }
        let old = login.issuer.clone();
        let bind = move |login: &mut Login| {
            // A login that the user made meanwhile wins.
            if login.issuer == old {
                login.issuer.clone_from(&issuer);
                login.token_endpoint.clone_from(&endpoint);
            }
        };
        if let Err(error) = self.storage.update(bind).await {
            // The next refresh records it.
            tracing::warn!(%error, server = %self.config.name, "cannot store the token endpoint of a login");
        }
    }

    async fn store_refreshed(
        &self,
        permit: &StoragePermit,
        tokens: Tokens,
    ) -> Result<RefreshOutcome, TokenError> {
        let origin = self.cache().refreshed_origin();
        match permit.complete(&tokens).await {
            Ok(Some(login)) => self.adopt(login, origin)?,
            Ok(None) => {
                self.forget();
                return Ok(RefreshOutcome::NeedsLogin(LoginReason::NoLogin));
            }
            Err(error) => {
                tracing::warn!(%error, server = %self.config.name,
                    "cannot store a refreshed token; it is kept in memory until the store works again");
                let mut login = permit.login().clone();
                let old = login.tokens.take();
                let unsaved = old.as_ref().map(|old| old.access_token.clone());
                login.tokens = Some(match &old {
                    Some(old) => tokens.completed_from(old),
                    None => tokens,
                });
                self.adopt(login, origin)?;
                self.cache().unsaved = unsaved;
            }
        }
        Ok(RefreshOutcome::Done)
    }

    async fn handle_failure(
        &self,
        permit: &StoragePermit,
        urgency: RefreshUrgency,
        failure: FlowFailure,
    ) -> Result<RefreshOutcome, TokenError> {
        // First: an authorization server that gave no answer has decided nothing, so the login stays.
        if failure.error.is_transient() {
            let earlier = permit.last_failure().map_or(0, |it| it.failures);
            let (failures, wait) =
                self.cache()
                    .back_off(&failure.error, failure.retry_after, earlier, jitter());
            let (now, reason) = (unix_time(), failure.error.to_string());
            let times = (now, now + wait.as_secs_f64());
            permit.record_failure(reason, failures, times).await;
            return Err(failure.error);
        }
        // Such a grant has no refresh token to delete, and no user who could log in.
        if !self.config.grant.needs_user() {
            return Err(failure.error);
        }
        match failure.error {
            TokenError::Flow(FlowError::Token(error)) if error.is_invalid_grant() => {
                let left = match urgency {
                    RefreshUrgency::Refused => permit.reject().await?,
                    // Only the refresh token is known to be useless. The access token may still work: our
                    // clock may be wrong.
                    RefreshUrgency::Early | RefreshUrgency::Expired => {
                        permit.reject_refresh_token().await?
                    }
                };
                self.rejected(permit, left)
            }
            TokenError::Flow(FlowError::Token(error)) if error.is_invalid_client() => {
                if self.config.client.is_some() {
                    // A login would fail in the same way: the configuration is wrong.
                    return Err(TokenError::Flow(error.into()));
                }
                self.forget_client(permit.login()).await?;
                Ok(RefreshOutcome::NeedsLogin(LoginReason::ClientChanged))
            }
            TokenError::Flow(FlowError::Token(TokenEndpointError::Refused(refusal))) => Ok(
                RefreshOutcome::NeedsLogin(LoginReason::NotRefreshed(Box::new(refusal))),
            ),
            TokenError::Flow(FlowError::IssuerChanged { issuer }) => {
                Ok(RefreshOutcome::NeedsLogin(LoginReason::IssuerChanged {
                    issuer,
                }))
            }
            error => Err(error),
        }
    }

    /// Uses the login that is `left` after the authorization server rejected the refresh token.
    fn rejected(
        &self,
        permit: &StoragePermit,
        left: Option<Login>,
    ) -> Result<RefreshOutcome, TokenError> {
        let access_token = |login: &Login| Some(login.tokens.as_ref()?.access_token.clone());
        let Some(left) = left.filter(|left| self.is_for_server(left)) else {
            self.forget();
            return Ok(RefreshOutcome::NeedsLogin(LoginReason::Revoked));
        };
        // Another process may have stored a login while this one asked.
        let is_other = access_token(&left) != access_token(permit.login());
        self.adopt(left, TokenOrigin::Store)?;
        Ok(if is_other {
            RefreshOutcome::Done
        } else {
            RefreshOutcome::NeedsLogin(LoginReason::Revoked)
        })
    }

    /// Runs the flow, with retries if the refresh is urgent.
    ///
    /// If the stored token endpoint seems to have moved, the metadata is searched, once. A search
    /// that finds nothing changes nothing: the endpoint may only be down.
    async fn run(
        &self,
        flow_run: impl Fn(Option<KnownServer>) -> FlowRun,
        mut known: Option<KnownServer>,
        urgency: RefreshUrgency,
    ) -> Result<(flow::GrantedTokens, f64), FlowFailure> {
        let run = |known| flow_run(known).run(&self.config, Interaction::None);
        let mut may_search = known.is_some();
        let is_urgent = urgency != RefreshUrgency::Early;
        // An early refresh is not repeated at once: requests go on with the old token, and a later one tries
        // again.
        let mut pauses = RETRY_DELAYS.iter().filter(|_| is_urgent);
        loop {
            let mut outcome = run(known.clone()).await;
            if matches!(&outcome, Err(failure) if may_search && failure.hints_at_move()) {
                may_search = false;
                let found = run(None).await;
                if found.as_ref().err().is_none_or(FlowFailure::is_decision) {
                    (known, outcome) = (None, found);
                }
            }
            let pause = outcome.as_ref().err().zip(pauses.next());
            match pause.and_then(|(failure, usual)| failure.pause(*usual)) {
                Some(pause) => sleep(pause).await,
                None => return outcome,
            }
        }
    }

    /// Authorization server of `login`, if the token request needs no metadata.
    ///
    /// Metadata decides whether a token is bound to a key, so it is fetched where a key is missing.
    fn known_server(
        &self,
        login: &Login,
        goal: &Goal,
        refusal: &ServerRefusal,
    ) -> Option<KnownServer> {
        let stored = login.token_endpoint.as_ref()?;
        let tokens = login.tokens.as_ref()?;
        let asks_for_key = refusal.challenge.as_ref().is_some_and(|it| it.dpop);
        let has_key = matches!(goal, Goal::Refresh { .. }) && tokens.dpop_key.is_some();
        if (asks_for_key || tokens.dpop_key.is_some()) && !has_key {
            return None;
        }
        let requested = tokens.requested_scope.as_deref();
        Some(KnownServer {
            issuer: login.issuer.clone()?,
            token_endpoint: endpoint::parse(&stored.url).ok()?,
            auth_method: stored.auth_method,
            resource: stored.resource.clone(),
            scopes: requested.map(Scopes::parse).unwrap_or_default(),
        })
    }

    /// Reason not to use a login: the configuration sends its secrets to another origin.
    ///
    /// The file of a project may name the token endpoint of a server that the user has logged in at before. The
    /// refresh token and the client secret were issued by the provider of that login, and only the user may give
    /// them to another one, by a new login.
    pub(super) fn changed_endpoint(&self, login: &Login) -> Option<LoginReason> {
        let configured = self.config.options.token_endpoint.as_ref()?.url();
        if login.tokens.is_none() && login.chosen.is_none() {
            return None;
        }
        let recorded = login.token_endpoint.as_ref();
        let recorded = recorded.and_then(|it| endpoint::parse(&it.url).ok());
        // Older logins have no endpoint, and those of OpenCode no issuer either.
        let issuer = || endpoint::parse(login.issuer.as_deref()?).ok();
        let stored = recorded.or_else(issuer).map(|url| url.origin());
        if stored.as_ref() == Some(&configured.origin()) {
            return None;
        }
        Some(LoginReason::EndpointChanged {
            stored: stored.map_or_else(
                || "a provider that was not recorded".to_owned(),
                |origin| origin.ascii_serialization(),
            ),
            configured: configured.clone(),
        })
    }

    /// Goal of a refresh: the grant itself if it needs no user, else the refresh token.
    async fn refresh_goal(&self, login: &Login) -> Result<Result<Goal, LoginReason>, TokenError> {
        if let Some(reason) = self.changed_endpoint(login) {
            return Ok(Err(reason));
        }
        if let Some(goal) = self.unattended_goal().await? {
            return Ok(Ok(goal));
        }
        let tokens = login.tokens.as_ref();
        let Some(refresh_token) = tokens.and_then(|tokens| tokens.refresh_token.clone()) else {
            return Ok(Err(LoginReason::Expired));
        };
        Ok(match self.client_of(login) {
            None => Err(LoginReason::ClientChanged),
            Some(client) => Ok(Goal::Refresh {
                issuer: login.issuer.clone(),
                client,
                refresh_token,
            }),
        })
    }

    /// Key that `login` is bound to. A damaged one counts as none, and the authorization server
    /// then decides.
    pub(super) fn dpop_key(&self, login: &Login) -> Option<dpop::Key> {
        let stored = login.tokens.as_ref()?.dpop_key.as_ref()?;
        dpop::Key::from_stored(stored).ok()
    }

    /// Clients that the user configured.
    pub(super) fn client_options(&self) -> ClientOptions {
        ClientOptions {
            configured: self.config.client.clone(),
            metadata_document: self.config.metadata_document.clone(),
            ..ClientOptions::default()
        }
    }

    /// Client that `login` was issued to, if it is still known.
    pub(super) fn client_of(&self, login: &Login) -> Option<ClientInfo> {
        let id = login.tokens.as_ref().and_then(|it| it.client_id.as_ref());
        let configured = self.config.client.as_ref().map(|it| it.client.clone());
        let described = self.config.metadata_document.as_ref();
        let described = described.map(|url| ClientInfo::public(url.as_str()));
        let registered = login.client.clone();
        // OpenCode does not record the client of its tokens: they belong to the client that it
        // registered, if any.
        let known = registered.into_iter().chain(configured).chain(described);
        let mut known = known.filter(|client| id.is_none_or(|id| client.id == *id));
        known.next()
    }

    /// Uses a login that another process has stored.
    pub(super) fn use_stored(&self, login: Login) -> RefreshOutcome {
        match self.adopt(login, TokenOrigin::Store) {
            Ok(()) => RefreshOutcome::Done,
            Err(error) => {
                tracing::warn!(%error, server = %self.config.name, "the stored login cannot be used");
                RefreshOutcome::NeedsLogin(LoginReason::Unusable)
            }
        }
    }

    /// Stores a token that could not be stored before.
    pub(super) async fn save_unsaved(&self) -> Result<(), TokenError> {
        let pending = {
            let cache = self.cache();
            let tokens = cache.token.as_ref().map(|token| token.tokens.clone());
            cache.unsaved.clone().zip(tokens)
        };
        let Some((old, tokens)) = pending else {
            return Ok(());
        };
        let is_old = move |login: &Login| {
            let stored = login.tokens.as_ref();
            stored.is_some_and(|stored| stored.access_token == old)
        };
        let save = move |login: &mut Login| {
            if is_old(login) {
                login.tokens = Some(tokens.clone());
            }
        };
        self.storage.update(save).await?;
        self.cache().unsaved = None;
        Ok(())
    }

    /// Clears the cached token.
    pub(super) fn forget(&self) {
        let mut cache = self.cache();
        cache.token = None;
        cache.unsaved = None;
    }

    /// Deletes the registration that the authorization server does not know any more. The tokens
    /// stay while they work.
    pub(super) async fn forget_client(&self, login: &Login) -> Result<(), TokenError> {
        let id = login.client.as_ref().map(|client| client.id.clone());
        let forget = move |login: &mut Login| {
            if login.client.as_ref().map(|client| &client.id) == id.as_ref() {
                login.client = None;
            }
        };
        self.storage.update(forget).await.map(drop)
    }
}

impl FlowFailure {
    /// Delay before the next attempt, or `None` if that would take too long for a waiting request.
    fn pause(&self, usual: Duration) -> Option<Duration> {
        let pause = self.retry_after.unwrap_or(usual).max(usual);
        (self.error.is_transient() && pause <= LONGEST_WAIT).then_some(pause)
    }
}
