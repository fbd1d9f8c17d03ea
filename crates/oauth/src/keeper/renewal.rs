use std::time::Duration;

use tokio::time::sleep;

use super::clock::unix_time;
use super::errand::{Errand, Failure, Person};
use super::error::{KeeperError, Reason};
use super::held::Source;
use super::kept;
use super::shared::{Circumstances, Shared, luck};
use super::vault::{Refresh, Ticket};
use crate::flow::{self, FlowError, Goal};
use crate::registration::{Client, Options};
use crate::store::{Login, Tokens};
use crate::token::TokenError;
use crate::{Secret, dpop};

/// How an attempt to renew a token ended.
#[derive(Debug)]
pub(super) enum Renewal {
    /// There is another token.
    Done,
    /// Only a login helps.
    NeedsLogin(Reason),
}

/// Whether the token that is to be renewed still works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Urgency {
    /// It does: what goes wrong can wait.
    Early,
    /// It does not by our clock, so what goes wrong is tried again; but that clock may be wrong.
    Ended,
    /// It does not: the server said so.
    Refused,
}

/// How long to wait before each further attempt of a renewal that cannot wait.
const PAUSES: [Duration; 2] = [Duration::from_millis(200), Duration::from_secs(1)];
/// How long an authorization server may ask us to wait, for us to wait right away.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

impl Shared {
    /// Replaces the token `seen`, or finds that another process has done so.
    pub(super) async fn renew(
        &self,
        seen: &Secret,
        urgency: Urgency,
        circumstances: &Circumstances,
    ) -> Result<Renewal, KeeperError> {
        self.save_pending().await?;
        match self.vault.begin_refresh(seen).await? {
            Refresh::Changed(login) if self.is_for_server(&login) => Ok(self.use_stored(*login)),
            Refresh::Changed(_) | Refresh::Gone => {
                self.forget();
                Ok(Renewal::NeedsLogin(Reason::NoLogin))
            }
            Refresh::Ours(ticket) => self.replace(&ticket, urgency, circumstances).await,
        }
    }

    /// Gets new tokens in the place of those that the ticket is for.
    async fn replace(
        &self,
        ticket: &Ticket,
        urgency: Urgency,
        circumstances: &Circumstances,
    ) -> Result<Renewal, KeeperError> {
        let goal = match self.renewal_goal(&ticket.login).await? {
            Ok(goal) => goal,
            Err(reason) => return Ok(Renewal::NeedsLogin(reason)),
        };
        if let Some(error) = self.held().pausing() {
            return Err(error);
        }
        if matches!(goal, Goal::Refresh { .. }) {
            // A refresh token that is given away for one that cannot be kept is a login lost.
            ticket.rehearse().await?;
        }
        let errand = || Errand {
            goal: goal.clone(),
            circumstances: circumstances.clone(),
            options: self.own_options(),
            dpop_key: self.dpop_key(&ticket.login),
        };
        match self.run(errand, urgency).await {
            Ok((login, asked_at)) => {
                self.held().resume();
                let tokens = kept::renewed(&login, asked_at, unix_time());
                let renewal = self.keep_renewed(ticket, tokens).await;
                self.record_issuer(&ticket.login, &login.issuer).await;
                renewal
            }
            Err(failure) => {
                self.note_refusal(&goal, &failure.error);
                self.not_renewed(ticket, urgency, failure).await
            }
        }
    }

    /// Remembers an identity token that was refused: to send it again would be of no use.
    pub(super) fn note_refusal(&self, goal: &Goal, error: &KeeperError) {
        let refused = match (goal, error) {
            (Goal::JwtBearer(token), KeeperError::Flow(FlowError::Token(error))) => {
                error.is_invalid_grant().then_some(token)
            }
            (Goal::Enterprise(_, token), KeeperError::Flow(FlowError::IdentityProvider(error))) => {
                error.is_invalid_grant().then_some(token)
            }
            _ => None,
        };
        if let Some(token) = refused {
            self.held().refused_assertion = Some(token.clone());
        }
    }

    /// Binds a login to whoever has renewed it: one that was taken over from OpenCode, which does not
    /// record it, or one that takes no person and so may come from anybody whom the server names.
    async fn record_issuer(&self, login: &Login, issuer: &str) {
        if login.issuer.as_deref() == Some(issuer) {
            return;
        }
        let (old, issuer) = (login.issuer.clone(), issuer.to_owned());
        let bind = move |login: &mut Login| {
            // Who has logged in elsewhere meanwhile is not overruled.
            if login.issuer == old {
                login.issuer = Some(issuer.clone());
            }
        };
        if let Err(error) = self.vault.update(bind).await {
            // The next renewal does it.
            tracing::warn!(%error, server = %self.config.name, "cannot record who issued a login");
        }
    }

    async fn keep_renewed(&self, ticket: &Ticket, tokens: Tokens) -> Result<Renewal, KeeperError> {
        let source = self.held().renewed();
        match ticket.complete(&tokens).await {
            Ok(Some(login)) => self.adopt(login, source)?,
            Ok(None) => {
                self.forget();
                return Ok(Renewal::NeedsLogin(Reason::NoLogin));
            }
            Err(error) => {
                tracing::warn!(%error, server = %self.config.name,
                    "a renewed token could not be saved; it is kept in memory until it can be");
                let mut login = ticket.login.clone();
                let old = login.tokens.take();
                let unsaved = old.as_ref().map(|old| old.access_token.clone());
                login.tokens = Some(match &old {
                    Some(old) => tokens.renewing(old),
                    None => tokens,
                });
                self.adopt(login, source)?;
                self.held().unsaved = unsaved;
            }
        }
        Ok(Renewal::Done)
    }

    async fn not_renewed(
        &self,
        ticket: &Ticket,
        urgency: Urgency,
        failure: Failure,
    ) -> Result<Renewal, KeeperError> {
        if failure.error.is_transient() {
            self.held()
                .pause(&failure.error, failure.retry_after, luck());
            return Err(failure.error);
        }
        if !self.config.grant.takes_person() {
            return Err(failure.error);
        }
        match failure.error {
            KeeperError::Flow(FlowError::Token(error)) if error.is_invalid_grant() => {
                let left = match urgency {
                    Urgency::Refused => ticket.reject().await?,
                    Urgency::Early | Urgency::Ended => ticket.reject_refresh_token().await?,
                };
                self.rejected(ticket, left)
            }
            KeeperError::Flow(FlowError::Token(error)) if error.is_invalid_client() => {
                if self.config.client.is_some() {
                    // A login would fail in the same way: the configuration is wrong.
                    return Err(KeeperError::Flow(error.into()));
                }
                self.forget_client(&ticket.login).await?;
                Ok(Renewal::NeedsLogin(Reason::ClientChanged))
            }
            KeeperError::Flow(FlowError::Token(TokenError::Refused(refusal))) => {
                Ok(Renewal::NeedsLogin(Reason::NotRenewed(Box::new(refusal))))
            }
            KeeperError::Flow(FlowError::IssuerChanged { issuer }) => {
                Ok(Renewal::NeedsLogin(Reason::IssuerChanged { issuer }))
            }
            error => Err(error),
        }
    }

    /// Goes on with what is `left` after the authorization server has refused to renew a login.
    fn rejected(&self, ticket: &Ticket, left: Option<Login>) -> Result<Renewal, KeeperError> {
        let access_token = |login: &Login| Some(login.tokens.as_ref()?.access_token.clone());
        let Some(left) = left.filter(|left| self.is_for_server(left)) else {
            self.forget();
            return Ok(Renewal::NeedsLogin(Reason::Revoked));
        };
        let is_other = access_token(&left) != access_token(&ticket.login);
        self.adopt(left, Source::Vault)?;
        Ok(if is_other {
            Renewal::Done
        } else {
            Renewal::NeedsLogin(Reason::Revoked)
        })
    }

    /// Goes to the authorization server, more than once if it cannot wait.
    async fn run(
        &self,
        errand: impl Fn() -> Errand,
        urgency: Urgency,
    ) -> Result<(flow::Login, f64), Failure> {
        for pause in PAUSES.iter().filter(|_| urgency != Urgency::Early) {
            let outcome = errand().run(&self.config, Person::Nobody).await;
            match outcome.as_ref().err().and_then(|it| it.pause(*pause)) {
                Some(pause) => sleep(pause).await,
                None => return outcome,
            }
        }
        errand().run(&self.config, Person::Nobody).await
    }

    /// What renews `login`: the grant itself if it takes no person, else what the login left us.
    async fn renewal_goal(&self, login: &Login) -> Result<Result<Goal, Reason>, KeeperError> {
        if let Some(goal) = self.goal_without_person().await? {
            return Ok(Ok(goal));
        }
        let tokens = login.tokens.as_ref();
        let Some(refresh_token) = tokens.and_then(|tokens| tokens.refresh_token.clone()) else {
            return Ok(Err(Reason::Ended));
        };
        Ok(match self.client_of(login) {
            None => Err(Reason::ClientChanged),
            Some(client) => Ok(Goal::Refresh {
                issuer: login.issuer.clone(),
                client,
                refresh_token,
            }),
        })
    }

    /// The key that `login` is bound to; one that cannot be read is as good as none.
    pub(super) fn dpop_key(&self, login: &Login) -> Option<dpop::Key> {
        let stored = login.tokens.as_ref()?.dpop_key.as_ref()?;
        dpop::Key::from_stored(stored).ok()
    }

    /// Who we are to anybody, as far as the user said.
    pub(super) fn own_options(&self) -> Options {
        Options {
            configured: self.config.client.clone(),
            metadata_document: self.config.metadata_document.clone(),
            ..Options::default()
        }
    }

    /// Who `login` was issued to, if we still are.
    pub(super) fn client_of(&self, login: &Login) -> Option<Client> {
        let id = login.tokens.as_ref().and_then(|it| it.client_id.as_ref());
        let configured = self.config.client.as_ref().map(|it| it.client.clone());
        let described = self.config.metadata_document.as_ref();
        let described = described.map(|url| Client::public(url.as_str()));
        let registered = login.client.as_ref().map(Client::from);
        // OpenCode does not record it: its logins are of the client that it registered, if it did.
        let known = registered.into_iter().chain(configured).chain(described);
        let mut known = known.filter(|client| id.is_none_or(|id| client.id == *id));
        known.next()
    }

    /// Uses a login that another process has put into the vault.
    pub(super) fn use_stored(&self, login: Login) -> Renewal {
        match self.adopt(login, Source::Vault) {
            Ok(()) => Renewal::Done,
            Err(error) => {
                tracing::warn!(%error, server = %self.config.name, "a login cannot be used");
                Renewal::NeedsLogin(Reason::Unusable)
            }
        }
    }

    /// Saves what could not be saved before.
    pub(super) async fn save_pending(&self) -> Result<(), KeeperError> {
        let pending = {
            let held = self.held();
            let tokens = held.token.as_ref().map(|token| token.tokens.clone());
            held.unsaved.clone().zip(tokens)
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
        self.vault.update(save).await?;
        self.held().unsaved = None;
        Ok(())
    }

    /// There is no login any more.
    pub(super) fn forget(&self) {
        let mut held = self.held();
        held.token = None;
        held.unsaved = None;
    }

    /// The authorization server does not know the client any more; the tokens stay while they work.
    pub(super) async fn forget_client(&self, login: &Login) -> Result<(), KeeperError> {
        let id = login.client.as_ref().map(|client| client.client_id.clone());
        let forget = move |login: &mut Login| {
            if login.client.as_ref().map(|client| &client.client_id) == id.as_ref() {
                login.client = None;
            }
        };
        self.vault.update(forget).await.map(drop)
    }
}

impl Failure {
    /// How long to wait for another attempt, if that may help soon.
    fn pause(&self, usual: Duration) -> Option<Duration> {
        let pause = self.retry_after.unwrap_or(usual).max(usual);
        (self.error.is_transient() && pause <= LONGEST_PAUSE).then_some(pause)
    }
}
