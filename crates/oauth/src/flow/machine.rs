use url::Url;

use super::config::{Config, Goal};
use super::error::FlowError;
use super::search::Search;
use crate::Scopes;
use crate::authorize::{AuthorizationRequest, Nonces};
use crate::callback::{self, CallbackError};
use crate::exchange::{Request, Response};
use crate::metadata::{AuthorizationServer, Issuer, MetadataError, ProtectedResource};
use crate::registration::{self, Client, Identity, registration_request, registration_response};
use crate::token::{Grant, TokenRequest, Tokens};

/// A login on its way.
///
/// It does no I/O and reads no clock; dropping it at any point leaves nothing behind.
#[derive(Debug)]
pub struct Flow {
    config: Config,
    nonces: Nonces,
    state: State,
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
            other @ (State::Waiting(_) | State::Over) => self.out_of_order(other),
        }
    }

    /// Takes the address that the browser came back to, or its query.
    ///
    /// After [`CallbackError::State`] the login goes on waiting: anybody can send a browser here.
    pub fn redirect(&mut self, redirect: &str) -> Result<Step, FlowError> {
        let agreed = match std::mem::replace(&mut self.state, State::Over) {
            State::Waiting(agreed) => agreed,
            other => return self.out_of_order(other),
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

    /// A browser that is reloaded does not end a login either.
    fn out_of_order(&mut self, state: State) -> Result<Step, FlowError> {
        self.state = state;
        Err(FlowError::OutOfOrder)
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
                let client = self.config.credentials(&discovered.server)?;
                let agreed = discovered.agreed(client);
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
