use std::sync::{Arc, Mutex, PoisonError};

use callgate_mcp::client::Client;
use callgate_mcp::transport::http::client::{
    self, Authorizer, Credentials, HttpClient, Outgoing, Refused, Verdict,
};
use callgate_mcp::upstream::Remote;
use callgate_mcp::{BoxFuture, Error, Kind};
use url::Url;

use super::config::Config;
use super::credentials::challenge;
use super::errand::guard;
use super::error::KeeperError;
use super::shared::Circumstances;
use crate::exchange::Request;
use crate::metadata::{AuthorizationServer, Issuer, MetadataError, ProtectedResource};

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

/// Whether the server lets everybody in, and names nobody to log in at.
pub(super) async fn is_open(config: &Config) -> bool {
    !may_have_logins(config).await && answers_anybody(config).await
}

/// Whether there is a description of logins, or could be one when the server has a better moment.
async fn may_have_logins(config: &Config) -> bool {
    let issuer = Issuer::origin(&config.server);
    let resources = ProtectedResource::candidates(&config.server, None).unwrap_or_default();
    let issuers = issuer.candidates().unwrap_or_default();
    let is_resource = |body: &[u8]| ProtectedResource::parse(body, &config.server).err();
    let is_issuer = |body: &[u8]| AuthorizationServer::parse(body, &issuer).err();
    for url in resources {
        if may_be_document(config, url, is_resource).await {
            return true;
        }
    }
    for url in issuers {
        if may_be_document(config, url, is_issuer).await {
            return true;
        }
    }
    false
}

/// Whether there is something at `url` that a login would not pass by.
async fn may_be_document(
    config: &Config,
    url: Url,
    flaw: impl Fn(&[u8]) -> Option<MetadataError>,
) -> bool {
    let request = Request::document(url, &config.protocol_version);
    let guard = guard(&config.server, None);
    match config.fetcher.fetch(guard, &request).await {
        Err(error) => error.is_transient(),
        Ok(response) if response.is_transient() => true,
        Ok(response) => response
            .success()
            .is_some_and(|body| !matches!(flaw(body), Some(MetadataError::Malformed(_)))),
    }
}

/// Whether the server, of whatever revision, tells somebody without a token what it is and what it has.
async fn answers_anybody(config: &Config) -> bool {
    let Ok(remote) = Remote::new(
        config.server.as_str(),
        http(config, Arc::<Probe>::default()),
    ) else {
        return false;
    };
    let remote = Arc::new(remote);
    let client = Client::builder(remote.clone())
        .server_name(&config.name)
        .build();
    let is_open = client.discover().await.is_ok()
        && !matches!(client.list_tools().await, Err(error) if error.kind() == Kind::Unauthorized);
    remote.close().await;
    is_open
}

/// Makes a request that every server answers or refuses.
///
/// What a server says that it cannot answer does not matter here, only that it can be reached and lets us in.
pub(super) async fn request(config: &Config, authorizer: Arc<dyn Authorizer>) -> Result<(), Error> {
    let http = HttpClient::new(config.server.as_str(), http(config, authorizer))?;
    let client = Client::builder(Arc::new(http)).server_name(&config.name);
    match client.build().discover().await {
        Err(error) if matches!(error.kind(), Kind::Connect | Kind::Unauthorized) => Err(error),
        _ => Ok(()),
    }
}

fn http(config: &Config, authorizer: Arc<dyn Authorizer>) -> client::Config {
    let mut http = client::Config::new(config.name.clone());
    http.extra_roots.clone_from(&config.extra_roots);
    http.authorizer = Some(authorizer);
    http
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
