use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use url::form_urlencoded;

use super::{Answer, document, refusal, respond};

/// Traits of a provider.
#[derive(Debug, Clone)]
pub(crate) struct Traits {
    /// Lifetime of a token in seconds, as the provider names it; it may name none.
    pub(crate) expires_in: Option<u64>,
    /// Number of requests that a token is valid for, if not for all. A time would depend on the
    /// machine.
    pub(crate) uses: Option<u32>,
    pub(crate) rotation: Rotation,
    /// Support for dynamic registration.
    pub(crate) registers: bool,
    /// The scope that every request needs.
    pub(crate) scope: &'static str,
    /// Set if tokens are bound to keys.
    pub(crate) binds: bool,
}

/// Rotation of refresh tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rotation {
    /// There are none.
    None,
    /// The refresh token stays, and is not repeated in responses.
    Stays,
    /// Each refresh issues a new one, and the use of an old one ends the login.
    Strict,
}

/// Fault of the token endpoint, for one request.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fault {
    /// Answers with an HTML page.
    Page(u16),
    /// Refuses with this error code.
    Refusal(&'static str),
    /// Answers with `Retry-After`.
    Later(u64),
    /// Answers after this time.
    Slow(Duration),
    /// Answers when the test opens the gate.
    Gated,
    /// Closes the connection at once.
    Hangup,
    /// Closes the connection after the token is issued.
    Lost,
}

/// Numbers of events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) registrations: u32,
    pub(crate) logins: u32,
    pub(crate) refreshes: u32,
    /// Uses of a refresh token that had been replaced.
    pub(crate) reuses: u32,
    pub(crate) revocations: u32,
}

/// State of the provider.
#[derive(Debug)]
pub(crate) struct Ledger {
    pub(crate) traits: Traits,
    pub(crate) counts: Counts,
    pub(crate) faults: VecDeque<Fault>,
    /// Lets one gated answer pass for each permit.
    pub(crate) gate: Arc<Semaphore>,
    /// Set unless the metadata of the authorization server is missing.
    pub(crate) has_metadata: bool,
    /// Number of metadata requests.
    pub(crate) documents: u32,
    /// Path of the token endpoint.
    pub(crate) token_path: &'static str,
    /// Number of requests to the token endpoint, those that fail included.
    pub(crate) token_requests: u32,
    /// Issuer that the MCP server names.
    pub(crate) issuer: String,
    /// Set if the requested scopes are granted.
    pub(crate) grants_scopes: bool,
    /// Set if the user refuses.
    pub(crate) is_denied: bool,
    /// Query of the last authorization page.
    pub(crate) page: String,
    /// Scopes that each login requested.
    pub(crate) requested: Vec<String>,
    /// Identity tokens that were sent, of which one is valid.
    pub(crate) assertions: Vec<String>,
    /// Number of next tokens that are invalid from the start.
    pub(crate) stillborn: u32,
    /// Number of polls that are answered with `authorization_pending`.
    pub(crate) pending: u32,
    /// Nonce that proofs must contain.
    pub(crate) nonce: u32,
    /// Ids of the proofs so far.
    pub(super) proofs: HashSet<String>,
    issued: u64,
    codes: HashMap<String, String>,
    pub(super) access: HashMap<String, Access>,
    refresh: HashMap<String, String>,
    replaced: HashSet<String>,
    /// Ids of known clients.
    clients: HashSet<String>,
}

/// An access token that was issued.
#[derive(Debug)]
pub(super) struct Access {
    pub(super) scope: String,
    /// Number of remaining requests, if it is limited.
    pub(super) uses: Option<u32>,
}

impl Default for Traits {
    fn default() -> Self {
        Self {
            expires_in: Some(3600),
            uses: None,
            rotation: Rotation::Strict,
            registers: true,
            scope: "basic",
            binds: false,
        }
    }
}

impl Ledger {
    pub(super) fn new(traits: Traits, base: &str) -> Self {
        Self {
            traits,
            counts: Counts::default(),
            faults: VecDeque::new(),
            gate: Arc::new(Semaphore::new(0)),
            has_metadata: true,
            documents: 0,
            token_path: "/token",
            token_requests: 0,
            issuer: base.to_owned(),
            grants_scopes: true,
            is_denied: false,
            page: String::new(),
            requested: Vec::new(),
            assertions: Vec::new(),
            stillborn: 0,
            pending: 0,
            nonce: 1,
            proofs: HashSet::new(),
            issued: 0,
            codes: HashMap::new(),
            access: HashMap::new(),
            refresh: HashMap::new(),
            replaced: HashSet::new(),
            clients: HashSet::from(["machine".to_owned()]),
        }
    }

    /// Counts a request, and returns the fault that it meets.
    pub(super) fn note(&mut self, path: &str) -> Option<Fault> {
        self.documents += u32::from(path.starts_with("/.well-known/"));
        if path != self.token_path {
            return None;
        }
        self.token_requests += 1;
        self.faults.pop_front()
    }

    /// Ends all access tokens.
    pub(crate) fn end_access(&mut self) {
        self.access.clear();
    }

    /// Ends all logins, but keeps the clients.
    pub(crate) fn end_logins(&mut self) {
        self.access.clear();
        self.refresh.clear();
    }

    pub(crate) fn forget_clients(&mut self) {
        self.clients.clear();
    }

    pub(super) fn resource(&self, base: &str) -> Value {
        json!({
            "resource": format!("{base}/mcp"),
            "authorization_servers": [self.issuer],
            "scopes_supported": [self.traits.scope],
            "dpop_bound_access_tokens_required": self.traits.binds,
        })
    }

    pub(super) fn metadata(&self, base: &str) -> Value {
        let mut metadata = json!({
            "issuer": base,
            "authorization_endpoint": format!("{base}/authorize"),
            "token_endpoint": format!("{base}{}", self.token_path),
            "device_authorization_endpoint": format!("{base}/device"),
            "revocation_endpoint": format!("{base}/revoke"),
            "code_challenge_methods_supported": ["S256"],
            "dpop_signing_alg_values_supported": ["ES256"],
            "token_endpoint_auth_methods_supported": ["none", "client_secret_basic"],
        });
        if self.traits.registers {
            metadata["registration_endpoint"] = json!(format!("{base}/register"));
        }
        metadata
    }

    pub(super) fn register(&mut self, body: &[u8]) -> Answer {
        let mut metadata: Value = serde_json::from_slice(body).unwrap();
        self.counts.registrations += 1;
        let id = self.next("client");
        metadata["client_id"] = json!(id);
        self.clients.insert(id);
        document(201, &metadata)
    }

    pub(super) fn authorize(&mut self, query: &str) -> Answer {
        query.clone_into(&mut self.page);
        let query = fields(query.as_bytes());
        let is_known = self.clients.contains(&query["client_id"]);
        let scope = query.get("scope").cloned().unwrap_or_default();
        self.requested.push(scope.clone());
        let code = self.next("code");
        let granted = if self.grants_scopes { &scope } else { "basic" };
        self.codes.insert(code.clone(), granted.to_owned());
        let (redirect_uri, state) = (&query["redirect_uri"], &query["state"]);
        let answer = if !is_known {
            "error=unauthorized_client".to_owned()
        } else if self.is_denied {
            "error=access_denied".to_owned()
        } else {
            format!("code={code}")
        };
        let location = format!("{redirect_uri}?{answer}&state={state}");
        respond(302, String::new(), &[("location", &location)])
    }

    pub(super) fn device(&mut self, base: &str) -> Answer {
        let code = self.next("device");
        self.codes.insert(code.clone(), "basic".to_owned());
        let answer = json!({
            "device_code": code, "user_code": "ABCD-EFGH", "expires_in": 600, "interval": 1,
            "verification_uri": format!("{base}/type-it-here"),
        });
        document(200, &answer)
    }

    pub(super) fn token(&mut self, body: &Bytes) -> Answer {
        let fields = fields(body);
        let id = fields.get("client_id").map_or("machine", String::as_str);
        if !self.clients.contains(id) {
            return document(401, &json!({ "error": "invalid_client" }));
        }
        match fields["grant_type"].as_str() {
            "authorization_code" => match self.codes.remove(&fields["code"]) {
                None => refusal("invalid_grant"),
                Some(scope) => {
                    self.counts.logins += 1;
                    self.issue(scope)
                }
            },
            "urn:ietf:params:oauth:grant-type:device_code" => {
                if self.pending > 0 {
                    self.pending -= 1;
                    return refusal("authorization_pending");
                }
                self.counts.logins += 1;
                self.issue("basic".to_owned())
            }
            "client_credentials" => {
                self.counts.logins += 1;
                self.issue("basic".to_owned())
            }
            "urn:ietf:params:oauth:grant-type:jwt-bearer" => {
                let assertion = fields["assertion"].clone();
                let is_good = assertion == "good";
                self.assertions.push(assertion);
                if is_good {
                    return self.issue("basic".to_owned());
                }
                refusal("invalid_grant")
            }
            "refresh_token" => self.renew(&fields["refresh_token"]),
            other => panic!("{other}"),
        }
    }

    fn renew(&mut self, token: &str) -> Answer {
        if self.replaced.contains(token) {
            self.counts.reuses += 1;
            self.end_logins();
        }
        let Some(scope) = self.refresh.get(token).cloned() else {
            return refusal("invalid_grant");
        };
        self.counts.refreshes += 1;
        if self.traits.rotation == Rotation::Strict {
            self.refresh.remove(token);
            self.replaced.insert(token.to_owned());
        }
        self.issue(scope)
    }

    fn issue(&mut self, scope: String) -> Answer {
        let token = self.next("access");
        if self.stillborn > 0 {
            self.stillborn -= 1;
        } else {
            let access = Access {
                scope: scope.clone(),
                uses: self.traits.uses,
            };
            self.access.insert(token.clone(), access);
        }
        let token_type = if self.traits.binds { "DPoP" } else { "Bearer" };
        let mut answer = json!({ "access_token": token, "token_type": token_type, "scope": scope });
        if let Some(expires_in) = self.traits.expires_in {
            answer["expires_in"] = json!(expires_in);
        }
        let is_repeated = self.traits.rotation == Rotation::Stays && !self.refresh.is_empty();
        if self.traits.rotation != Rotation::None && !is_repeated {
            let token = self.next("refresh");
            answer["refresh_token"] = json!(token);
            self.refresh.insert(token, scope);
        }
        document(200, &answer)
    }

    pub(super) fn revoke(&mut self, body: &Bytes) -> Answer {
        let fields = fields(body);
        self.counts.revocations += 1;
        assert!(self.refresh.remove(&fields["token"]).is_some());
        self.access.clear();
        respond(200, String::new(), &[])
    }

    fn next(&mut self, kind: &str) -> String {
        self.issued += 1;
        format!("{kind}-{}", self.issued)
    }
}

fn fields(text: &[u8]) -> HashMap<String, String> {
    form_urlencoded::parse(text).into_owned().collect()
}
