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
    /// The identity token that the authorization server refused; only another one may help.
    pub(super) refused_assertion: Option<Secret>,
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
    since: Instant,
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
    /// We renewed an earlier one, and then that one before it had worked.
    RenewedAgain,
    /// We logged in.
    Login,
    /// We logged in, and renewed the token before it had worked.
    RenewedLogin,
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

    /// Leaves the token alone until it ends: to renew it earlier did not work, and would not later.
    pub(super) fn stop_renewing_early(&mut self) {
        if let Some(token) = &mut self.token {
            token.renewal_time = None;
        }
    }

    /// Where a token will be from that takes the place of this one.
    pub(super) fn renewed(&self) -> Source {
        let unproven = self.token.as_ref().filter(|token| !token.is_accepted);
        match unproven.map(|token| token.source) {
            Some(Source::Login) => Source::RenewedLogin,
            Some(Source::Renewal | Source::RenewedAgain) => Source::RenewedAgain,
            _ => Source::Renewal,
        }
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
        let is_new = token.since.elapsed() < NEWNESS;
        if token.is_accepted || token.tokens.has_expired(now) || !is_new {
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

    /// Begins anew to count how often access is asked for.
    pub(super) fn forget_step_up(&mut self) {
        self.step_up = None;
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

/// How long a token that is refused counts as one that was never good, and not as one that has ended.
const NEWNESS: Duration = Duration::from_secs(30);
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
            since: Instant::now(),
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http::HeaderValue;

    use super::{Held, NEWNESS, Plan, Source};
    use crate::keeper::error::KeeperError;
    use crate::store::{Login, Tokens};
    use crate::{Challenge, Scopes, Secret, dpop};

    const NOW: f64 = 1000.0;

    fn tokens(access_token: &str) -> Tokens {
        Tokens {
            expires_at: Some(NOW + 10.0),
            requested_scope: Some("a".to_owned()),
            ..Tokens::new(Secret::new(access_token))
        }
    }

    fn held(tokens: Tokens, source: Source) -> Held {
        let mut held = Held::default();
        let login = Login {
            tokens: Some(tokens),
            ..Login::default()
        };
        held.adopt(login, source, 0.5, NOW).unwrap();
        held
    }

    fn header(text: &'static str) -> HeaderValue {
        HeaderValue::from_static(text)
    }

    #[test]
    fn a_401_is_answered_by_what_may_help() {
        let used = header("Bearer t");
        let cases = [
            // Where the token is from, whether it has worked, the time, the plan.
            (Source::Vault, false, NOW, Plan::Recover),
            (Source::Renewal, true, NOW, Plan::Recover),
            (Source::Renewal, false, NOW + 10.0, Plan::Recover),
            (
                Source::Renewal,
                false,
                NOW,
                Plan::LookAgain(Source::Renewal),
            ),
            (
                Source::RenewedAgain,
                false,
                NOW,
                Plan::LookAgain(Source::RenewedAgain),
            ),
            (Source::Login, true, NOW, Plan::Recover),
            (Source::Login, false, NOW, Plan::LookAgain(Source::Login)),
            (
                Source::RenewedLogin,
                false,
                NOW,
                Plan::LookAgain(Source::RenewedLogin),
            ),
        ];
        for (source, has_worked, now, expected) in cases {
            let mut held = held(tokens("t"), source);
            if has_worked {
                held.succeed();
            }
            let plan = held.unauthorized(Some(&used), false, now);
            assert_eq!(plan, expected, "{source:?} {has_worked} {now}");
            for other in [None, Some(&header("Bearer old"))] {
                assert_eq!(held.unauthorized(other, false, now), Plan::SendAgain);
            }
        }
        let nothing = Held::default();
        assert_eq!(nothing.unauthorized(Some(&used), false, NOW), Plan::Recover);
        assert_eq!(nothing.unauthorized(None, false, NOW), Plan::Recover);
    }

    #[test]
    fn a_nonce_helps_only_where_there_are_proofs() {
        let bound = Tokens {
            token_type: Some("dpop".to_owned()),
            dpop_key: Some(dpop::Key::generate().unwrap().stored().clone()),
            ..tokens("t")
        };
        let held_bound = held(bound.clone(), Source::Login);
        let plan = held_bound.unauthorized(Some(&header("DPoP t")), true, NOW);
        assert_eq!(plan, Plan::SendAgain);
        let plain = held(tokens("t"), Source::Vault);
        let plan = plain.unauthorized(Some(&header("Bearer t")), true, NOW);
        assert_eq!(plan, Plan::Recover);

        for dpop_key in [None, Some(Secret::new("damaged"))] {
            let login = Login {
                tokens: Some(Tokens {
                    dpop_key,
                    ..bound.clone()
                }),
                ..Login::default()
            };
            let adopted = Held::default().adopt(login, Source::Vault, 0.5, NOW);
            assert!(matches!(adopted, Err(KeeperError::NoKey)), "{adopted:?}");
        }
    }

    #[test]
    fn each_new_operation_has_its_attempts_and_none_has_more() {
        let used = header("Bearer t");
        let challenge = |scope: &str| Challenge {
            scope: Some(Scopes::parse(scope)),
            error: Some("insufficient_scope".to_owned()),
            ..Challenge::default()
        };
        let mut held = held(tokens("t"), Source::Vault);
        let plan = |held: &mut Held, scope| held.forbidden(Some(&used), &challenge(scope));
        let expected = |scopes| Plan::StepUp(Scopes::parse(scopes));
        assert_eq!(plan(&mut held, "b"), expected("a b"));
        assert_eq!(plan(&mut held, "c"), expected("a b c"));
        assert_eq!(plan(&mut held, "d"), Plan::GiveUp);
        held.succeed();
        assert_eq!(plan(&mut held, "a"), Plan::GiveUp);
        assert_eq!(plan(&mut held, "b"), expected("a b"));
        let other = held.forbidden(Some(&header("Bearer old")), &challenge("e"));
        assert_eq!(other, Plan::SendAgain);
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_that_lay_unused_is_renewed_like_any_other() {
        let used = header("Bearer t");
        for source in [Source::Renewal, Source::Login] {
            let held = held(tokens("t"), source);
            let plan = held.unauthorized(Some(&used), false, NOW);
            assert_eq!(plan, Plan::LookAgain(source));
            tokio::time::advance(NEWNESS).await;
            let plan = held.unauthorized(Some(&used), false, NOW);
            assert_eq!(plan, Plan::Recover, "{source:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_authorization_server_is_left_alone_longer_and_longer() {
        let mut held = Held::default();
        let wait = |held: &Held| match held.pausing() {
            Some(KeeperError::TooEarly { wait, .. }) => wait.as_secs(),
            other => panic!("{other:?}"),
        };
        for expected in [1, 2, 4, 8, 16, 30, 30] {
            held.pause(&KeeperError::Interrupted, None, 1.0);
            assert_eq!(wait(&held), expected);
        }
        for (asked, expected) in [(2, 30), (60, 60), (100_000, 300)] {
            let asked = Some(Duration::from_secs(asked));
            held.pause(&KeeperError::Interrupted, asked, 1.0);
            assert_eq!(wait(&held), expected);
        }
        tokio::time::advance(Duration::from_secs(300)).await;
        assert!(held.pausing().is_none());
        held.resume();
        held.pause(&KeeperError::Interrupted, None, 0.0);
        assert_eq!(wait(&held), 0);
    }

    #[test]
    fn a_token_that_no_header_can_carry_is_not_used() {
        let login = Login {
            tokens: Some(tokens("a\nb")),
            ..Login::default()
        };
        let adopted = Held::default().adopt(login, Source::Login, 0.5, NOW);
        assert!(
            matches!(adopted, Err(KeeperError::Unsendable)),
            "{adopted:?}"
        );
    }
}
