use std::collections::BTreeMap;

use url::{Url, form_urlencoded};

use crate::authorize::Nonces;
use crate::exchange::{Request, Response};
use crate::flow::{Config, Flow, Goal, Login, Step};
use crate::registration::{Client, ConfiguredClient, Options};
use crate::token::{TokenType, Tokens};
use crate::{Challenge, Scopes, Secret};

pub(super) const MCP: &str = "http://localhost:1/mcp";
pub(super) const AS: &str = "https://as.example";
pub(super) const REDIRECT: &str = "http://127.0.0.1:19876/mcp/oauth/callback";
pub(super) const DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";

/// Servers that answer from a table and people who agree to everything.
pub(super) struct World {
    documents: BTreeMap<String, (u16, String)>,
    /// What the authorization server adds to the redirect.
    pub(super) redirect: String,
}

/// What a login did, one line for each step, and how it ended.
pub(super) type Outcome = (Vec<String>, Result<Login, String>);

impl World {
    pub(super) fn new(documents: &[(&str, String)]) -> Self {
        let documents = documents
            .iter()
            .map(|(url, body)| ((*url).to_owned(), (200, body.clone())));
        let mut world = Self {
            documents: documents.collect(),
            redirect: String::new(),
        };
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
        self.documents
            .insert(url.to_owned(), (status, body.to_owned()));
    }

    pub(super) fn answer(&self, url: &Url) -> Response {
        let found = self.documents.get(url.as_str()).cloned();
        let (status, body) = found.unwrap_or((404, "<html>".to_owned()));
        Response::new(status, body)
    }

    pub(super) fn run(&self, config: Config) -> Outcome {
        let mut trace = Vec::new();
        let end = self.drive(config, &mut trace);
        (trace, end)
    }

    pub(super) fn drive(&self, config: Config, trace: &mut Vec<String>) -> Result<Login, String> {
        let started = Flow::start(config, Nonces::new([1; 32], [2; 32]));
        let (mut flow, mut step) = started.map_err(|error| error.to_string())?;
        loop {
            let next = match step {
                Step::Done(login) => return Ok(*login),
                Step::Fetch(request) => {
                    trace.push(line(&request));
                    flow.response(&self.answer(&request.url), 0)
                }
                Step::Open(url) => {
                    trace.push(format!(
                        "OPEN {}",
                        shown_query(url.query().unwrap_or_default())
                    ));
                    let state = Nonces::new([1; 32], [2; 32]).state;
                    let redirect = format!("code=c&state={}{}", state.expose(), self.redirect);
                    flow.redirect(&redirect, 0)
                }
                other => return Err(format!("{other:?}")),
            };
            step = next.map_err(|error| error.to_string())?;
        }
    }
}

pub(super) fn line(request: &Request) -> String {
    match &request.body {
        None => format!("GET {}", request.url),
        Some(body) if body.expose().starts_with('{') => format!("REGISTER {}", request.url),
        Some(body) => format!("TOKEN {} {}", request.url, shown_query(body.expose())),
    }
}

/// The parts that differ between the cases.
pub(super) fn shown_query(query: &str) -> String {
    let shown = [
        "grant_type",
        "client_id",
        "resource",
        "scope",
        "code",
        "refresh_token",
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

/// A server that describes itself, and an authorization server with `rest` in its metadata.
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
        options: Options::default(),
        scopes: None,
        goal: Goal::Login,
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

pub(super) fn configured(client: Client, issuer: Option<&str>) -> Options {
    Options {
        configured: Some(ConfiguredClient {
            client,
            issuer: issuer.map(str::to_owned),
        }),
        ..Options::default()
    }
}

pub(super) fn confidential() -> Client {
    Client {
        secret: Some(Secret::new("canary-secret")),
        ..Client::public("configured")
    }
}

pub(super) fn refresh(issuer: &str) -> Goal {
    Goal::Refresh {
        issuer: Some(issuer.into()),
        client: Client::public("earlier"),
        refresh_token: Secret::new("canary-refresh"),
    }
}

pub(super) fn login() -> Login {
    Login {
        issuer: AS.into(),
        resource: MCP.into(),
        client: Client::public("registered"),
        is_new_client: true,
        requested: Scopes::default(),
        tokens: Tokens {
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
    let login = Login {
        issuer: issuer.to_owned(),
        ..login()
    };
    assert_eq!(world.run(config), (expected, Ok(login)));
}

/// Asserts that a login ends with `error` after `fetched`, and that no token is asked for.
pub(super) fn check_refused(world: &World, config: Config, last: &str, error: &str) {
    let (trace, end) = world.run(config);
    assert_eq!(end, Err(error.to_owned()));
    assert_eq!(trace.last().map(String::as_str), Some(last));
    assert!(
        !trace.iter().any(|line| line.starts_with("TOKEN")),
        "{trace:?}"
    );
}
