use super::clock::unix_time;
use super::config::{Assertion, Grant};
use super::errand::{Errand, Person, usual_redirect_uri};
use super::error::{KeeperError, Reason};
use super::held::Source;
use super::kept;
use super::renewal::{Renewal, Urgency};
use super::shared::{Circumstances, Shared, luck};
use crate::consent::Consent;
use crate::flow::{self, FlowError, Goal};
use crate::registration::{Client, Options};
use crate::store::{ClientInfo, Login};
use crate::{Challenge, Scopes, Secret};

impl Shared {
    /// Replaces a token that does not work, by whatever helps.
    pub(super) async fn recover(&self, circumstances: Circumstances) -> Result<(), KeeperError> {
        match self.recover_alone(&circumstances).await? {
            Renewal::Done => Ok(()),
            Renewal::NeedsLogin(reason) => self.obtain(Goal::Login, reason, circumstances).await,
        }
    }

    /// Replaces a token that does not work, as far as that takes no login.
    async fn recover_alone(&self, circumstances: &Circumstances) -> Result<Renewal, KeeperError> {
        if let Some(seen) = self.access_token() {
            return self.renew(&seen, Urgency::Refused, circumstances).await;
        }
        Ok(match self.use_other().await? {
            Some(found) => found,
            None => Renewal::NeedsLogin(Reason::NoLogin),
        })
    }

    /// Uses the token in the vault, if it is not the one in use.
    async fn use_other(&self) -> Result<Option<Renewal>, KeeperError> {
        let login = self.vault.login().await?;
        let stored = login.tokens.as_ref().map(|it| it.access_token.clone());
        let is_other = stored.is_some() && stored != self.access_token();
        Ok((is_other && self.is_for_server(&login)).then(|| self.use_stored(login)))
    }

    /// Logs in because a person said so, for what the server asks for and the user too.
    pub(super) async fn log_in(&self, circumstances: Circumstances) -> Result<(), KeeperError> {
        let challenge = circumstances.challenge.as_ref();
        let challenged = challenge.and_then(|challenge| challenge.scope.as_ref());
        match (challenged, &self.config.scopes) {
            (Some(challenged), Some(configured)) => {
                let scopes = challenged.union(configured);
                self.step_up(scopes, circumstances).await
            }
            _ => {
                self.obtain(Goal::Login, Reason::NoLogin, circumstances)
                    .await
            }
        }
    }

    /// Replaces a token that was got just now and is refused all the same.
    pub(super) async fn look_again(
        &self,
        source: Source,
        circumstances: Circumstances,
    ) -> Result<(), KeeperError> {
        if let Some(Renewal::Done) = self.use_other().await? {
            return Ok(());
        }
        // The token may have ended on the way; but a server that wants none of ours is not asked for ever.
        if let (Source::Login | Source::Renewal, Some(seen)) = (source, self.access_token())
            && let Renewal::Done = self.renew(&seen, Urgency::Refused, &circumstances).await?
        {
            return Ok(());
        }
        match source {
            Source::Login | Source::RenewedLogin => Err(self.needs_login(Reason::Refused)),
            Source::Vault | Source::Renewal | Source::RenewedAgain => {
                self.obtain(Goal::Login, Reason::Refused, circumstances)
                    .await
            }
        }
    }

    /// Replaces a token that does not cover a request, by one for `scopes`.
    pub(super) async fn cover(
        &self,
        scopes: Scopes,
        circumstances: Circumstances,
    ) -> Result<(), KeeperError> {
        let outcome = match self.use_other().await? {
            Some(Renewal::Done) => Ok(()),
            _ => self.step_up(scopes, circumstances).await,
        };
        if matches!(outcome, Err(KeeperError::NeedsLogin(_))) {
            // Nobody was asked, so nobody has been asked too often.
            self.held().forget_step_up();
        }
        outcome
    }

    /// Gets a token for `scopes`.
    pub(super) async fn step_up(
        &self,
        scopes: Scopes,
        circumstances: Circumstances,
    ) -> Result<(), KeeperError> {
        let reason = Reason::Scopes {
            scopes: scopes.clone(),
        };
        let circumstances = Circumstances {
            challenge: Some(Challenge {
                scope: Some(scopes.clone()),
                ..circumstances.challenge.unwrap_or_default()
            }),
            ..circumstances
        };
        self.obtain(Goal::StepUp(scopes), reason, circumstances)
            .await
    }

    /// Gets a token without an earlier one: `goal` where a person is asked.
    pub(super) async fn obtain(
        &self,
        goal: Goal,
        reason: Reason,
        circumstances: Circumstances,
    ) -> Result<(), KeeperError> {
        let login = self.vault.login().await?;
        let first = self.log_in_once(&login, goal.clone(), &reason, &circumstances);
        match first.await {
            Err(KeeperError::Flow(FlowError::Token(error)))
                if error.is_invalid_client()
                    && login.client.is_some()
                    && self.config.client.is_none() =>
            {
                tracing::info!(server = %self.config.name,
                    "the authorization server has forgotten this client; registering again");
                self.forget_client(&login).await?;
                let login = Login {
                    client: None,
                    ..login
                };
                self.log_in_once(&login, goal, &reason, &circumstances)
                    .await
            }
            outcome => outcome,
        }
    }

    async fn log_in_once(
        &self,
        stored: &Login,
        goal: Goal,
        reason: &Reason,
        circumstances: &Circumstances,
    ) -> Result<(), KeeperError> {
        let person = self.person(reason)?;
        let goal = match (&self.config.grant, self.goal_without_person().await?) {
            (_, Some(goal)) => goal,
            (Grant::DeviceCode(_), None) => Goal::DeviceCode,
            _ => goal,
        };
        if let (Person::Nobody, Some(error)) = (person, self.held().pausing()) {
            return Err(error);
        }
        let errand = Errand {
            goal: goal.clone(),
            circumstances: circumstances.clone(),
            options: self.options(stored, person),
            dpop_key: None,
        };
        match errand.run(&self.config, person).await {
            Ok((login, asked_at)) => self.keep(login, asked_at, circumstances).await,
            Err(failure) => {
                self.note_refusal(&goal, &failure.error);
                if failure.error.is_transient() {
                    self.held()
                        .pause(&failure.error, failure.retry_after, luck());
                }
                Err(failure.error)
            }
        }
    }

    /// Keeps a new login, and uses it even if it cannot be kept.
    async fn keep(
        &self,
        login: flow::Login,
        asked_at: f64,
        circumstances: &Circumstances,
    ) -> Result<(), KeeperError> {
        let tokens = kept::tokens(&login, asked_at, unix_time());
        let client = login
            .is_new_client
            .then(|| self.registered(&login, asked_at));
        let server_url = self.config.server.to_string();
        let challenge = circumstances.challenge.as_ref();
        let resource_metadata = challenge.and_then(|it| it.resource_metadata.clone());
        let edit = move |stored: &mut Login| {
            stored.bind(&server_url, &login.issuer);
            stored.tokens = Some(tokens.clone());
            if client.is_some() {
                stored.client.clone_from(&client);
            }
            if resource_metadata.is_some() {
                stored.resource_metadata.clone_from(&resource_metadata);
            }
        };
        let kept = self.vault.update(edit.clone()).await;
        let mut unkept = Login::default();
        edit(&mut unkept);
        self.held().resume();
        match kept {
            Ok(login) => self.adopt(login, Source::Login),
            Err(error) => {
                self.adopt(unkept, Source::Login)?;
                Err(error)
            }
        }
    }

    fn access_token(&self) -> Option<Secret> {
        let held = self.held();
        held.token.as_ref().map(|it| it.tokens.access_token.clone())
    }

    fn registered(&self, login: &flow::Login, now: f64) -> ClientInfo {
        let consent = self.config.consent.as_deref();
        ClientInfo {
            client_id_issued_at: Some(now.floor()),
            redirect_uri: consent.and_then(unusual_redirect_uri),
            ..ClientInfo::from(&login.client)
        }
    }

    /// Whom to ask; that nobody can be asked is an error only where somebody has to be.
    fn person(&self, reason: &Reason) -> Result<Person<'_>, KeeperError> {
        match (&self.config.grant, &self.config.consent) {
            (Grant::DeviceCode(show_code), _) => Ok(Person::Device(show_code)),
            (Grant::AuthorizationCode, Some(consent)) => Ok(Person::Browser(&**consent)),
            (Grant::AuthorizationCode, None) => Err(self.needs_login(reason.clone())),
            _ => Ok(Person::Nobody),
        }
    }

    /// What gets a token without a person, if anything does.
    pub(super) async fn goal_without_person(&self) -> Result<Option<Goal>, KeeperError> {
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

    /// The identity token as it is now, unless that one was refused.
    async fn assertion(&self, assertion: &Assertion) -> Result<Secret, KeeperError> {
        let token = assertion.read().await?;
        if self.held().refused_assertion.as_ref() == Some(&token) {
            return Err(KeeperError::AssertionRefused);
        }
        Ok(token)
    }

    /// The ways to be a client, of which one may be in the vault.
    fn options(&self, stored: &Login, person: Person<'_>) -> Options {
        let mut options = self.own_options();
        let redirect_uri = match person {
            Person::Browser(consent) => {
                if !consent.has_usual_redirect_uri() {
                    options = options.for_new_redirect_uri();
                }
                unusual_redirect_uri(consent)
            }
            _ => None,
        };
        if let (Some(issuer), Some(info)) = (&stored.issuer, &stored.client)
            && self.is_for_server(stored)
            && info.redirect_uri == redirect_uri
        {
            let client = Client::from(info);
            options.registrations.insert(issuer.clone(), client);
        }
        options
    }
}

/// Where browsers come back to, if it is not where they do without being told.
fn unusual_redirect_uri(consent: &dyn Consent) -> Option<String> {
    Some(consent.redirect_uri()).filter(|uri| *uri != usual_redirect_uri())
}
