//! Device code grant.

use super::world::{
    AS, ASM, MCP, PRM, World, check_refused, config, configured, login, server, world,
};
use crate::authorize::Nonces;
use crate::flow::{Config, Flow, Goal, Step};
use crate::http_message::Response;
use crate::registration::ClientInfo;

const DEVICE_CODE: &str = "urn:ietf:params:oauth:grant-type:device_code";
const ENDPOINT: &str = r#","device_authorization_endpoint":"https://as.example/device""#;
const CODE: &str = r#"{"device_code":"d","user_code":"WDJB-MJHT","verification_uri":"https://as.example/go","expires_in":120}"#;

fn device() -> Config {
    Config {
        goal: Goal::DeviceCode,
        ..config()
    }
}

fn device_world(answers: &[(u16, &str)]) -> World {
    let mut world = world(ENDPOINT);
    world.put(&format!("{AS}/device"), 200, CODE);
    let answers: Vec<Response> = answers
        .iter()
        .map(|(status, error)| Response::new(*status, format!(r#"{{"error":"{error}"}}"#)))
        .chain([Response::new(200, r#"{"access_token":"at"}"#)])
        .collect();
    world.put_all(&format!("{AS}/token"), answers);
    world
}

/// Steps between the discovery and the first poll.
fn shown(id: &str) -> Vec<String> {
    vec![
        format!("POST {AS}/device resource={MCP} client_id={id}"),
        "SHOW WDJB-MJHT https://as.example/go".to_owned(),
    ]
}

fn question(id: &str) -> String {
    format!("TOKEN {AS}/token grant_type={DEVICE_CODE} device_code=d resource={MCP} client_id={id}")
}

#[test]
fn a_person_consents_in_their_own_time() {
    let world = device_world(&[
        (400, "authorization_pending"),
        (400, "slow_down"),
        (503, ""),
        (400, "authorization_pending"),
    ]);
    let mut expected = vec![
        format!("GET {PRM}"),
        format!("GET {ASM}"),
        format!("REGISTER {AS}/register"),
    ];
    expected.extend(shown("registered"));
    for wait in [5, 5, 10, 20, 20] {
        expected.extend([format!("WAIT {wait}"), question("registered")]);
    }
    assert_eq!(world.run(device()), (expected, Ok(login())));
}

#[test]
fn a_client_that_is_known_does_not_register() {
    let config = Config {
        options: configured(ClientInfo::public("configured"), None),
        ..device()
    };
    let (trace, end) = device_world(&[]).run(config);
    let mut expected = vec![format!("GET {PRM}"), format!("GET {ASM}")];
    expected.extend(shown("configured"));
    expected.extend(["WAIT 5".to_owned(), question("configured")]);
    assert_eq!(trace, expected);
    assert_eq!(end.unwrap().client, ClientInfo::public("configured"));
}

#[test]
fn a_clear_no_ends_the_login() {
    let cases = [
        (
            "access_denied",
            "the authorization server refused the token request: access_denied",
        ),
        (
            "expired_token",
            "the user did not consent before the code expired",
        ),
        (
            "invalid_grant",
            "the authorization server refused the token request: invalid_grant",
        ),
    ];
    for (error, expected) in cases {
        let (trace, end) = device_world(&[(400, error)]).run(device());
        assert_eq!(trace.last(), Some(&question("registered")));
        assert_eq!(end.unwrap_err(), expected);
    }
}

#[test]
fn an_expired_device_code_is_not_polled() {
    let pending = [(400, "authorization_pending"); 40];
    let (trace, end) = device_world(&pending).run(device());
    let questions = trace.iter().filter(|line| line.starts_with("TOKEN"));
    assert_eq!(questions.count(), 23);
    assert_eq!(
        end.unwrap_err(),
        "the user did not consent before the code expired"
    );
}

#[test]
fn polling_ends_with_the_device_code() {
    for (interval, retry_after, waits) in [
        (u64::MAX, None, vec!["WAIT 120"]),
        (5, Some(u64::MAX), vec!["WAIT 5", "WAIT 115"]),
    ] {
        let mut world = device_world(&[]);
        let code = CODE.replace('}', &format!(r#","interval":{interval}}}"#));
        world.put(&format!("{AS}/device"), 200, &code);
        let pending = Response {
            retry_after,
            ..Response::new(400, r#"{"error":"authorization_pending"}"#)
        };
        world.put_all(&format!("{AS}/token"), [pending]);
        let (trace, end) = world.run(device());
        let waited: Vec<&String> = trace.iter().filter(|it| it.starts_with("WAIT")).collect();
        assert_eq!(waited, waits);
        assert_eq!(
            end.unwrap_err(),
            "the user did not consent before the code expired"
        );
    }
}

#[test]
fn a_server_without_device_codes_gets_no_registration() {
    let text = "the metadata must name the device_authorization_endpoint, but it does not";
    check_refused(&world(""), device(), &format!("GET {ASM}"), text);
    let mut world = world(ENDPOINT);
    let metadata = server(AS, ENDPOINT).replace("registration_endpoint", "other");
    world.put(ASM, 200, &metadata);
    let (trace, end) = world.run(device());
    assert_eq!(trace, [format!("GET {PRM}"), format!("GET {ASM}")]);
    assert!(end.is_err());
}

#[test]
fn a_lost_answer_does_not_end_a_login_that_a_person_is_about_to_consent_to() {
    let world = device_world(&[(400, "authorization_pending")]);
    let (mut flow, mut step) = Flow::start(device(), Nonces::new([1; 32], [2; 32])).unwrap();
    while let Step::Fetch(request) = &step {
        step = flow.response(&world.answer(&request.url), 0).unwrap();
    }
    assert!(matches!(step, Step::ShowCode(_)));
    assert_eq!(flow.retry_unanswered(), None);
    let seconds = |step: &Step| match step {
        Step::Wait(time) => time.as_secs(),
        other => panic!("{other:?} is no wait"),
    };
    assert_eq!(seconds(&flow.resume(0).unwrap()), 5);
    assert!(flow.response(&Response::new(200, ""), 5).is_err());
    assert!(matches!(flow.resume(5), Ok(Step::Fetch(_))));
    assert_eq!(flow.retry_unanswered().as_ref().map(seconds), Some(10));
    assert!(matches!(flow.resume(15), Ok(Step::Fetch(_))));
    let answer = world.answer(&format!("{AS}/token").parse().unwrap());
    assert_eq!(seconds(&flow.response(&answer, 15).unwrap()), 10);
}

#[test]
fn other_logins_end_with_a_lost_answer() {
    let (mut flow, _) = Flow::start(config(), Nonces::new([1; 32], [2; 32])).unwrap();
    assert_eq!(flow.retry_unanswered(), None);
    assert!(flow.resume(0).is_err());
}
