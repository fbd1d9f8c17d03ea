use super::config::Config;
use super::error::FlowError;
use super::search::MetadataSearch;
use super::state::{FlowState, GrantInput, RequestContext};
use super::step::Step;
use crate::authorize::Nonces;
use crate::callback::{self, CallbackError};
use crate::http_message::Response;
use crate::metadata::{AuthorizationServer, Issuer, MetadataError, ProtectedResource};
use crate::registration::registration_response;

/// State machine of a login, from the first refusal to the token.
///
/// It does no I/O and reads no clock: the caller passes the time, in Unix seconds. Dropping it at
/// any point is safe.
#[derive(Debug)]
pub(crate) struct Flow {
    pub(super) config: Config,
    pub(super) nonces: Nonces,
    pub(super) state: FlowState,
}

impl Flow {
    /// Starts a flow.
    pub(crate) fn start(config: Config, nonces: Nonces) -> Result<(Self, Step), FlowError> {
        let candidates = ProtectedResource::candidates(&config.server, config.named())?;
        let (search, step) = MetadataSearch::start(candidates, &config)?;
        let flow = Self {
            config,
            nonces,
            state: FlowState::Resource(search),
        };
        Ok((flow, step))
    }

    /// Takes the answer to the last [`Step::Fetch`].
    pub(crate) fn response(&mut self, response: &Response, now: u64) -> Result<Step, FlowError> {
        self.config.now = now;
        match std::mem::replace(&mut self.state, FlowState::Over) {
            FlowState::Resource(search) => self.resource(search, response),
            FlowState::Server {
                resource,
                issuer,
                search,
            } => self.server(resource, issuer, search, response),
            FlowState::Registering(discovered) => {
                let mut client = registration_response(response)?;
                // Scopes that the registration did not grant will not be granted next time either.
                // They count as covered, so that no login registers again because of them.
                client.scopes = client.scopes.map(|it| it.union(&discovered.scopes));
                self.ask_user(RequestContext {
                    discovered,
                    client,
                    is_new_client: true,
                })
            }
            FlowState::RequestingDeviceCode(context) => self.show_code(context, response),
            FlowState::ExchangingIdToken(context) => self.exchanged(context, response),
            FlowState::RequestingToken(attempt) => self.token(attempt, response),
            FlowState::Revoking(request) => self.revoked(&request, response),
            other => self.out_of_order(other),
        }
    }

    /// Takes the redirect URL of the browser, or its query.
    ///
    /// After [`CallbackError::State`] the flow goes on waiting, because any web page can send a
    /// browser to the redirect URI.
    pub(crate) fn redirect(&mut self, redirect: &str, now: u64) -> Result<Step, FlowError> {
        self.config.now = now;
        let context = match std::mem::replace(&mut self.state, FlowState::Over) {
            FlowState::AwaitingRedirect(context) => context,
            other => return self.out_of_order(other),
        };
        match callback::accept(redirect, &self.nonces.state, &context.discovered.server) {
            Ok(code) => self.fetch_token(context, GrantInput::Code(code)),
            Err(error) => {
                if error == CallbackError::State {
                    self.state = FlowState::AwaitingRedirect(context);
                }
                Err(error.into())
            }
        }
    }

    /// Keeps the state: a reloaded browser page must not end a login.
    pub(super) fn out_of_order(&mut self, state: FlowState) -> Result<Step, FlowError> {
        self.state = state;
        Err(FlowError::OutOfOrder)
    }

    fn resource(
        &mut self,
        mut search: MetadataSearch,
        response: &Response,
    ) -> Result<Step, FlowError> {
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
                    self.state = FlowState::Resource(search);
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
        let (search, step) = MetadataSearch::start(issuer.candidates()?, &self.config)?;
        self.state = FlowState::Server {
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
        mut search: MetadataSearch,
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
            self.state = FlowState::Server {
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
