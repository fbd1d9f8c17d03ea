use url::Url;

use super::search::MetadataSearch;
use crate::authorize::Nonces;
use crate::device::PendingDeviceLogin;
use crate::dpop::{self, Proof, is_nonce};
use crate::http_message::{Request, Response};
use crate::jwt::SignError;
use crate::metadata::{AuthorizationServer, Issuer, ProtectedResource};
use crate::options::ProviderOptions;
use crate::registration::ClientInfo;
use crate::token_endpoint::{GrantForm, TokenRequest};
use crate::{Scopes, Secret};

/// State of a flow, named after the answer that it waits for.
#[derive(Debug)]
pub(super) enum FlowState {
    /// Metadata of the MCP server.
    Resource(MetadataSearch),
    /// Metadata of the authorization server.
    Server {
        resource: Option<ProtectedResource>,
        issuer: Issuer,
        search: MetadataSearch,
    },
    /// Answer of the registration endpoint.
    Registering(Discovered, RegistrationAttempt),
    /// Redirect of the browser.
    AwaitingRedirect(RequestContext),
    /// Answer of the device authorization endpoint.
    RequestingDeviceCode(RequestContext),
    /// Display of the device code.
    ShowingCode(RequestContext, Box<PendingDeviceLogin>),
    /// Time of the next poll.
    AwaitingPoll(RequestContext, Box<PendingDeviceLogin>),
    /// Assertion of the identity provider.
    ExchangingIdToken(RequestContext),
    /// Answer of the token endpoint.
    RequestingToken(TokenAttempt),
    /// Answer of the revocation endpoint.
    Revoking(Request),
    /// The flow is over.
    Over,
}

/// Result of the discovery.
#[derive(Debug)]
pub(super) struct Discovered {
    pub(super) resource: String,
    pub(super) server: AuthorizationServer,
    pub(super) scopes: Scopes,
    pub(super) binding: Option<DpopBinding>,
    /// Options of the user, over the quirks of the provider.
    pub(super) provider: ProviderOptions,
}

/// Registration request, which may be sent once more with less.
#[derive(Debug)]
pub(super) struct RegistrationAttempt {
    pub(super) endpoint: Url,
    pub(super) redirect_uri: String,
    /// Set if members are left out that some servers refuse.
    pub(super) is_minimal: bool,
    pub(super) is_retry: bool,
}

/// Result of the discovery, with the client.
#[derive(Debug)]
pub(super) struct RequestContext {
    pub(super) discovered: Discovered,
    pub(super) client: ClientInfo,
    pub(super) is_new_client: bool,
}

/// Token request, with its retries.
#[derive(Debug)]
pub(super) struct TokenAttempt {
    pub(super) context: RequestContext,
    pub(super) input: GrantInput,
    /// Number of retries because of a DPoP nonce.
    pub(super) nonce_retries: u32,
}

/// Grant of the token request, kept for retries.
#[derive(Debug)]
pub(super) enum GrantInput {
    Code(Secret),
    RefreshToken(Secret),
    None,
    Assertion(Secret),
    DeviceCode(Box<PendingDeviceLogin>),
}

/// Key that the token is to be bound to.
#[derive(Debug)]
pub(super) struct DpopBinding {
    pub(super) key: dpop::Key,
    /// Set if the server accepts bound tokens only.
    pub(super) is_required: bool,
    /// Nonce for the next proof.
    pub(super) nonce: Option<String>,
}

impl Discovered {
    /// Adds a client that is known already.
    pub(super) fn with_client(self, mut client: ClientInfo) -> RequestContext {
        let method = self.provider.client_auth_method;
        client.auth_method = method.or(client.auth_method);
        RequestContext {
            discovered: self,
            client,
            is_new_client: false,
        }
    }

    /// Resource for requests, unless the provider refuses it.
    pub(super) fn sent_resource(&self) -> Option<&str> {
        self.provider.sends_resource().then_some(&self.resource)
    }
}

impl RequestContext {
    /// Token request, with a proof if the token is to be bound.
    pub(super) fn token_request(
        &self,
        grant: GrantForm<'_>,
        now: u64,
    ) -> Result<Request, SignError> {
        let request = TokenRequest {
            server: &self.discovered.server,
            client: &self.client,
            grant,
            resource: self.discovered.sent_resource(),
            scopes: &self.discovered.scopes,
            provider: &self.discovered.provider,
        };
        let mut request = request.request(now)?;
        if let Some(binding) = &self.discovered.binding {
            let proof = binding.prove(&request, now)?;
            request.headers.push(("dpop", proof));
        }
        Ok(request)
    }

    /// Redirect URI: the one that the client is registered with, else that of the login.
    pub(super) fn redirect_uri<'a>(&'a self, usual: &'a str) -> &'a str {
        self.client.redirect_uri.as_deref().unwrap_or(usual)
    }

    /// Stores the DPoP nonce of a response; returns true if there was one.
    pub(super) fn learn(&mut self, response: &Response) -> bool {
        let nonce = response.dpop_nonce.as_ref().filter(|nonce| is_nonce(nonce));
        match (&mut self.discovered.binding, nonce) {
            (Some(binding), Some(nonce)) => {
                binding.nonce = Some(nonce.clone());
                true
            }
            _ => false,
        }
    }
}

impl TokenAttempt {
    /// Secrets of the request, which the authorization server may repeat in an error.
    pub(super) fn secrets<'a>(&'a self, nonces: &'a Nonces) -> impl Iterator<Item = &'a Secret> {
        let input = match &self.input {
            GrantInput::Code(secret)
            | GrantInput::RefreshToken(secret)
            | GrantInput::Assertion(secret) => Some(secret),
            GrantInput::DeviceCode(pending) => Some(&pending.device_code),
            GrantInput::None => None,
        };
        let client = self.context.client.secret.as_ref();
        input.into_iter().chain(client).chain([&nonces.verifier])
    }
}

impl GrantInput {
    pub(super) fn grant<'a>(&'a self, nonces: &'a Nonces, redirect_uri: &'a str) -> GrantForm<'a> {
        match self {
            Self::Code(code) => GrantForm::AuthorizationCode {
                code,
                verifier: &nonces.verifier,
                redirect_uri,
            },
            Self::RefreshToken(token) => GrantForm::RefreshToken(token),
            Self::None => GrantForm::ClientCredentials,
            Self::Assertion(assertion) => GrantForm::JwtBearer(assertion),
            Self::DeviceCode(pending) => GrantForm::DeviceCode(&pending.device_code),
        }
    }
}

impl DpopBinding {
    fn prove(&self, request: &Request, now: u64) -> Result<Secret, SignError> {
        let proof = Proof {
            method: "POST",
            url: &request.url,
            access_token: None,
            nonce: self.nonce.as_deref(),
        };
        self.key.prove(&proof, now)
    }
}
