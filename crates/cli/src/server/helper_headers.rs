use std::collections::BTreeMap;
use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use callgate_mcp::transport::http::client::{
    Authorizer, Credentials, Headers, Outgoing, Refused, Verdict,
};
use callgate_mcp::upstream::Remote;
use callgate_mcp::{BoxFuture, Call, Error, Kind, Reply, Service};
use callgate_oauth::registration::NeedsClientRegistration;
use callgate_oauth::token_source::{NeedsLogin, TokenError};
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::headers_helper;
use super::refused_credentials::RefusedCredentials;
use crate::config::resolve::HeadersHelper;
use crate::debug::Secrets;
use crate::output::argument;

/// Headers that a command prints, for all requests of a connection. The command runs again when the server refuses
/// them: most print a token that expires.
pub(crate) struct HelperHeaders {
    print: Print,
    printed: Mutex<Printed>,
    /// Login beside the headers, which have no `Authorization` then.
    login: Option<Arc<dyn Authorizer>>,
    /// Time between two runs because of refusals.
    interval: Duration,
}

/// Runs the command.
type Print = Box<dyn Fn() -> BoxFuture<'static, anyhow::Result<HelperOutput>> + Send + Sync>;

/// Headers as the command prints them.
type HelperOutput = BTreeMap<String, String>;

struct Printed {
    headers: Vec<(HeaderName, HeaderValue)>,
    /// Time at which the command has run because of a refusal.
    renewed: Option<Instant>,
}

/// Usual time between two runs because of refusals. Headers that are refused sooner are refused for another reason than
/// their age, and each request would run the command.
const INTERVAL: Duration = Duration::from_secs(5);

impl HelperHeaders {
    /// Runs the command for the first headers. All that it ever prints are secrets.
    ///
    /// # Errors
    /// The command fails, or prints something that cannot be a header.
    pub(super) async fn of_command(
        command: HeadersHelper,
        secrets: Option<Secrets>,
    ) -> anyhow::Result<Self> {
        let command = Arc::new(command);
        Self::new(Box::new(move || {
            let (command, secrets) = (command.clone(), secrets.clone());
            Box::pin(async move {
                let printed = headers_helper::run(&command).await?;
                if let Some(secrets) = secrets {
                    printed.values().for_each(|value| secrets.add(value));
                }
                Ok(printed)
            })
        }))
        .await
    }

    async fn new(print: Print) -> anyhow::Result<Self> {
        let headers = parsed(&print().await?)?;
        Ok(Self {
            print,
            printed: Mutex::new(Printed {
                headers,
                renewed: None,
            }),
            login: None,
            interval: INTERVAL,
        })
    }

    /// True if the headers have credentials in the usual place.
    pub(super) fn is_authorized(&mut self) -> bool {
        let headers = &self.printed.get_mut().headers;
        headers.iter().any(|(name, _)| name == AUTHORIZATION)
    }

    /// The headers beside those of a login.
    pub(super) fn with_login(mut self, login: Option<Arc<dyn Authorizer>>) -> Self {
        self.login = login;
        self
    }

    /// Runs the command unless another request has done so since these headers were sent. Returns false if there are
    /// no others.
    async fn renew(&self, refused: &HeaderMap) -> bool {
        // Requests that come meanwhile wait for the new headers too.
        let mut printed = self.printed.lock().await;
        let is_sent = |(name, value): &(HeaderName, HeaderValue)| refused.get(name) == Some(value);
        if !printed.headers.iter().all(is_sent) {
            return true;
        }
        if printed
            .renewed
            .is_some_and(|at| at.elapsed() < self.interval)
        {
            return false;
        }
        let headers = (self.print)().await.and_then(|printed| parsed(&printed));
        printed.renewed = Some(Instant::now());
        match headers {
            Ok(headers) if headers != printed.headers => {
                printed.headers = headers;
                true
            }
            Ok(_) => false,
            Err(error) => {
                tracing::warn!("a server refuses its headers, and there are no others: {error:#}");
                false
            }
        }
    }
}

fn parsed(printed: &HelperOutput) -> anyhow::Result<Vec<(HeaderName, HeaderValue)>> {
    let headers = printed.iter().map(|(name, value)| {
        // Checks that no request is changed in other ways.
        Headers::default().with(name, value)?;
        let mut value = HeaderValue::from_str(value)?;
        value.set_sensitive(true);
        Ok((name.parse()?, value))
    });
    let headers: anyhow::Result<_> = headers.collect();
    headers.context("the command of `headersHelper` printed something else than headers")
}

/// True if there is no login yet.
fn is_login_needed(error: &Error) -> bool {
    let source = error.source();
    let of_token = source.and_then(|source| source.downcast_ref::<Arc<TokenError>>());
    source.is_some_and(<dyn StdError>::is::<NeedsLogin>)
        || of_token.is_some_and(|error| matches!(**error, TokenError::NeedsLogin(_)))
}

/// Tells nothing of the headers.
impl fmt::Debug for HelperHeaders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HelperHeaders").finish_non_exhaustive()
    }
}

impl Authorizer for HelperHeaders {
    fn credentials<'a>(
        &'a self,
        request: Outgoing<'a>,
    ) -> BoxFuture<'a, Result<Credentials, Error>> {
        Box::pin(async move {
            let credentials = match &self.login {
                Some(login) => login.credentials(request).await?,
                None => Credentials::none(),
            };
            let printed = self.printed.lock().await;
            let headers = printed.headers.iter().cloned();
            Ok(headers.fold(credentials, |all, (name, value)| all.with(name, value)))
        })
    }

    fn observe(&self, status: StatusCode, headers: &HeaderMap) {
        if let Some(login) = &self.login {
            login.observe(status, headers);
        }
    }

    fn refused<'a>(&'a self, refusal: Refused<'a>) -> BoxFuture<'a, Result<Verdict, Error>> {
        Box::pin(async move {
            let sent = refusal.credentials.headers();
            if self.renew(sent).await {
                return Ok(Verdict::SendAgain);
            }
            let Some(login) = &self.login else {
                return Ok(Verdict::GiveUp);
            };
            match login.refused(refusal).await {
                // The refusal is that of the headers: a login may be what the server wants, or not.
                Err(error) if is_login_needed(&error) && !sent.contains_key(AUTHORIZATION) => {
                    Ok(Verdict::GiveUp)
                }
                verdict => verdict,
            }
        })
    }
}

/// A server whose refusals name the key that its headers come from.
pub(super) struct WithHelper {
    pub(super) remote: Arc<Remote>,
    /// Name under which a person can log in, beside the headers.
    pub(super) login: Option<Arc<str>>,
}

impl Service for WithHelper {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        let running = self.remote.call(call);
        Box::pin(async { running.await.map_err(|error| self.named(error)) })
    }

    fn notify(&self, notification: Call) -> BoxFuture<'_, ()> {
        self.remote.notify(notification)
    }
}

impl WithHelper {
    fn named(&self, error: Error) -> Error {
        let source = error.source();
        let is_of_login = source.is_some_and(|source| {
            source.is::<NeedsLogin>()
                || source.is::<NeedsClientRegistration>()
                || source.is::<Arc<TokenError>>()
        });
        if error.kind() != Kind::Unauthorized || error.raw().is_some() || is_of_login {
            return error;
        }
        let mut text = format!("{error}; the command of `headersHelper` prints its headers");
        if let Some(server) = &self.login {
            let run = format!(
                "; if it wants a login, run `callgate auth {}`",
                argument(server)
            );
            text.push_str(&run);
        }
        error
            .reworded(text)
            .with_source(RefusedCredentials::OfHelper)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use http::{Method, Uri};

    use super::*;

    /// Headers whose command prints as many keys as `keys` says, one after the other.
    async fn headers(keys: usize, interval: Duration) -> (HelperHeaders, Arc<AtomicUsize>) {
        let runs = Arc::new(AtomicUsize::new(0));
        let count = runs.clone();
        let print: Print = Box::new(move || {
            let key = count.fetch_add(1, Ordering::Relaxed).min(keys - 1);
            let printed = BTreeMap::from([("X-Key".to_owned(), key.to_string())]);
            Box::pin(async {
                // As if a process ran.
                tokio::task::yield_now().await;
                Ok(printed)
            })
        });
        let mut headers = HelperHeaders::new(print).await.unwrap();
        headers.interval = interval;
        (headers, runs)
    }

    async fn refuse(headers: &HelperHeaders, credentials: &Credentials) -> Verdict {
        let (method, url) = (Method::POST, Uri::from_static("http://127.0.0.1/mcp"));
        let (request, none) = (Outgoing::new(&method, &url), HeaderMap::new());
        let refusal = Refused::new(request, credentials, StatusCode::UNAUTHORIZED, &none);
        headers.refused(refusal).await.unwrap()
    }

    async fn current(headers: &HelperHeaders) -> Credentials {
        let (method, url) = (Method::POST, Uri::from_static("http://127.0.0.1/mcp"));
        let request = Outgoing::new(&method, &url);
        headers.credentials(request).await.unwrap()
    }

    /// Longer than any test.
    const LONG: Duration = Duration::from_secs(24 * 60 * 60);

    #[tokio::test]
    async fn the_command_runs_once_for_all_requests_that_are_refused() {
        let (headers, runs) = headers(9, LONG).await;
        let first = current(&headers).await;
        let verdicts = tokio::join!(refuse(&headers, &first), refuse(&headers, &first));
        assert_eq!(verdicts, (Verdict::SendAgain, Verdict::SendAgain));
        assert_eq!(runs.load(Ordering::Relaxed), 2);
        let second = current(&headers).await;
        assert_eq!(second.headers()["x-key"], "1");
        // Fresh headers that are refused are not the cause.
        assert_eq!(refuse(&headers, &second).await, Verdict::GiveUp);
        assert_eq!(runs.load(Ordering::Relaxed), 2);
    }

    #[tokio::test]
    async fn the_command_runs_for_each_headers_that_grow_old() {
        let (headers, runs) = headers(9, Duration::ZERO).await;
        for run in 1..4 {
            let sent = current(&headers).await;
            assert_eq!(runs.load(Ordering::Relaxed), run);
            assert_eq!(refuse(&headers, &sent).await, Verdict::SendAgain);
        }
    }

    #[tokio::test]
    async fn the_same_headers_are_not_sent_again() {
        for (interval, expect) in [(LONG, 2), (Duration::ZERO, 4)] {
            let (headers, runs) = headers(1, interval).await;
            let only = current(&headers).await;
            for _ in 0..3 {
                assert_eq!(refuse(&headers, &only).await, Verdict::GiveUp);
            }
            assert_eq!(runs.load(Ordering::Relaxed), expect);
        }
    }
}
