use url::Url;

use super::error::FlowError;
use super::state::DpopBinding;
use crate::authorize::{named_scopes, select_scopes, with_offline_access};
use crate::id_jag::IdentityProvider;
use crate::jwt::Algorithm;
use crate::metadata::{AuthorizationServer, Issuer, MetadataError, ProtectedResource};
use crate::options::ProviderOptions;
use crate::quirks::Quirks;
use crate::registration::{
    self, AuthMethod, ClientIdentity, ClientIdentityError, ClientInfo, ClientOptions,
};
use crate::{Challenge, Scopes, Secret, dpop};

/// Input of a flow.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub server: Url,
    /// Protocol revision that metadata requests name.
    pub protocol_version: String,
    pub challenge: Option<Challenge>,
    /// Client name that the authorization server shows to the user.
    pub client_name: String,
    pub redirect_uri: String,
    pub options: ClientOptions,
    /// Options of the user for this provider.
    pub provider: ProviderOptions,
    /// Quirks of known providers.
    pub quirks: Quirks,
    /// Token that a registration needs.
    pub initial_access_token: Option<Secret>,
    pub scopes: Option<Scopes>,
    pub goal: Goal,
    /// Authorization server of the stored login. With it no metadata is fetched.
    pub known: Option<KnownServer>,
    /// Key that the login is bound to so far. Without one, a key is generated if the server asks
    /// for DPoP.
    pub dpop_key: Option<dpop::Key>,
    pub now: u64,
}

/// Authorization server of a stored login, as far as a token request needs it.
#[derive(Clone, Debug)]
pub(crate) struct KnownServer {
    pub issuer: String,
    pub token_endpoint: Url,
    /// Authentication method of the earlier requests.
    pub auth_method: Option<AuthMethod>,
    /// Resource that the tokens are for.
    pub resource: String,
    /// Scopes of the stored login.
    pub scopes: Scopes,
}

/// Goal of a flow: the grant to use, or a revocation.
#[derive(Clone, Debug)]
pub(crate) enum Goal {
    /// Authorization code: the user consents in a browser.
    Login,
    /// Authorization code for more scopes.
    StepUp(Scopes),
    /// Device code: the user consents on another device.
    DeviceCode,
    Refresh {
        /// Issuer of the token, which no other server may see. If it was not recorded, the server
        /// names it.
        issuer: Option<String>,
        client: ClientInfo,
        refresh_token: Secret,
    },
    /// Client credentials: no user is involved.
    ClientCredentials,
    /// JWT bearer: the platform signed an identity token (workload identity).
    ///
    /// A refusal is final, because only the platform can issue another token.
    JwtBearer(Secret),
    /// ID-JAG: an identity token of an employer's identity provider, which decides about the
    /// access.
    Enterprise(Box<IdentityProvider>, Secret),
    /// Revocation of a token.
    Revoke {
        /// Issuer of the token, which no other server may see. If it was not recorded, the server
        /// names it.
        issuer: Option<String>,
        client: ClientInfo,
        /// Refresh token, whose revocation ends the whole login, else the access token.
        token: Secret,
    },
}

impl Goal {
    /// Issuer of the token that the goal sends.
    fn issuer(&self) -> Option<&String> {
        match self {
            Self::Refresh { issuer, .. } | Self::Revoke { issuer, .. } => issuer.as_ref(),
            _ => None,
        }
    }

    /// Secrets that an identity provider sees, and may repeat in an error.
    pub(super) fn secrets(&self) -> impl Iterator<Item = &Secret> {
        let shown = match self {
            Self::Enterprise(provider, id_token) => Some((provider, id_token)),
            _ => None,
        };
        shown.into_iter().flat_map(|(provider, id_token)| {
            let secret = provider.client.secret.as_ref();
            secret.into_iter().chain([id_token])
        })
    }
}

impl Config {
    /// Metadata URL of the challenge.
    pub(super) fn named(&self) -> Option<&str> {
        self.challenge.as_ref()?.resource_metadata.as_deref()
    }

    /// Chooses the issuer that knows this client already, else the first one.
    pub(super) fn choose_issuer(&self, listed: &[String]) -> Result<String, MetadataError> {
        let configured = self.options.configured.as_ref();
        let configured = configured.and_then(|configured| configured.issuer.as_ref());
        let knows_us = |issuer: &&String| match self.goal.issuer() {
            Some(old) => *issuer == old,
            None => configured == Some(issuer) || self.options.registrations.knows(issuer),
        };
        let chosen = listed.iter().find(knows_us).or(listed.first());
        chosen.cloned().ok_or(MetadataError::NoAuthorizationServer)
    }

    /// Refuses to send a token to an issuer other than its own.
    pub(super) fn check_issuer(&self, found: &Issuer) -> Result<(), FlowError> {
        match self.goal.issuer() {
            Some(issuer) if !found.accepts(issuer) => Err(FlowError::IssuerChanged {
                issuer: issuer.clone(),
            }),
            _ => Ok(()),
        }
    }

    /// Options of the user, over the quirks of the provider with this issuer.
    pub(super) fn provider_at(&self, issuer: &str) -> ProviderOptions {
        match self.quirks.of(issuer) {
            Some(quirk) => self.provider.clone().over(&quirk.options()),
            None => self.provider.clone(),
        }
    }

    /// Applies the options to the metadata of an authorization server.
    pub(super) fn adapt(&self, server: &mut AuthorizationServer) -> ProviderOptions {
        let provider = self.provider_at(&server.issuer);
        if let Some(quirk) = self.quirks.of(&server.issuer) {
            tracing::debug!(
                provider = quirk.provider,
                reason = quirk.reason,
                "quirk: applied"
            );
            // Without the endpoint, the login stops with an error that asks for a client which the user
            // registers.
            if quirk.has_closed_registration && self.initial_access_token.is_none() {
                server.registration_endpoint = None;
            }
            if server.device_authorization_endpoint.is_none() {
                let known = quirk.device_endpoint.and_then(|url| Url::parse(url).ok());
                server.device_authorization_endpoint = known;
            }
        }
        // A known provider may have got metadata since the table was written, so only the endpoints of
        // the user replace those of the metadata.
        if let Some(endpoint) = &self.provider.authorization_endpoint {
            server.authorization_endpoint = Some(endpoint.url().clone());
        }
        if let Some(endpoint) = &self.provider.token_endpoint {
            server.token_endpoint = endpoint.url().clone();
        }
        // Some providers support PKCE and do not list it. Here the user or the table of quirks vouches for
        // that.
        if provider.allow_missing_pkce_metadata == Some(true) {
            let methods = &mut server.code_challenge_methods_supported;
            methods.get_or_insert_with(|| vec!["S256".to_owned()]);
        }
        provider
    }

    /// Names the redirect URI that a known provider accepts, where a client has to be registered by
    /// hand.
    pub(super) fn with_known_redirect_uri(
        &self,
        error: ClientIdentityError,
        issuer: &str,
    ) -> ClientIdentityError {
        let known = self.quirks.of(issuer).and_then(|quirk| quirk.redirect_uri);
        match (error, known) {
            (ClientIdentityError::Needed(mut needed), Some(known))
                if self.provider.redirect_uri.is_none() =>
            {
                needed.redirect_uri = known.to_owned();
                needed.into()
            }
            (error, _) => error,
        }
    }

    /// Scopes to request.
    pub(super) fn select_scopes(
        &self,
        resource: Option<&ProtectedResource>,
        server: &AuthorizationServer,
    ) -> Scopes {
        let selected = self.named_scopes(resource, server);
        let quirk = self.quirks.of(&server.issuer);
        match quirk.and_then(|quirk| quirk.refused_scope) {
            // What the user asked for is sent all the same: the table may be out of date.
            Some(refused) if !self.scopes.as_ref().is_some_and(|it| it.contains(refused)) => {
                selected.iter().filter(|scope| *scope != refused).collect()
            }
            _ => selected,
        }
    }

    /// Source of the scopes, for the log.
    pub(super) fn scope_source(&self, resource: Option<&ProtectedResource>) -> &'static str {
        let challenged = self.challenge.as_ref().and_then(|it| it.scope.as_ref());
        match (challenged, &self.scopes, resource) {
            (Some(_), _, _) => "the challenge of the server",
            (None, Some(_), _) => "the user",
            (None, None, Some(resource)) if !resource.scopes_supported.is_empty() => {
                "the metadata of the server"
            }
            _ => "nowhere, so the provider decides",
        }
    }

    fn named_scopes(
        &self,
        resource: Option<&ProtectedResource>,
        server: &AuthorizationServer,
    ) -> Scopes {
        let challenge = self.challenge.as_ref();
        let configured = self.scopes.as_ref();
        match &self.goal {
            Goal::StepUp(scopes) => with_offline_access(scopes, server),
            // Without a user there is no need for a refresh token, so `offline_access` is not added.
            Goal::ClientCredentials | Goal::JwtBearer(_) | Goal::Enterprise(..) => {
                named_scopes(challenge, configured, resource)
            }
            _ => select_scopes(challenge, configured, resource, server),
        }
    }

    /// Key to bind the token to: if the server asks for it and the issuer supports it, or if the
    /// login is bound already.
    ///
    /// The server's requirement is checked before anything is sent: an unbound token would be
    /// useless there.
    pub(super) fn binding(
        &self,
        resource: Option<&ProtectedResource>,
        server: &AuthorizationServer,
    ) -> Result<Option<DpopBinding>, FlowError> {
        let is_required = resource.is_some_and(|it| it.dpop_bound_access_tokens_required);
        let is_asked = is_required || self.challenge.as_ref().is_some_and(|it| it.dpop);
        let mut listed = server.dpop_signing_alg_values_supported.iter().flatten();
        let is_possible = listed.any(|name| name == Algorithm::Es256.name());
        let is_bound = matches!(self.goal, Goal::Refresh { .. }) && self.dpop_key.is_some();
        if is_required && !is_possible && !is_bound {
            return Err(FlowError::NoDpop {
                issuer: server.issuer.clone(),
            });
        }
        if !(is_bound || is_asked && is_possible) {
            return Ok(None);
        }
        let key = match &self.dpop_key {
            Some(key) => key.clone(),
            None => dpop::Key::generate()?,
        };
        Ok(Some(DpopBinding {
            key,
            is_required,
            nonce: None,
        }))
    }

    /// Client for the client credentials grant, which must have a secret or a key.
    pub(super) fn credentials(
        &self,
        server: &AuthorizationServer,
    ) -> Result<ClientInfo, FlowError> {
        let configured = self.options.configured.as_ref();
        if !configured.is_some_and(|configured| configured.client.is_confidential()) {
            return Err(FlowError::NoCredentials);
        }
        self.known_client(server)
    }

    /// Client for a grant without a user, which must exist already: such a grant registers none.
    pub(super) fn known_client(
        &self,
        server: &AuthorizationServer,
    ) -> Result<ClientInfo, FlowError> {
        match registration::choose(&self.options, server, &self.redirect_uri, self.now)? {
            ClientIdentity::Known(client) => Ok(client),
            ClientIdentity::Register(_) => Err(FlowError::NoClient {
                issuer: server.issuer.clone(),
            }),
        }
    }
}
