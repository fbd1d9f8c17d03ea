use std::sync::{Arc, Mutex, PoisonError};

use callgate_mcp::client::Client;
use callgate_mcp::transport::http::client::{
    self, Authorizer, Credentials, HttpClient, Outgoing, Refused, Verdict,
};
use callgate_mcp::{BoxFuture, Error, Kind};

use super::config::Config;
use super::credentials::challenge;
use super::error::KeeperError;
use super::shared::Circumstances;

/// Asks the server what it wants of somebody without a token; nothing, if it refuses nobody.
pub(super) async fn refusal(config: &Config) -> Result<Option<Circumstances>, KeeperError> {
    let probe = Arc::new(Probe::default());
    match request(config, probe.clone()).await {
        Err(error) if error.kind() != Kind::Unauthorized => Err(KeeperError::Server(error)),
        _ => {
            let mut refusal = probe.refusal.lock().unwrap_or_else(PoisonError::into_inner);
            Ok(refusal.take())
        }
    }
}

/// Makes a request that every server answers or refuses.
///
/// What a server says that it cannot answer does not matter here, only that it can be reached and lets us in.
pub(super) async fn request(config: &Config, authorizer: Arc<dyn Authorizer>) -> Result<(), Error> {
    let mut http = client::Config::new(config.name.clone());
    http.extra_roots.clone_from(&config.extra_roots);
    http.authorizer = Some(authorizer);
    let http = HttpClient::new(config.server.as_str(), http)?;
    let client = Client::builder(Arc::new(http)).server_name(&config.name);
    match client.build().discover().await {
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
