use super::search::Search;
use crate::authorize::Nonces;
use crate::device::Pending;
use crate::dpop::{self, Proof, is_nonce};
use crate::exchange::{Request, Response};
use crate::jwt::SignError;
use crate::metadata::{AuthorizationServer, Issuer, ProtectedResource};
use crate::registration::Client;
use crate::token::{Grant, TokenRequest};
use crate::{Scopes, Secret};

/// What a login waits for.
#[derive(Debug)]
pub(super) enum State {
    /// The server's description of itself.
    Resource(Search),
    /// The authorization server's.
    Server {
        resource: Option<ProtectedResource>,
        issuer: Issuer,
        search: Search,
    },
    /// An introduction.
    Registering(Discovered),
    /// A person who reads in a browser.
    Waiting(Agreed),
    /// A code to show.
    AskingForCode(Agreed),
    /// A person who reads the code.
    Showing(Agreed, Box<Pending>),
    /// Time to ask whether they consented.
    Pausing(Agreed, Box<Pending>),
    /// The word of the identity provider.
    Exchanging(Agreed),
    /// The token.
    Fetching(Fetching),
    /// The end of a login.
    Revoking(Request),
    /// Nothing any more.
    Over,
}

/// Who issues tokens for what.
#[derive(Debug)]
pub(super) struct Discovered {
    pub(super) resource: String,
    pub(super) server: AuthorizationServer,
    pub(super) scopes: Scopes,
    pub(super) binding: Option<Binding>,
}

/// Who asks whom.
#[derive(Debug)]
pub(super) struct Agreed {
    pub(super) discovered: Discovered,
    pub(super) client: Client,
    pub(super) is_new_client: bool,
}

/// A request for a token that is under way.
#[derive(Debug)]
pub(super) struct Fetching {
    pub(super) agreed: Agreed,
    pub(super) given: Given,
    /// How often it was sent again because of a nonce.
    pub(super) repeated: u32,
}

/// What is given for a token, kept in case that it has to be given again.
#[derive(Debug)]
pub(super) enum Given {
    Code(Secret),
    RefreshToken(Secret),
    Nothing,
    Assertion(Secret),
    DeviceCode(Box<Pending>),
}

/// The key that a token is to be bound to.
#[derive(Debug)]
pub(super) struct Binding {
    pub(super) key: dpop::Key,
    /// Whether a token that is not bound is of no use.
    pub(super) is_required: bool,
    /// What the authorization server wants to see in the next proof.
    pub(super) nonce: Option<String>,
}

impl Discovered {
    /// As a client that is known already.
    pub(super) fn agreed(self, client: Client) -> Agreed {
        Agreed {
            discovered: self,
            client,
            is_new_client: false,
        }
    }
}

impl Agreed {
    /// The request for a token, with a proof if it is to be bound.
    pub(super) fn token_request(&self, grant: Grant<'_>, now: u64) -> Result<Request, SignError> {
        let request = TokenRequest {
            server: &self.discovered.server,
            client: &self.client,
            grant,
            resource: &self.discovered.resource,
            scopes: &self.discovered.scopes,
        };
        let mut request = request.request(now)?;
        if let Some(binding) = &self.discovered.binding {
            let proof = binding.prove(&request, now)?;
            request.headers.push(("dpop", proof));
        }
        Ok(request)
    }

    /// Takes the nonce for the next proof out of an answer, if proofs are made.
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

impl Fetching {
    /// What the authorization server is shown.
    pub(super) fn secrets<'a>(&'a self, nonces: &'a Nonces) -> impl Iterator<Item = &'a Secret> {
        let given = match &self.given {
            Given::Code(secret) | Given::RefreshToken(secret) | Given::Assertion(secret) => {
                Some(secret)
            }
            Given::DeviceCode(pending) => Some(&pending.device_code),
            Given::Nothing => None,
        };
        let client = self.agreed.client.secret.as_ref();
        given.into_iter().chain(client).chain([&nonces.verifier])
    }
}

impl Given {
    pub(super) fn grant<'a>(&'a self, nonces: &'a Nonces, redirect_uri: &'a str) -> Grant<'a> {
        match self {
            Self::Code(code) => Grant::AuthorizationCode {
                code,
                verifier: &nonces.verifier,
                redirect_uri,
            },
            Self::RefreshToken(token) => Grant::RefreshToken(token),
            Self::Nothing => Grant::ClientCredentials,
            Self::Assertion(assertion) => Grant::JwtBearer(assertion),
            Self::DeviceCode(pending) => Grant::DeviceCode(&pending.device_code),
        }
    }
}

impl Binding {
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
