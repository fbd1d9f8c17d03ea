use std::io;
use std::net::IpAddr;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;
use url::{Host, Url};

use super::clock::unix_time;
use super::config::{Assertion, Config, ShowCode};
use super::error::TokenError;
use super::shared::ServerRefusal;
use crate::authorize::Nonces;
use crate::browser::PageUrl;
use crate::callback::CallbackError;
use crate::callback_listener::{self, Page};
use crate::consent::Consent;
use crate::fetch::{FetchError, Fetcher, within};
use crate::flow::{
    self, Flow, FlowError, Goal, GrantedTokens, KnownServer, Step, TokenEndpointError,
};
use crate::guard::{Guard, Network};
use crate::http_message::Request;
use crate::registration::ClientOptions;
use crate::unix_seconds::whole_seconds;
use crate::{Secret, dpop, is_loopback};

/// One run of a [`Flow`], with its requests and its questions to the user carried out.
#[derive(Debug)]
pub(super) struct FlowRun {
    pub(super) goal: Goal,
    /// Authorization server of the stored login, if its metadata is not to be fetched.
    pub(super) known: Option<KnownServer>,
    /// Refusal that the run reacts to.
    pub(super) refusal: ServerRefusal,
    pub(super) options: ClientOptions,
    /// Key that the login is bound to so far.
    pub(super) dpop_key: Option<dpop::Key>,
    /// Set while only the user can continue, so that an exit loses nothing.
    pub(super) waits_for_user: watch::Sender<bool>,
}

/// Way to ask the user during a run.
#[derive(Debug, Clone, Copy)]
pub(super) enum Interaction<'a> {
    /// No user. The run has a time limit, because requests wait for it.
    None,
    /// Browser of the user.
    Browser(&'a dyn Consent),
    /// Other device of the user.
    Device(&'a ShowCode),
}

/// Failure of a run.
#[derive(Debug)]
pub(super) struct FlowFailure {
    pub(super) error: TokenError,
    /// `Retry-After` of the authorization server.
    pub(super) retry_after: Option<Duration>,
}

/// Time limit of a run without a user.
const TIMEOUT: Duration = Duration::from_secs(45);

/// Maximum number of pasted answers that belong to another login.
const MAX_ANSWERS: u32 = 3;

impl FlowRun {
    /// Gets a token, and returns the time of the token request with it.
    pub(super) async fn run(
        self,
        config: &Config,
        interaction: Interaction<'_>,
    ) -> Result<(GrantedTokens, f64), FlowFailure> {
        match self.finish(config, interaction).await? {
            (Step::Done(login), asked_at) => Ok((*login, asked_at)),
            _ => Err(TokenError::Flow(FlowError::OutOfOrder).into()),
        }
    }

    /// Revokes a token.
    pub(super) async fn revoke(self, config: &Config) -> Result<(), FlowFailure> {
        self.finish(config, Interaction::None).await.map(drop)
    }

    async fn finish(
        self,
        config: &Config,
        interaction: Interaction<'_>,
    ) -> Result<(Step, f64), FlowFailure> {
        if !matches!(interaction, Interaction::None) {
            return self.go(config, interaction).await;
        }
        match within(TIMEOUT, Box::pin(self.go(config, interaction))).await {
            Some(outcome) => outcome,
            None => Err(TokenError::TimedOut(TIMEOUT).into()),
        }
    }

    async fn go(
        self,
        config: &Config,
        interaction: Interaction<'_>,
    ) -> Result<(Step, f64), FlowFailure> {
        let nonces = Nonces::random().map_err(TokenError::Random)?;
        let state = nonces.state.clone();
        let guard = guard(config, self.refusal.peer);
        let waits_for_user = self.waits_for_user.clone();
        let mut user_endpoints: Vec<Url> = config.options.endpoint_urls().cloned().collect();
        if let Goal::Enterprise(provider, _) = &self.goal {
            user_endpoints.push(provider.token_endpoint.clone());
        }
        let mut flow_config = self.flow_config(config, interaction);
        if !matches!(interaction, Interaction::None) {
            flow_config.initial_access_token = initial_access_token(config).await?;
        }
        let started = Flow::start(flow_config, nonces);
        let (flow, step) = started.map_err(TokenError::from)?;
        let mut runner = StepRunner {
            flow,
            fetcher: &config.fetcher,
            guard,
            user_endpoints,
            interaction,
            state,
            waits_for_user,
            is_asked: false,
            asked_at: unix_time(),
        };
        let outcome = runner.run_steps(step).await;
        if let Interaction::Browser(consent) = interaction
            && runner.is_asked
        {
            // After a failure too: the browser of the user still waits for its last page.
            consent.conclude(&runner.state, page(&outcome)).await;
        }
        Ok((outcome?, runner.asked_at))
    }

    fn flow_config(self, config: &Config, interaction: Interaction<'_>) -> flow::Config {
        let redirect_uri = match interaction {
            Interaction::Browser(consent) => consent.redirect_uri(),
            // A registration must name a redirect URI, even if no browser ever returns to it.
            Interaction::Device(_) => default_redirect_uri(),
            Interaction::None => String::new(),
        };
        flow::Config {
            server: config.server.clone(),
            protocol_version: config.protocol_version.clone(),
            challenge: self.refusal.challenge,
            client_name: config.client_name.clone(),
            redirect_uri,
            options: self.options,
            provider: config.options.clone(),
            quirks: config.quirks.clone(),
            initial_access_token: None,
            scopes: config.scopes.clone(),
            goal: self.goal,
            known: self.known,
            dpop_key: self.dpop_key,
            now: now(),
        }
    }
}

/// Flow in progress.
struct StepRunner<'a> {
    flow: Flow,
    fetcher: &'a Fetcher,
    guard: Guard,
    /// Endpoints that the user configured, which may be on any network.
    user_endpoints: Vec<Url>,
    interaction: Interaction<'a>,
    state: Secret,
    waits_for_user: watch::Sender<bool>,
    /// Set once the user was sent to a page and expects a final one.
    is_asked: bool,
    /// Time of the last request, from which the lifetime of a token is counted.
    asked_at: f64,
}

impl StepRunner<'_> {
    /// Carries out each step until the flow is over.
    async fn run_steps(&mut self, mut step: Step) -> Result<Step, FlowFailure> {
        loop {
            step = match step {
                Step::Fetch(request) => self.fetch(&request).await?,
                Step::Open(url) => self.open(&url).await?,
                Step::ShowCode(prompt) => {
                    let Interaction::Device(device) = self.interaction else {
                        return Err(TokenError::Flow(FlowError::OutOfOrder).into());
                    };
                    device.show(&prompt);
                    self.flow.resume(now()).map_err(TokenError::from)?
                }
                Step::Wait(time) => {
                    // A program may exit during this pause: no token has been issued yet that could be lost.
                    self.waits_for_user.send_replace(true);
                    sleep(time).await;
                    self.waits_for_user.send_replace(false);
                    self.flow.resume(now()).map_err(TokenError::from)?
                }
                Step::Done(_) | Step::Revoked => return Ok(step),
            };
        }
    }

    async fn fetch(&mut self, request: &Request) -> Result<Step, FlowFailure> {
        self.asked_at = unix_time();
        let guard = widened(self.guard, &self.user_endpoints, &request.url);
        let method = if request.body.is_some() {
            "POST"
        } else {
            "GET"
        };
        let url = without_query(&request.url);
        match self.fetcher.fetch(guard, request).await {
            Ok(response) => {
                tracing::debug!(method, %url, status = response.status, "fetched");
                let next = self.flow.response(&response, now());
                next.map_err(|error| FlowFailure {
                    error: error.into(),
                    retry_after: response.retry_after.map(Duration::from_secs),
                })
            }
            Err(error) => {
                tracing::debug!(method, %url, %error, "not fetched");
                let next = error.is_transient().then(|| self.flow.retry_unanswered());
                next.flatten().ok_or_else(|| TokenError::from(error).into())
            }
        }
    }

    /// Asks the user, again if the answer belongs to another login.
    async fn open(&mut self, url: &Url) -> Result<Step, FlowFailure> {
        let Interaction::Browser(consent) = self.interaction else {
            return Err(TokenError::Flow(FlowError::OutOfOrder).into());
        };
        let page = PageUrl::parse(url.as_str()).map_err(TokenError::from)?;
        self.is_asked = true;
        let mut answers = 0;
        loop {
            self.waits_for_user.send_replace(true);
            let answer = consent.ask(&page, &self.state).await;
            self.waits_for_user.send_replace(false);
            let redirect = answer.map_err(TokenError::from)?;
            answers += 1;
            match self.flow.redirect(&redirect, now()) {
                Err(FlowError::Callback(CallbackError::State)) if answers < MAX_ANSWERS => {}
                next => return Ok(next.map_err(TokenError::from)?),
            }
        }
    }
}

impl FlowFailure {
    /// Returns true if the token endpoint may have moved, so that its metadata is worth a look.
    pub(super) fn hints_at_move(&self) -> bool {
        match &self.error {
            TokenError::Fetch(error) => matches!(
                error,
                FetchError::Resolve { .. }
                    | FetchError::Connect { .. }
                    | FetchError::Redirect { .. }
            ),
            TokenError::Flow(FlowError::Token(error)) => {
                matches!(error, TokenEndpointError::Malformed(404 | 405 | 410))
            }
            _ => false,
        }
    }

    /// Returns true if the authorization server itself has decided, or the server names another.
    pub(super) fn is_decision(&self) -> bool {
        matches!(
            &self.error,
            TokenError::Flow(FlowError::Token(_) | FlowError::IssuerChanged { .. })
        )
    }
}

impl From<TokenError> for FlowFailure {
    fn from(error: TokenError) -> Self {
        Self {
            error,
            retry_after: None,
        }
    }
}

fn page(outcome: &Result<Step, FlowFailure>) -> Page {
    match outcome {
        Ok(_) => Page::Done,
        Err(failure) => Page::Failed(failure.error.to_string()),
    }
}

fn now() -> u64 {
    whole_seconds(unix_time())
}

pub(super) fn default_redirect_uri() -> String {
    callback_listener::Config::default().redirect_uri()
}

/// Guard for the URLs that the server names.
///
/// A server on a private network may name hosts there, a public one may not. Without the address of
/// a refused connection, only a literal address proves where the server is: a name could resolve
/// differently the next time.
pub(super) fn guard(config: &Config, peer: Option<IpAddr>) -> Guard {
    // A developer who runs the server on this machine can reach everything that it could reach for
    // them, and identity providers of companies are on private networks.
    if config.options.allow_private_addresses == Some(true) || is_loopback(&config.server) {
        return everywhere(Guard::public());
    }
    match (peer, config.server.host()) {
        (Some(peer), _) => Guard::for_server_at(peer),
        (None, Some(Host::Ipv4(address))) => Guard::for_server_at(address.into()),
        (None, Some(Host::Ipv6(address))) => Guard::for_server_at(address.into()),
        _ => Guard::public(),
    }
}

/// Token that a registration needs: from the configuration, else from its file.
async fn initial_access_token(config: &Config) -> Result<Option<Secret>, TokenError> {
    if config.initial_access_token.is_some() {
        return Ok(config.initial_access_token.clone());
    }
    let Some(path) = &config.options.initial_access_token_file else {
        return Ok(None);
    };
    let failed = |source| TokenError::InitialAccessToken {
        path: path.clone(),
        source,
    };
    match Assertion::File(path.clone()).read().await {
        Ok(token) if token.expose().is_empty() => Err(failed(io::Error::new(
            io::ErrorKind::InvalidData,
            "it is empty",
        ))),
        Err(TokenError::Assertion { source, .. }) => Err(failed(source)),
        other => other.map(Some),
    }
}

/// URL for the log. The query of a server's URL may contain a key of the user.
fn without_query(url: &Url) -> Url {
    let mut url = url.clone();
    url.set_query(None);
    url
}

/// Allows private networks for the endpoints that the user named: an employer's provider often is on
/// one.
fn widened(guard: Guard, user_endpoints: &[Url], url: &Url) -> Guard {
    if user_endpoints.contains(url) {
        return everywhere(guard);
    }
    guard
}

fn everywhere(guard: Guard) -> Guard {
    guard.allow(Network::Loopback).allow(Network::Private)
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::{Config, guard, widened};
    use crate::fetch::{self, Fetcher};
    use crate::guard::{Guard, Network};

    #[test]
    fn a_server_may_name_its_own_network_unless_the_user_allows_more() {
        const PUBLIC: Guard = Guard::public();
        const PRIVATE: Guard = PUBLIC.allow(Network::Private);
        const ALL: Guard = PRIVATE.allow(Network::Loopback);
        let fetcher = Fetcher::new(fetch::Config::default()).unwrap();
        for (server, peer, allows, expected) in [
            ("https://mcp.example/", None, false, PUBLIC),
            ("https://mcp.example/", None, true, ALL),
            ("https://mcp.example/", Some("8.8.8.8"), true, ALL),
            ("https://mcp.example/", Some("10.0.0.1"), false, PRIVATE),
            ("https://10.0.0.1/", None, false, PRIVATE),
            // A public name that resolves to this machine is not the user's own server.
            (
                "https://mcp.example/",
                Some("127.0.0.1"),
                false,
                PUBLIC.allow(Network::Loopback),
            ),
            ("http://localhost:3000/mcp", None, false, ALL),
            ("http://127.0.0.1:3000/mcp", Some("127.0.0.1"), false, ALL),
        ] {
            let mut config = Config::new("a", server.parse().unwrap(), fetcher.clone());
            config.options.allow_private_addresses = Some(allows);
            let peer = peer.map(|peer| peer.parse().unwrap());
            assert_eq!(guard(&config, peer), expected, "{server} {peer:?}");
        }
    }

    #[test]
    fn only_an_endpoint_that_the_user_named_may_be_on_a_private_network() {
        let url = |text: &str| Url::parse(text).unwrap();
        let named = [url("https://10.0.0.1/token")];
        for (named, asked, expected) in [
            (&named[..], "https://10.0.0.1/token", true),
            (&named, "https://10.0.0.1/register", false),
            (&named, "https://10.0.0.2/token", false),
            (&[], "https://10.0.0.1/token", false),
        ] {
            let asked = url(asked);
            let guard = widened(Guard::public(), named, &asked);
            assert_eq!(guard.check_url(&asked).is_ok(), expected, "{asked}");
        }
    }
}
