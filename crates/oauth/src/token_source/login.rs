use super::cache::TokenOrigin;
use super::clock::unix_time;
use super::config::{Assertion, Grant};
use super::error::{LoginReason, TokenError};
use super::flow_run::{FlowRun, Interaction, default_redirect_uri};
use super::refresh::{RefreshOutcome, RefreshUrgency};
use super::shared::{ServerRefusal, Shared, jitter};
use super::stored_tokens;
use crate::consent::Consent;
use crate::flow::{self, Goal};
use crate::registration::{ClientInfo, ClientOptions};
use crate::store::Login;
use crate::{Challenge, Scopes, Secret};

impl Shared {
    /// Replaces a refused token: by a stored one, a refresh or a login.
    pub(super) async fn recover(&self, refusal: ServerRefusal) -> Result<(), TokenError> {
        self.check_endpoint().await?;
        match self.recover_unattended(&refusal).await? {
            RefreshOutcome::Done => Ok(()),
            RefreshOutcome::NeedsLogin(reason) => {
                self.authorize(Goal::Login, reason, refusal).await
            }
        }
    }

    /// Refuses to send the credentials of a grant without a user to another origin unless the user logs in anew.
    ///
    /// For a grant with a user the refresh is refused instead, and that user decides.
    async fn check_endpoint(&self) -> Result<(), TokenError> {
        if self.config.grant.needs_user() {
            return Ok(());
        }
        match self.changed_endpoint(&self.storage.login().await?) {
            Some(reason) => Err(self.needs_login(reason)),
            None => Ok(()),
        }
    }

    /// Replaces a refused token without a login.
    async fn recover_unattended(
        &self,
        refusal: &ServerRefusal,
    ) -> Result<RefreshOutcome, TokenError> {
        if let Some(seen) = self.access_token() {
            return self.refresh(&seen, RefreshUrgency::Refused, refusal).await;
        }
        Ok(match self.use_stored_if_other().await? {
            Some(found) => found,
            None => RefreshOutcome::NeedsLogin(LoginReason::NoLogin),
        })
    }

    /// Uses the stored token, if it is another than the cached one.
    async fn use_stored_if_other(&self) -> Result<Option<RefreshOutcome>, TokenError> {
        let login = self.storage.login().await?;
        let stored = login.tokens.as_ref().map(|it| it.access_token.clone());
        let is_other = stored.is_some() && stored != self.access_token();
        Ok((is_other && self.is_for_server(&login)).then(|| self.use_stored(login)))
    }

    /// Logs in at the user's request, for the scopes of the server and those of the user.
    pub(super) async fn log_in(&self, refusal: ServerRefusal) -> Result<(), TokenError> {
        let challenge = refusal.challenge.as_ref();
        let challenged = challenge.and_then(|challenge| challenge.scope.as_ref());
        match (challenged, &self.config.scopes) {
            (Some(challenged), Some(configured)) => {
                let scopes = challenged.union(configured);
                self.step_up(scopes, refusal).await
            }
            _ => {
                self.authorize(Goal::Login, LoginReason::NoLogin, refusal)
                    .await
            }
        }
    }

    /// Replaces a token that was refused although it was issued just now.
    pub(super) async fn reload_or_refresh(
        &self,
        origin: TokenOrigin,
        refusal: ServerRefusal,
    ) -> Result<(), TokenError> {
        if let Some(RefreshOutcome::Done) = self.use_stored_if_other().await? {
            return Ok(());
        }
        self.check_endpoint().await?;
        // The token may have expired on the way, so one refresh is tried. A second one would be a
        // loop with a server that accepts none of our tokens.
        if let (TokenOrigin::Login | TokenOrigin::Refresh, Some(seen)) =
            (origin, self.access_token())
            && let RefreshOutcome::Done = self
                .refresh(&seen, RefreshUrgency::Refused, &refusal)
                .await?
        {
            return Ok(());
        }
        match origin {
            TokenOrigin::Login | TokenOrigin::RefreshedLogin => {
                Err(self.needs_login(LoginReason::Refused))
            }
            TokenOrigin::Store | TokenOrigin::Refresh | TokenOrigin::RefreshedAgain => {
                self.authorize(Goal::Login, LoginReason::Refused, refusal)
                    .await
            }
        }
    }

    /// Replaces a token that lacks scopes.
    pub(super) async fn cover(
        &self,
        scopes: Scopes,
        refusal: ServerRefusal,
    ) -> Result<(), TokenError> {
        self.check_endpoint().await?;
        let outcome = match self.use_stored_if_other().await? {
            Some(RefreshOutcome::Done) => Ok(()),
            _ => self.step_up(scopes, refusal).await,
        };
        if matches!(outcome, Err(TokenError::NeedsLogin(_))) {
            // The user was not asked, so this attempt does not count.
            self.cache().forget_step_up();
        }
        outcome
    }

    /// Logs in for `scopes`.
    pub(super) async fn step_up(
        &self,
        scopes: Scopes,
        refusal: ServerRefusal,
    ) -> Result<(), TokenError> {
        let reason = LoginReason::Scopes {
            scopes: scopes.clone(),
        };
        let refusal = ServerRefusal {
            challenge: Some(Challenge {
                scope: Some(scopes.clone()),
                ..refusal.challenge.unwrap_or_default()
            }),
            ..refusal
        };
        self.authorize(Goal::StepUp(scopes), reason, refusal).await
    }

    /// Gets a token without a refresh token. `goal` applies to grants that need a user.
    ///
    /// Some authorization servers delete registered clients. Then the client is registered again,
    /// once.
    pub(super) async fn authorize(
        &self,
        goal: Goal,
        reason: LoginReason,
        refusal: ServerRefusal,
    ) -> Result<(), TokenError> {
        let login = self.storage.login().await?;
        let registered = self.registered_clients().await?;
        let first = self.log_in_once(&login, &registered, goal.clone(), &reason, &refusal);
        match first.await {
            Err(TokenError::Flow(error))
                if error.is_unknown_client()
                    && !registered.is_empty()
                    // A configured client is not replaced: only the user can repair it.
                    && self.config.client.is_none() =>
            {
                tracing::info!(server = %self.config.name,
                    "the authorization server has forgotten this client; registering again");
                self.forget_client(&login).await?;
                let login = Login {
                    client: None,
                    ..login
                };
                self.log_in_once(&login, &[], goal, &reason, &refusal).await
            }
            outcome => outcome,
        }
    }

    /// Clients that this program has registered with the same metadata, oldest first. That of
    /// another server at the same issuer is as good as an own one.
    ///
    /// The newest one counts, since an authorization server may have deleted older ones.
    async fn registered_clients(&self) -> Result<Vec<(String, ClientInfo)>, TokenError> {
        if self.config.registers_anew {
            return Ok(Vec::new());
        }
        let client_name = self.config.options.client_name.clone();
        let mut registered = self.storage.registrations(client_name).await?;
        let age = |client: &ClientInfo| client.issued_at.unwrap_or_default();
        registered.sort_by(|(_, a), (_, b)| age(a).total_cmp(&age(b)));
        Ok(registered)
    }

    async fn log_in_once(
        &self,
        stored: &Login,
        registered: &[(String, ClientInfo)],
        goal: Goal,
        reason: &LoginReason,
        refusal: &ServerRefusal,
    ) -> Result<(), TokenError> {
        let interaction = self.interaction(reason)?;
        let goal = match (&self.config.grant, self.unattended_goal().await?) {
            (_, Some(goal)) => goal,
            (Grant::DeviceCode(_), None) => Goal::DeviceCode,
            _ => goal,
        };
        // A user who is asked may know that the provider is up again, so only a run without one respects the
        // backoff.
        if let (Interaction::None, Some(error)) = (interaction, self.cache().backing_off()) {
            return Err(error);
        }
        let flow_run = FlowRun {
            goal: goal.clone(),
            known: None,
            refusal: refusal.clone(),
            options: self.options(stored, registered, interaction),
            dpop_key: None,
            waits_for_user: self.waits_for_user.clone(),
        };
        match flow_run.run(&self.config, interaction).await {
            Ok((login, asked_at)) => self.store_login(login, asked_at, refusal).await,
            Err(failure) => {
                self.remember_refused_assertion(&goal, &failure.error);
                if failure.error.is_transient() {
                    self.cache()
                        .back_off(&failure.error, failure.retry_after, 0, jitter());
                }
                Err(failure.error)
            }
        }
    }

    /// Stores a new login. If the store fails, the login is used all the same, and the error is
    /// reported.
    async fn store_login(
        &self,
        login: flow::GrantedTokens,
        asked_at: f64,
        refusal: &ServerRefusal,
    ) -> Result<(), TokenError> {
        let tokens = stored_tokens::tokens(&login, asked_at, unix_time());
        let client = if login.is_new_client {
            Some(self.registered(&login, asked_at))
        } else {
            // Each login has its own copy, because the others may be deleted.
            self.is_registered(&login.client)
                .then(|| login.client.clone())
        };
        let account = self.config.account.clone();
        let endpoint = stored_tokens::endpoint(&login);
        let server_url = self.config.server.to_string();
        let challenge = refusal.challenge.as_ref();
        let resource_metadata = challenge.and_then(|it| it.resource_metadata.clone());
        let replaces = self.config.registers_anew;
        let edit = move |stored: &mut Login| {
            stored.bind(&server_url, &login.issuer);
            stored.account.clone_from(&account);
            stored.token_endpoint = Some(endpoint.clone());
            stored.tokens = Some(tokens.clone());
            if client.is_some() || replaces {
                stored.client.clone_from(&client);
            }
            if resource_metadata.is_some() || replaces {
                stored.resource_metadata.clone_from(&resource_metadata);
            }
        };
        let result = self.storage.update(edit.clone()).await;
        let mut unstored = Login::default();
        edit(&mut unstored);
        self.cache().end_backoff();
        match result {
            Ok(login) => self.adopt(login, TokenOrigin::Login),
            Err(error) => {
                self.adopt(unstored, TokenOrigin::Login)?;
                Err(error)
            }
        }
    }

    fn access_token(&self) -> Option<Secret> {
        let cache = self.cache();
        cache
            .token
            .as_ref()
            .map(|it| it.tokens.access_token.clone())
    }

    fn registered(&self, login: &flow::GrantedTokens, now: f64) -> ClientInfo {
        let consent = self.config.consent.as_deref();
        ClientInfo {
            issued_at: Some(now.floor()),
            redirect_uri: match &login.client.redirect_uri {
                Some(registered) => Some(registered.clone()),
                None => consent.and_then(custom_redirect_uri),
            },
            ..login.client.clone()
        }
    }

    /// Returns true if `client` was registered by this program, not chosen by the user.
    fn is_registered(&self, client: &ClientInfo) -> bool {
        let document = self.config.metadata_document.as_ref();
        let is_described = document.is_some_and(|url| url.as_str() == client.id);
        self.config.client.is_none() && !is_described
    }

    /// Selects the way to ask the user. No consent is an error only for a grant that needs a user.
    fn interaction(&self, reason: &LoginReason) -> Result<Interaction<'_>, TokenError> {
        match (&self.config.grant, &self.config.consent) {
            (Grant::DeviceCode(show_code), _) => Ok(Interaction::Device(show_code)),
            (Grant::AuthorizationCode, Some(consent)) => Ok(Interaction::Browser(&**consent)),
            (Grant::AuthorizationCode, None) => Err(self.needs_login(reason.clone())),
            _ => Ok(Interaction::None),
        }
    }

    /// Goal of a grant without a user.
    pub(super) async fn unattended_goal(&self) -> Result<Option<Goal>, TokenError> {
        Ok(match &self.config.grant {
            Grant::AuthorizationCode | Grant::DeviceCode(_) => None,
            Grant::ClientCredentials => Some(Goal::ClientCredentials),
            Grant::Enterprise(provider, id_token) => {
                let token = self.assertion(id_token).await?;
                Some(Goal::Enterprise(provider.clone(), token))
            }
            Grant::WorkloadIdentity(assertion) => {
                Some(Goal::JwtBearer(self.assertion(assertion).await?))
            }
        })
    }

    /// Reads the identity token, and refuses one that was refused before.
    async fn assertion(&self, assertion: &Assertion) -> Result<Secret, TokenError> {
        let token = assertion.read().await?;
        if self.cache().refused_assertion.as_ref() == Some(&token) {
            return Err(TokenError::AssertionRefused);
        }
        Ok(token)
    }

    /// Clients that this login may use: the configured ones, and the registered ones whose redirect
    /// URI fits, the own one before those of other servers at the same issuer.
    ///
    /// A device code needs a client that is registered for it, and the others may not be.
    fn options(
        &self,
        stored: &Login,
        registered: &[(String, ClientInfo)],
        interaction: Interaction<'_>,
    ) -> ClientOptions {
        let mut options = self.client_options();
        let redirect_uri = match interaction {
            Interaction::Browser(consent) => {
                if !consent.has_usual_redirect_uri() {
                    options = options.for_new_redirect_uri();
                }
                custom_redirect_uri(consent)
            }
            _ => None,
        };
        if let Interaction::Browser(_) = interaction {
            let wanted = redirect_uri.as_deref();
            let fits = |info: &ClientInfo| is_same_redirect(info.redirect_uri.as_deref(), wanted);
            for (issuer, info) in registered.iter().filter(|(_, info)| fits(info)) {
                // The oldest comes first, so that a newer one replaces it.
                options.registrations.insert(issuer.clone(), info.clone());
            }
        }
        if let (Some(issuer), Some(info)) = (&stored.issuer, &stored.client)
            && self.is_for_server(stored)
            && !self.config.registers_anew
            && is_same_redirect(info.redirect_uri.as_deref(), redirect_uri.as_deref())
        {
            // Last, because it replaces the client of another server at the same issuer.
            options.registrations.insert(issuer.clone(), info.clone());
        }
        options
    }
}

/// Redirect URI, if it is not the default one.
fn custom_redirect_uri(consent: &dyn Consent) -> Option<String> {
    Some(consent.redirect_uri()).filter(|uri| *uri != default_redirect_uri())
}

/// Compares redirect URIs, where none is the default one. The two names of this machine are the same,
/// because the listener answers to both.
fn is_same_redirect(registered: Option<&str>, current: Option<&str>) -> bool {
    let plain = |uri: Option<&str>| {
        let uri = uri.map_or_else(default_redirect_uri, str::to_owned);
        uri.replacen("http://localhost:", "http://127.0.0.1:", 1)
    };
    plain(registered) == plain(current)
}

#[cfg(test)]
mod tests {
    use super::is_same_redirect;

    #[test]
    fn a_registration_is_for_both_names_of_this_machine() {
        let usual = |host: &str| format!("http://{host}:19876/mcp/oauth/callback");
        let (name, address) = (usual("localhost"), usual("127.0.0.1"));
        for (registered, current, expected) in [
            (None, None, true),
            (Some(name.as_str()), None, true),
            (Some(&address), None, true),
            (
                Some("http://localhost:1/cb"),
                Some("http://127.0.0.1:1/cb"),
                true,
            ),
            (
                Some("http://localhost:1/cb"),
                Some("http://localhost:2/cb"),
                false,
            ),
            (Some("http://localhost:1/cb"), None, false),
            (None, Some("http://localhost:1/cb"), false),
        ] {
            let found = is_same_redirect(registered, current);
            assert_eq!(found, expected, "{registered:?} {current:?}");
        }
    }
}
