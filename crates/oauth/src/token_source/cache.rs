use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderValue;
use tokio::time::Instant;

use super::backoff::backoff;
use super::error::TokenError;
use super::freshness::{self, Freshness};
use super::single_flight::SingleFlight;
use crate::dpop::Prover;
use crate::step_up::{Decision, StepUp};
use crate::store::{Login, Tokens};
use crate::{Challenge, Scopes, Secret, dpop};

/// Token cache of this process: the token in use, and the state of refreshes and retries.
#[derive(Debug, Default)]
pub(super) struct TokenCache {
    /// Set once the store has been read.
    pub(super) is_loaded: bool,
    /// Token that requests carry.
    pub(super) token: Option<CachedToken>,
    /// Task that gets another token, if one is running.
    pub(super) flight: Option<SingleFlight>,
    /// Address that the last refused request was sent to.
    pub(super) peer: Option<IpAddr>,
    /// Metadata URL of the last challenge.
    pub(super) resource_metadata: Option<String>,
    /// Access token in the store, while the newer one in this cache could not be saved.
    pub(super) unsaved: Option<Secret>,
    /// Identity token that the authorization server refused. It is not sent again.
    pub(super) refused_assertion: Option<Secret>,
    step_up: Option<StepUp>,
    backoff: Option<Backoff>,
}

/// Token in use.
#[derive(Debug)]
pub(super) struct CachedToken {
    pub(super) tokens: Tokens,
    pub(super) header: HeaderValue,
    /// Makes DPoP proofs, if the token is bound to a key.
    pub(super) prover: Option<Arc<Prover>>,
    origin: TokenOrigin,
    since: Instant,
    /// Set once the server has accepted a request with this token.
    is_accepted: bool,
    refresh_time: Option<f64>,
}

/// Origin of a token. It decides how a refused token is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenOrigin {
    /// Read from the store.
    Store,
    /// Refreshed by this process.
    Refresh,
    /// Refreshed twice, the second time before the server had accepted the first result.
    RefreshedAgain,
    /// Issued by a login of this process.
    Login,
    /// Issued by a login of this process, and refreshed before the server had accepted it.
    RefreshedLogin,
}

/// Reaction to a refused request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RetryPlan {
    /// Send the request again: the cache has another token by now.
    SendAgain,
    /// Refresh the token, or log in.
    Recover,
    /// Reload the store, else refresh: the refused token was issued just now.
    ReloadOrRefresh(TokenOrigin),
    /// Log in for these scopes.
    StepUp(Scopes),
    /// Report the refusal to the caller.
    GiveUp,
}

/// Backoff after a failure of the authorization server.
#[derive(Debug)]
struct Backoff {
    until: Instant,
    cause: String,
    failures: u32,
}

impl TokenCache {
    /// Replaces the cached token by that of `login`.
    pub(super) fn adopt(
        &mut self,
        login: Login,
        origin: TokenOrigin,
        jitter: f64,
        now: f64,
    ) -> Result<(), TokenError> {
        self.is_loaded = true;
        self.resource_metadata = login.resource_metadata.or(self.resource_metadata.take());
        let old = self.token.take();
        let Some(tokens) = login.tokens else {
            return Ok(());
        };
        let mut token = CachedToken::new(tokens, origin, jitter, now)?;
        // The server goes on to expect the nonce that it sent for this key.
        let old = old.and_then(|old| old.prover);
        if let (Some(new), Some(old)) = (&mut token.prover, old)
            && new.key() == old.key()
        {
            *new = old;
        }
        self.token = Some(token);
        Ok(())
    }

    /// Leaves the token alone until it expires, because an early refresh failed for good.
    pub(super) fn stop_early_refresh(&mut self) {
        if let Some(token) = &mut self.token {
            token.refresh_time = None;
        }
    }

    /// Origin of the token that a refresh of this one leads to.
    pub(super) fn refreshed_origin(&self) -> TokenOrigin {
        let not_accepted = self.token.as_ref().filter(|token| !token.is_accepted);
        match not_accepted.map(|token| token.origin) {
            Some(TokenOrigin::Login) => TokenOrigin::RefreshedLogin,
            Some(TokenOrigin::Refresh | TokenOrigin::RefreshedAgain) => TokenOrigin::RefreshedAgain,
            _ => TokenOrigin::Refresh,
        }
    }

    /// Records that the server has accepted a request with this token.
    pub(super) fn mark_accepted(&mut self) {
        if let Some(token) = &mut self.token {
            token.is_accepted = true;
        }
    }

    /// Returns true if the cached token is another than the one that a request was sent with.
    pub(super) fn differs_from(&self, used: Option<&HeaderValue>) -> bool {
        let cache = self.token.as_ref().map(|token| &token.header);
        cache.is_some() && cache != used
    }

    /// Decides about a 401. `wants_nonce` is set if the challenge only asks for a DPoP nonce.
    ///
    /// The order matters: another token or a nonce may be enough, and only then is a token
    /// replaced. A token that was never accepted and is new was not expired but unwanted, so that
    /// refreshing it without end would be a loop.
    pub(super) fn unauthorized(
        &self,
        used: Option<&HeaderValue>,
        wants_nonce: bool,
        now: f64,
    ) -> RetryPlan {
        let Some(token) = &self.token else {
            return RetryPlan::Recover;
        };
        if self.differs_from(used) || wants_nonce && token.prover.is_some() {
            return RetryPlan::SendAgain;
        }
        let is_new = token.since.elapsed() < NEW_TOKEN_WINDOW;
        if token.is_accepted || token.tokens.has_expired(now) || !is_new {
            return RetryPlan::Recover;
        }
        match token.origin {
            TokenOrigin::Store => RetryPlan::Recover,
            origin => RetryPlan::ReloadOrRefresh(origin),
        }
    }

    /// Decides about a 403.
    ///
    /// An operation that asks for a new scope gets all its attempts once another operation has
    /// succeeded.
    pub(super) fn forbidden(
        &mut self,
        used: Option<&HeaderValue>,
        challenge: &Challenge,
    ) -> RetryPlan {
        if self.differs_from(used) {
            return RetryPlan::SendAgain;
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
            Decision::Authorize(scopes) => RetryPlan::StepUp(scopes),
            Decision::GiveUp | Decision::Forbidden => RetryPlan::GiveUp,
        }
    }

    /// Resets the count of step-up attempts.
    pub(super) fn forget_step_up(&mut self) {
        self.step_up = None;
    }

    /// Starts or extends the backoff after a failure of the authorization server, which has failed
    /// `earlier` times for another process. Returns the number of failures and the time.
    pub(super) fn back_off(
        &mut self,
        cause: &TokenError,
        asked: Option<Duration>,
        earlier: u32,
        jitter: f64,
    ) -> (u32, Duration) {
        let own = self.backoff.as_ref().map_or(0, |backoff| backoff.failures);
        let failures = own.max(earlier);
        let wait = backoff(failures, asked, jitter);
        self.share_backoff(cause.to_string(), failures.saturating_add(1), wait);
        (failures.saturating_add(1), wait)
    }

    /// Takes over the backoff of another process.
    pub(super) fn share_backoff(&mut self, cause: String, failures: u32, wait: Duration) {
        self.backoff = Some(Backoff {
            until: Instant::now() + wait,
            cause,
            failures,
        });
    }

    /// Ends the backoff after a success.
    pub(super) fn end_backoff(&mut self) {
        self.backoff = None;
    }

    /// Returns the error to report while the backoff lasts.
    pub(super) fn backing_off(&self) -> Option<TokenError> {
        let backoff = self.backoff.as_ref()?;
        let wait = backoff.until.saturating_duration_since(Instant::now());
        (!wait.is_zero()).then(|| TokenError::TooEarly {
            cause: backoff.cause.clone(),
            wait,
        })
    }

    fn requested(&self) -> Scopes {
        let tokens = self.token.as_ref().map(|token| &token.tokens);
        let text = tokens.and_then(|it| it.requested_scope.as_ref().or(it.scope.as_ref()));
        text.map(|text| Scopes::parse(text)).unwrap_or_default()
    }
}

/// Age up to which a refused token that was never accepted counts as unwanted by the server, not as
/// expired.
const NEW_TOKEN_WINDOW: Duration = Duration::from_secs(30);

impl CachedToken {
    fn new(tokens: Tokens, origin: TokenOrigin, jitter: f64, now: f64) -> Result<Self, TokenError> {
        let token_type = tokens.token_type.as_deref();
        let is_bound = token_type.is_some_and(|it| it.eq_ignore_ascii_case(DPOP));
        let (scheme, prover) = if is_bound {
            let stored = tokens.dpop_key.as_ref().ok_or(TokenError::NoKey)?;
            let key = dpop::Key::from_stored(stored).map_err(|_| TokenError::NoKey)?;
            (DPOP, Some(Arc::new(Prover::new(key))))
        } else {
            ("Bearer", None)
        };
        let text = format!("{scheme} {}", tokens.access_token.expose());
        let mut header = HeaderValue::from_str(&text).map_err(|_| TokenError::Unsendable)?;
        // Keeps the token out of debug output and of the compression tables of HTTP/2.
        header.set_sensitive(true);
        Ok(Self {
            refresh_time: freshness::refresh_time(&tokens, jitter, now),
            tokens,
            header,
            prover,
            origin,
            since: Instant::now(),
            is_accepted: false,
        })
    }

    /// Freshness at `now`.
    pub(super) fn freshness(&self, now: f64) -> Freshness {
        freshness::freshness(&self.tokens, self.refresh_time, now)
    }
}

/// Authorization scheme of a token that is bound to a key (RFC 9449).
pub(super) const DPOP: &str = "DPoP";

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http::HeaderValue;

    use super::{NEW_TOKEN_WINDOW, RetryPlan, TokenCache, TokenOrigin};
    use crate::store::{Login, Tokens};
    use crate::token_source::error::TokenError;
    use crate::{Challenge, Scopes, Secret, dpop};

    const NOW: f64 = 1000.0;

    fn tokens(access_token: &str) -> Tokens {
        Tokens {
            expires_at: Some(NOW + 10.0),
            requested_scope: Some("a".to_owned()),
            ..Tokens::new(Secret::new(access_token))
        }
    }

    fn cache(tokens: Tokens, origin: TokenOrigin) -> TokenCache {
        let mut cache = TokenCache::default();
        let login = Login {
            tokens: Some(tokens),
            ..Login::default()
        };
        cache.adopt(login, origin, 0.5, NOW).unwrap();
        cache
    }

    fn header(text: &'static str) -> HeaderValue {
        HeaderValue::from_static(text)
    }

    #[test]
    fn a_401_is_answered_by_the_step_that_may_help() {
        let used = header("Bearer t");
        let cases = [
            // Origin of the token, accepted, the time, the plan.
            (TokenOrigin::Store, false, NOW, RetryPlan::Recover),
            (TokenOrigin::Refresh, true, NOW, RetryPlan::Recover),
            (TokenOrigin::Refresh, false, NOW + 10.0, RetryPlan::Recover),
            (
                TokenOrigin::Refresh,
                false,
                NOW,
                RetryPlan::ReloadOrRefresh(TokenOrigin::Refresh),
            ),
            (
                TokenOrigin::RefreshedAgain,
                false,
                NOW,
                RetryPlan::ReloadOrRefresh(TokenOrigin::RefreshedAgain),
            ),
            (TokenOrigin::Login, true, NOW, RetryPlan::Recover),
            (
                TokenOrigin::Login,
                false,
                NOW,
                RetryPlan::ReloadOrRefresh(TokenOrigin::Login),
            ),
            (
                TokenOrigin::RefreshedLogin,
                false,
                NOW,
                RetryPlan::ReloadOrRefresh(TokenOrigin::RefreshedLogin),
            ),
        ];
        for (origin, has_worked, now, expected) in cases {
            let mut cache = cache(tokens("t"), origin);
            if has_worked {
                cache.mark_accepted();
            }
            let plan = cache.unauthorized(Some(&used), false, now);
            assert_eq!(plan, expected, "{origin:?} {has_worked} {now}");
            for other in [None, Some(&header("Bearer old"))] {
                assert_eq!(cache.unauthorized(other, false, now), RetryPlan::SendAgain);
            }
        }
        let nothing = TokenCache::default();
        assert_eq!(
            nothing.unauthorized(Some(&used), false, NOW),
            RetryPlan::Recover
        );
        assert_eq!(nothing.unauthorized(None, false, NOW), RetryPlan::Recover);
    }

    #[test]
    fn a_nonce_helps_only_where_there_are_proofs() {
        let bound = Tokens {
            token_type: Some("dpop".to_owned()),
            dpop_key: Some(dpop::Key::generate().unwrap().stored().clone()),
            ..tokens("t")
        };
        let held_bound = cache(bound.clone(), TokenOrigin::Login);
        let plan = held_bound.unauthorized(Some(&header("DPoP t")), true, NOW);
        assert_eq!(plan, RetryPlan::SendAgain);
        let plain = cache(tokens("t"), TokenOrigin::Store);
        let plan = plain.unauthorized(Some(&header("Bearer t")), true, NOW);
        assert_eq!(plan, RetryPlan::Recover);

        for dpop_key in [None, Some(Secret::new("damaged"))] {
            let login = Login {
                tokens: Some(Tokens {
                    dpop_key,
                    ..bound.clone()
                }),
                ..Login::default()
            };
            let adopted = TokenCache::default().adopt(login, TokenOrigin::Store, 0.5, NOW);
            assert!(matches!(adopted, Err(TokenError::NoKey)), "{adopted:?}");
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
        let mut cache = cache(tokens("t"), TokenOrigin::Store);
        let plan = |cache: &mut TokenCache, scope| cache.forbidden(Some(&used), &challenge(scope));
        let expected = |scopes| RetryPlan::StepUp(Scopes::parse(scopes));
        assert_eq!(plan(&mut cache, "b"), expected("a b"));
        assert_eq!(plan(&mut cache, "c"), expected("a b c"));
        assert_eq!(plan(&mut cache, "d"), RetryPlan::GiveUp);
        cache.mark_accepted();
        assert_eq!(plan(&mut cache, "a"), RetryPlan::GiveUp);
        assert_eq!(plan(&mut cache, "b"), expected("a b"));
        let other = cache.forbidden(Some(&header("Bearer old")), &challenge("e"));
        assert_eq!(other, RetryPlan::SendAgain);
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_that_lay_unused_is_renewed_like_any_other() {
        let used = header("Bearer t");
        for origin in [TokenOrigin::Refresh, TokenOrigin::Login] {
            let cache = cache(tokens("t"), origin);
            let plan = cache.unauthorized(Some(&used), false, NOW);
            assert_eq!(plan, RetryPlan::ReloadOrRefresh(origin));
            tokio::time::advance(NEW_TOKEN_WINDOW).await;
            let plan = cache.unauthorized(Some(&used), false, NOW);
            assert_eq!(plan, RetryPlan::Recover, "{origin:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_authorization_server_is_left_alone_longer_and_longer() {
        let mut cache = TokenCache::default();
        let wait = |cache: &TokenCache| match cache.backing_off() {
            Some(TokenError::TooEarly { wait, .. }) => wait.as_secs(),
            other => panic!("{other:?}"),
        };
        for expected in [1, 2, 4, 8, 16, 30, 30] {
            cache.back_off(&TokenError::Interrupted, None, 0, 1.0);
            assert_eq!(wait(&cache), expected);
        }
        for (asked, expected) in [(2, 30), (60, 60), (100_000, 300)] {
            let asked = Some(Duration::from_secs(asked));
            cache.back_off(&TokenError::Interrupted, asked, 0, 1.0);
            assert_eq!(wait(&cache), expected);
        }
        tokio::time::advance(Duration::from_secs(300)).await;
        assert!(cache.backing_off().is_none());
        cache.end_backoff();
        cache.back_off(&TokenError::Interrupted, None, 0, 0.0);
        assert_eq!(wait(&cache), 0);
        cache.back_off(&TokenError::Interrupted, None, 4, 1.0);
        assert_eq!(wait(&cache), 16);
    }

    #[test]
    fn a_token_that_no_header_can_carry_is_not_used() {
        let login = Login {
            tokens: Some(tokens("a\nb")),
            ..Login::default()
        };
        let adopted = TokenCache::default().adopt(login, TokenOrigin::Login, 0.5, NOW);
        assert!(
            matches!(adopted, Err(TokenError::Unsendable)),
            "{adopted:?}"
        );
    }
}
