//! Tokens that are bound to a key.

use serde_json::Value;

use super::world::{
    AS, ASM, MCP, PRM, World, check_refused, config, refresh, resource, server, world,
};
use crate::authorize::Nonces;
use crate::dpop::Key;
use crate::flow::{Config, Flow, FlowError, Goal, GrantedTokens, Step};
use crate::http_message::{Request, Response};
use crate::jwt::test_tokens::read;
use crate::token_endpoint::TokenType;
use crate::{Challenge, Secret};

const LISTED: &str = r#","dpop_signing_alg_values_supported":["ES384","ES256"]"#;
const BOUND: &str = r#"{"access_token":"at","token_type":"DPoP","refresh_token":"rt"}"#;
const UNBOUND: &str = r#"{"access_token":"at","token_type":"Bearer"}"#;

fn challenged() -> Config {
    Config {
        challenge: Some(Challenge {
            dpop: true,
            ..Challenge::default()
        }),
        ..config()
    }
}

fn wants_nonce(nonce: Option<&str>) -> Response {
    Response {
        dpop_nonce: nonce.map(str::to_owned),
        ..Response::new(400, r#"{"error":"use_dpop_nonce"}"#)
    }
}

fn answering(rest: &str, answers: impl IntoIterator<Item = Response>) -> World {
    let mut world = world(rest);
    let answers: Vec<Response> = answers.into_iter().collect();
    world.put_all(&format!("{AS}/token"), answers);
    world
}

/// Claims of the proofs that the token endpoint saw, the authorization page, and the result.
struct Story {
    proofs: Vec<Option<Value>>,
    opened: String,
    end: Result<GrantedTokens, FlowError>,
}

fn run(world: &World, config: Config) -> Story {
    let (mut flow, mut step) = Flow::start(config, Nonces::new([1; 32], [2; 32])).unwrap();
    let (mut proofs, mut opened) = (Vec::new(), String::new());
    let end = loop {
        let next = match &step {
            Step::Done(login) => break Ok((**login).clone()),
            Step::Open(url) => {
                opened = url.to_string();
                let state = Nonces::new([1; 32], [2; 32]).state;
                flow.redirect(&format!("code=c&state={}", state.expose()), 300)
            }
            Step::Fetch(request) => {
                if request.url.path() == "/token" {
                    proofs.push(proof(request));
                }
                flow.response(&world.answer(&request.url), 300)
            }
            other => panic!("{other:?} is not expected"),
        };
        match next {
            Ok(next) => step = next,
            Err(error) => break Err(error),
        }
    };
    Story {
        proofs,
        opened,
        end,
    }
}

fn proof(request: &Request) -> Option<Value> {
    let mut headers = request.headers.iter();
    let (_, proof) = headers.find(|(name, _)| *name == "dpop")?;
    let (_, claims) = read(proof.expose());
    Some(claims)
}

fn nonces(story: &Story) -> Vec<Option<&str>> {
    let proofs = story.proofs.iter().flatten();
    proofs.map(|claims| claims["nonce"].as_str()).collect()
}

#[test]
fn dpop() {
    let world = answering(LISTED, [Response::new(200, BOUND)]);
    let story = run(&world, challenged());
    let login = story.end.unwrap();
    let key = login.dpop_key.unwrap();
    assert_eq!(login.tokens.token_type, TokenType::Dpop);
    let thumbprint = format!("&dpop_jkt={}", key.thumbprint());
    assert!(story.opened.contains(&thumbprint), "{}", story.opened);
    let [Some(claims)] = story.proofs.as_slice() else {
        panic!("{:?} is one proof", story.proofs);
    };
    assert_eq!(claims["htm"], "POST");
    assert_eq!(claims["htu"], format!("{AS}/token"));
    assert_eq!(claims["iat"], 300);
    assert_eq!(claims.get("nonce"), None);
}

#[test]
fn dpop_nonce() {
    let answers = [
        wants_nonce(Some("first")),
        wants_nonce(Some("second")),
        Response::new(200, BOUND),
    ];
    let story = run(&answering(LISTED, answers), challenged());
    assert_eq!(nonces(&story), [None, Some("first"), Some("second")]);
    let ids: Vec<&Value> = story.proofs.iter().flatten().map(|it| &it["jti"]).collect();
    assert!(ids[0] != ids[1] && ids[1] != ids[2], "{ids:?}");
    assert!(story.end.is_ok());
}

#[test]
fn a_server_that_always_wants_another_nonce_is_left() {
    let text = "the authorization server refused the token request: use_dpop_nonce";
    let cases = [
        (wants_nonce(Some("n")), 3),
        (wants_nonce(None), 1),
        (wants_nonce(Some("not a nonce")), 1),
    ];
    for (answer, requests) in cases {
        let story = run(&answering(LISTED, [answer]), challenged());
        assert_eq!(story.proofs.len(), requests);
        assert_eq!(story.end.unwrap_err().to_string(), text);
    }
    // Without a proof there is no nonce to ask for.
    let story = run(&answering(LISTED, [wants_nonce(Some("n"))]), config());
    assert_eq!(story.proofs, [None]);
    assert_eq!(story.end.unwrap_err().to_string(), text);
}

#[test]
fn a_token_is_bound_if_the_server_asks_for_it_and_the_issuer_can() {
    let required = r#","dpop_bound_access_tokens_required":true"#;
    let other = r#","dpop_signing_alg_values_supported":["ES384"]"#;
    // The challenge, the resource's metadata, the issuer's metadata, whether a proof is sent.
    let cases = [
        (false, "", "", Some(false)),
        (false, "", LISTED, Some(false)),
        (true, "", "", Some(false)),
        (true, "", other, Some(false)),
        (true, "", LISTED, Some(true)),
        (false, required, LISTED, Some(true)),
        (false, required, "", None),
        (true, required, other, None),
    ];
    for (is_challenged, rest, metadata, expected) in cases {
        let mut world = world(metadata);
        let document = resource(MCP, AS, "").replace('}', &format!("{rest}}}"));
        world.put(PRM, 200, &document);
        world.put(ASM, 200, &server(AS, metadata));
        let is_bound = expected == Some(true);
        world.put(
            &format!("{AS}/token"),
            200,
            if is_bound { BOUND } else { UNBOUND },
        );
        let config = if is_challenged {
            challenged()
        } else {
            config()
        };
        let Some(expected) = expected else {
            let text = "the server requires DPoP-bound tokens, but https://as.example does not support DPoP with ES256";
            check_refused(&world, config, &format!("GET {ASM}"), text);
            continue;
        };
        let story = run(&world, config);
        let sent = story.proofs.iter().any(Option::is_some);
        assert_eq!(sent, expected, "{is_challenged} {rest} {metadata}");
        assert_eq!(story.opened.contains("dpop_jkt"), expected);
        assert_eq!(story.end.unwrap().dpop_key.is_some(), expected);
    }
}

#[test]
fn a_token_for_another_key_or_for_none_is_not_kept() {
    let story = run(&answering("", [Response::new(200, BOUND)]), config());
    let text = "the authorization server bound the token to a key of another client";
    assert_eq!(story.end.unwrap_err().to_string(), text);

    let mut world = answering(LISTED, [Response::new(200, UNBOUND)]);
    let story = run(&world, challenged());
    let login = story.end.unwrap();
    assert_eq!(login.tokens.token_type, TokenType::Bearer);
    // The refresh token may be bound nevertheless.
    assert!(login.dpop_key.is_some());

    let required = r#","dpop_bound_access_tokens_required":true}"#;
    world.put(PRM, 200, &resource(MCP, AS, "").replace('}', required));
    let story = run(&world, challenged());
    let text = "the authorization server did not bind the token to our key";
    assert_eq!(story.end.unwrap_err().to_string(), text);
}

#[test]
fn a_bound_login_is_refreshed_with_its_key() {
    let key = Key::generate().unwrap();
    let bound = |goal: Goal| Config {
        goal,
        dpop_key: Some(key.clone()),
        ..config()
    };
    let answers = || [wants_nonce(Some("n")), Response::new(200, BOUND)];
    let story = run(&answering("", answers()), bound(refresh(AS)));
    assert_eq!(nonces(&story), [None, Some("n")]);
    let login = story.end.unwrap();
    assert_eq!(login.dpop_key.as_ref(), Some(&key));
    assert_eq!(login.tokens.refresh_token, Some(Secret::new("rt")));

    // A new login sends no proof unless the server asks for one, and uses the same key then.
    let story = run(
        &answering("", [Response::new(200, UNBOUND)]),
        bound(Goal::Login),
    );
    assert_eq!(
        (story.proofs, story.end.unwrap().dpop_key),
        (vec![None], None)
    );
    let again = Config {
        challenge: challenged().challenge,
        ..bound(Goal::Login)
    };
    let story = run(&answering(LISTED, [Response::new(200, BOUND)]), again);
    assert_eq!(story.end.unwrap().dpop_key, Some(key.clone()));
}

#[test]
fn a_flow_shows_no_key() {
    let key = Key::generate().unwrap();
    let config = Config {
        dpop_key: Some(key.clone()),
        ..config()
    };
    let (flow, _) = Flow::start(config, Nonces::new([1; 32], [2; 32])).unwrap();
    assert!(!format!("{flow:?}").contains(key.stored().expose()));
}
