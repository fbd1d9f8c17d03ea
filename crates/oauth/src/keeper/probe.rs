use std::sync::{Arc, Mutex, PoisonError};

use callgate_mcp::client::Client;
use callgate_mcp::transport::http::client::{
    self, Authorizer, Credentials, HttpClient, Outgoing, Refused, Verdict,
};
use callgate_mcp::{BoxFuture, Error, Kind};
use http::{HeaderMap, StatusCode};

use super::config::Config;
use super::credentials::challenge;
use super::error::KeeperError;
use super::shared::Circumstances;
use super::token_keeper::Keeper;
use crate::Challenge;

/// Asks the server what it wants of somebody with the token of `keeper`, or without one; nothing, if it
/// refuses nobody.
///
/// What the server has to say besides does not matter, only that it can be reached.
pub(super) async fn refusal(
    config: &Config,
    keeper: Option<&Arc<Keeper>>,
) -> Result<Option<Circumstances>, KeeperError> {
    let probe = Arc::new(Probe {
        keeper: keeper.cloned(),
        refusal: Mutex::default(),
    });
    let mut http = client::Config::new(config.name.clone());
    http.extra_roots.clone_from(&config.extra_roots);
    http.authorizer = Some(probe.clone());
    let http = HttpClient::new(config.server.as_str(), http).map_err(KeeperError::Server)?;
    let client = Client::builder(Arc::new(http)).server_name(&config.name);
    match client.build().discover().await {
        Err(error) if error.kind() == Kind::Connect => Err(KeeperError::Server(error)),
        _ => {
            let mut refusal = probe.refusal.lock().unwrap_or_else(PoisonError::into_inner);
            Ok(refusal.take())
        }
    }
}

/// Remembers what the server says about a token, and does nothing about it.
#[derive(Debug)]
struct Probe {
    keeper: Option<Arc<Keeper>>,
    refusal: Mutex<Option<Circumstances>>,
}

impl Authorizer for Probe {
    fn credentials<'a>(
        &'a self,
        request: Outgoing<'a>,
    ) -> BoxFuture<'a, Result<Credentials, Error>> {
        match &self.keeper {
            Some(keeper) => keeper.credentials(request),
            None => Box::pin(async { Ok(Credentials::none()) }),
        }
    }

    fn observe(&self, status: StatusCode, headers: &HeaderMap) {
        if let Some(keeper) = &self.keeper {
            keeper.observe(status, headers);
        }
    }

    fn refused<'a>(&'a self, refusal: Refused<'a>) -> BoxFuture<'a, Result<Verdict, Error>> {
        let challenge = challenge(refusal.headers);
        let wants_nonce = challenge.as_ref().is_some_and(Challenge::is_use_dpop_nonce);
        if wants_nonce && refusal.attempt == 1 {
            return Box::pin(async { Ok(Verdict::SendAgain) });
        }
        let mut found = self.refusal.lock().unwrap_or_else(PoisonError::into_inner);
        *found = Some(Circumstances {
            challenge,
            peer: refusal.peer,
        });
        Box::pin(async { Ok(Verdict::GiveUp) })
    }
}
