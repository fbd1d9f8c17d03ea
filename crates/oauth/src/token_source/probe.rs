use std::sync::{Arc, Mutex, PoisonError};

use callgate_mcp::client::Client;
use callgate_mcp::transport::http::client::{
    self, Authorizer, Credentials, ModernHttpClient, Outgoing, Refused, Verdict,
};
use callgate_mcp::upstream::Remote;
use callgate_mcp::{BoxFuture, Error, Kind};
use url::Url;

use super::config::Config;
use super::credentials::challenge;
use super::error::TokenError;
use super::flow_run::guard;
use super::shared::ServerRefusal;
use crate::http_message::Request;
use crate::metadata::{AuthorizationServer, Issuer, MetadataError, ProtectedResource};

/// Sends a request without a token, and returns the refusal; `None` if the server accepts it.
pub(super) async fn refusal(config: &Config) -> Result<Option<ServerRefusal>, TokenError> {
    let probe = Arc::new(Probe::default());
    match request(config, probe.clone()).await {
        Err(error) if error.kind() != Kind::Unauthorized => Err(TokenError::Server(error)),
        _ => {
            let mut refusal = probe.refusal.lock().unwrap_or_else(PoisonError::into_inner);
            let challenge = refusal.as_ref().and_then(|it| it.challenge.as_ref());
            let metadata = challenge.and_then(|it| it.resource_metadata.as_deref());
            tracing::debug!(
                is_refused = refusal.is_some(),
                has_challenge = challenge.is_some(),
                resource_metadata = metadata.and_then(|url| url.split('?').next()),
                "server: asked without a token"
            );
            Ok(refusal.take())
        }
    }
}

/// Returns true if the server needs no login: it answers without a token and has no OAuth metadata.
pub(super) async fn is_open(config: &Config) -> bool {
    !may_have_logins(config).await && answers_anybody(config).await
}

/// Looks for OAuth metadata. A server that is unavailable now may have some.
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

/// Returns true if a login would use the document at `url`, or could not tell now.
async fn may_be_document(
    config: &Config,
    url: Url,
    flaw: impl Fn(&[u8]) -> Option<MetadataError>,
) -> bool {
    let request = Request::document(url, &config.protocol_version);
    let guard = guard(config, None);
    match config.fetcher.fetch(guard, &request).await {
        Err(error) => error.is_transient(),
        Ok(response) if response.is_transient() => true,
        // A page counts as no document. A document with any other flaw counts, because a login would report
        // that flaw.
        Ok(response) => response
            .success()
            .is_some_and(|body| !matches!(flaw(body), Some(MetadataError::Malformed(_)))),
    }
}

/// Returns true if the server, of any protocol revision, answers and lists its tools without a
/// token.
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

/// Sends a request that every server answers or refuses.
///
/// An error in the answer does not matter: only the connection and the refusal do.
pub(super) async fn request(config: &Config, authorizer: Arc<dyn Authorizer>) -> Result<(), Error> {
    let http = ModernHttpClient::new(config.server.as_str(), http(config, authorizer))?;
    let client = Client::builder(Arc::new(http)).server_name(&config.name);
    match client.build().discover().await {
        Err(error) if matches!(error.kind(), Kind::Connect | Kind::Unauthorized) => Err(error),
        _ => Ok(()),
    }
}

pub(super) fn http(config: &Config, authorizer: Arc<dyn Authorizer>) -> client::HttpConfig {
    let mut http = client::HttpConfig::new(config.name.clone());
    http.extra_roots.clone_from(&config.extra_roots);
    http.proxies = config.proxies.clone();
    http.authorizer = Some(authorizer);
    http
}

/// Authorizer without a token that records the refusal.
#[derive(Debug, Default)]
struct Probe {
    refusal: Mutex<Option<ServerRefusal>>,
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
        *found = Some(ServerRefusal {
            challenge: challenge(refusal.headers),
            peer: refusal.peer,
        });
        Box::pin(async { Ok(Verdict::GiveUp) })
    }
}
