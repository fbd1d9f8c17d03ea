//! Grants without a user, and revocation.

use super::world::{
    AS, ASM, MCP, PRM, World, check_refused, confidential, config, configured, resource, world,
};
use crate::authorize::Nonces;
use crate::flow::{Config, Flow, Goal, Step};
use crate::http_message::Response;
use crate::id_jag::IdentityProvider;
use crate::jwt::SigningKey;
use crate::jwt::test_tokens::{p256, read};
use crate::registration::{ClientInfo, ClientOptions};
use crate::{Challenge, Scopes, Secret};

const IDP: &str = "https://idp.example/token";
const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";

fn discovery() -> Vec<String> {
    vec![format!("GET {PRM}"), format!("GET {ASM}")]
}

fn refusal(error: &str) -> String {
    format!(r#"{{"error":"{error}"}}"#)
}

#[test]
fn client_credentials_need_no_person() {
    let of = |options| Config {
        options,
        goal: Goal::ClientCredentials,
        ..config()
    };
    let basic = format!(
        "TOKEN {AS}/token grant_type=client_credentials resource={MCP} client_id=configured"
    );
    let (trace, end) = world("").run(of(configured(confidential(), None)));
    assert_eq!(trace, [discovery(), vec![basic]].concat());
    assert_eq!(end.unwrap().client, confidential());

    let error = "client credentials need a configured client with a secret or a private key";
    for options in [
        ClientOptions::default(),
        configured(ClientInfo::public("configured"), None),
    ] {
        check_refused(&world(""), of(options), &format!("GET {ASM}"), error);
    }
}

#[test]
fn client_credentials_jwt() {
    let client = ClientInfo {
        key: Some(SigningKey::from_pem(&p256(), None).unwrap()),
        ..ClientInfo::public("configured")
    };
    let config = Config {
        options: configured(client, None),
        goal: Goal::ClientCredentials,
        now: 1000,
        ..config()
    };
    let world = world(r#","token_endpoint_auth_methods_supported":["private_key_jwt"]"#);
    let (mut flow, mut step) = Flow::start(config, Nonces::new([1; 32], [2; 32])).unwrap();
    let mut body = String::new();
    while let Step::Fetch(request) = &step {
        body = request.body.as_ref().map_or("", Secret::expose).to_owned();
        step = flow.response(&world.answer(&request.url), 2000).unwrap();
    }
    let (_, assertion) = body.rsplit_once("client_assertion=").unwrap();
    let (_, claims) = read(assertion);
    // The time is that of the request and not that of the beginning.
    assert_eq!((&claims["aud"], &claims["iat"]), (&AS.into(), &2000.into()));
    assert!(matches!(step, Step::Done(_)));
}

#[test]
fn wif_jwt_bearer() {
    let of = |options| Config {
        options,
        goal: Goal::JwtBearer(Secret::new("workload")),
        ..config()
    };
    let known = || configured(ClientInfo::public("configured"), None);
    let request = format!(
        "TOKEN {AS}/token grant_type={JWT_BEARER} assertion=workload resource={MCP} client_id=configured"
    );
    let expected = [discovery(), vec![request]].concat();
    let (trace, end) = world("").run(of(known()));
    assert_eq!(trace, expected);
    assert_eq!(end.unwrap().client, ClientInfo::public("configured"));

    for error in ["invalid_grant", "invalid_scope", "unauthorized_client"] {
        let mut world = world("");
        world.put(&format!("{AS}/token"), 400, &refusal(error));
        let text = format!("the authorization server refused the token request: {error}");
        assert_eq!(world.run(of(known())), (expected.clone(), Err(text)));
    }

    let nobody = "https://as.example does not know this client, and a login without a user needs a configured one";
    check_refused(
        &world(""),
        of(ClientOptions::default()),
        &format!("GET {ASM}"),
        nobody,
    );
}

#[test]
fn scopes_are_asked_for_without_a_person_too() {
    let goals = [
        Goal::ClientCredentials,
        Goal::JwtBearer(Secret::new("workload")),
    ];
    for goal in goals {
        let config = Config {
            options: configured(confidential(), None),
            challenge: Some(Challenge {
                scope: Some(Scopes::parse("a b")),
                ..Challenge::default()
            }),
            goal,
            ..config()
        };
        // No `offline_access` where no user is involved.
        let world = world(r#","scopes_supported":["offline_access"]"#);
        let (trace, end) = world.run(config);
        let end_of_request = " scope=a b client_id=configured";
        assert!(trace[2].ends_with(end_of_request), "{trace:?}");
        assert_eq!(end.unwrap().requested, Scopes::parse("a b"));
    }
}

fn enterprise() -> Config {
    Config {
        options: configured(confidential(), None),
        goal: Goal::Enterprise(
            Box::new(IdentityProvider {
                issuer: "https://idp.example".into(),
                token_endpoint: IDP.parse().unwrap(),
                client: ClientInfo::public("employee"),
            }),
            Secret::new("id"),
        ),
        ..config()
    }
}

fn enterprise_world() -> World {
    let mut world = World::new(&[
        (PRM, resource(MCP, AS, r#""a""#)),
        (ASM, super::world::server(AS, "")),
    ]);
    let assertion = r#"{"access_token":"jag","issued_token_type":"urn:ietf:params:oauth:token-type:id-jag","token_type":"N_A"}"#;
    world.put(IDP, 200, assertion);
    world
}

#[test]
fn enterprise_managed_authorization() {
    let exchange = format!(
        "TOKEN {IDP} grant_type={TOKEN_EXCHANGE} audience={AS} resource={MCP} subject_token=id scope=a client_id=employee"
    );
    let token = format!(
        "TOKEN {AS}/token grant_type={JWT_BEARER} assertion=jag resource={MCP} scope=a client_id=configured"
    );
    let (trace, end) = enterprise_world().run(enterprise());
    assert_eq!(
        trace,
        [discovery(), vec![exchange.clone(), token.clone()]].concat()
    );
    assert_eq!(end.unwrap().client, confidential());

    let mut refusing = enterprise_world();
    refusing.put(IDP, 400, &refusal("access_denied"));
    let (trace, end) = refusing.run(enterprise());
    assert_eq!(trace, [discovery(), vec![exchange.clone()]].concat());
    assert_eq!(
        end.unwrap_err(),
        "the identity provider refused the identity token: access_denied"
    );

    let mut refusing = enterprise_world();
    refusing.put(&format!("{AS}/token"), 400, &refusal("invalid_grant"));
    let (trace, end) = refusing.run(enterprise());
    assert_eq!(trace, [discovery(), vec![exchange, token]].concat());
    let text = "the authorization server refused the token request: invalid_grant";
    assert_eq!(end.unwrap_err(), text);
}

#[test]
fn a_bad_moment_of_the_identity_provider_is_one_of_the_login() {
    let mut world = enterprise_world();
    world.put_all(IDP, [Response::new(503, "")]);
    let (mut flow, mut step) = Flow::start(enterprise(), Nonces::new([1; 32], [2; 32])).unwrap();
    let error = loop {
        let Step::Fetch(request) = &step else {
            panic!("{step:?} is no request");
        };
        match flow.response(&world.answer(&request.url), 0) {
            Ok(next) => step = next,
            Err(error) => break error,
        }
    };
    assert!(error.is_transient(), "{error}");
}

#[test]
fn a_token_is_revoked_at_its_issuer() {
    let revoke = |issuer: &str| Config {
        goal: Goal::Revoke {
            issuer: Some(issuer.to_owned()),
            client: ClientInfo::public("earlier"),
            token: Secret::new("canary-refresh"),
        },
        ..config()
    };
    let endpoint = r#","revocation_endpoint":"https://as.example/revoke""#;
    let request = format!("POST {AS}/revoke token=canary-refresh client_id=earlier");
    let cases = [
        (200, "revoked"),
        (503, "https://as.example/revoke is unavailable (HTTP 503)"),
        (
            400,
            "the authorization server did not revoke the token (HTTP 400)",
        ),
    ];
    for (status, expected) in cases {
        let mut world = world(endpoint);
        world.put(&format!("{AS}/revoke"), status, "");
        let (trace, end) = world.run(revoke(AS));
        assert_eq!(trace, [discovery(), vec![request.clone()]].concat());
        assert_eq!(end.unwrap_err(), expected);
    }

    let (_, end) = world("").run(revoke(AS));
    assert_eq!(
        end.unwrap_err(),
        "https://as.example has no revocation endpoint"
    );
    let (trace, end) = world(endpoint).run(revoke("https://old.example"));
    assert_eq!(trace, [format!("GET {PRM}")]);
    let text = "the login belongs to https://old.example, but the server names another authorization server now";
    assert_eq!(end.unwrap_err(), text);
}
