use super::world::{
    AS, ASM, DOCUMENT, MCP, PRM, REDIRECT, check_discovery, check_refused, confidential, config,
    configured, refresh, resource, server, world,
};
use crate::authorize::Nonces;
use crate::flow::{Config, Flow, Goal, KnownServer, Step};
use crate::registration::{AuthMethod, ClientIdUrl, ClientInfo, ClientOptions};
use crate::{Challenge, Scopes, Secret};

#[test]
fn scopes_come_from_the_most_specific_source() {
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
fn a_known_client_does_not_register() {
    let documents = r#","client_id_metadata_document_supported":true"#;
    let mut registered = ClientOptions::default();
    registered
        .registrations
        .insert(AS, ClientInfo::public("earlier"));
    let cimd = || ClientOptions {
        metadata_document: Some(ClientIdUrl::parse(DOCUMENT).unwrap()),
        ..ClientOptions::default()
    };
    let cases = [
        (
            "pre-registration",
            "",
            configured(ClientInfo::public("configured"), Some(AS)),
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
fn a_client_registered_for_fewer_scopes_registers_again() {
    let mut options = ClientOptions::default();
    let earlier = ClientInfo {
        scopes: Some(Scopes::parse("a")),
        ..ClientInfo::public("earlier")
    };
    options.registrations.insert(AS, earlier);
    let register = format!("{AS}/register");
    // The goal, the answer to the registration, the client, its scopes from then on.
    let cases = [
        ("a", "", "earlier", Some("a")),
        ("a b", r#","scope":"b c""#, "registered", Some("b c a")),
        ("a b", "", "registered", None),
    ];
    for (wanted, answered, id, limits) in cases {
        let mut world = world("");
        let answer = format!(r#"{{"client_id":"registered"{answered}}}"#);
        world.put(&register, 201, &answer);
        let (trace, end) = world.run(Config {
            goal: Goal::StepUp(Scopes::parse(wanted)),
            options: options.clone(),
            ..config()
        });
        let open = format!("OPEN client_id={id} resource={MCP} scope={wanted}");
        assert!(trace.contains(&open), "{trace:?}");
        assert_eq!(end.unwrap().client.scopes, limits.map(Scopes::parse));
    }
}

#[test]
fn authorization_server_migration() {
    let new = "https://new.example";
    let metadata = "https://new.example/.well-known/oauth-authorization-server";
    let mut world = world("");
    world.put(PRM, 200, &resource(MCP, new, ""));
    world.put(metadata, 200, &server(new, ""));
    let mut options = ClientOptions::default();
    options
        .registrations
        .insert(AS, ClientInfo::public("earlier"));
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
        "the login belongs to https://as.example, but the server names another authorization server now",
    );
}

#[test]
fn a_known_token_endpoint_needs_no_metadata() {
    let moved = "the authorization server answered the token request with HTTP 404 and no token";
    let revoked = "the authorization server refused the token request: invalid_grant";
    for (status, body, expected) in [
        (200, r#"{"access_token":"at"}"#, None),
        (404, "<html>", Some(moved)),
        (404, r#"{"error":"not_found"}"#, Some(moved)),
        (404, r#"{"error":"invalid_grant"}"#, Some(revoked)),
    ] {
        let mut world = world("");
        world.put("https://tokens.example/t", status, body);
        let known = KnownServer {
            issuer: AS.to_owned(),
            token_endpoint: "https://tokens.example/t".parse().unwrap(),
            auth_method: Some(AuthMethod::None),
            resource: MCP.to_owned(),
            scopes: Scopes::default(),
        };
        let (trace, end) = world.run(Config {
            goal: refresh(AS),
            known: Some(known),
            ..config()
        });
        assert_eq!(trace.len(), 1, "{trace:?}");
        assert!(trace[0].starts_with("TOKEN https://tokens.example/t "));
        match (end, expected) {
            (Ok(login), None) => {
                let endpoint = login.token_endpoint.as_str();
                assert_eq!(
                    (login.issuer.as_str(), endpoint),
                    (AS, "https://tokens.example/t")
                );
            }
            (end, expected) => assert_eq!(end.err().as_deref(), expected),
        }
    }
}

#[test]
fn of_several_authorization_servers_the_one_that_knows_us_is_asked() {
    let mut world = world("");
    let both =
        format!(r#"{{"resource":"{MCP}","authorization_servers":["https://new.example","{AS}"]}}"#);
    world.put(PRM, 200, &both);
    let mut registered = ClientOptions::default();
    registered
        .registrations
        .insert(AS, ClientInfo::public("earlier"));
    let cases = [
        (registered, Goal::Login),
        (configured(confidential(), Some(AS)), Goal::Login),
        (ClientOptions::default(), refresh(AS)),
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
fn secrets_that_the_server_repeats_are_not_shown() {
    let verifier = Nonces::new([1; 32], [2; 32]).verifier;
    let echo = format!(
        r#"{{"error":"invalid_grant","error_description":"canary-refresh {} canary-secret"}}"#,
        verifier.expose()
    );
    let mut world = world("");
    world.put(&format!("{AS}/token"), 400, &echo);
    let goal = Goal::Refresh {
        issuer: Some(AS.to_owned()),
        client: confidential(),
        refresh_token: Secret::new("canary-refresh"),
    };
    let (_, end) = world.run(Config { goal, ..config() });
    assert_eq!(
        end.unwrap_err(),
        "the authorization server refused the token request: invalid_grant (*** *** ***)"
    );
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
        step = flow.response(&world.answer(&request.url), 0).unwrap();
    }
    for redirect in [
        "",
        "code=evil",
        "code=evil&state=x",
        "error=access_denied&state=x",
    ] {
        let error = flow.redirect(redirect, 0).unwrap_err();
        assert_eq!(error.to_string(), "the redirect belongs to another login");
    }
    let state = Nonces::new([1; 32], [2; 32]).state;
    let good = format!("code=canary-code&state={}", state.expose());
    assert!(matches!(flow.redirect(&good, 0), Ok(Step::Fetch(_))));
    let shown = format!("{flow:?}");
    assert!(
        !shown.contains("canary") && !shown.contains(state.expose()),
        "{shown}"
    );
    let again = flow.redirect(&good, 0).unwrap_err();
    assert_eq!(
        again.to_string(),
        "the login received an unexpected message"
    );
    let token = world.answer(&format!("{AS}/token").parse().unwrap());
    assert!(matches!(flow.response(&token, 0), Ok(Step::Done(_))));
    let over = flow.response(&token, 0).unwrap_err();
    assert_eq!(over.to_string(), "the login received an unexpected message");
}
