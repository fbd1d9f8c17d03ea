use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderValue;
use tokio::time::Instant;

use super::error::KeeperError;
use super::flight::Flight;
use super::freshness::{self, Freshness};
use crate::dpop::Prover;
use crate::step_up::{Decision, StepUp};
use crate::store::{Login, Tokens};
use crate::{Challenge, Scopes, Secret, dpop};

/// What is known in this process at this moment.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// Whether the vault has been looked into.
    pub(super) is_loaded: bool,
    /// What requests carry.
    pub(super) token: Option<Token>,
    /// Who is getting another token.
    pub(super) flight: Option<Flight>,
    /// The address that the last refusal came from.
    pub(super) peer: Option<IpAddr>,
    /// Where the last challenge said that the server describes itself.
    pub(super) resource_metadata: Option<String>,
    /// The access token in the vault, if it could not be replaced by the one here.
    pub(super) unsaved: Option<Secret>,
    step_up: Option<StepUp>,
    pause: Option<Pause>,
}

/// A token in use.
#[derive(Debug)]
pub(super) struct Token {
    pub(super) tokens: Tokens,
    pub(super) header: HeaderValue,
    /// What proves that the token is ours, if it is bound to a key.
    pub(super) prover: Option<Arc<Prover>>,
    source: Source,
    /// Whether the server has accepted a request since the token is in use.
    is_accepted: bool,
    renewal_time: Option<f64>,
}

/// Where a token is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// It was in the vault.
    Vault,
    /// We renewed an earlier one.
    Renewal,
    /// We logged in.
    Login,
}

/// What to do about a refused request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Plan {
    /// There is another token by now.
    SendAgain,
    /// Renew the token, or log in.
    Recover,
    /// A token that was got just now is refused: see whether there is another one by now.
    LookAgain(Source),
    /// Log in for these scopes.
    StepUp(Scopes),
    /// Nothing helps.
    GiveUp,
}

/// Until when the authorization server is left alone.
#[derive(Debug)]
struct Pause {
    until: Instant,
    cause: String,
    failures: u32,
}

impl Held {
    /// Uses the tokens of `login` from now on.
    pub(super) fn adopt(
        &mut self,
        login: Login,
        source: Source,
        luck: f64,
        now: f64,
    ) -> Result<(), KeeperError> {
        self.is_loaded = true;
        self.resource_metadata = login.resource_metadata.or(self.resource_metadata.take());
        let old = self.token.take();
        let Some(tokens) = login.tokens else {
            return Ok(());
        };
        let mut token = Token::new(tokens, source, luck, now)?;
        // The server goes on to expect the nonce that it named for the same key.
        let old = old.and_then(|old| old.prover);
        if let (Some(new), Some(old)) = (&mut token.prover, old)
            && new.key() == old.key()
        {
            *new = old;
        }
        self.token = Some(token);
        Ok(())
    }

    /// Hears that the server has answered a request well.
    pub(super) fn succeed(&mut self) {
        if let Some(token) = &mut self.token {
            token.is_accepted = true;
        }
    }

    /// Whether there is another token than the one that a request was sent with.
    pub(super) fn has_other_than(&self, used: Option<&HeaderValue>) -> bool {
        let held = self.token.as_ref().map(|token| &token.header);
        held.is_some() && held != used
    }

    /// What to do about a 401, which says if all it wants is the nonce that came with it.
    pub(super) fn unauthorized(
        &self,
        used: Option<&HeaderValue>,
        wants_nonce: bool,
        now: f64,
    ) -> Plan {
        let Some(token) = &self.token else {
            return Plan::Recover;
        };
        if self.has_other_than(used) || wants_nonce && token.prover.is_some() {
            return Plan::SendAgain;
        }
        if token.is_accepted || token.tokens.has_expired(now) {
            return Plan::Recover;
        }
        match token.source {
            Source::Vault => Plan::Recover,
            source => Plan::LookAgain(source),
        }
    }

    /// What to do about a 403.
    ///
    /// An operation that asks for something new gets all its attempts once another one has worked.
    pub(super) fn forbidden(&mut self, used: Option<&HeaderValue>, challenge: &Challenge) -> Plan {
        if self.has_other_than(used) {
            return Plan::SendAgain;
        }
        let requested = self.requested();
        let is_new = challenge
            .scope
            .as_ref()
            .is_some_and(|scopes| requested.union(scopes) != requested);
        let is_accepted = self.token.as_ref().is_some_and(|token| token.is_accepted);
        if is_new && is_accepted {
            self.step_up = None;
        }
        let step_up = self
            .step_up
            .get_or_insert_with(|| StepUp::new(requested.clone()));
        match step_up.forbidden(Some(challenge)) {
            Decision::Authorize(scopes) => Plan::StepUp(scopes),
            Decision::GiveUp | Decision::Forbidden => Plan::GiveUp,
        }
    }

    /// Leaves the authorization server alone for a while after it had a bad moment.
    pub(super) fn pause(&mut self, cause: &KeeperError, at_least: Option<Duration>, luck: f64) {
        let failures = self.pause.as_ref().map_or(0, |pause| pause.failures);
        let usual = FIRST_PAUSE * 2_u32.saturating_pow(failures);
        let usual = usual.min(LONGEST_PAUSE).mul_f64(0.5 + luck / 2.0);
        let asked = at_least.unwrap_or_default().min(LONGEST_ASKED);
        self.pause = Some(Pause {
            until: Instant::now() + usual.max(asked),
            cause: cause.to_string(),
            failures: failures.saturating_add(1),
        });
    }

    /// The authorization server is well.
    pub(super) fn resume(&mut self) {
        self.pause = None;
    }

    /// Says why the authorization server is left alone, if it is.
    pub(super) fn pausing(&self) -> Option<KeeperError> {
        let pause = self.pause.as_ref()?;
        let wait = pause.until.saturating_duration_since(Instant::now());
        (!wait.is_zero()).then(|| KeeperError::TooEarly {
            cause: pause.cause.clone(),
            wait,
        })
    }

    fn requested(&self) -> Scopes {
        let tokens = self.token.as_ref().map(|token| &token.tokens);
        let text = tokens.and_then(|it| it.requested_scope.as_ref().or(it.scope.as_ref()));
        text.map(|text| Scopes::parse(text)).unwrap_or_default()
    }
}

/// How long an authorization server is left alone after the first failure, and after many.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// How long it may ask to be left alone.
const LONGEST_ASKED: Duration = Duration::from_secs(300);

impl Token {
    fn new(tokens: Tokens, source: Source, luck: f64, now: f64) -> Result<Self, KeeperError> {
        let token_type = tokens.token_type.as_deref();
        let is_bound = token_type.is_some_and(|it| it.eq_ignore_ascii_case(DPOP));
        let (scheme, prover) = if is_bound {
            let stored = tokens.dpop_key.as_ref().ok_or(KeeperError::NoKey)?;
            let key = dpop::Key::from_stored(stored).map_err(|_| KeeperError::NoKey)?;
            (DPOP, Some(Arc::new(Prover::new(key))))
        } else {
            ("Bearer", None)
        };
        let text = format!("{scheme} {}", tokens.access_token.expose());
        let mut header = HeaderValue::from_str(&text).map_err(|_| KeeperError::Unsendable)?;
        header.set_sensitive(true);
        Ok(Self {
            renewal_time: freshness::renewal_time(&tokens, luck, now),
            tokens,
            header,
            prover,
            source,
            is_accepted: false,
        })
    }

    /// Whether it is still good.
    pub(super) fn freshness(&self, now: f64) -> Freshness {
        freshness::freshness(&self.tokens, self.renewal_time, now)
    }
}

/// How a token that is bound to a key is shown.
pub(super) const DPOP: &str = "DPoP";
