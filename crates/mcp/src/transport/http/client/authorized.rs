use std::time::Duration;

use http::header::WWW_AUTHENTICATE;
use http::response::Parts;
use http::{Request, StatusCode};

use super::authorizer::{Authorizer, MAX_SENDS, Outgoing, Refused, Verdict};
use super::body::Stream;
use super::request::Body;
use super::site::Site;
use crate::error::Error;
use crate::service::BoxFuture;

/// Sends a request with the credentials that `authorizer` gives, and again where it wants that.
///
/// The response has the credentials that it is the answer to among its extensions. Boxed, so that
/// requests without credentials do not carry it.
pub(super) fn send<'a>(
    site: &'a Site,
    authorizer: &'a dyn Authorizer,
    request: Request<Body>,
) -> BoxFuture<'a, Result<(Parts, Stream), Error>> {
    Box::pin(send_until_settled(site, authorizer, request))
}

async fn send_until_settled(
    site: &Site,
    authorizer: &dyn Authorizer,
    request: Request<Body>,
) -> Result<(Parts, Stream), Error> {
    let (request, message) = request.into_parts();
    let url = site.url_of(&request.uri);
    let outgoing = Outgoing {
        method: &request.method,
        url: &url,
    };
    let mut attempt = 1;
    loop {
        let credentials = authorizer.credentials(outgoing).await?;
        let mut with_credentials = Request::from_parts(request.clone(), message.clone());
        for (name, value) in credentials.headers() {
            let headers = with_credentials.headers_mut();
            headers.insert(name.clone(), value.clone());
        }
        let (mut head, mut body) = site.send_once(with_credentials).await?;
        authorizer.observe(head.status, &head.headers);

        let verdict = if is_refusal(&head) && attempt < MAX_SENDS {
            let refused = Refused {
                request: outgoing,
                credentials: &credentials,
                status: head.status,
                headers: &head.headers,
                peer: body.peer(),
                attempt,
            };
            // A login may take minutes.
            let _held_up = site.hold_up();
            body.read_ahead(REFUSAL, PATIENCE).await;
            authorizer.refused(refused).await?
        } else {
            Verdict::GiveUp
        };
        match verdict {
            Verdict::GiveUp => {
                head.extensions.insert(credentials);
                return Ok((head, body));
            }
            Verdict::SendAgain => attempt += 1,
        }
    }
}

/// How much of a refusal is read before it is decided about, and how long that may take.
const REFUSAL: usize = 64 * 1024;
const PATIENCE: Duration = Duration::from_millis(500);

/// Whether the server refused the credentials, or the lack of them. A 403 without a challenge is
/// about something else.
fn is_refusal(head: &Parts) -> bool {
    match head.status {
        StatusCode::UNAUTHORIZED => true,
        StatusCode::FORBIDDEN => head.headers.contains_key(WWW_AUTHENTICATE),
        _ => false,
    }
}
