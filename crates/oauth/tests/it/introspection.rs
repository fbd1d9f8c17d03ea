//! Opaque tokens, which only the issuer can read (RFC 7662).

use callgate_oauth::Secret;
use callgate_oauth::resource::{Introspection, Verifier};
use serde_json::{Value, json};

use crate::issuer::{Issuer, Key, METADATA};
use crate::verifying::{OWN, claims, config, now, verify};

const ENDPOINT: &str = "/introspect";

fn introspection() -> Introspection {
    Introspection::new("gate", Secret::new("canary"))
}

/// Server that asks `issuer` at the endpoint in its metadata.
fn asking(issuer: &Issuer) -> Verifier {
    let mut config = config(&issuer.url);
    config.introspection = Some(introspection());
    Verifier::new(config).unwrap()
}

/// Publishes the metadata of an issuer without keys.
async fn opaque_issuer() -> Issuer {
    let issuer = Issuer::start(&[]).await;
    let endpoint = format!("{}{ENDPOINT}", issuer.url);
    let metadata = json!({"issuer": issuer.url, "introspection_endpoint": endpoint});
    issuer.publish(METADATA, 200, &metadata.to_string());
    issuer
}

/// An active token of alice, with some members changed; `null` removes one.
fn active(issuer: &Issuer, changes: Value) -> String {
    let mut response = claims(issuer, changes);
    response["active"] = json!(true);
    response.to_string()
}

#[tokio::test]
async fn an_opaque_token_is_asked_about_once() {
    let issuer = opaque_issuer().await;
    let verifier = asking(&issuer);
    verifier.load().await.expect("keys are not needed");
    issuer.publish(ENDPOINT, 200, &active(&issuer, json!({})));
    for _ in 0..3 {
        assert_eq!(
            verify(&verifier, "opaque-1~/+=").await,
            Ok("alice".to_owned())
        );
    }
    assert_eq!((issuer.count(METADATA), issuer.count(ENDPOINT)), (2, 1));
    let posted = issuer.posted().remove(0);
    assert!(
        posted.contains("authorization: Basic Z2F0ZTpjYW5hcnk=\r\n"),
        "{posted}"
    );
    let body = "token=opaque-1%7E%2F%2B%3D&token_type_hint=access_token&client_id=gate";
    assert!(posted.ends_with(body), "{posted}");
    let shown = format!("{verifier:?}");
    assert!(
        !shown.contains("opaque-1") && !shown.contains("canary"),
        "{shown}"
    );
}

#[tokio::test]
async fn the_response_is_checked_like_a_token() {
    const AUDIENCE: &str = "the token is for another resource";
    const CLAIMS: &str = "a claim of the token is missing or malformed";
    let issuer = opaque_issuer().await;
    let verifier = asking(&issuer);
    for (number, (changes, expected)) in [
        (json!({"iss": null, "exp": null, "iat": null}), Ok("alice")),
        (json!({"aud": [OWN]}), Ok("alice")),
        (json!({"aud": null}), Err(AUDIENCE)),
        (json!({"aud": "https://other.example"}), Err(AUDIENCE)),
        (
            json!({"iss": "https://evil.example"}),
            Err("the token was issued by another issuer"),
        ),
        (json!({"exp": now() - 100}), Err("the token has expired")),
        (json!({"sub": null}), Err(CLAIMS)),
        (json!({"scope": "other"}), Err("the token lacks a scope")),
        (
            json!({"cnf": {"jkt": "x"}}),
            Err("the token is bound to a key and cannot be used as a bearer token"),
        ),
    ]
    .into_iter()
    .enumerate()
    {
        issuer.publish(ENDPOINT, 200, &active(&issuer, changes.clone()));
        let found = verify(&verifier, format!("opaque-{number}")).await;
        let expected = expected.map(str::to_owned).map_err(str::to_owned);
        assert_eq!(found, expected, "{changes}");
    }
}

#[tokio::test]
async fn a_token_that_the_issuer_does_not_vouch_for_is_refused() {
    let issuer = opaque_issuer().await;
    let verifier = asking(&issuer);
    for (number, (status, body, expected)) in [
        (200, r#"{"active":false}"#, "the token is not active"),
        (200, r#"{"active":false,"active":true}"#, "unavailable"),
        (200, r#"{"active":"true"}"#, "unavailable"),
        (200, "[true]", "unavailable"),
        (200, "<html>", "unavailable"),
        (401, "", "unavailable"),
        (503, "", "unavailable"),
    ]
    .into_iter()
    .enumerate()
    {
        issuer.publish(ENDPOINT, status, body);
        let token = format!("opaque-{number}");
        for _ in 0..2 {
            assert_eq!(
                verify(&verifier, &token).await,
                Err(expected.to_owned()),
                "{body}"
            );
        }
    }
    // Each of them was asked about once.
    assert_eq!(issuer.count(ENDPOINT), 7);
    let too_long = "x".repeat(16 * 1024 + 1);
    for token in ["", "a b", "\u{e9}", "a\"b", &too_long] {
        assert!(verify(&verifier, token).await.is_err());
    }
    assert_eq!(issuer.count(ENDPOINT), 7);
}

#[tokio::test]
async fn requests_at_the_same_time_ask_once() {
    let issuer = opaque_issuer().await;
    let verifier = asking(&issuer);
    issuer.publish(ENDPOINT, 200, &active(&issuer, json!({})));
    let all = futures_util::future::join_all((0..50).map(|_| verify(&verifier, "opaque"))).await;
    assert!(all.iter().all(Result::is_ok), "{all:?}");
    assert_eq!(issuer.count(ENDPOINT), 1);
}

#[tokio::test]
async fn jwts_are_checked_here_and_other_tokens_only_if_that_is_configured() {
    let key = Key::new("k");
    let issuer = Issuer::start(&[&key]).await;
    let mut config = config(&issuer.url);
    let jwt = key.token(&claims(&issuer, json!({})));
    let without = Verifier::new(config.clone()).unwrap();
    let malformed = Err("the token is not a signed JWT".to_owned());
    assert_eq!(verify(&without, "opaque").await, malformed);

    let endpoint = format!("{}{ENDPOINT}", issuer.url);
    config.introspection = Some(introspection().at(&endpoint).unwrap());
    let with = Verifier::new(config).unwrap();
    issuer.publish(ENDPOINT, 200, &active(&issuer, json!({"sub": "bob"})));
    assert_eq!(verify(&with, &jwt).await, Ok("alice".to_owned()));
    assert_eq!(verify(&with, "opaque").await, Ok("bob".to_owned()));
    // A forged JWT is not one that the issuer is asked about.
    let forged = Key::new("k").token(&claims(&issuer, json!({})));
    assert!(verify(&with, &forged).await.is_err());
    assert_eq!(issuer.count(ENDPOINT), 1);
    assert!(introspection().at("http://as.example/introspect").is_err());
}

#[tokio::test]
async fn other_audiences_can_be_accepted() {
    let key = Key::new("k");
    let issuer = Issuer::start(&[&key]).await;
    let mut config = config(&issuer.url);
    config.audiences = vec!["api://gate".to_owned(), "gate".to_owned()];
    let verifier = Verifier::new(config).unwrap();
    let token = |audience: Value| key.token(&claims(&issuer, json!({"aud": audience})));
    for (audience, is_accepted) in [
        (json!("api://gate"), true),
        (json!(["x", "gate"]), true),
        (json!("api://gate/"), false),
        (json!(OWN), false),
    ] {
        let found = verify(&verifier, token(audience.clone())).await;
        assert_eq!(found.is_ok(), is_accepted, "{audience}");
    }
}

/// Anybody can send unknown tokens, which must not become a flood at the issuer.
#[tokio::test]
async fn only_so_many_questions_are_asked_at_a_time() {
    const MAX_REQUESTS: usize = 32;
    let issuer = opaque_issuer().await;
    let verifier = asking(&issuer);
    // It accepts requests and does not answer.
    issuer.answer(ENDPOINT, "");
    let tokens: Vec<String> = (0..MAX_REQUESTS + 8).map(|it| format!("t-{it}")).collect();
    let all = futures_util::future::join_all(tokens.iter().map(|it| verify(&verifier, it)));
    let full = async {
        while issuer.count(ENDPOINT) < MAX_REQUESTS {
            tokio::task::yield_now().await;
        }
        // Time for one more, if it were allowed.
        for _ in 0..1000 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        _ = all => panic!("no request is answered"),
        () = full => {}
    }
    assert_eq!(issuer.count(ENDPOINT), MAX_REQUESTS);
}

#[tokio::test(start_paused = true)]
async fn an_issuer_that_does_not_answer_is_not_waited_for_long() {
    let issuer = opaque_issuer().await;
    let mut config = config(&issuer.url);
    let endpoint = format!("{}{ENDPOINT}", issuer.url);
    config.introspection = Some(introspection().at(&endpoint).unwrap());
    let verifier = Verifier::new(config).unwrap();
    issuer.answer(ENDPOINT, "");
    let start = tokio::time::Instant::now();
    let found = verify(&verifier, "opaque").await;
    assert_eq!(found, Err("unavailable".to_owned()));
    assert!(start.elapsed() <= std::time::Duration::from_secs(11));
}
