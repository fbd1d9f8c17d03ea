use std::error::Error;
use std::io;
use std::net::{IpAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use callgate_mcp::BoxFuture;
use callgate_oauth::fetch::{self, Resolve};
use callgate_oauth::resource::Verifier;
use futures_util::FutureExt;
use futures_util::future::join_all;
use serde_json::json;

use crate::issuer::{Issuer, KEYS, Key, METADATA};
use crate::verifying::{claims, verifier, verifier_of, verify};

const UNKNOWN_KEY: &str = "the key that signed the token is not known";
const UNAVAILABLE: &str = "unavailable";

/// Minimum time between fetches because of unknown keys.
const PAUSE: Duration = Duration::from_secs(10);

fn alice() -> Result<String, String> {
    Ok("alice".to_owned())
}

fn refused(reason: &str) -> Result<String, String> {
    Err(reason.to_owned())
}

/// Advances the clock while no request is running.
async fn pass(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

async fn verify_all(verifier: &Verifier, tokens: &[String]) -> Vec<Result<String, String>> {
    join_all(tokens.iter().map(|token| verify(verifier, token))).await
}

#[tokio::test]
async fn everybody_waits_for_the_same_keys() {
    let key = Key::new("a");
    let issuer = Issuer::start(&[&key]).await;
    let verifier = verifier(&issuer);
    let tokens = vec![key.token(&claims(&issuer, json!({}))); 200];
    assert_eq!(verify_all(&verifier, &tokens).await, vec![alice(); 200]);
    assert_eq!((issuer.count(METADATA), issuer.count(KEYS)), (1, 1));
}

#[tokio::test]
async fn a_new_key_is_found_when_it_is_used() {
    let (old, new) = (Key::new("a"), Key::new("b"));
    let issuer = Issuer::start(&[&old]).await;
    let verifier = verifier(&issuer);
    let claims = claims(&issuer, json!({}));
    assert_eq!(verify(&verifier, old.token(&claims)).await, alice());

    issuer.restore(&[&old, &new]);
    let tokens = vec![new.token(&claims); 50];
    assert_eq!(verify_all(&verifier, &tokens).await, vec![alice(); 50]);
    assert_eq!(verify(&verifier, old.token(&claims)).await, alice());
    assert_eq!(issuer.count(KEYS), 2);
}

#[tokio::test]
async fn a_key_that_took_the_name_of_another_is_found_too() {
    let (old, new) = (Key::new("a"), Key::new("a"));
    let issuer = Issuer::start(&[&old]).await;
    let verifier = verifier(&issuer);
    let claims = claims(&issuer, json!({}));
    assert_eq!(verify(&verifier, old.token(&claims)).await, alice());

    issuer.restore(&[&new]);
    assert_eq!(verify(&verifier, new.token(&claims)).await, alice());
    let expected = refused("the signature of the token is wrong");
    assert_eq!(verify(&verifier, old.token(&claims)).await, expected);
}

#[tokio::test]
async fn strangers_cannot_make_us_fetch_often() {
    let key = Key::new("a");
    let issuer = Issuer::start(&[&key]).await;
    let verifier = verifier(&issuer);
    let claims = claims(&issuer, json!({}));
    assert_eq!(verify(&verifier, key.token(&claims)).await, alice());
    for round in 1..=5 {
        pass(PAUSE).await;
        let flood = (0..40).map(|n| Key::new(&format!("{round}-{n}")).token(&claims));
        let flood: Vec<String> = flood.collect();
        let expected = vec![refused(UNKNOWN_KEY); 40];
        assert_eq!(verify_all(&verifier, &flood).await, expected);
        assert_eq!(verify_all(&verifier, &flood).await, expected);
        assert_eq!(issuer.count(KEYS), 1 + round);
    }
}

#[tokio::test]
async fn tokens_of_others_make_us_fetch_nothing() {
    let key = Key::new("a");
    let issuer = Issuer::start(&[&key]).await;
    let verifier = verifier(&issuer);
    for changes in [
        json!({"iss": "https://other.example"}),
        json!({"aud": "https://other.example"}),
        json!({"exp": 0}),
    ] {
        let token = key.token(&claims(&issuer, changes));
        assert!(verify(&verifier, token).await.is_err());
    }
    assert_eq!(issuer.count(METADATA), 0);
}

#[tokio::test]
async fn an_issuer_that_is_down_at_first_is_asked_again() {
    let key = Key::new("a");
    let issuer = Issuer::start(&[&key]).await;
    let verifier = verifier(&issuer);
    let token = key.token(&claims(&issuer, json!({})));
    issuer.publish(METADATA, 503, "");
    for _ in 0..3 {
        assert_eq!(verify(&verifier, &token).await, refused(UNAVAILABLE));
    }
    assert_eq!(issuer.count(METADATA), 1);

    issuer.restore(&[&key]);
    pass(Duration::from_secs(5)).await;
    assert_eq!(verify(&verifier, &token).await, alice());
}

#[tokio::test]
async fn an_issuer_that_is_down_for_an_hour_locks_no_client_out() {
    let (known, unknown) = (Key::new("a"), Key::new("b"));
    let issuer = Issuer::start(&[&known]).await;
    let verifier = verifier(&issuer);
    let claims = claims(&issuer, json!({}));
    assert_eq!(verify(&verifier, known.token(&claims)).await, alice());

    issuer.publish(METADATA, 500, "");
    for _ in 0..11 {
        pass(Duration::from_secs(5 * 60)).await;
        assert_eq!(verify(&verifier, known.token(&claims)).await, alice());
    }
    // The token may be valid, but it cannot be checked.
    let found = verify(&verifier, unknown.token(&claims)).await;
    assert_eq!(found, refused(UNAVAILABLE));

    pass(Duration::from_secs(5 * 60)).await;
    let found = verify(&verifier, known.token(&claims)).await;
    assert_eq!(found, refused(UNAVAILABLE));
    issuer.restore(&[&known]);
    pass(Duration::from_secs(5)).await;
    assert_eq!(verify(&verifier, known.token(&claims)).await, alice());
}

#[tokio::test]
async fn a_key_that_was_withdrawn_is_forgotten() {
    let (old, new) = (Key::new("a"), Key::new("b"));
    let issuer = Issuer::start(&[&old]).await;
    let verifier = verifier(&issuer);
    let claims = claims(&issuer, json!({}));
    assert_eq!(verify(&verifier, old.token(&claims)).await, alice());

    issuer.restore(&[&new]);
    pass(Duration::from_secs(10 * 60)).await;
    // The first one has newer keys fetched, and need not wait for them.
    assert_eq!(verify(&verifier, old.token(&claims)).await, alice());
    assert_eq!(verify(&verifier, new.token(&claims)).await, alice());
    let found = verify(&verifier, old.token(&claims)).await;
    assert_eq!(found, refused(UNKNOWN_KEY));
}

#[tokio::test]
async fn a_dropped_request_does_not_cancel_the_fetch_of_keys() {
    let key = Key::new("a");
    let issuer = Issuer::start(&[&key]).await;
    let verifier = verifier(&issuer);
    let token = key.token(&claims(&issuer, json!({})));
    let mut leaving = Box::pin(verify(&verifier, &token));
    assert_eq!((&mut leaving).now_or_never(), None);
    drop(leaving);
    assert_eq!(verify(&verifier, &token).await, alice());
    assert_eq!(issuer.count(KEYS), 1);
}

#[tokio::test]
async fn an_issuer_that_hangs_is_given_up() {
    let key = Key::new("a");
    let issuer = Issuer::start(&[&key]).await;
    issuer.answer(KEYS, "");
    let verifier = verifier(&issuer);
    let tokens = vec![key.token(&claims(&issuer, json!({}))); 10];
    let expected = vec![refused(UNAVAILABLE); 10];
    let pass_time_once_it_hangs = async {
        while issuer.count(KEYS) == 0 {
            tokio::task::yield_now().await;
        }
        tokio::time::pause();
    };
    let (found, ()) = tokio::join!(verify_all(&verifier, &tokens), pass_time_once_it_hangs);
    assert_eq!(found, expected);
    assert_eq!(issuer.count(KEYS), 1);
}

#[tokio::test]
async fn flaws_of_the_metadata_are_named() {
    const NOT_USED: &str = "is not used: it is neither https nor on this machine";
    let issuer = Issuer::start(&[]).await;
    let url = &issuer.url;
    let at = |keys: &str| json!({"issuer": url, "jwks_uri": keys}).to_string();
    let other = r#"{"issuer":"https://other.example","jwks_uri":"https://other.example/keys"}"#;
    let status = |status| format!("{url}{METADATA} answered with the status {status}");
    let none = format!("the issuer has no metadata: {url}");
    let refused = |keys| format!("jwks_uri \"{keys}\" {NOT_USED}");
    let cases = [
        (500, String::new(), status(500)),
        (429, String::new(), status(429)),
        (404, String::new(), none.clone()),
        (200, "<html>".to_owned(), none),
        (
            200,
            other.to_owned(),
            format!("the metadata must be of the issuer {url}, but it is of https://other.example"),
        ),
        (
            200,
            json!({"issuer": url}).to_string(),
            "the metadata must name the jwks_uri, but it does not".to_owned(),
        ),
        (200, at("http://a.example/"), refused("http://a.example/")),
        (200, at("file:///etc/passwd"), refused("file:///etc/passwd")),
        (
            200,
            at("https://169.254.169.254/"),
            "cannot fetch https://169.254.169.254/".to_owned(),
        ),
        (
            200,
            at("https://10.0.0.1/"),
            "cannot fetch https://10.0.0.1/".to_owned(),
        ),
    ];
    for (status, body, expected) in cases {
        issuer.publish(METADATA, status, &body);
        let error = verifier(&issuer).load().await.unwrap_err();
        assert_eq!(error.to_string(), expected);
        assert_eq!(error.is_transient(), status != 200 && status != 404);
    }
}

#[tokio::test]
async fn flaws_of_the_keys_are_named() {
    let issuer = Issuer::start(&[]).await;
    let url = format!("{}{KEYS}", issuer.url);
    let huge = format!(r#"{{"keys":[]}}{}"#, " ".repeat(1 << 20));
    let symmetric = r#"{"keys":[{"kty":"oct","k":"AAAA"}]}"#;
    let none = format!("no key at {url} has an accepted signature algorithm");
    let cases = [
        (503, "", format!("{url} answered with the status 503")),
        (404, "", format!("{url} answered with the status 404")),
        (200, "<html>", format!("the keys at {url} are malformed")),
        (200, &huge, format!("the document at {url} is too large")),
        (200, symmetric, none),
    ];
    for (status, body, expected) in cases {
        issuer.publish(KEYS, status, body);
        let error = verifier(&issuer).load().await.unwrap_err();
        assert_eq!(error.to_string(), expected);
        assert_eq!(error.is_transient(), status == 503);
    }
}

/// Knows one address of every name.
#[derive(Debug)]
struct Everywhere(IpAddr);

impl Resolve for Everywhere {
    fn resolve<'a>(&'a self, _: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async { Ok(vec![self.0]) })
    }
}

#[tokio::test]
async fn an_issuer_may_be_on_a_network_of_ours() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr();
    let port = closed.unwrap().port();
    for (address, expected) in [
        ("127.0.0.1", "cannot connect to"),
        ("169.254.169.254", "refusing to connect to"),
        ("0.0.0.0", "refusing to connect to"),
    ] {
        let fetch = {
            let mut config = fetch::Config::default();
            config.resolver = Arc::new(Everywhere(address.parse().unwrap()));
            config
        };
        let verifier = verifier_of(&format!("https://as.example:{port}"), fetch);
        let error = verifier.load().await.unwrap_err();
        let reason = error.source().unwrap().to_string();
        assert!(reason.starts_with(expected), "{reason}");
    }
}

#[tokio::test]
async fn connections_that_break_are_transient() {
    let key = Key::new("a");
    let issuer = Issuer::start(&[&key]).await;
    issuer.answer(
        KEYS,
        "HTTP/1.1 200 x\r\ncontent-length: 100\r\n\r\n{\"keys\":",
    );
    let error = verifier(&issuer).load().await.unwrap_err();
    assert!(error.is_transient(), "{error}");

    let gone = Issuer::start(&[&key]).await;
    let verifier = verifier(&gone);
    drop(gone);
    let error = verifier.load().await.unwrap_err();
    assert!(error.is_transient(), "{error}");
}

#[tokio::test]
async fn redirects_lead_nowhere_else() {
    let key = Key::new("a");
    let issuer = Issuer::start(&[&key]).await;
    let moved = |to: &str| {
        format!(
            "HTTP/1.1 302 x\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        )
    };
    issuer.answer(KEYS, moved("http://169.254.169.254/keys"));
    assert!(verifier(&issuer).load().await.is_err());
    issuer.answer(KEYS, moved(KEYS));
    assert!(verifier(&issuer).load().await.is_err());
    // The first document of the metadata may have moved, as long as it is still the issuer's own.
    issuer.restore(&[&key]);
    let document = json!({"issuer": issuer.url, "jwks_uri": format!("{}{KEYS}", issuer.url)});
    issuer.publish("/moved", 200, &document.to_string());
    issuer.answer(METADATA, moved("/moved"));
    verifier(&issuer).load().await.unwrap();
}
