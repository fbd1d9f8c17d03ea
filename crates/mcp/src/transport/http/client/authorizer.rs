use std::fmt;
use std::net::IpAddr;

use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};

use super::config::hide;
use super::endpoint::origin;
use crate::error::Error;
use crate::service::BoxFuture;

/// Gives the requests to one server their credentials.
///
/// It is asked about every request of every transport, so what it knows next is used at once. Its
/// futures are dropped with the calls they are for: what must not be lost then, such as a token
/// that is being refreshed, belongs in a task of its own.
///
/// ```
/// use callgate_mcp::transport::http::client::{
///     Authorizer, Credentials, Outgoing, Refused, Verdict,
/// };
/// use callgate_mcp::{BoxFuture, Error};
/// use http::{HeaderValue, header::AUTHORIZATION};
/// use tokio::sync::watch;
///
/// /// Sends whichever token came last, and waits for the next one where it is refused.
/// #[derive(Debug)]
/// struct Newest(watch::Receiver<HeaderValue>);
///
/// impl Authorizer for Newest {
///     fn credentials<'a>(
///         &'a self,
///         _: Outgoing<'a>,
///     ) -> BoxFuture<'a, Result<Credentials, Error>> {
///         let newest = self.0.borrow().clone();
///         Box::pin(async { Ok(Credentials::none().with(AUTHORIZATION, newest)) })
///     }
///
///     fn refused<'a>(&'a self, refusal: Refused<'a>) -> BoxFuture<'a, Result<Verdict, Error>> {
///         let mut newest = self.0.clone();
///         Box::pin(async move {
///             let tried = refusal.credentials.headers().get(AUTHORIZATION);
///             let other = newest.wait_for(|newest| Some(newest) != tried).await;
///             Ok(match other {
///                 Ok(_) => Verdict::SendAgain,
///                 Err(_) => Verdict::GiveUp,
///             })
///         })
///     }
/// }
/// ```
pub trait Authorizer: fmt::Debug + Send + Sync + 'static {
    /// What to send with a request.
    ///
    /// # Errors
    /// There are no credentials to be had, and the request would be refused without them.
    fn credentials<'a>(
        &'a self,
        request: Outgoing<'a>,
    ) -> BoxFuture<'a, Result<Credentials, Error>>;

    /// Hears what the server says in the head of every response, such as the nonce for the next proof.
    fn observe(&self, _status: StatusCode, _headers: &HeaderMap) {}

    /// Decides about a request that the server refused with 401, or with 403 and a challenge; it
    /// had no effect.
    ///
    /// It is not asked once a request has been sent [`MAX_SENDS`] times.
    ///
    /// # Errors
    /// The caller is told this instead of the refusal.
    fn refused<'a>(&'a self, refusal: Refused<'a>) -> BoxFuture<'a, Result<Verdict, Error>>;
}

/// How often one request is sent at most.
pub const MAX_SENDS: u32 = 6;

/// A request that is about to be sent.
#[derive(Clone, Copy)]
pub struct Outgoing<'a> {
    /// Its method.
    pub method: &'a Method,
    /// Its whole URL. The query may hold secrets.
    pub url: &'a Uri,
}

/// A request that the server refused.
#[derive(Debug, Clone, Copy)]
pub struct Refused<'a> {
    /// The request.
    pub request: Outgoing<'a>,
    /// What it was sent with.
    pub credentials: &'a Credentials,
    /// 401 or 403.
    pub status: StatusCode,
    /// The headers of the refusal, with its challenges.
    pub headers: &'a HeaderMap,
    /// The address that the refusal came from, if there is one.
    pub peer: Option<IpAddr>,
    /// How often the request has been sent, this time included.
    pub attempt: u32,
}

/// What to do about a refused request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Ask for credentials once more and send it again.
    SendAgain,
    /// Tell the caller of the refusal.
    GiveUp,
}

/// Headers that prove who asks. Their values are never shown.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Credentials(HeaderMap);

/// Shows the URL without its query, which may hold secrets.
impl fmt::Debug for Outgoing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let origin = origin(self.url).unwrap_or_default();
        write!(f, "{} {origin}{}", self.method, self.url.path())
    }
}

impl Credentials {
    /// None.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// The same credentials and one header more.
    #[must_use]
    pub fn with(mut self, name: HeaderName, mut value: HeaderValue) -> Self {
        value.set_sensitive(true);
        self.0.insert(name, value);
        self
    }

    /// The headers.
    #[must_use]
    pub fn headers(&self) -> &HeaderMap {
        &self.0
    }

    /// The same text without any of the values, which a server may have echoed. Best-effort.
    pub(super) fn redact(&self, text: String) -> String {
        hide(&self.0, text)
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set()
            .entries(self.0.keys().map(HeaderName::as_str))
            .finish()
    }
}
