use std::time::Duration;

use http::header::WWW_AUTHENTICATE;
use http::response::Parts;
use http::{Request, StatusCode};
use tokio::time::Instant;

use super::authorizer::{Authorizer, MAX_SENDS, Outgoing, Refused, Verdict};
use super::body::BodyStream;
use super::http_upstream::HttpUpstream;
use super::request::Body;
use crate::error::Error;
use crate::mutex::Mutex;
use crate::service::BoxFuture;

/// Sends a request with the credentials of the authorizer, and again if the authorizer decides so.
///
/// The extensions of the response hold the credentials that it answers. Boxed, so that the futures of
/// requests without credentials do not have its size.
pub(super) fn send<'a>(
    upstream: &'a HttpUpstream,
    authorizer: &'a dyn Authorizer,
    request: Request<Body>,
) -> BoxFuture<'a, Result<(Parts, BodyStream), Error>> {
    Box::pin(send_until_settled(upstream, authorizer, request))
}

async fn send_until_settled(
    upstream: &HttpUpstream,
    authorizer: &dyn Authorizer,
    request: Request<Body>,
) -> Result<(Parts, BodyStream), Error> {
    let (request, message) = request.into_parts();
    let url = upstream.url_of(&request.uri);
    let outgoing = Outgoing {
        method: &request.method,
        url: &url,
    };
    let mut attempt = 1;
    loop {
        // For each attempt: the refusal may have led to another token, and a proof is good for one request.
        let credentials = authorizer.credentials(outgoing).await?;
        let mut with_credentials = Request::from_parts(request.clone(), message.clone());
        for (name, value) in credentials.headers() {
            let headers = with_credentials.headers_mut();
            // Replaces a configured header of the same name.
            headers.insert(name.clone(), value.clone());
        }
        let (mut head, mut body) = upstream.send_once(with_credentials).await?;
        // Before the decision, so that a nonce in the refusal is part of the next proof.
        authorizer.observe(head.status, &head.headers);

        let verdict = if is_refusal(&head) && attempt < MAX_SENDS {
            let refused = Refused {
                request: outgoing,
                credentials: &credentials,
                status: head.status,
                headers: &head.headers,
                // Taken before the body is read to its end, which gives the connection back.
                peer: body.peer(),
                attempt,
            };
            // A login may take minutes, which do not count as time of the server.
            let _auth_wait = upstream.auth_waits.begin();
            body.read_ahead(REFUSAL_BYTES, REFUSAL_TIMEOUT).await;
            authorizer.refused(refused).await?
        } else {
            Verdict::GiveUp
        };
        match verdict {
            Verdict::GiveUp => {
                // For the text of an error, which must not repeat them.
                head.extensions.insert(credentials);
                return Ok((head, body));
            }
            Verdict::SendAgain => attempt += 1,
        }
    }
}

/// Bytes of a refusal that are read before the authorizer decides, and the time for that: then its
/// connection is free for the requests of a login.
const REFUSAL_BYTES: usize = 64 * 1024;
const REFUSAL_TIMEOUT: Duration = Duration::from_millis(500);

/// True if the server refused the credentials, or their absence. A 403 without a challenge has another
/// cause, such as a policy.
fn is_refusal(head: &Parts) -> bool {
    match head.status {
        StatusCode::UNAUTHORIZED => true,
        StatusCode::FORBIDDEN => head.headers.contains_key(WWW_AUTHENTICATE),
        _ => false,
    }
}

/// Times during which requests wait for the authorizer, and maybe for a user, and not for the server.
#[derive(Debug, Default)]
pub(super) struct AuthWaits(Mutex<WaitState>);

#[derive(Debug, Default)]
struct WaitState {
    waiting: usize,
    last_end: Option<Instant>,
}

/// Wait of one request, until it is dropped.
pub(super) struct AuthWait<'a>(&'a AuthWaits);

impl AuthWaits {
    pub(super) fn begin(&self) -> AuthWait<'_> {
        self.0.lock().waiting += 1;
        AuthWait(self)
    }

    /// Time until which a request waited: now, if one still waits.
    pub(super) fn until(&self) -> Option<Instant> {
        let state = self.0.lock();
        match state.waiting {
            0 => state.last_end,
            _ => Some(Instant::now()),
        }
    }
}

impl Drop for AuthWait<'_> {
    fn drop(&mut self) {
        let mut state = self.0.0.lock();
        state.waiting -= 1;
        state.last_end = Some(Instant::now());
    }
}
