//! From the authorization server to the token.

use super::config::{Config, Goal};
use super::error::FlowError;
use super::machine::Flow;
use super::state::{Agreed, Discovered, Fetching, Given, State};
use super::step::{Login, Step};
use crate::Secret;
use crate::authorize::AuthorizationRequest;
use crate::exchange::{Request, Response};
use crate::id_jag::{self, Exchange};
use crate::metadata::{AuthorizationServer, ProtectedResource};
use crate::registration::{self, Client, Identity, Introduction, registration_request};
use crate::token::{Authentication, TokenError, TokenType, Tokens};

/// How often a request is repeated because the authorization server wants another nonce.
const MAX_NONCES: u32 = 2;

impl Flow {
    pub(super) fn found_server(
        &mut self,
        resource: Option<ProtectedResource>,
        server: AuthorizationServer,
    ) -> Result<Step, FlowError> {
        let discovered = self.discovered(resource, server)?;
        match self.config.goal.clone() {
            Goal::Login | Goal::StepUp(_) | Goal::DeviceCode => self.identify(discovered),
            Goal::Refresh {
                client,
                refresh_token,
                ..
            } => self.fetch_token(
                discovered.agreed(client),
                Given::RefreshToken(refresh_token),
            ),
            Goal::ClientCredentials => {
                let client = self.config.credentials(&discovered.server)?;
                self.fetch_token(discovered.agreed(client), Given::Nothing)
            }
            Goal::JwtBearer(assertion) => {
                let client = self.config.known_client(&discovered.server)?;
                self.fetch_token(discovered.agreed(client), Given::Assertion(assertion))
            }
            Goal::Enterprise(provider, id_token) => {
                let client = self.config.known_client(&discovered.server)?;
                let exchange = Exchange {
                    id_token: &id_token,
                    audience: &discovered.server.issuer,
                    resource: &discovered.resource,
                    scopes: &discovered.scopes,
                };
                let request = provider.request(&exchange, self.config.now)?;
                self.state = State::Exchanging(discovered.agreed(client));
                Ok(Step::Fetch(request))
            }
            Goal::Revoke { client, token, .. } => self.revoke(discovered.server, &client, &token),
        }
    }

    fn discovered(
        &self,
        resource: Option<ProtectedResource>,
        server: AuthorizationServer,
    ) -> Result<Discovered, FlowError> {
        Ok(Discovered {
            scopes: self.config.select_scopes(resource.as_ref(), &server),
            binding: self.config.binding(resource.as_ref(), &server)?,
            resource: resource.map_or_else(
                || ProtectedResource::canonical(&self.config.server),
                |resource| resource.resource,
            ),
            server,
        })
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
        let shows_codes = matches!(self.config.goal, Goal::DeviceCode);
        // Whoever cannot be asked for a code safely is not even told who we are.
        if shows_codes {
            server.device_authorization_endpoint()?;
        } else {
            server.authorization_endpoint()?;
        }
        match registration::choose(&options.covering(scopes), server, redirect_uri, *now)? {
            Identity::Known(client) => self.ask_person(discovered.agreed(client)),
            Identity::Register(endpoint) => {
                let introduction = Introduction {
                    server,
                    client_name,
                    redirect_uri,
                    scopes,
                    shows_codes,
                };
                let request = registration_request(endpoint, &introduction);
                self.state = State::Registering(discovered);
                Ok(Step::Fetch(request))
            }
        }
    }

    pub(super) fn ask_person(&mut self, agreed: Agreed) -> Result<Step, FlowError> {
        if matches!(self.config.goal, Goal::DeviceCode) {
            return self.ask_for_code(agreed);
        }
        let binding = agreed.discovered.binding.as_ref();
        let thumbprint = binding.map(|binding| binding.key.thumbprint());
        let request = AuthorizationRequest {
            server: &agreed.discovered.server,
            client_id: &agreed.client.id,
            redirect_uri: &self.config.redirect_uri,
            resource: &agreed.discovered.resource,
            scopes: &agreed.discovered.scopes,
            dpop_jkt: thumbprint.as_deref(),
            nonces: &self.nonces,
        };
        let url = request.url()?;
        self.state = State::Waiting(agreed);
        Ok(Step::Open(url))
    }

    /// The identity provider's word is as good as a code: it is given for a token.
    pub(super) fn exchanged(
        &mut self,
        agreed: Agreed,
        response: &Response,
    ) -> Result<Step, FlowError> {
        let assertion =
            id_jag::parse(response).map_err(|error| error.without(self.config.goal.secrets()))?;
        self.fetch_token(agreed, Given::Assertion(assertion))
    }

    pub(super) fn fetch_token(&mut self, agreed: Agreed, given: Given) -> Result<Step, FlowError> {
        self.send(Fetching {
            agreed,
            given,
            repeated: 0,
        })
    }

    fn send(&mut self, fetching: Fetching) -> Result<Step, FlowError> {
        let grant = fetching
            .given
            .grant(&self.nonces, &self.config.redirect_uri);
        let request = fetching.agreed.token_request(grant, self.config.now)?;
        self.state = State::Fetching(fetching);
        Ok(Step::Fetch(request))
    }

    pub(super) fn token(
        &mut self,
        mut fetching: Fetching,
        response: &Response,
    ) -> Result<Step, FlowError> {
        let found =
            Tokens::parse(response).map_err(|error| error.without(fetching.secrets(&self.nonces)));
        let has_nonce = fetching.agreed.learn(response);
        let wants_nonce = matches!(&found, Err(error) if error.is_use_dpop_nonce());
        if has_nonce && wants_nonce && fetching.repeated < MAX_NONCES {
            fetching.repeated += 1;
            return self.send(fetching);
        }
        let Fetching { agreed, given, .. } = fetching;
        match (found, given) {
            (Ok(tokens), _) => self.finish(agreed, tokens),
            (Err(error), Given::DeviceCode(pending)) => {
                self.not_yet(agreed, pending, error, response)
            }
            (Err(error), _) => Err(error.into()),
        }
    }

    fn finish(&self, agreed: Agreed, mut tokens: Tokens) -> Result<Step, FlowError> {
        let Discovered {
            server, binding, ..
        } = agreed.discovered;
        let is_bound = tokens.token_type == TokenType::Dpop;
        match &binding {
            None if is_bound => return Err(TokenError::ForeignKey.into()),
            Some(binding) if binding.is_required && !is_bound => {
                return Err(TokenError::Unbound.into());
            }
            _ => {}
        }
        if let Goal::Refresh { refresh_token, .. } = &self.config.goal {
            tokens = tokens.or_refresh_token(refresh_token);
        }
        Ok(Step::Done(Box::new(Login {
            issuer: server.issuer,
            resource: agreed.discovered.resource,
            client: agreed.client,
            is_new_client: agreed.is_new_client,
            requested: agreed.discovered.scopes,
            tokens,
            dpop_key: binding.map(|binding| binding.key),
        })))
    }

    /// Asks that a token be forgotten (RFC 7009).
    fn revoke(
        &mut self,
        server: AuthorizationServer,
        client: &Client,
        token: &Secret,
    ) -> Result<Step, FlowError> {
        let Some(endpoint) = server.revocation_endpoint.clone() else {
            return Err(FlowError::NoRevocation {
                issuer: server.issuer,
            });
        };
        let fields = [("token", token.expose())];
        let authentication = Authentication::at(&server, client);
        let request = authentication.form(endpoint, &fields, self.config.now)?;
        self.state = State::Revoking(request.clone());
        Ok(Step::Fetch(request))
    }

    pub(super) fn revoked(
        &self,
        request: &Request,
        response: &Response,
    ) -> Result<Step, FlowError> {
        match response.status {
            200..300 => Ok(Step::Revoked),
            status if response.is_transient() => Err(FlowError::Unavailable {
                url: request.url.clone(),
                status,
            }),
            status => Err(FlowError::NotRevoked(status)),
        }
    }
}
