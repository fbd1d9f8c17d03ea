use std::collections::HashMap;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use rustls::ServerConfig;

use super::http::{self, Request, Response};
use super::{issue, resource};

/// Both servers, until the test ends.
pub(crate) struct Provider {
    /// The URL of the MCP server.
    pub(crate) url: String,
    world: Arc<World>,
}

/// Settings in which the servers differ from the usual ones.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// True if clients may register themselves.
    pub(crate) registers: bool,
    /// Lifetime of access tokens, in seconds.
    pub(crate) lifetime: u64,
    /// True if tokens can be revoked.
    pub(crate) revokes: bool,
    /// True if clients may be described at an address of their own.
    pub(crate) reads_descriptions: bool,
    /// True if there are codes to enter on another device.
    pub(crate) shows_codes: bool,
    /// True if the MCP server answers requests without a token.
    pub(crate) is_open: bool,
    /// The secret of the client that is called `configured`.
    pub(crate) secret: &'static str,
    /// True if the authorization server has metadata.
    pub(crate) has_metadata: bool,
    /// True if the metadata lists the methods of PKCE.
    pub(crate) lists_pkce: bool,
    /// True if tokens can be renewed.
    pub(crate) renews: bool,
    /// The token that a registration needs.
    pub(crate) registration_token: Option<&'static str>,
    /// The only client name that may register.
    pub(crate) known_name: Option<&'static str>,
    /// Name of the MCP server.
    pub(crate) server_name: Option<&'static str>,
    /// Refusal of every token by the MCP server.
    pub(crate) refusal: Option<Refusal>,
    /// True if the MCP server breaks off every connection that brings a token.
    pub(crate) breaks_off: bool,
}

/// Refusal of a token by the MCP server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    /// The rest of the challenge.
    pub(crate) challenge: &'static str,
    pub(crate) body: &'static str,
}

/// State that both servers share.
pub(super) struct World {
    pub(super) base: String,
    /// Origin of the MCP server, which is `base` for most tests.
    pub(super) server: String,
    pub(super) settings: Settings,
    pub(super) state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
pub(super) struct State {
    /// Events at the authorization server, in words.
    pub(super) events: Vec<String>,
    /// All secrets.
    pub(super) secrets: Vec<String>,
    /// The scopes of codes, of access tokens and of refresh tokens.
    pub(super) codes: HashMap<String, String>,
    pub(super) access_tokens: HashMap<String, String>,
    pub(super) refresh_tokens: HashMap<String, String>,
    /// The fields of the last requests to the authorization page and to the token endpoint.
    pub(super) page: HashMap<String, String>,
    pub(super) form: HashMap<String, String>,
    /// The error that the authorization page answers with.
    pub(super) refusal: Option<&'static str>,
    /// True if the client that was registered is not known any more.
    pub(super) is_client_forgotten: bool,
    /// The code that has not been entered yet, and its scopes.
    pub(super) waiting: Option<(String, String)>,
    /// True if the token endpoint is unavailable.
    pub(super) is_unavailable: bool,
    keeps_waiting: bool,
    /// Number of requests that are held back.
    kept_waiting: usize,
    issued: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            registers: true,
            // Shown as 2 days for a whole day, however slow the test is.
            lifetime: 259_000,
            revokes: true,
            reads_descriptions: false,
            shows_codes: true,
            is_open: false,
            secret: "canary-secret-of-the-client",
            has_metadata: true,
            lists_pkce: true,
            renews: true,
            registration_token: None,
            known_name: None,
            server_name: None,
            refusal: None,
            breaks_off: false,
        }
    }
}

impl Provider {
    pub(crate) fn start(settings: Settings) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let provider = Self::new(base.clone(), base, settings);
        let answering = provider.world.clone();
        http::serve(listener, move |request| answer(&answering, request));
        provider
    }

    /// Servers with TLS: the authorization server is at a port of this machine if `issuer` is `None`.
    /// Returns the address of both.
    pub(crate) fn start_tls(
        server: &str,
        issuer: Option<&str>,
        tls: Arc<ServerConfig>,
    ) -> (Self, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let issuer = issuer.map_or_else(|| format!("https://{address}"), str::to_owned);
        let provider = Self::new(issuer, server.to_owned(), Settings::default());
        let answering = provider.world.clone();
        http::serve_tls(listener, tls, move |request| answer(&answering, request));
        (provider, address)
    }

    fn new(base: String, server: String, settings: Settings) -> Self {
        Self {
            url: format!("{server}/mcp"),
            world: Arc::new(World {
                base,
                server,
                settings,
                state: Mutex::default(),
                changed: Condvar::new(),
            }),
        }
    }

    /// The name of the authorization server.
    pub(crate) fn issuer(&self) -> &str {
        &self.world.base
    }

    /// Events at the authorization server since the last call.
    pub(crate) fn events(&self) -> Vec<String> {
        std::mem::take(&mut self.world.state().events)
    }

    /// The value of a field in the last requests to the authorization page and to the token endpoint.
    pub(crate) fn last(&self, name: &str) -> [Option<String>; 2] {
        let state = self.world.state();
        [state.page.get(name).cloned(), state.form.get(name).cloned()]
    }

    /// Refuses logins at the authorization page with this error.
    pub(crate) fn refuse_logins(&self, error: &'static str) {
        self.world.state().refusal = Some(error);
    }

    /// Forgets the client that was registered.
    pub(crate) fn forget_client(&self) {
        self.world.state().is_client_forgotten = true;
    }

    /// All secrets.
    pub(crate) fn secrets(&self) -> Vec<String> {
        self.world.state().secrets.clone()
    }

    /// Ends all access tokens before their time.
    pub(crate) fn end_access_tokens(&self) {
        self.world.state().access_tokens.clear();
    }

    /// Ends all logins.
    pub(crate) fn end_logins(&self) {
        self.end_access_tokens();
        self.world.state().refresh_tokens.clear();
    }

    /// Holds back the answers of the token endpoint.
    pub(crate) fn keep_waiting(&self, is_waiting: bool) {
        self.world.state().keeps_waiting = is_waiting;
        self.world.changed.notify_all();
    }

    /// Waits until a request is held back.
    pub(crate) fn wait_for_held_request(&self) {
        let state = self.world.state();
        let waits = self
            .world
            .changed
            .wait_while(state, |it| it.kept_waiting == 0);
        drop(waits.unwrap());
    }

    /// Gives the token endpoint a bad moment, or ends it.
    pub(crate) fn be_unavailable(&self, is_unavailable: bool) {
        self.world.state().is_unavailable = is_unavailable;
    }
}

impl World {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// The state, once the token endpoint may answer.
    pub(super) fn state_of_tokens(&self) -> MutexGuard<'_, State> {
        let mut state = self.state();
        state.kept_waiting += 1;
        self.changed.notify_all();
        let may_answer = self.changed.wait_while(state, |state| state.keeps_waiting);
        let mut state = may_answer.unwrap();
        state.kept_waiting -= 1;
        state
    }
}

impl State {
    /// True if this identity token is new: each is good once.
    pub(super) fn admit(&mut self, identity: String) -> bool {
        let is_good = identity.starts_with("canary-identity-") && !self.secrets.contains(&identity);
        self.secrets.push(identity);
        is_good
    }

    /// A new secret of this kind.
    pub(super) fn issue(&mut self, kind: &str) -> String {
        self.issued += 1;
        let secret = format!("canary-{kind}-{}", self.issued);
        self.secrets.push(secret.clone());
        secret
    }
}

fn answer(world: &World, request: &Request) -> Response {
    match request.path.as_str() {
        "/mcp" => resource::call(world, request),
        "/.well-known/oauth-protected-resource/mcp" => resource::metadata(world),
        "/.well-known/oauth-authorization-server" if world.settings.has_metadata => {
            issue::metadata(world)
        }
        "/register" => issue::register(world, request),
        "/authorize" => issue::authorize(world, request),
        "/device" => issue::device(world, request),
        "/activate" => issue::activate(world),
        "/token" => issue::token(world, request),
        "/exchange" => issue::exchange(world, request),
        "/revoke" => issue::revoke(world, request),
        _ => Response::json(404, &serde_json::Value::Null),
    }
}
