//! Second half of a flow: from the authorization server to the token.

use super::config::{Goal, KnownServer};
use super::error::FlowError;
use super::machine::Flow;
use super::state::{
    Discovered, FlowState, GrantInput, RegistrationAttempt, RequestContext, TokenAttempt,
};
use super::step::{GrantedTokens, Step};
use crate::Secret;
use crate::authorize::AuthorizationRequest;
use crate::http_message::{Request, Response};
use crate::id_jag::{self, Exchange};
use crate::metadata::{AuthorizationServer, ProtectedResource};
use crate::registration::{self, ClientIdentity, ClientInfo};
use crate::token_endpoint::{Authentication, TokenEndpointError, TokenResponse, TokenType};

/// Maximum number of retries with another DPoP nonce. After them the refusal counts.
const MAX_NONCE_RETRIES: u32 = 2;

impl Flow {
    pub(super) fn found_server(
        &mut self,
        resource: Option<ProtectedResource>,
        server: AuthorizationServer,
    ) -> Result<Step, FlowError> {
        let scopes_from = self.config.scope_source(resource.as_ref());
        let discovered = self.discovered(resource, server)?;
        // The query of a server's URL may contain a key of the user.
        let resource = discovered
            .sent_resource()
            .and_then(|it| it.split('?').next());
        tracing::debug!(scopes = %discovered.scopes, scopes_from, resource, "request: prepared");
        self.pursue(discovered)
    }

    /// Sends the token request without metadata: the stored login names the endpoint.
    pub(super) fn use_known(&mut self, known: KnownServer) -> Result<Step, FlowError> {
        let methods = known
            .auth_method
            .map(|method| vec![method.name().to_owned()]);
        let server = AuthorizationServer {
            issuer: known.issuer,
            token_endpoint_auth_methods_supported: methods,
            // The other endpoints are guesses. No goal that has a known server sends anything to them.
            ..AuthorizationServer::assumed(&known.token_endpoint)
        };
        let mut server = AuthorizationServer {
            token_endpoint: known.token_endpoint,
            ..server
        };
        let provider = self.config.adapt(&mut server);
        // Only a key that the login has already: a login that needs a new one is never given a known server.
        let binding = self.config.binding(None, &server)?;
        self.pursue(Discovered {
            provider,
            resource: known.resource,
            server,
            scopes: known.scopes,
            binding,
        })
    }

    /// Begins the grant, or the revocation, that is the goal.
    fn pursue(&mut self, discovered: Discovered) -> Result<Step, FlowError> {
        match self.config.goal.clone() {
            Goal::Login | Goal::StepUp(_) | Goal::DeviceCode => self.identify(discovered),
            Goal::Refresh {
                client,
                refresh_token,
                ..
            } => self.fetch_token(
                discovered.with_client(client),
                GrantInput::RefreshToken(refresh_token),
            ),
            Goal::ClientCredentials => {
                let client = self.config.credentials(&discovered.server)?;
                self.fetch_token(discovered.with_client(client), GrantInput::None)
            }
            Goal::JwtBearer(assertion) => {
                let client = self.config.known_client(&discovered.server)?;
                self.fetch_token(
                    discovered.with_client(client),
                    GrantInput::Assertion(assertion),
                )
            }
            Goal::Enterprise(provider, id_token) => {
                let client = self.config.known_client(&discovered.server)?;
                let exchange = Exchange {
                    id_token: &id_token,
                    audience: discovered.server.audience(),
                    resource: &discovered.resource,
                    scopes: &discovered.scopes,
                };
                let request = provider.request(&exchange, self.config.now)?;
                self.state = FlowState::ExchangingIdToken(discovered.with_client(client));
                Ok(Step::Fetch(request))
            }
            Goal::Revoke { client, token, .. } => self.revoke(discovered.server, &client, &token),
        }
    }

    fn discovered(
        &self,
        resource: Option<ProtectedResource>,
        mut server: AuthorizationServer,
    ) -> Result<Discovered, FlowError> {
        let provider = self.config.adapt(&mut server);
        Ok(Discovered {
            provider,
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
        let Discovered { server, scopes, .. } = &discovered;
        // Checked before the registration, so that an authorization server without PKCE or without
        // the endpoint learns nothing about this client.
        if matches!(self.config.goal, Goal::DeviceCode) {
            server.device_authorization_endpoint()?;
        } else {
            server.authorization_endpoint()?;
        }
        let options = self.config.options.covering(scopes);
        let redirect_uri = &self.config.redirect_uri;
        let chosen = registration::choose(&options, server, redirect_uri, self.config.now);
        let name = |error| self.config.with_known_redirect_uri(error, &server.issuer);
        match chosen.map_err(name)? {
            ClientIdentity::Known(client) => self.ask_user(discovered.with_client(client)),
            ClientIdentity::Register(endpoint) => {
                let attempt = RegistrationAttempt::first(endpoint, redirect_uri);
                self.register(discovered, attempt)
            }
        }
    }

    pub(super) fn ask_user(&mut self, context: RequestContext) -> Result<Step, FlowError> {
        if matches!(self.config.goal, Goal::DeviceCode) {
            return self.ask_for_code(context);
        }
        let binding = context.discovered.binding.as_ref();
        let thumbprint = binding.map(|binding| binding.key.thumbprint());
        let request = AuthorizationRequest {
            server: &context.discovered.server,
            client_id: &context.client.id,
            redirect_uri: context.redirect_uri(&self.config.redirect_uri),
            resource: context.discovered.sent_resource(),
            scopes: &context.discovered.scopes,
            dpop_jkt: thumbprint.as_deref(),
            provider: &context.discovered.provider,
            nonces: &self.nonces,
        };
        let url = request.url()?;
        self.state = FlowState::AwaitingRedirect(context);
        Ok(Step::Open(url))
    }

    /// Uses the assertion of the identity provider as the grant.
    pub(super) fn exchanged(
        &mut self,
        context: RequestContext,
        response: &Response,
    ) -> Result<Step, FlowError> {
        let assertion =
            id_jag::parse(response).map_err(|error| error.without(self.config.goal.secrets()))?;
        self.fetch_token(context, GrantInput::Assertion(assertion))
    }

    pub(super) fn fetch_token(
        &mut self,
        context: RequestContext,
        input: GrantInput,
    ) -> Result<Step, FlowError> {
        self.send(TokenAttempt {
            context,
            input,
            nonce_retries: 0,
        })
    }

    fn send(&mut self, attempt: TokenAttempt) -> Result<Step, FlowError> {
        let redirect_uri = attempt.context.redirect_uri(&self.config.redirect_uri);
        let grant = attempt.input.grant(&self.nonces, redirect_uri);
        let request = attempt.context.token_request(grant, self.config.now)?;
        self.state = FlowState::RequestingToken(attempt);
        Ok(Step::Fetch(request))
    }

    pub(super) fn token(
        &mut self,
        mut attempt: TokenAttempt,
        response: &Response,
    ) -> Result<Step, FlowError> {
        let found = TokenResponse::parse(response)
            .map_err(|error| error.without(attempt.secrets(&self.nonces)))
            .map_err(|error| match response.status {
                // Not an answer of a token endpoint: the stored URL is out of date.
                404 | 405 | 410 if self.config.known.is_some() && !error.is_invalid_grant() => {
                    TokenEndpointError::Malformed(response.status)
                }
                _ => error,
            });
        let has_nonce = attempt.context.learn(response);
        let wants_nonce = matches!(&found, Err(error) if error.is_use_dpop_nonce());
        if has_nonce && wants_nonce && attempt.nonce_retries < MAX_NONCE_RETRIES {
            attempt.nonce_retries += 1;
            return self.send(attempt);
        }
        let TokenAttempt { context, input, .. } = attempt;
        match (found, input) {
            (Ok(tokens), _) => self.finish(context, tokens),
            (Err(error), GrantInput::DeviceCode(pending)) => {
                self.poll_again(context, pending, error, response)
            }
            (Err(error), _) => Err(error.into()),
        }
    }

    fn finish(
        &self,
        context: RequestContext,
        mut tokens: TokenResponse,
    ) -> Result<Step, FlowError> {
        let Discovered {
            server, binding, ..
        } = context.discovered;
        let is_bound = tokens.token_type == TokenType::Dpop;
        // Both tokens would be useless: this process lacks the key of the first, and the MCP server requires a
        // key for the second.
        match &binding {
            None if is_bound => return Err(TokenEndpointError::ForeignKey.into()),
            Some(binding) if binding.is_required && !is_bound => {
                return Err(TokenEndpointError::Unbound.into());
            }
            _ => {}
        }
        if let Goal::Refresh { refresh_token, .. } = &self.config.goal {
            // An answer without a refresh token means that the old one goes on to work (RFC 6749, section 6).
            tokens = tokens.or_refresh_token(refresh_token);
        }
        Ok(Step::Done(Box::new(GrantedTokens {
            auth_method: context.client.auth_method(&server),
            token_endpoint: server.token_endpoint,
            issuer: server.issuer,
            resource: context.discovered.resource,
            client: context.client,
            is_new_client: context.is_new_client,
            requested: context.discovered.scopes,
            tokens,
            dpop_key: binding.map(|binding| binding.key),
        })))
    }

    /// Requests the revocation of a token (RFC 7009).
    fn revoke(
        &mut self,
        server: AuthorizationServer,
        client: &ClientInfo,
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
        self.state = FlowState::Revoking(request.clone());
        Ok(Step::Fetch(request))
    }

    pub(super) fn revoked(
        &self,
        request: &Request,
        response: &Response,
    ) -> Result<Step, FlowError> {
        match response.status {
            // Also the answer for a token that the server does not know (RFC 7009, section 2.2).
            200..300 => Ok(Step::Revoked),
            status if response.is_transient() => Err(FlowError::Unavailable {
                url: request.url.clone(),
                status,
            }),
            status => Err(FlowError::NotRevoked(status)),
        }
    }
}
