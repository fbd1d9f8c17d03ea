use url::Url;

use super::error::FlowError;
use crate::authorize::{select_scopes, with_offline_access};
use crate::metadata::{AuthorizationServer, Issuer, MetadataError, ProtectedResource};
use crate::registration::{self, Client, Identity, Options};
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

impl Config {
    /// Where the server says that it describes itself.
    pub(super) fn named(&self) -> Option<&str> {
        self.challenge.as_ref()?.resource_metadata.as_deref()
    }

    /// The issuer that knows us already, else the first.
    pub(super) fn choose_issuer(&self, listed: &[String]) -> Result<String, MetadataError> {
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
    pub(super) fn check_issuer(&self, found: &Issuer) -> Result<(), FlowError> {
        match &self.goal {
            Goal::Refresh { issuer, .. } if !found.is(issuer) => Err(FlowError::IssuerChanged {
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
        match &self.goal {
            Goal::StepUp(scopes) => with_offline_access(scopes, server),
            _ => {
                let challenge = self.challenge.as_ref();
                select_scopes(challenge, self.scopes.as_ref(), resource, server)
            }
        }
    }

    /// Who we are where no person is asked.
    pub(super) fn credentials(&self, server: &AuthorizationServer) -> Result<Client, FlowError> {
        let configured = self.options.configured.as_ref();
        if configured.is_none_or(|configured| configured.client.secret.is_none()) {
            return Err(FlowError::NoCredentials);
        }
        match registration::choose(&self.options, server, &self.redirect_uri, self.now)? {
            Identity::Known(client) => Ok(client),
            Identity::Register(_) => Err(FlowError::NoCredentials),
        }
    }
}
