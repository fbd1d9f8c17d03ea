use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use callgate_mcp::client::Client;
use callgate_mcp::transport::http::client::{
    self, Authorizer, Credentials, HttpClient, Outgoing, Refused, Verdict,
};
use callgate_mcp::{BoxFuture, Error, Kind};
use url::Url;

use super::error::KeeperError;
use super::shared::Circumstances;
use super::token_keeper::challenge;

/// Asks the server what it wants of somebody without a token; nothing, if it refuses nobody.
pub(super) async fn circumstances(
    name: &Arc<str>,
    server: &Url,
    extra_roots: &[Bytes],
) -> Result<Circumstances, KeeperError> {
    let probe = Arc::new(Probe::default());
    if let Err(error) = request(name, server, extra_roots, probe.clone()).await
        && error.kind() != Kind::Unauthorized
    {
        return Err(KeeperError::Server(error));
    }
    let refusal = probe.refusal.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(refusal.clone().unwrap_or_default())
}

/// Makes a request that every server answers or refuses.
///
/// What a server says that it cannot answer does not matter here, only that it can be reached and lets us in.
pub(super) async fn request(
    name: &Arc<str>,
    server: &Url,
    extra_roots: &[Bytes],
    authorizer: Arc<dyn Authorizer>,
) -> Result<(), Error> {
    let mut config = client::Config::new(name.clone());
    config.extra_roots = extra_roots.to_vec();
    config.authorizer = Some(authorizer);
    let http = HttpClient::new(server.as_str(), config)?;
    let client = Client::builder(Arc::new(http)).server_name(name).build();
    match client.discover().await {
        Err(error) if matches!(error.kind(), Kind::Connect | Kind::Unauthorized) => Err(error),
        _ => Ok(()),
    }
}

/// Has no token, and remembers what that led to.
#[derive(Debug, Default)]
struct Probe {
    refusal: Mutex<Option<Circumstances>>,
}

impl Authorizer for Probe {
    fn credentials<'a>(
        &'a self,
        _request: Outgoing<'a>,
    ) -> BoxFuture<'a, Result<Credentials, Error>> {
        Box::pin(async { Ok(Credentials::none()) })
    }

    fn refused<'a>(&'a self, refusal: Refused<'a>) -> BoxFuture<'a, Result<Verdict, Error>> {
        let mut found = self.refusal.lock().unwrap_or_else(PoisonError::into_inner);
        *found = Some(Circumstances {
            challenge: challenge(refusal.headers),
            peer: refusal.peer,
        });
        Box::pin(async { Ok(Verdict::GiveUp) })
    }
}
