use std::fmt;
use std::net::IpAddr;

use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};

use super::endpoint::origin;
use crate::error::Error;
use crate::service::BoxFuture;

/// Source of the credentials of all requests to one server.
///
/// It is asked before every request of every transport, so a refreshed token is used at once. Its
/// futures are dropped together with the calls that need them: work that must not be lost then, such
/// as the refresh of a token, belongs in a task of its own.
///
/// ```
/// use callgate_mcp::transport::http::client::{
///     Authorizer, Credentials, Outgoing, Refused, Verdict,
/// };
/// use callgate_mcp::{BoxFuture, Error};
/// use http::{HeaderValue, header::AUTHORIZATION};
/// use tokio::sync::watch;
///
/// /// Sends the newest token, and waits for the next one if it is refused.
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
    /// Credentials for a request.
    ///
    /// # Errors
    /// There are no credentials, and the request would be refused without them.
    fn credentials<'a>(
        &'a self,
        request: Outgoing<'a>,
    ) -> BoxFuture<'a, Result<Credentials, Error>>;

    /// Receives the head of every response, which may have a nonce for the next proof.
    fn observe(&self, _status: StatusCode, _headers: &HeaderMap) {}

    /// Decides about a request that the server refused with 401, or with 403 and a challenge. The
    /// request had no effect.
    ///
    /// It is not called again once a request was sent [`MAX_SENDS`] times.
    ///
    /// # Errors
    /// The call fails with this error instead of the refusal.
    fn refused<'a>(&'a self, refusal: Refused<'a>) -> BoxFuture<'a, Result<Verdict, Error>>;
}

/// Maximum number of times that one request is sent.
pub const MAX_SENDS: u32 = 6;

/// A request that is about to be sent.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Outgoing<'a> {
    /// Its method.
    pub method: &'a Method,
    /// Its whole URL. The query may hold secrets.
    pub url: &'a Uri,
}

/// A request that the server refused.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Refused<'a> {
    /// The request.
    pub request: Outgoing<'a>,
    /// Credentials that it was sent with.
    pub credentials: &'a Credentials,
    /// 401 or 403.
    pub status: StatusCode,
    /// The headers of the refusal, with its challenges.
    pub headers: &'a HeaderMap,
    /// The address that the refusal came from, if there is one.
    pub peer: Option<IpAddr>,
    /// Number of times that the request was sent, this one included.
    pub attempt: u32,
}

/// Decision about a refused request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// Ask for credentials once more and send it again.
    SendAgain,
    /// Return the refusal to the caller.
    GiveUp,
}

/// Headers that authenticate a request. `Debug` hides their values.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Credentials(HeaderMap);

/// Shows the URL without its query, which may hold secrets.
impl fmt::Debug for Outgoing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let origin = origin(self.url).unwrap_or_default();
        write!(f, "{} {origin}{}", self.method, self.url.path())
    }
}

impl<'a> Outgoing<'a> {
    /// A request with this method and URL.
    #[must_use]
    pub const fn new(method: &'a Method, url: &'a Uri) -> Self {
        Self { method, url }
    }
}

impl<'a> Refused<'a> {
    /// The first refusal of a request, from an unknown address.
    #[must_use]
    pub const fn new(
        request: Outgoing<'a>,
        credentials: &'a Credentials,
        status: StatusCode,
        headers: &'a HeaderMap,
    ) -> Self {
        Self {
            request,
            credentials,
            status,
            headers,
            peer: None,
            attempt: 1,
        }
    }
}

impl Credentials {
    /// No credentials.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Adds a header.
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
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set()
            .entries(self.0.keys().map(HeaderName::as_str))
            .finish()
    }
}
