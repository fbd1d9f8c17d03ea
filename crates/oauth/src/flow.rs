//! A login from the first refusal to the token, as a machine that says what to do next.

use std::collections::VecDeque;

use url::Url;

use crate::authorize::{AuthorizationRequest, Nonces, select_scopes, with_offline_access};
use crate::callback::{self, CallbackError};
use crate::exchange::{Request, Response};
use crate::metadata::{AuthorizationServer, Issuer, MetadataError, ProtectedResource};
use crate::registration::{
    self, Client, Identity, IdentityError, Options, RegistrationError, registration_request,
    registration_response,
};
use crate::token::{Grant, TokenError, TokenRequest, Tokens};
use crate::{Challenge, Scopes, Secret};

/// What a login needs to know.
#[derive(Clone, Debug)]
pub struct Config {
    /// The MCP server.
    pub server: Url,
    /// The revision to name in requests for metadata.
    pub protocol_version: String,
    /// What the server said when it refused us.
    pub challenge: Option<Challenge>,
    /// Our name, where a person reads it.
    pub client_name: String,
    /// Where the browser comes back to.
    pub redirect_uri: String,
    /// The ways to be a client that are open to us.
    pub options: Options,
    /// The scopes that the user configured.
    pub scopes: Option<Scopes>,
    /// What to get a token with.
    pub goal: Goal,
    /// The time, in seconds of Unix time.
    pub now: u64,
}

/// What to get a token with.
#[derive(Clone, Debug)]
pub enum Goal {
    /// A person's consent.
    Login,
    /// A person's consent to these scopes.
    StepUp(Scopes),
    /// An earlier login.
    Refresh {
        /// Who issued it; nobody else sees it.
        issuer: String,
        /// Who we were then.
        client: Client,
        /// What it left us.
        refresh_token: Secret,
    },
    /// Nothing but who we are.
    ClientCredentials,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Make this request, and hand the answer to [`Flow::response`].
    Fetch(Request),
    /// Have a person open this address, and hand the redirect to [`Flow::redirect`].
    Open(Url),
    /// Keep this.
    Done(Box<Login>),
}

/// What a login leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    /// Who issued the token, and knows the client.
    pub issuer: String,
    /// What the token is for.
    pub resource: String,
    /// Who we are to the issuer.
    pub client: Client,
    /// Whether the client was registered just now and has to be remembered.
    pub is_new_client: bool,
    /// What was asked for.
    pub requested: Scopes,
    /// The tokens.
    pub tokens: Tokens,
}

/// Says why there is no login.
#[derive(Debug, thiserror::Error)]
pub enum FlowError {
    /// A server says something about itself that cannot be.
    #[error(transparent)]
    Metadata(#[from] MetadataError),
    /// No server says anything about itself where it should.
    #[error("{0} has no metadata that a login could begin with")]
    NoMetadata(String),
    /// A server has a bad moment.
    #[error("{url} is not available now (HTTP {status})")]
    Unavailable {
        /// What was asked for.
        url: Url,
        /// What it answered.
        status: u16,
    },
    /// We are nobody to the authorization server.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// The authorization server did not register us.
    #[error(transparent)]
    Registration(#[from] RegistrationError),
    /// The browser brought back no code.
    #[error(transparent)]
    Callback(#[from] CallbackError),
    /// The authorization server gave no token.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// The login was issued by somebody whom the server does not trust any more.
    #[error("the login is from {issuer}, which the server does not name any more")]
    IssuerChanged {
        /// Who issued it.
        issuer: String,
    },
    /// Only a configured client can prove who it is without a person.
    #[error("client credentials need a configured client with a secret")]
    NoCredentials,
    /// The caller did something other than what the last step said.
    #[error("the login expected something else")]
    OutOfOrder,
}

impl FlowError {
    /// Whether the same login may succeed later, so that nothing has to be thrown away.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unavailable { .. } | Self::Registration(RegistrationError::Unavailable(_)) => {
                true
            }
            Self::Token(error) => error.is_transient(),
            _ => false,
        }
    }
}

/// A login on its way.
///
/// It does no I/O and reads no clock; dropping it at any point leaves nothing behind.
#[derive(Debug)]
pub struct Flow {
    config: Config,
    nonces: Nonces,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Looking for the server's description of itself.
    Resource(Search),
    /// Looking for the authorization server's.
    Server {
        resource: Option<ProtectedResource>,
        issuer: Issuer,
        search: Search,
    },
    /// Introducing ourselves.
    Registering(Discovered),
    /// A person is reading.
    Waiting(Agreed),
    /// Fetching the token.
    Fetching(Agreed),
    /// Nothing is expected any more.
    Over,
}

/// Places that are left to look at, and what was wrong at the ones before.
#[derive(Debug)]
struct Search {
    current: Url,
    left: VecDeque<Url>,
    refused: Option<MetadataError>,
}

/// Who issues tokens for what.
#[derive(Debug)]
struct Discovered {
    resource: String,
    server: AuthorizationServer,
    scopes: Scopes,
}

/// Who asks whom.
#[derive(Debug)]
struct Agreed {
    discovered: Discovered,
    client: Client,
    is_new_client: bool,
}

impl Flow {
    /// Begins a login.
    pub fn start(config: Config, nonces: Nonces) -> Result<(Self, Step), FlowError> {
        let candidates = ProtectedResource::candidates(&config.server, config.named())?;
        let (search, step) = Search::start(candidates, &config)?;
        let flow = Self {
            config,
            nonces,
            state: State::Resource(search),
        };
        Ok((flow, step))
    }

    /// Takes the answer to the last [`Step::Fetch`].
    pub fn response(&mut self, response: &Response) -> Result<Step, FlowError> {
        match std::mem::replace(&mut self.state, State::Over) {
            State::Resource(search) => self.resource(search, response),
            State::Server {
                resource,
                issuer,
                search,
            } => self.server(resource, issuer, search, response),
            State::Registering(discovered) => {
                let client = registration_response(response)?;
                self.authorize(Agreed {
                    discovered,
                    client,
                    is_new_client: true,
                })
            }
            State::Fetching(agreed) => self.finish(agreed, response),
            State::Waiting(_) | State::Over => Err(FlowError::OutOfOrder),
        }
    }

    /// Takes the address that the browser came back to, or its query.
    ///
    /// After [`CallbackError::State`] the login goes on waiting: anybody can send a browser here.
    pub fn redirect(&mut self, redirect: &str) -> Result<Step, FlowError> {
        let State::Waiting(agreed) = std::mem::replace(&mut self.state, State::Over) else {
            return Err(FlowError::OutOfOrder);
        };
        match callback::accept(redirect, &self.nonces.state, &agreed.discovered.server) {
            Ok(code) => {
                let grant = Grant::AuthorizationCode {
                    code: &code,
                    verifier: &self.nonces.verifier,
                    redirect_uri: &self.config.redirect_uri,
                };
                let request = agreed.token_request(grant);
                Ok(self.fetch_token(agreed, request))
            }
            Err(error) => {
                if error == CallbackError::State {
                    self.state = State::Waiting(agreed);
                }
                Err(error.into())
            }
        }
    }

    fn resource(&mut self, mut search: Search, response: &Response) -> Result<Step, FlowError> {
        search.check(response)?;
        let server = &self.config.server;
        let found = response
            .success()
            .map(|body| ProtectedResource::parse(body, server));
        match found {
            Some(Ok(resource)) => self.found_resource(resource),
            Some(Err(error @ MetadataError::Resource { .. })) => Err(error.into()),
            other => match search.next(other.and_then(Result::err), &self.config) {
                Some(step) => {
                    self.state = State::Resource(search);
                    Ok(step)
                }
                None if search.refused.is_none() && self.config.named().is_none() => {
                    self.look_for_server(None, Issuer::origin(&self.config.server))
                }
                None => Err(search.failed(server.as_str())),
            },
        }
    }

    fn found_resource(&mut self, resource: ProtectedResource) -> Result<Step, FlowError> {
        let issuer = self.config.choose_issuer(&resource.authorization_servers)?;
        self.look_for_server(Some(resource), Issuer::Named(issuer))
    }

    fn look_for_server(
        &mut self,
        resource: Option<ProtectedResource>,
        issuer: Issuer,
    ) -> Result<Step, FlowError> {
        self.config.check_issuer(&issuer)?;
        let (search, step) = Search::start(issuer.candidates()?, &self.config)?;
        self.state = State::Server {
            resource,
            issuer,
            search,
        };
        Ok(step)
    }

    fn server(
        &mut self,
        resource: Option<ProtectedResource>,
        issuer: Issuer,
        mut search: Search,
        response: &Response,
    ) -> Result<Step, FlowError> {
        search.check(response)?;
        let found = response
            .success()
            .map(|body| AuthorizationServer::parse(body, &issuer));
        let error = match found {
            Some(Ok(server)) => return self.found_server(resource, server),
            other => other.and_then(Result::err),
        };
        if let Some(step) = search.next(error, &self.config) {
            self.state = State::Server {
                resource,
                issuer,
                search,
            };
            return Ok(step);
        }
        match issuer {
            Issuer::Origin(origin) if search.refused.is_none() => {
                self.found_server(resource, AuthorizationServer::assumed(&origin))
            }
            issuer => Err(search.failed(issuer.name())),
        }
    }

    fn found_server(
        &mut self,
        resource: Option<ProtectedResource>,
        server: AuthorizationServer,
    ) -> Result<Step, FlowError> {
        let scopes = self.config.select_scopes(resource.as_ref(), &server);
        let discovered = Discovered {
            resource: resource.map_or_else(
                || ProtectedResource::canonical(&self.config.server),
                |resource| resource.resource,
            ),
            server,
            scopes,
        };
        match &self.config.goal {
            Goal::Login | Goal::StepUp(_) => self.identify(discovered),
            Goal::Refresh {
                client,
                refresh_token,
                ..
            } => {
                let agreed = discovered.agreed(client.clone());
                let request = agreed.token_request(Grant::RefreshToken(refresh_token));
                Ok(self.fetch_token(agreed, request))
            }
            Goal::ClientCredentials => {
                let agreed = self.config.credentials(discovered)?;
                let request = agreed.token_request(Grant::ClientCredentials);
                Ok(self.fetch_token(agreed, request))
            }
        }
    }

    fn identify(&mut self, discovered: Discovered) -> Result<Step, FlowError> {
        let Config {
            options,
            redirect_uri,
            client_name,
            now,
            ..
        } = &self.config;
        let Discovered { server, scopes, .. } = &discovered;
        // Whoever cannot be asked for a code safely is not even told who we are.
        server.authorization_endpoint()?;
        match registration::choose(options, server, redirect_uri, *now)? {
            Identity::Known(client) => self.authorize(discovered.agreed(client)),
            Identity::Register(endpoint) => {
                let request =
                    registration_request(endpoint, server, client_name, redirect_uri, scopes);
                self.state = State::Registering(discovered);
                Ok(Step::Fetch(request))
            }
        }
    }

    fn authorize(&mut self, agreed: Agreed) -> Result<Step, FlowError> {
        let request = AuthorizationRequest {
            server: &agreed.discovered.server,
            client_id: &agreed.client.id,
            redirect_uri: &self.config.redirect_uri,
            resource: &agreed.discovered.resource,
            scopes: &agreed.discovered.scopes,
            nonces: &self.nonces,
        };
        let url = request.url()?;
        self.state = State::Waiting(agreed);
        Ok(Step::Open(url))
    }

    fn fetch_token(&mut self, agreed: Agreed, request: Request) -> Step {
        self.state = State::Fetching(agreed);
        Step::Fetch(request)
    }

    fn finish(&self, agreed: Agreed, response: &Response) -> Result<Step, FlowError> {
        let mut tokens = Tokens::parse(response)?;
        if let Goal::Refresh { refresh_token, .. } = &self.config.goal {
            tokens = tokens.or_refresh_token(refresh_token);
        }
        Ok(Step::Done(Box::new(Login {
            issuer: agreed.discovered.server.issuer,
            resource: agreed.discovered.resource,
            client: agreed.client,
            is_new_client: agreed.is_new_client,
            requested: agreed.discovered.scopes,
            tokens,
        })))
    }
}

impl Config {
    /// Where the server says that it describes itself.
    fn named(&self) -> Option<&str> {
        self.challenge.as_ref()?.resource_metadata.as_deref()
    }

    /// The issuer that knows us already, else the first.
    fn choose_issuer(&self, listed: &[String]) -> Result<String, MetadataError> {
        let configured = self.options.configured.as_ref();
        let configured = configured.and_then(|configured| configured.issuer.as_ref());
        let knows_us = |issuer: &&String| match &self.goal {
            Goal::Refresh { issuer: old, .. } => *issuer == old,
            _ => configured == Some(issuer) || self.options.registrations.knows(issuer),
        };
        let chosen = listed.iter().find(knows_us).or(listed.first());
        chosen.cloned().ok_or(MetadataError::NoAuthorizationServer)
    }

    /// A refresh token goes back to where it came from, or nowhere.
    fn check_issuer(&self, found: &Issuer) -> Result<(), FlowError> {
        match &self.goal {
            Goal::Refresh { issuer, .. } if !found.is(issuer) => Err(FlowError::IssuerChanged {
                issuer: issuer.clone(),
            }),
            _ => Ok(()),
        }
    }

    fn select_scopes(
        &self,
        resource: Option<&ProtectedResource>,
        server: &AuthorizationServer,
    ) -> Scopes {
        match &self.goal {
            Goal::StepUp(scopes) => with_offline_access(scopes, server),
            _ => {
                let challenge = self.challenge.as_ref();
                select_scopes(challenge, self.scopes.as_ref(), resource, server)
            }
        }
    }

    fn credentials(&self, discovered: Discovered) -> Result<Agreed, FlowError> {
        let configured = self.options.configured.as_ref();
        if configured.is_none_or(|configured| configured.client.secret.is_none()) {
            return Err(FlowError::NoCredentials);
        }
        let server = &discovered.server;
        match registration::choose(&self.options, server, &self.redirect_uri, self.now)? {
            Identity::Known(client) => Ok(discovered.agreed(client)),
            Identity::Register(_) => Err(FlowError::NoCredentials),
        }
    }
}

impl Search {
    fn start(candidates: Vec<Url>, config: &Config) -> Result<(Self, Step), FlowError> {
        let mut left = VecDeque::from(candidates);
        let none = || FlowError::NoMetadata(config.server.to_string());
        let current = left.pop_front().ok_or_else(none)?;
        let step = Step::Fetch(Request::document(current.clone(), &config.protocol_version));
        let search = Self {
            current,
            left,
            refused: None,
        };
        Ok((search, step))
    }

    /// A bad moment is no absence: to look elsewhere could find an older way in.
    fn check(&self, response: &Response) -> Result<(), FlowError> {
        if response.is_transient() {
            return Err(FlowError::Unavailable {
                url: self.current.clone(),
                status: response.status,
            });
        }
        Ok(())
    }

    /// Looks at the next place. Text that is no document counts as absence: many servers answer all paths with a page.
    fn next(&mut self, error: Option<MetadataError>, config: &Config) -> Option<Step> {
        let refused = error.filter(|error| !matches!(error, MetadataError::Malformed(_)));
        self.refused = self.refused.take().or(refused);
        self.current = self.left.pop_front()?;
        let url = self.current.clone();
        Some(Step::Fetch(Request::document(
            url,
            &config.protocol_version,
        )))
    }

    fn failed(self, name: &str) -> FlowError {
        match self.refused {
            Some(error) => error.into(),
            None => FlowError::NoMetadata(name.to_owned()),
        }
    }
}

impl Discovered {
    fn agreed(self, client: Client) -> Agreed {
        Agreed {
            discovered: self,
            client,
            is_new_client: false,
        }
    }
}

impl Agreed {
    fn token_request(&self, grant: Grant<'_>) -> Request {
        let request = TokenRequest {
            server: &self.discovered.server,
            client: &self.client,
            grant,
            resource: &self.discovered.resource,
            scopes: &self.discovered.scopes,
        };
        request.request()
    }
}
