use std::collections::{HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::{Value, json};
use url::form_urlencoded;

use super::{Answer, HOUR, document, refusal, respond};

/// What sort of provider it is.
#[derive(Debug, Clone)]
pub(crate) struct Traits {
    /// How many seconds a token lasts, as the provider says; it may say nothing.
    pub(crate) expires_in: Option<u64>,
    /// How long it really lasts from its first use on, since a busy machine may take long to get there.
    pub(crate) life: Duration,
    pub(crate) rotation: Rotation,
    /// Whether clients can register.
    pub(crate) registers: bool,
    /// The scope that every request needs.
    pub(crate) scope: &'static str,
    /// Whether tokens are bound to keys.
    pub(crate) binds: bool,
}

/// What becomes of a refresh token that is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rotation {
    /// There are none.
    None,
    /// It stays, and is not even repeated.
    Stays,
    /// There is a new one each time, and who uses an old one ends the login.
    Strict,
}

/// How the token endpoint misbehaves, once.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fault {
    /// It answers with a page.
    Page(u16),
    /// It refuses, in these words.
    Refusal(&'static str),
    /// It wants to be left alone for so many seconds.
    Later(u64),
    /// It takes its time.
    Slow(Duration),
    /// It closes the connection at once.
    Hangup,
    /// It closes the connection after it has done everything.
    Lost,
}

/// How often things happened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) registrations: u32,
    pub(crate) logins: u32,
    pub(crate) refreshes: u32,
    /// How often somebody used a refresh token that had been replaced.
    pub(crate) reuses: u32,
    pub(crate) revocations: u32,
}

/// What the provider knows.
#[derive(Debug)]
pub(crate) struct Ledger {
    pub(crate) traits: Traits,
    pub(crate) counts: Counts,
    pub(crate) faults: VecDeque<Fault>,
    /// Who issues tokens, as the MCP server says.
    pub(crate) issuer: String,
    /// Whether the scopes that are asked for are granted.
    pub(crate) grants_scopes: bool,
    /// Whether the person says no.
    pub(crate) is_denied: bool,
    /// What was asked for, by each login.
    pub(crate) requested: Vec<String>,
    /// The identity tokens that were shown, of which one is good.
    pub(crate) assertions: Vec<String>,
    /// How many of the next tokens end before anybody can use them.
    pub(crate) stillborn: u32,
    /// How often a device is told to wait.
    pub(crate) pending: u32,
    /// The nonce that proofs have to carry.
    pub(crate) nonce: u32,
    /// The names of the proofs so far.
    pub(super) proofs: HashSet<String>,
    issued: u64,
    codes: HashMap<String, String>,
    pub(super) access: HashMap<String, Access>,
    refresh: HashMap<String, String>,
    replaced: HashSet<String>,
    /// Who may ask, by id.
    clients: HashSet<String>,
}

/// An access token that was issued.
#[derive(Debug)]
pub(super) struct Access {
    pub(super) scope: String,
    /// When it ends, once it has been used.
    pub(super) end: Option<Instant>,
}

impl Default for Traits {
    fn default() -> Self {
        Self {
            expires_in: Some(3600),
            life: HOUR,
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
            issuer: base.to_owned(),
            grants_scopes: true,
            is_denied: false,
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

    /// Ends all access tokens before their time.
    pub(crate) fn end_access(&mut self) {
        self.access.clear();
    }

    /// Forgets everything that was granted, but not who asked.
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
            "token_endpoint": format!("{base}/token"),
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
        let query = fields(query.as_bytes());
        assert!(self.clients.contains(&query["client_id"]), "{query:?}");
        let scope = query.get("scope").cloned().unwrap_or_default();
        self.requested.push(scope.clone());
        let code = self.next("code");
        let granted = if self.grants_scopes { &scope } else { "basic" };
        self.codes.insert(code.clone(), granted.to_owned());
        let (redirect_uri, state) = (&query["redirect_uri"], &query["state"]);
        let answer = if self.is_denied {
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
                end: None,
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
