use super::config::Config;
use super::error::FlowError;
use super::search::Search;
use super::state::{Agreed, Given, State};
use super::step::Step;
use crate::authorize::Nonces;
use crate::callback::{self, CallbackError};
use crate::exchange::Response;
use crate::metadata::{AuthorizationServer, Issuer, MetadataError, ProtectedResource};
use crate::registration::registration_response;

/// A login on its way.
///
/// It does no I/O and reads no clock: whoever drives it says what time it is, in seconds of Unix time.
/// Dropping it at any point leaves nothing behind.
#[derive(Debug)]
pub struct Flow {
    pub(super) config: Config,
    pub(super) nonces: Nonces,
    pub(super) state: State,
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
    pub fn response(&mut self, response: &Response, now: u64) -> Result<Step, FlowError> {
        self.config.now = now;
        match std::mem::replace(&mut self.state, State::Over) {
            State::Resource(search) => self.resource(search, response),
            State::Server {
                resource,
                issuer,
                search,
            } => self.server(resource, issuer, search, response),
            State::Registering(discovered) => {
                let mut client = registration_response(response)?;
                // What it was not given although it asked, it would not be given the next time either.
                client.scopes = client.scopes.map(|it| it.union(&discovered.scopes));
                self.ask_person(Agreed {
                    discovered,
                    client,
                    is_new_client: true,
                })
            }
            State::AskingForCode(agreed) => self.show_code(agreed, response),
            State::Exchanging(agreed) => self.exchanged(agreed, response),
            State::Fetching(fetching) => self.token(fetching, response),
            State::Revoking(request) => self.revoked(&request, response),
            other => self.out_of_order(other),
        }
    }

    /// Takes the address that the browser came back to, or its query.
    ///
    /// After [`CallbackError::State`] the login goes on waiting: anybody can send a browser here.
    pub fn redirect(&mut self, redirect: &str, now: u64) -> Result<Step, FlowError> {
        self.config.now = now;
        let agreed = match std::mem::replace(&mut self.state, State::Over) {
            State::Waiting(agreed) => agreed,
            other => return self.out_of_order(other),
        };
        match callback::accept(redirect, &self.nonces.state, &agreed.discovered.server) {
            Ok(code) => self.fetch_token(agreed, Given::Code(code)),
            Err(error) => {
                if error == CallbackError::State {
                    self.state = State::Waiting(agreed);
                }
                Err(error.into())
            }
        }
    }

    /// A browser that is reloaded does not end a login either.
    pub(super) fn out_of_order(&mut self, state: State) -> Result<Step, FlowError> {
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
}
