use super::config::Config;
use super::error::FlowError;
use super::search::MetadataSearch;
use super::state::{FlowState, GrantInput};
use super::step::Step;
use crate::authorize::Nonces;
use crate::callback::{self, CallbackError};
use crate::http_message::Response;
use crate::metadata::{AuthorizationServer, Issuer, MetadataError, ProtectedResource};

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
        if let Some(known) = config.known.clone() {
            let state = FlowState::Over;
            let mut flow = Self {
                config,
                nonces,
                state,
            };
            let step = flow.use_known(known)?;
            return Ok((flow, step));
        }
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
            FlowState::Registering(discovered, attempt) => {
                self.registered(discovered, attempt, response)
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
        search.note(response);
        let server = &self.config.server;
        let found = response
            .success()
            .map(|body| ProtectedResource::parse(body, server));
        match found {
            Some(Ok(resource)) => self.found_resource(resource),
            // The document describes another server, and must not be used (RFC 9728, section 3.3).
            Some(Err(error @ MetadataError::Resource { .. })) => Err(error.into()),
            other => match search.next(other.and_then(Result::err), &self.config) {
                Some(step) => {
                    self.state = FlowState::Resource(search);
                    Ok(step)
                }
                // Servers of earlier revisions have no such document and are their own authorization servers.
                // A server that named one, or that fails at the moment, is not taken for such a server.
                None if self.config.provider.endpoints().is_some()
                    || search.found_nothing() && self.config.named().is_none() =>
                {
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
        if let Some((authorization, token)) = self.config.provider.endpoints() {
            // Without metadata of the MCP server, the endpoints alone say who issues the tokens.
            let issuer = match &issuer {
                Issuer::Origin(_) => Issuer::origin(&token),
                named => named.clone(),
            };
            self.config.check_issuer(&issuer)?;
            tracing::debug!(
                issuer = issuer.name(),
                "endpoints: given by hand, so no metadata is fetched"
            );
            let server = AuthorizationServer::with_endpoints(&issuer, authorization, &token);
            return self.found_server(resource, server);
        }
        self.config.check_issuer(&issuer)?;
        tracing::debug!(
            issuer = issuer.name(),
            is_named_by_server = resource.is_some(),
            "issuer: chosen"
        );
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
        search.note(response);
        let quirk = self.config.quirks.of(issuer.name());
        let own_issuer = quirk.and_then(|quirk| quirk.own_issuer);
        let found = response
            .success()
            .map(|body| AuthorizationServer::parse_known(body, &issuer, own_issuer));
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
        // A document that is unavailable now, or was refused, is not replaced by a guess.
        if !search.found_nothing() {
            return Err(search.failed(issuer.name()));
        }
        let known = self.config.provider_at(issuer.name()).endpoints();
        match (known, issuer) {
            (Some((authorization, token)), issuer) => {
                tracing::debug!(
                    issuer = issuer.name(),
                    "endpoints: those of a known provider, because it has no metadata"
                );
                let server = AuthorizationServer::with_endpoints(&issuer, authorization, &token);
                self.found_server(resource, server)
            }
            (None, Issuer::Origin(origin)) => {
                tracing::debug!(%origin, "endpoints: /authorize, /token and /register, because there is no metadata");
                self.found_server(resource, AuthorizationServer::assumed(&origin))
            }
            (None, issuer) => Err(search.failed(issuer.name())),
        }
    }
}
