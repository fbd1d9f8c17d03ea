//! Registrations that a server refuses in part.

use serde_json::Value;

use super::world::{AS, MCP, PRM, REDIRECT, config, resource, world};
use crate::flow::Config;
use crate::http_message::Response;
use crate::options::{ProviderOptions, RedirectUri};
use crate::registration::AuthMethod;
use crate::{Secret, http_message::Request};

const ENDPOINT: &str = "https://as.example/register";
const REGISTERED: &str = r#"{"client_id":"registered"}"#;

/// Registrations that are sent if the first one is answered with `refusal`, and the result.
fn register(refusal: Response, config: Config) -> (Vec<Value>, Result<(), String>) {
    let mut world = world("");
    world.put(PRM, 200, &resource(MCP, AS, r#""a""#));
    world.put_all(ENDPOINT, [refusal, Response::new(201, REGISTERED)]);
    let end = world.run(config).1;
    let sent = world.requests(ENDPOINT);
    let body = |request: &Request| {
        let body = request.body.as_ref().unwrap();
        serde_json::from_str(body.expose()).unwrap()
    };
    (sent.iter().map(body).collect(), end.map(drop))
}

fn refused(status: u16, error: &str, description: &str) -> Response {
    let body = serde_json::json!({"error": error, "error_description": description});
    Response::new(status, body.to_string())
}

#[test]
fn a_registration_is_tried_once_more_with_less() {
    for refusal in [
        refused(
            400,
            "invalid_client_metadata",
            "unknown member application_type",
        ),
        refused(400, "invalid_request", ""),
        refused(
            403,
            "insufficient_scope",
            "Not permitted to use specified clientScope",
        ),
        Response::new(400, "<html>"),
        Response::new(422, r#"{"detail":[]}"#),
    ] {
        let (sent, end) = register(refusal, config());
        assert_eq!(end, Ok(()));
        let [first, second] = &sent[..] else {
            panic!("{sent:?}");
        };
        assert_eq!(
            (&first["application_type"], &first["scope"]),
            (&"native".into(), &"a".into())
        );
        assert_eq!(
            (&second["application_type"], &second["scope"]),
            (&Value::Null, &Value::Null)
        );
        assert_eq!(second["redirect_uris"], first["redirect_uris"]);
    }
}

#[test]
fn the_other_name_of_this_machine_is_tried_and_used_from_then_on() {
    let localhost = REDIRECT.replace("127.0.0.1", "localhost");
    let mut world = world("");
    let refusal = refused(400, "invalid_redirect_uri", "");
    world.put_all(ENDPOINT, [refusal, Response::new(201, REGISTERED)]);
    let granted = world.run(config()).1.unwrap();
    assert_eq!(granted.client.redirect_uri, Some(localhost.clone()));
    let mut page = world
        .opened()
        .query_pairs()
        .into_owned()
        .collect::<Vec<_>>();
    page.retain(|(name, _)| name == "redirect_uri");
    assert_eq!(page, [("redirect_uri".to_owned(), localhost.clone())]);
    let body = world.sent_to(&format!("{AS}/token"));
    let encoded = "redirect_uri=http%3A%2F%2Flocalhost%3A19876";
    assert!(body.contains(encoded), "{body}");

    // The next login uses the client with the redirect URI that it is registered with.
    let mut again = config();
    again.options.registrations.insert(AS, granted.client);
    world.run(again).1.unwrap();
    assert_eq!(world.requests(ENDPOINT).len(), 2);
    let query = world.opened().query().unwrap().to_owned();
    assert!(query.contains(encoded), "{query}");
}

#[test]
fn other_refusals_are_final() {
    let by_hand = ProviderOptions {
        redirect_uri: RedirectUri::parse("http://127.0.0.1:1/cb").ok(),
        ..ProviderOptions::default()
    };
    let with_uri = Config {
        provider: by_hand,
        ..config()
    };
    for (refusal, config) in [
        (refused(400, "invalid_redirect_uri", ""), with_uri),
        (refused(403, "access_denied", "not on the list"), config()),
        (Response::new(403, "Forbidden"), config()),
        (Response::new(404, "<html>"), config()),
        (Response::new(503, "<html>"), config()),
    ] {
        let (sent, end) = register(refusal, config);
        assert_eq!((sent.len(), end.is_err()), (1, true));
    }
    let mut world = world("");
    world.put_all(ENDPOINT, [refused(400, "invalid_request", "")]);
    assert!(world.run(config()).1.is_err());
    assert_eq!(world.requests(ENDPOINT).len(), 2);
}

#[test]
fn a_registration_says_what_the_user_chose() {
    let mut config = config();
    config.provider.client_name = Some("Allowed Client".to_owned());
    config.provider.client_auth_method = Some(AuthMethod::ClientSecretPost);
    config.initial_access_token = Some(Secret::new("canary-initial"));
    let world = world("");
    world.run(config).1.unwrap();
    let sent = world.requests(ENDPOINT);
    let body: Value = serde_json::from_str(sent[0].body.as_ref().unwrap().expose()).unwrap();
    assert_eq!(body["client_name"], "Allowed Client");
    assert_eq!(body["token_endpoint_auth_method"], "client_secret_post");
    let bearer = ("authorization", Secret::new("Bearer canary-initial"));
    assert!(sent[0].headers.contains(&bearer));
}
