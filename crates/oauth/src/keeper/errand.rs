use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use url::{Host, Url};

use super::clock::{unix_time, whole_seconds};
use super::config::Config;
use super::error::KeeperError;
use crate::Challenge;
use crate::authorize::Nonces;
use crate::browser::PageUrl;
use crate::callback::CallbackError;
use crate::callback_listener::Page;
use crate::consent::Consent;
use crate::flow::{self, Flow, FlowError, Goal, Login, Step};
use crate::guard::{Guard, Network};
use crate::registration::Options;

/// One way to the authorization server and back.
#[derive(Debug)]
pub(super) struct Errand {
    pub(super) goal: Goal,
    /// What the server said when it refused us.
    pub(super) challenge: Option<Challenge>,
    /// Where it said so.
    pub(super) peer: Option<IpAddr>,
    pub(super) options: Options,
}

/// Why an errand came back without a token.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) error: KeeperError,
    /// How long the authorization server wants to be left alone.
    pub(super) retry_after: Option<Duration>,
}

/// How long everything may take where no person is asked: others wait for it.
const PATIENCE: Duration = Duration::from_secs(45);

/// How often a person may paste something that is not the answer.
const MAX_ANSWERS: u32 = 3;

impl Errand {
    /// Goes, without asking anybody.
    pub(super) async fn run(self, config: &Config) -> Result<Login, Failure> {
        match timeout(PATIENCE, self.go(config, None)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(KeeperError::TimedOut(PATIENCE).into()),
        }
    }

    /// Goes, with somebody to ask.
    pub(super) async fn run_with(
        self,
        config: &Config,
        consent: &Arc<dyn Consent>,
    ) -> Result<Login, Failure> {
        self.go(config, Some(&**consent)).await
    }

    async fn go(self, config: &Config, consent: Option<&dyn Consent>) -> Result<Login, Failure> {
        let nonces = Nonces::random().map_err(KeeperError::Random)?;
        let state = nonces.state.clone();
        let guard = guard(&config.server, self.peer);
        let (mut flow, mut step) =
            Flow::start(self.flow_config(config, consent), nonces).map_err(KeeperError::from)?;
        let mut was_asked = false;
        let outcome = loop {
            let next = match step {
                Step::Fetch(request) => match config.fetcher.fetch(guard, &request).await {
                    Ok(response) => flow.response(&response).map_err(|error| Failure {
                        error: error.into(),
                        retry_after: response.retry_after.map(Duration::from_secs),
                    }),
                    Err(error) => Err(KeeperError::from(error).into()),
                },
                Step::Open(url) => {
                    was_asked = true;
                    ask(&mut flow, &url, &state, consent).await
                }
                Step::Done(login) => break Ok(*login),
            };
            match next {
                Ok(next) => step = next,
                Err(failure) => break Err(failure),
            }
        };
        if let Some(consent) = consent.filter(|_| was_asked) {
            consent.conclude(&state, page(&outcome));
        }
        outcome
    }

    fn flow_config(self, config: &Config, consent: Option<&dyn Consent>) -> flow::Config {
        flow::Config {
            server: config.server.clone(),
            protocol_version: config.protocol_version.clone(),
            challenge: self.challenge,
            client_name: config.client_name.clone(),
            redirect_uri: consent.map_or_else(String::new, Consent::redirect_uri),
            options: self.options,
            scopes: config.scopes.clone(),
            goal: self.goal,
            now: whole_seconds(unix_time()),
        }
    }
}

impl From<KeeperError> for Failure {
    fn from(error: KeeperError) -> Self {
        Self {
            error,
            retry_after: None,
        }
    }
}

/// Has a person answer; what answers another login is not taken, and the person is asked again.
async fn ask(
    flow: &mut Flow,
    url: &Url,
    state: &crate::Secret,
    consent: Option<&dyn Consent>,
) -> Result<Step, Failure> {
    let consent = consent.ok_or(KeeperError::Flow(FlowError::OutOfOrder))?;
    let page = PageUrl::parse(url.as_str()).map_err(KeeperError::from)?;
    let mut answers = 0;
    loop {
        let redirect = consent.ask(&page, state).await.map_err(KeeperError::from)?;
        answers += 1;
        match flow.redirect(&redirect) {
            Err(FlowError::Callback(CallbackError::State)) if answers < MAX_ANSWERS => {}
            other => return Ok(other.map_err(KeeperError::from)?),
        }
    }
}

fn page(outcome: &Result<Login, Failure>) -> Page {
    match outcome {
        Ok(_) => Page::Done,
        Err(failure) => Page::Failed(failure.error.to_string()),
    }
}

/// What the server may send us to. Without the address of a refusal, only a literal address proves
/// where the server is.
pub(super) fn guard(server: &Url, peer: Option<IpAddr>) -> Guard {
    match (peer, server.host()) {
        (Some(peer), _) => Guard::for_server_at(peer),
        (None, Some(Host::Ipv4(address))) => Guard::for_server_at(address.into()),
        (None, Some(Host::Ipv6(address))) => Guard::for_server_at(address.into()),
        (None, Some(Host::Domain("localhost"))) => Guard::public().allow(Network::Loopback),
        _ => Guard::public(),
    }
}
