use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};

use url::{Url, form_urlencoded};

use crate::authorize::Nonces;
use crate::device::DevicePrompt;
use crate::flow::{Config, Flow, Goal, GrantedTokens, Step};
use crate::http_message::{Request, Response};
use crate::options::ProviderOptions;
use crate::quirks::Quirks;
use crate::registration::{AuthMethod, ClientInfo, ClientOptions, ConfiguredClient};
use crate::token_endpoint::{TokenResponse, TokenType};
use crate::{Challenge, Scopes, Secret};

pub(super) const MCP: &str = "http://localhost:1/mcp";
pub(super) const AS: &str = "https://as.example";
pub(super) const REDIRECT: &str = "http://127.0.0.1:19876/mcp/oauth/callback";
pub(super) const DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";

/// Servers that answer from a table, and users who consent to everything.
pub(super) struct World {
    /// Answers of each URL: one after the other, and the last one for ever.
    answers: RefCell<BTreeMap<String, VecDeque<Response>>>,
    /// Query that the authorization server adds to the redirect.
    pub(super) redirect: String,
    /// Requests so far.
    sent: RefCell<Vec<Request>>,
    /// Authorization page of the last login.
    page: RefCell<Option<Url>>,
}

/// Steps of a flow, one line each, and its result.
pub(super) type Outcome = (Vec<String>, Result<GrantedTokens, String>);

impl World {
    pub(super) fn new(documents: &[(&str, String)]) -> Self {
        let mut world = Self {
            answers: RefCell::default(),
            redirect: String::new(),
            sent: RefCell::default(),
            page: RefCell::default(),
        };
        for (url, body) in documents {
            world.put(url, 200, body);
        }
        for issuer in [AS, "https://new.example", "http://localhost:1"] {
            world.put(&format!("{issuer}/token"), 200, r#"{"access_token":"at"}"#);
            world.put(
                &format!("{issuer}/register"),
                201,
                r#"{"client_id":"registered"}"#,
            );
        }
        world
    }

    pub(super) fn put(&mut self, url: &str, status: u16, body: &str) {
        self.put_all(url, [Response::new(status, body)]);
    }

    pub(super) fn put_all(&mut self, url: &str, answers: impl Into<VecDeque<Response>>) {
        self.answers
            .get_mut()
            .insert(url.to_owned(), answers.into());
    }

    pub(super) fn answer(&self, url: &Url) -> Response {
        let mut answers = self.answers.borrow_mut();
        match answers.get_mut(url.as_str()) {
            None => Response::new(404, "<html>"),
            Some(left) if left.len() > 1 => left.pop_front().unwrap(),
            Some(last) => last[0].clone(),
        }
    }

    /// Authorization page of the last login.
    pub(super) fn opened(&self) -> Url {
        self.page.borrow().clone().unwrap()
    }

    /// Requests to `url` so far.
    pub(super) fn requests(&self, url: &str) -> Vec<Request> {
        let sent = self.sent.borrow();
        sent.iter()
            .filter(|it| it.url.as_str() == url)
            .cloned()
            .collect()
    }

    /// Body of the last request to `url`.
    pub(super) fn sent_to(&self, url: &str) -> String {
        let requests = self.requests(url);
        requests
            .last()
            .unwrap()
            .body
            .as_ref()
            .unwrap()
            .expose()
            .to_owned()
    }

    pub(super) fn run(&self, config: Config) -> Outcome {
        let mut trace = Vec::new();
        let end = self.drive(config, &mut trace);
        (trace, end)
    }

    pub(super) fn drive(
        &self,
        config: Config,
        trace: &mut Vec<String>,
    ) -> Result<GrantedTokens, String> {
        let mut now = config.now;
        let started = Flow::start(config, Nonces::new([1; 32], [2; 32]));
        let (mut flow, mut step) = started.map_err(|error| error.to_string())?;
        loop {
            let next = match step {
                Step::Done(login) => return Ok(*login),
                Step::Revoked => return Err("revoked".to_owned()),
                Step::Fetch(request) => {
                    trace.push(line(&request));
                    self.sent.borrow_mut().push(request.clone());
                    flow.response(&self.answer(&request.url), now)
                }
                Step::Open(url) => {
                    self.page.replace(Some(url.clone()));
                    let query = url.query().unwrap_or_default();
                    trace.push(format!("OPEN {}", shown_query(query)));
                    let state = Nonces::new([1; 32], [2; 32]).state;
                    let redirect = format!("code=c&state={}{}", state.expose(), self.redirect);
                    flow.redirect(&redirect, now)
                }
                Step::ShowCode(prompt) => {
                    let DevicePrompt {
                        user_code,
                        verification_uri,
                        ..
                    } = prompt;
                    trace.push(format!("SHOW {user_code} {verification_uri}"));
                    flow.resume(now)
                }
                Step::Wait(time) => {
                    trace.push(format!("WAIT {}", time.as_secs()));
                    now += time.as_secs();
                    flow.resume(now)
                }
            };
            step = next.map_err(|error| error.to_string())?;
        }
    }
}

pub(super) fn line(request: &Request) -> String {
    let Some(body) = &request.body else {
        return format!("GET {}", request.url);
    };
    if body.expose().starts_with('{') {
        return format!("REGISTER {}", request.url);
    }
    let is_token = body.expose().contains("grant_type=");
    let kind = if is_token { "TOKEN" } else { "POST" };
    format!("{kind} {} {}", request.url, shown_query(body.expose()))
}

/// Fields that differ between the cases.
pub(super) fn shown_query(query: &str) -> String {
    let shown = [
        "grant_type",
        "client_id",
        "resource",
        "scope",
        "code",
        "refresh_token",
        "assertion",
        "audience",
        "subject_token",
        "device_code",
        "token",
    ];
    let pairs = form_urlencoded::parse(query.as_bytes());
    let pairs = pairs.filter(|(name, _)| shown.contains(&&**name));
    let pairs: Vec<String> = pairs
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    pairs.join(" ")
}

pub(super) fn resource(resource: &str, issuer: &str, scopes: &str) -> String {
    format!(
        r#"{{"resource":"{resource}","authorization_servers":["{issuer}"],"scopes_supported":[{scopes}]}}"#
    )
}

pub(super) fn server(issuer: &str, rest: &str) -> String {
    let origin = Url::parse(issuer).unwrap().origin().ascii_serialization();
    format!(
        r#"{{"issuer":"{issuer}","authorization_endpoint":"{origin}/authorize","token_endpoint":"{origin}/token",
        "registration_endpoint":"{origin}/register","code_challenge_methods_supported":["S256"]{rest}}}"#
    )
}

pub(super) const PRM: &str = "http://localhost:1/.well-known/oauth-protected-resource/mcp";
pub(super) const ASM: &str = "https://as.example/.well-known/oauth-authorization-server";

/// Server with metadata, and an authorization server with `rest` in its metadata.
pub(super) fn world(rest: &str) -> World {
    World::new(&[(PRM, resource(MCP, AS, "")), (ASM, server(AS, rest))])
}

pub(super) fn config() -> Config {
    Config {
        server: MCP.parse().unwrap(),
        protocol_version: "2026-07-28".into(),
        challenge: None,
        client_name: "Callgate".into(),
        redirect_uri: REDIRECT.into(),
        options: ClientOptions::default(),
        provider: ProviderOptions::default(),
        quirks: Quirks::default(),
        initial_access_token: None,
        scopes: None,
        goal: Goal::Login,
        known: None,
        dpop_key: None,
        now: 0,
    }
}

pub(super) fn named(url: &str) -> Config {
    let resource_metadata = Some(url.to_owned());
    Config {
        challenge: Some(Challenge {
            resource_metadata,
            ..Challenge::default()
        }),
        ..config()
    }
}

pub(super) fn configured(client: ClientInfo, issuer: Option<&str>) -> ClientOptions {
    ClientOptions {
        configured: Some(ConfiguredClient {
            client,
            issuer: issuer.map(str::to_owned),
        }),
        ..ClientOptions::default()
    }
}

pub(super) fn confidential() -> ClientInfo {
    ClientInfo {
        secret: Some(Secret::new("canary-secret")),
        ..ClientInfo::public("configured")
    }
}

pub(super) fn refresh(issuer: &str) -> Goal {
    Goal::Refresh {
        issuer: Some(issuer.to_owned()),
        client: ClientInfo::public("earlier"),
        refresh_token: Secret::new("canary-refresh"),
    }
}

pub(super) fn login() -> GrantedTokens {
    GrantedTokens {
        issuer: AS.into(),
        token_endpoint: format!("{AS}/token").parse().unwrap(),
        auth_method: AuthMethod::None,
        resource: MCP.into(),
        client: ClientInfo::public("registered"),
        is_new_client: true,
        requested: Scopes::default(),
        tokens: TokenResponse {
            access_token: Secret::new("at"),
            token_type: TokenType::Bearer,
            expires_in: None,
            refresh_token: None,
            scopes: None,
        },
        dpop_key: None,
    }
}

pub(super) fn registered_at(issuer: &str) -> Vec<String> {
    let open = format!("OPEN client_id=registered resource={MCP}");
    let token = format!("grant_type=authorization_code code=c resource={MCP} client_id=registered");
    vec![
        format!("REGISTER {issuer}/register"),
        open,
        format!("TOKEN {issuer}/token {token}"),
    ]
}

pub(super) fn check_discovery(world: &World, config: Config, fetched: &[&str], issuer: &str) {
    let origin = Url::parse(issuer).unwrap().origin().ascii_serialization();
    let mut expected: Vec<String> = fetched.iter().map(|url| format!("GET {url}")).collect();
    expected.extend(registered_at(&origin));
    let login = GrantedTokens {
        issuer: issuer.to_owned(),
        token_endpoint: format!("{origin}/token").parse().unwrap(),
        ..login()
    };
    assert_eq!(world.run(config), (expected, Ok(login)));
}

/// Asserts that a flow ends with `error` after `fetched`, before a token is requested.
pub(super) fn check_refused(world: &World, config: Config, last: &str, error: &str) {
    let (trace, end) = world.run(config);
    assert_eq!(end, Err(error.to_owned()));
    assert_eq!(trace.last().map(String::as_str), Some(last));
    assert!(
        !trace.iter().any(|line| line.starts_with("TOKEN")),
        "{trace:?}"
    );
}
