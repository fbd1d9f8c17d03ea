use std::collections::BTreeMap;

use url::{Url, form_urlencoded};

use super::{Config, Flow, Goal, Login, Step};
use crate::authorize::Nonces;
use crate::exchange::{Request, Response};
use crate::registration::{Client, ClientIdUrl, ConfiguredClient, Options};
use crate::token::{TokenType, Tokens};
use crate::{Challenge, Scopes, Secret};

const MCP: &str = "http://localhost:1/mcp";
const AS: &str = "https://as.example";
const REDIRECT: &str = "http://127.0.0.1:19876/mcp/oauth/callback";
const DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";

/// Servers that answer from a table and people who agree to everything.
struct World {
    documents: BTreeMap<String, (u16, String)>,
    /// What the authorization server adds to the redirect.
    redirect: String,
}

/// What a login did, one line for each step, and how it ended.
type Outcome = (Vec<String>, Result<Login, String>);

impl World {
    fn new(documents: &[(&str, String)]) -> Self {
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

    fn put(&mut self, url: &str, status: u16, body: &str) {
        self.documents
            .insert(url.to_owned(), (status, body.to_owned()));
    }

    fn answer(&self, url: &Url) -> Response {
        let found = self.documents.get(url.as_str()).cloned();
        let (status, body) = found.unwrap_or((404, "<html>".to_owned()));
        Response {
            status,
            body: body.into_bytes(),
        }
    }

    fn run(&self, config: Config) -> Outcome {
        let mut trace = Vec::new();
        let end = self.drive(config, &mut trace);
        (trace, end)
    }

    fn drive(&self, config: Config, trace: &mut Vec<String>) -> Result<Login, String> {
        let started = Flow::start(config, Nonces::new([1; 32], [2; 32]));
        let (mut flow, mut step) = started.map_err(|error| error.to_string())?;
        loop {
            let next = match step {
                Step::Done(login) => return Ok(*login),
                Step::Fetch(request) => {
                    trace.push(line(&request));
                    flow.response(&self.answer(&request.url))
                }
                Step::Open(url) => {
                    trace.push(format!(
                        "OPEN {}",
                        shown_query(url.query().unwrap_or_default())
                    ));
                    let state = Nonces::new([1; 32], [2; 32]).state;
                    flow.redirect(&format!("code=c&state={}{}", state.expose(), self.redirect))
                }
            };
            step = next.map_err(|error| error.to_string())?;
        }
    }
}

fn line(request: &Request) -> String {
    match &request.body {
        None => format!("GET {}", request.url),
        Some(body) if body.expose().starts_with('{') => format!("REGISTER {}", request.url),
        Some(body) => format!("TOKEN {} {}", request.url, shown_query(body.expose())),
    }
}

/// The parts that differ between the cases.
fn shown_query(query: &str) -> String {
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

fn resource(resource: &str, issuer: &str, scopes: &str) -> String {
    format!(
        r#"{{"resource":"{resource}","authorization_servers":["{issuer}"],"scopes_supported":[{scopes}]}}"#
    )
}

fn server(issuer: &str, rest: &str) -> String {
    let origin = Url::parse(issuer).unwrap().origin().ascii_serialization();
    format!(
        r#"{{"issuer":"{issuer}","authorization_endpoint":"{origin}/authorize","token_endpoint":"{origin}/token",
        "registration_endpoint":"{origin}/register","code_challenge_methods_supported":["S256"]{rest}}}"#
    )
}

const PRM: &str = "http://localhost:1/.well-known/oauth-protected-resource/mcp";
const ASM: &str = "https://as.example/.well-known/oauth-authorization-server";

/// A server that describes itself, and an authorization server with `rest` in its metadata.
fn world(rest: &str) -> World {
    World::new(&[(PRM, resource(MCP, AS, "")), (ASM, server(AS, rest))])
}

fn config() -> Config {
    Config {
        server: MCP.parse().unwrap(),
        protocol_version: "2026-07-28".into(),
        challenge: None,
        client_name: "Callgate".into(),
        redirect_uri: REDIRECT.into(),
        options: Options::default(),
        scopes: None,
        goal: Goal::Login,
        now: 0,
    }
}

fn named(url: &str) -> Config {
    let resource_metadata = Some(url.to_owned());
    Config {
        challenge: Some(Challenge {
            resource_metadata,
            ..Challenge::default()
        }),
        ..config()
    }
}

fn configured(client: Client, issuer: Option<&str>) -> Options {
    Options {
        configured: Some(ConfiguredClient {
            client,
            issuer: issuer.map(str::to_owned),
        }),
        ..Options::default()
    }
}

fn confidential() -> Client {
    Client {
        secret: Some(Secret::new("canary-secret")),
        ..Client::public("configured")
    }
}

fn refresh(issuer: &str) -> Goal {
    Goal::Refresh {
        issuer: issuer.into(),
        client: Client::public("earlier"),
        refresh_token: Secret::new("canary-refresh"),
    }
}

fn login() -> Login {
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
    }
}

fn registered_at(issuer: &str) -> Vec<String> {
    let open = format!("OPEN client_id=registered resource={MCP}");
    let token = format!("grant_type=authorization_code code=c resource={MCP} client_id=registered");
    vec![
        format!("REGISTER {issuer}/register"),
        open,
        format!("TOKEN {issuer}/token {token}"),
    ]
}

fn check_discovery(world: &World, config: Config, fetched: &[&str], issuer: &str) {
    let origin = Url::parse(issuer).unwrap().origin().ascii_serialization();
    let mut expected: Vec<String> = fetched.iter().map(|url| format!("GET {url}")).collect();
    expected.extend(registered_at(&origin));
    let login = Login {
        issuer: issuer.to_owned(),
        ..login()
    };
    assert_eq!(world.run(config), (expected, Ok(login)));
}

#[test]
fn metadata_default() {
    check_discovery(&world(""), named(PRM), &[PRM, ASM], AS);
}

#[test]
fn metadata_var1() {
    let oidc = "https://as.example/.well-known/openid-configuration";
    let world = World::new(&[(PRM, resource(MCP, AS, "")), (oidc, server(AS, ""))]);
    check_discovery(&world, config(), &[PRM, ASM, oidc], AS);
}

#[test]
fn metadata_var2() {
    let (root, tenant) = (
        "http://localhost:1/.well-known/oauth-protected-resource",
        "https://as.example/tenant1",
    );
    let metadata = "https://as.example/.well-known/oauth-authorization-server/tenant1";
    let world = World::new(&[
        (root, resource(MCP, tenant, "")),
        (metadata, server(tenant, "")),
    ]);
    check_discovery(&world, config(), &[PRM, root, metadata], tenant);
}

#[test]
fn metadata_var3() {
    let custom = "http://localhost:1/custom/metadata/location.json";
    let tenant = "https://as.example/tenant1";
    let places = [
        "https://as.example/.well-known/oauth-authorization-server/tenant1",
        "https://as.example/.well-known/openid-configuration/tenant1",
        "https://as.example/tenant1/.well-known/openid-configuration",
    ];
    let world = World::new(&[
        (custom, resource(MCP, tenant, "")),
        (places[2], server(tenant, "")),
    ]);
    check_discovery(
        &world,
        named(custom),
        &[custom, places[0], places[1], places[2]],
        tenant,
    );
}

const ROOT: &str = "http://localhost:1/.well-known/oauth-protected-resource";
const OWN: &str = "http://localhost:1/.well-known/oauth-authorization-server";
const OWN_OIDC: &str = "http://localhost:1/.well-known/openid-configuration";

#[test]
fn a_server_of_2025_03_26_is_its_own_authorization_server() {
    let own = "http://localhost:1";
    let world = World::new(&[(OWN, server(own, ""))]);
    check_discovery(&world, config(), &[PRM, ROOT, OWN], own);
}

#[test]
fn a_server_of_2025_03_26_without_metadata_has_default_endpoints() {
    check_discovery(
        &World::new(&[]),
        config(),
        &[PRM, ROOT, OWN, OWN_OIDC],
        "http://localhost:1",
    );
}

/// Asserts that a login ends with `error` after `fetched`, and that no token is asked for.
fn check_refused(world: &World, config: Config, last: &str, error: &str) {
    let (trace, end) = world.run(config);
    assert_eq!(end, Err(error.to_owned()));
    assert_eq!(trace.last().map(String::as_str), Some(last));
    assert!(
        !trace.iter().any(|line| line.starts_with("TOKEN")),
        "{trace:?}"
    );
}

#[test]
fn what_does_not_fit_is_refused_where_it_is_seen() {
    let mut mismatch = world("");
    mismatch.put(PRM, 200, &resource("https://evil.example.com/mcp", AS, ""));
    check_refused(
        &mismatch,
        config(),
        &format!("GET {PRM}"),
        "the metadata is for https://evil.example.com/mcp, not for http://localhost:1/mcp",
    );

    let mut issuer = world("");
    issuer.put(ASM, 200, &server("https://evil.example", ""));
    check_refused(
        &issuer,
        config(),
        "GET https://as.example/.well-known/openid-configuration",
        "the metadata is of the issuer https://evil.example, not of https://as.example",
    );

    let mut own = World::new(&[]);
    own.put(OWN, 200, &server("https://accounts.example", ""));
    check_refused(
        &own,
        config(),
        &format!("GET {OWN_OIDC}"),
        "the metadata is of the issuer https://accounts.example, not of http://localhost:1",
    );

    let mut pkce = world("");
    pkce.put(ASM, 200, &server(AS, "").replace("S256", "plain"));
    check_refused(
        &pkce,
        config(),
        &format!("GET {ASM}"),
        "the authorization server https://as.example does not say that it supports PKCE with S256",
    );
}

#[test]
fn what_a_challenge_names_must_be_there() {
    check_refused(
        &World::new(&[]),
        named(PRM),
        &format!("GET {ROOT}"),
        "http://localhost:1/mcp has no metadata that a login could begin with",
    );
    let world = World::new(&[(PRM, resource(MCP, AS, ""))]);
    check_refused(
        &world,
        config(),
        "GET https://as.example/.well-known/openid-configuration",
        "https://as.example has no metadata that a login could begin with",
    );
}

#[test]
fn a_bad_moment_is_no_absence() {
    for status in [429, 500, 503] {
        for url in [PRM, ASM] {
            let mut world = world("");
            world.put(url, status, "");
            let error = format!("{url} is not available now (HTTP {status})");
            check_refused(&world, config(), &format!("GET {url}"), &error);
        }
    }
}

#[test]
fn whoever_answers_must_be_who_was_asked() {
    let advertised = r#","authorization_response_iss_parameter_supported":true"#;
    let open = format!("OPEN client_id=registered resource={MCP}");
    let cases = [
        ("iss-supported", advertised, "&iss=https://as.example", true),
        ("iss-not-advertised", "", "", true),
        ("iss-supported-missing", advertised, "", false),
        (
            "iss-wrong-issuer",
            advertised,
            "&iss=https://evil.example",
            false,
        ),
        ("iss-unexpected", "", "&iss=https://evil.example", false),
        (
            "iss-normalized",
            advertised,
            "&iss=https://as.example/",
            false,
        ),
    ];
    for (name, rest, redirect, accepted) in cases {
        let mut world = world(rest);
        world.redirect = redirect.into();
        if accepted {
            assert_eq!(world.run(config()).1, Ok(login()), "{name}");
        } else {
            let error = "the redirect does not come from https://as.example";
            check_refused(&world, config(), &open, error);
        }
    }
}

#[test]
fn scopes_are_asked_for_by_who_knows_best() {
    let offered = r#","scopes_supported":["a","offline_access"]"#;
    // Challenge, resource metadata, authorization server metadata, goal, request.
    let cases = [
        (
            "scope-from-www-authenticate",
            Some("a"),
            r#""b""#,
            "",
            Goal::Login,
            "a",
        ),
        (
            "scope-from-scopes-supported",
            None,
            r#""b","c""#,
            "",
            Goal::Login,
            "b c",
        ),
        (
            "scope-omitted-when-undefined",
            None,
            "",
            "",
            Goal::Login,
            "",
        ),
        (
            "offline-access-scope",
            None,
            r#""b""#,
            offered,
            Goal::Login,
            "b offline_access",
        ),
        (
            "offline-access-not-supported",
            None,
            r#""b""#,
            "",
            Goal::Login,
            "b",
        ),
        (
            "scope-step-up",
            Some("mcp:write"),
            r#""b""#,
            "",
            Goal::StepUp(Scopes::parse("mcp:basic mcp:write")),
            "mcp:basic mcp:write",
        ),
    ];
    for (name, challenge, listed, rest, goal, expected) in cases {
        let mut world = world(rest);
        world.put(PRM, 200, &resource(MCP, AS, listed));
        let config = Config {
            challenge: challenge.map(|scope| Challenge {
                scope: Some(Scopes::parse(scope)),
                ..Challenge::default()
            }),
            goal,
            ..config()
        };
        let (trace, end) = world.run(config);
        let scope = format!(" scope={expected}");
        let scope = if expected.is_empty() { "" } else { &scope };
        let open = format!("OPEN client_id=registered resource={MCP}{scope}");
        assert_eq!(trace.get(3), Some(&open), "{name}");
        assert_eq!(end.unwrap().requested, Scopes::parse(expected), "{name}");
    }
}

#[test]
fn whoever_is_known_does_not_register() {
    let documents = r#","client_id_metadata_document_supported":true"#;
    let mut registered = Options::default();
    registered
        .registrations
        .insert(AS, Client::public("earlier"));
    let cimd = || Options {
        metadata_document: Some(ClientIdUrl::parse(DOCUMENT).unwrap()),
        ..Options::default()
    };
    let cases = [
        (
            "pre-registration",
            "",
            configured(Client::public("configured"), Some(AS)),
            "configured",
        ),
        ("basic-cimd", documents, cimd(), DOCUMENT),
        ("registered before", "", registered, "earlier"),
    ];
    for (name, rest, options, id) in cases {
        let (trace, end) = world(rest).run(Config {
            options,
            ..config()
        });
        let expected = [
            format!("GET {PRM}"),
            format!("GET {ASM}"),
            format!("OPEN client_id={id} resource={MCP}"),
            format!(
                "TOKEN {AS}/token grant_type=authorization_code code=c resource={MCP} client_id={id}"
            ),
        ];
        assert_eq!(trace, expected, "{name}");
        assert!(!end.unwrap().is_new_client, "{name}");
    }
    let unread = Config {
        options: cimd(),
        ..config()
    };
    check_discovery(&world(""), unread, &[PRM, ASM], AS);
}

#[test]
fn authorization_server_migration() {
    let new = "https://new.example";
    let metadata = "https://new.example/.well-known/oauth-authorization-server";
    let mut world = world("");
    world.put(PRM, 200, &resource(MCP, new, ""));
    world.put(metadata, 200, &server(new, ""));
    let mut options = Options::default();
    options.registrations.insert(AS, Client::public("earlier"));
    let moved = Config {
        options,
        ..config()
    };
    check_discovery(&world, moved, &[PRM, metadata], new);

    let stays = Config {
        options: configured(confidential(), Some(AS)),
        ..config()
    };
    check_refused(
        &world,
        stays,
        &format!("GET {metadata}"),
        "the configured client belongs to https://as.example, but the server's tokens come from https://new.example",
    );

    let refreshing = Config {
        goal: refresh(AS),
        ..config()
    };
    check_refused(
        &world,
        refreshing,
        &format!("GET {PRM}"),
        "the login is from https://as.example, which the server does not name any more",
    );
}

#[test]
fn of_several_authorization_servers_the_one_that_knows_us_is_asked() {
    let mut world = world("");
    let both =
        format!(r#"{{"resource":"{MCP}","authorization_servers":["https://new.example","{AS}"]}}"#);
    world.put(PRM, 200, &both);
    let mut registered = Options::default();
    registered
        .registrations
        .insert(AS, Client::public("earlier"));
    let cases = [
        (registered, Goal::Login),
        (configured(confidential(), Some(AS)), Goal::Login),
        (Options::default(), refresh(AS)),
    ];
    for (options, goal) in cases {
        let (_, end) = world.run(Config {
            options,
            goal,
            ..config()
        });
        assert_eq!(end.unwrap().issuer, AS);
    }
}

#[test]
fn a_refresh_needs_no_person() {
    let config = Config {
        goal: refresh(AS),
        ..config()
    };
    let request = format!(
        "TOKEN {AS}/token grant_type=refresh_token refresh_token=canary-refresh resource={MCP} client_id=earlier"
    );
    let expected = [format!("GET {PRM}"), format!("GET {ASM}"), request];
    let (trace, end) = world("").run(config);
    assert_eq!(trace, expected);
    assert_eq!(
        end.unwrap().tokens.refresh_token,
        Some(Secret::new("canary-refresh"))
    );
}

#[test]
fn client_credentials_need_no_person() {
    let of = |options| Config {
        options,
        goal: Goal::ClientCredentials,
        ..config()
    };
    let basic = format!("TOKEN {AS}/token grant_type=client_credentials resource={MCP}");
    let (trace, end) = world("").run(of(configured(confidential(), None)));
    assert_eq!(trace, [format!("GET {PRM}"), format!("GET {ASM}"), basic]);
    assert_eq!(end.unwrap().client, confidential());

    let error = "client credentials need a configured client with a secret";
    for options in [
        Options::default(),
        configured(Client::public("configured"), None),
    ] {
        check_refused(&world(""), of(options), &format!("GET {ASM}"), error);
    }
}

#[test]
fn a_person_is_told_when_no_program_can_register() {
    let mut world = world("");
    let metadata = server(AS, "").replace("registration_endpoint", "other");
    world.put(ASM, 200, &metadata);
    let (trace, end) = world.run(config());
    assert_eq!(trace, [format!("GET {PRM}"), format!("GET {ASM}")]);
    let text = end.unwrap_err();
    assert!(
        text.contains(REDIRECT) && text.contains("\"clientId\""),
        "{text}"
    );
}

#[test]
fn a_stranger_does_not_end_a_login_and_a_code_is_used_once() {
    let options = configured(confidential(), None);
    let config = Config {
        options,
        ..config()
    };
    let world = world("");
    let (mut flow, mut step) = Flow::start(config, Nonces::new([1; 32], [2; 32])).unwrap();
    while let Step::Fetch(request) = &step {
        step = flow.response(&world.answer(&request.url)).unwrap();
    }
    for redirect in [
        "",
        "code=evil",
        "code=evil&state=x",
        "error=access_denied&state=x",
    ] {
        let error = flow.redirect(redirect).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the redirect answers no request of this login"
        );
    }
    let state = Nonces::new([1; 32], [2; 32]).state;
    let good = format!("code=canary-code&state={}", state.expose());
    assert!(matches!(flow.redirect(&good), Ok(Step::Fetch(_))));
    let shown = format!("{flow:?}");
    assert!(
        !shown.contains("canary") && !shown.contains(state.expose()),
        "{shown}"
    );
    let again = flow.redirect(&good).unwrap_err();
    assert_eq!(again.to_string(), "the login expected something else");
    let token = world.answer(&format!("{AS}/token").parse().unwrap());
    assert!(matches!(flow.response(&token), Ok(Step::Done(_))));
    let over = flow.response(&token).unwrap_err();
    assert_eq!(over.to_string(), "the login expected something else");
}
