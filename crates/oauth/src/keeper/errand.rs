use std::net::IpAddr;
use std::time::Duration;

use tokio::time::{sleep, timeout};
use url::{Host, Url};

use super::clock::{unix_time, whole_seconds};
use super::config::{Config, ShowCode};
use super::error::KeeperError;
use super::shared::Circumstances;
use crate::authorize::Nonces;
use crate::browser::PageUrl;
use crate::callback::CallbackError;
use crate::callback_listener::{self, Page};
use crate::consent::Consent;
use crate::exchange::Request;
use crate::fetch::Fetcher;
use crate::flow::{self, Flow, FlowError, Goal, Login, Step};
use crate::guard::{Guard, Network};
use crate::registration::Options;
use crate::{Secret, dpop};

/// One way to the authorization server and back.
#[derive(Debug)]
pub(super) struct Errand {
    pub(super) goal: Goal,
    /// What the server said when it refused us, and where.
    pub(super) circumstances: Circumstances,
    pub(super) options: Options,
    /// The key that the login has been bound to so far.
    pub(super) dpop_key: Option<dpop::Key>,
}

/// Who can be asked on the way.
#[derive(Debug, Clone, Copy)]
pub(super) enum Person<'a> {
    /// Nobody: it has to be quick, because others wait.
    Nobody,
    /// Somebody with a browser.
    Browser(&'a dyn Consent),
    /// Somebody with another device.
    Device(&'a ShowCode),
}

/// Why an errand came back without a token.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) error: KeeperError,
    /// How long the authorization server wants to be left alone.
    pub(super) retry_after: Option<Duration>,
}

/// How long everything may take where nobody is asked.
const PATIENCE: Duration = Duration::from_secs(45);

/// How often a person may paste something that is not the answer.
const MAX_ANSWERS: u32 = 3;

impl Errand {
    /// Goes for a token, and says when it was asked for.
    pub(super) async fn run(
        self,
        config: &Config,
        person: Person<'_>,
    ) -> Result<(Login, f64), Failure> {
        match self.finish(config, person).await? {
            (Step::Done(login), asked_at) => Ok((*login, asked_at)),
            _ => Err(KeeperError::Flow(FlowError::OutOfOrder).into()),
        }
    }

    /// Goes to give tokens back.
    pub(super) async fn revoke(self, config: &Config) -> Result<(), Failure> {
        self.finish(config, Person::Nobody).await.map(drop)
    }

    async fn finish(self, config: &Config, person: Person<'_>) -> Result<(Step, f64), Failure> {
        if !matches!(person, Person::Nobody) {
            return self.go(config, person).await;
        }
        match timeout(PATIENCE, self.go(config, person)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(KeeperError::TimedOut(PATIENCE).into()),
        }
    }

    async fn go(self, config: &Config, person: Person<'_>) -> Result<(Step, f64), Failure> {
        let nonces = Nonces::random().map_err(KeeperError::Random)?;
        let state = nonces.state.clone();
        let guard = guard(&config.server, self.circumstances.peer);
        let identity_provider = match &self.goal {
            Goal::Enterprise(provider, _) => Some(provider.token_endpoint.clone()),
            _ => None,
        };
        let started = Flow::start(self.flow_config(config, person), nonces);
        let (flow, step) = started.map_err(KeeperError::from)?;
        let mut way = Way {
            flow,
            fetcher: &config.fetcher,
            guard,
            identity_provider,
            person,
            state,
            is_asked: false,
            asked_at: unix_time(),
        };
        let outcome = way.walk(step).await;
        if let Person::Browser(consent) = person
            && way.is_asked
        {
            consent.conclude(&way.state, page(&outcome)).await;
        }
        Ok((outcome?, way.asked_at))
    }

    fn flow_config(self, config: &Config, person: Person<'_>) -> flow::Config {
        let redirect_uri = match person {
            Person::Browser(consent) => consent.redirect_uri(),
            // A registration has to name one, even if no browser ever comes back.
            Person::Device(_) => usual_redirect_uri(),
            Person::Nobody => String::new(),
        };
        flow::Config {
            server: config.server.clone(),
            protocol_version: config.protocol_version.clone(),
            challenge: self.circumstances.challenge,
            client_name: config.client_name.clone(),
            redirect_uri,
            options: self.options,
            scopes: config.scopes.clone(),
            goal: self.goal,
            dpop_key: self.dpop_key,
            now: now(),
        }
    }
}

/// A flow that is being carried out.
struct Way<'a> {
    flow: Flow,
    fetcher: &'a Fetcher,
    guard: Guard,
    /// Where the user said that an identity provider is, on whatever network.
    identity_provider: Option<Url>,
    person: Person<'a>,
    state: Secret,
    /// Whether somebody has been sent to a page and expects another one.
    is_asked: bool,
    /// When the last request was made.
    asked_at: f64,
}

impl Way<'_> {
    /// Does what each step says, until there is nothing more to do.
    async fn walk(&mut self, mut step: Step) -> Result<Step, Failure> {
        loop {
            step = match step {
                Step::Fetch(request) => self.fetch(&request).await?,
                Step::Open(url) => self.open(&url).await?,
                Step::ShowCode(prompt) => {
                    let Person::Device(device) = self.person else {
                        return Err(KeeperError::Flow(FlowError::OutOfOrder).into());
                    };
                    device.show(&prompt);
                    self.flow.resume(now()).map_err(KeeperError::from)?
                }
                Step::Wait(time) => {
                    sleep(time).await;
                    self.flow.resume(now()).map_err(KeeperError::from)?
                }
                Step::Done(_) | Step::Revoked => return Ok(step),
            };
        }
    }

    async fn fetch(&mut self, request: &Request) -> Result<Step, Failure> {
        self.asked_at = unix_time();
        let guard = widened(self.guard, self.identity_provider.as_ref(), &request.url);
        match self.fetcher.fetch(guard, request).await {
            Ok(response) => {
                let next = self.flow.response(&response, now());
                next.map_err(|error| Failure {
                    error: error.into(),
                    retry_after: response.retry_after.map(Duration::from_secs),
                })
            }
            Err(error) => {
                let next = error.is_transient().then(|| self.flow.unanswered());
                next.flatten()
                    .ok_or_else(|| KeeperError::from(error).into())
            }
        }
    }

    /// Has a person answer; what answers another login is not taken, and the person is asked again.
    async fn open(&mut self, url: &Url) -> Result<Step, Failure> {
        let Person::Browser(consent) = self.person else {
            return Err(KeeperError::Flow(FlowError::OutOfOrder).into());
        };
        let page = PageUrl::parse(url.as_str()).map_err(KeeperError::from)?;
        self.is_asked = true;
        let mut answers = 0;
        loop {
            let answer = consent.ask(&page, &self.state).await;
            let redirect = answer.map_err(KeeperError::from)?;
            answers += 1;
            match self.flow.redirect(&redirect, now()) {
                Err(FlowError::Callback(CallbackError::State)) if answers < MAX_ANSWERS => {}
                next => return Ok(next.map_err(KeeperError::from)?),
            }
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

fn page(outcome: &Result<Step, Failure>) -> Page {
    match outcome {
        Ok(_) => Page::Done,
        Err(failure) => Page::Failed(failure.error.to_string()),
    }
}

fn now() -> u64 {
    whole_seconds(unix_time())
}

pub(super) fn usual_redirect_uri() -> String {
    callback_listener::Config::default().redirect_uri()
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

/// The same guard, unless it is the user who named `url`: an employer's network is often a private one.
fn widened(guard: Guard, identity_provider: Option<&Url>, url: &Url) -> Guard {
    if identity_provider == Some(url) {
        return guard.allow(Network::Loopback).allow(Network::Private);
    }
    guard
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::widened;
    use crate::guard::Guard;

    #[test]
    fn only_the_identity_provider_may_be_on_a_private_network() {
        let url = |text: &str| Url::parse(text).unwrap();
        let provider = url("https://10.0.0.1/token");
        for (named, asked, expected) in [
            (Some(&provider), "https://10.0.0.1/token", true),
            (Some(&provider), "https://10.0.0.1/register", false),
            (Some(&provider), "https://10.0.0.2/token", false),
            (None, "https://10.0.0.1/token", false),
        ] {
            let asked = url(asked);
            let guard = widened(Guard::public(), named, &asked);
            assert_eq!(guard.check_url(&asked).is_ok(), expected, "{asked}");
        }
    }
}
