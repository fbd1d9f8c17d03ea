use url::Url;

use super::error::FlowError;
use super::state::Binding;
use crate::authorize::{named_scopes, select_scopes, with_offline_access};
use crate::id_jag::IdentityProvider;
use crate::jwt::Algorithm;
use crate::metadata::{AuthorizationServer, Issuer, MetadataError, ProtectedResource};
use crate::registration::{self, Client, Identity, Options};
use crate::{Challenge, Scopes, Secret, dpop};

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
    /// The key that the login has been bound to so far; a new one is made if the server asks for one and there is none.
    pub dpop_key: Option<dpop::Key>,
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
    /// A person's consent on another device.
    DeviceCode,
    /// An earlier login.
    Refresh {
        /// Who issued it; nobody else sees it. If nobody knows any more, the server says who issues for it.
        issuer: Option<String>,
        /// Who we were then.
        client: Client,
        /// What it left us.
        refresh_token: Secret,
    },
    /// Nothing but who we are.
    ClientCredentials,
    /// A token by which the platform that we run on says who we are (workload identity).
    ///
    /// A refusal is final: whoever made the token has to make another one.
    JwtBearer(Secret),
    /// A login at an employer's identity provider, which decides who may use the server, and the
    /// identity token that it left us.
    Enterprise(Box<IdentityProvider>, Secret),
    /// No token at all: the end of an earlier login.
    Revoke {
        /// Who issued it; nobody else sees it. If nobody knows any more, the server says who issues for it.
        issuer: Option<String>,
        /// Who we were then.
        client: Client,
        /// The refresh token, with which all others end, else the access token.
        token: Secret,
    },
}

impl Goal {
    /// Who issued what the goal gives away.
    fn issuer(&self) -> Option<&String> {
        match self {
            Self::Refresh { issuer, .. } | Self::Revoke { issuer, .. } => issuer.as_ref(),
            _ => None,
        }
    }

    /// What an identity provider is shown.
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
    /// Where the server says that it describes itself.
    pub(super) fn named(&self) -> Option<&str> {
        self.challenge.as_ref()?.resource_metadata.as_deref()
    }

    /// The issuer that knows us already, else the first.
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

    /// A token goes back to where it came from, or nowhere.
    pub(super) fn check_issuer(&self, found: &Issuer) -> Result<(), FlowError> {
        match self.goal.issuer() {
            Some(issuer) if !found.is(issuer) => Err(FlowError::IssuerChanged {
                issuer: issuer.clone(),
            }),
            _ => Ok(()),
        }
    }

    /// What to ask for.
    pub(super) fn select_scopes(
        &self,
        resource: Option<&ProtectedResource>,
        server: &AuthorizationServer,
    ) -> Scopes {
        let challenge = self.challenge.as_ref();
        let configured = self.scopes.as_ref();
        match &self.goal {
            Goal::StepUp(scopes) => with_offline_access(scopes, server),
            Goal::ClientCredentials | Goal::JwtBearer(_) | Goal::Enterprise(..) => {
                named_scopes(challenge, configured, resource)
            }
            _ => select_scopes(challenge, configured, resource, server),
        }
    }

    /// What to bind the token to: if the server asks for it and the authorization server can, or if the login is bound.
    pub(super) fn binding(
        &self,
        resource: Option<&ProtectedResource>,
        server: &AuthorizationServer,
    ) -> Result<Option<Binding>, FlowError> {
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
        Ok(Some(Binding {
            key,
            is_required,
            nonce: None,
        }))
    }

    /// Who we are where nothing else counts.
    pub(super) fn credentials(&self, server: &AuthorizationServer) -> Result<Client, FlowError> {
        let configured = self.options.configured.as_ref();
        if !configured.is_some_and(|configured| configured.client.is_confidential()) {
            return Err(FlowError::NoCredentials);
        }
        self.known_client(server)
    }

    /// Who we are where no person is asked.
    pub(super) fn known_client(&self, server: &AuthorizationServer) -> Result<Client, FlowError> {
        match registration::choose(&self.options, server, &self.redirect_uri, self.now)? {
            Identity::Known(client) => Ok(client),
            Identity::Register(_) => Err(FlowError::NoClient {
                issuer: server.issuer.clone(),
            }),
        }
    }
}
