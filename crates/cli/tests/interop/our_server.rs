//! Our own server, for the tokens of a real authorization server.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::machine::{claims, get};
use crate::person::Ran;
use crate::world::{Home, World};

/// A server that is not ours.
const ANOTHER: &str = "http://127.0.0.1:9/mcp";

impl Home<'_> {
    fn list(&self) -> Ran {
        Ran::of(&mut self.callgate("list"))
    }

    /// The same, with a token that is not from a login.
    fn list_with(&self, token: &str) -> Ran {
        Ran::of(self.callgate("list").env("CALLGATE_TOKEN", token))
    }
}

/// The challenge of a server that wants `scope`.
fn challenge(world: &World, error: &str, scope: &str) -> String {
    let base = world.server().trim_end_matches("/mcp");
    let metadata = format!("{base}/.well-known/oauth-protected-resource/mcp");
    format!("Bearer {error}resource_metadata=\"{metadata}\", scope=\"{scope}\"")
}

#[test]
#[ignore = "needs peers: cargo xtask interop"]
fn a_client_without_a_token_is_led_to_the_issuer() {
    let world = World::with_our_server();
    let refused = world.knock(None);
    assert_eq!(refused.status, 401, "{refused:?}");
    let expected = challenge(&world, "", "mcp:basic");
    assert_eq!(refused.header("www-authenticate"), Some(expected.as_str()));
    let metadata = expected.split('"').nth(1).unwrap();
    let document: Value = serde_json::from_str(&get(metadata).body).unwrap();
    let expected = json!({
        "resource": world.server(),
        "authorization_servers": [world.issuer()],
        "scopes_supported": ["mcp:basic"],
        "bearer_methods_supported": ["header"],
        "dpop_signing_alg_values_supported": [
            "ES256", "ES384", "EdDSA", "PS256", "PS384", "PS512", "RS256", "RS384", "RS512"
        ],
    });
    assert_eq!(document, expected);
}

#[test]
#[ignore = "needs peers: cargo xtask interop"]
fn our_client_logs_in_to_our_server() {
    let world = World::with_our_server();
    let home = world.home();
    let refused = home.list();
    assert_eq!(refused.exit, Some(3), "{refused:?}");
    home.log_in(&[], None).success();
    let expected = ["registration ok", "token authorization_code ok"];
    assert_eq!(world.asked(), expected);
    let said = claims(&home.access_token());
    let expected = (&json!(world.issuer()), &json!(world.server()));
    assert_eq!((&said["iss"], &said["aud"]), expected);

    let tools = home.list().success();
    assert!(tools.contains("workspace_read"), "{tools}");
    let read = ["workspace_read", "path=note"];
    let read = Ran::of(home.callgate("call").args(read)).success();
    assert!(read.contains("remember"), "{read}");
    assert_eq!(world.asked(), [""; 0]);
}

#[test]
#[ignore = "needs peers: cargo xtask interop"]
fn tokens_are_for_the_name_of_the_server_and_not_for_its_address() {
    let world = World::with_our_named_server();
    let home = world.home();
    home.log_in(&[], None).success();
    assert_eq!(claims(&home.access_token())["aud"], world.server());
    home.list().success();

    let address = world.server().replace("localhost", "127.0.0.1");
    let refused = world.knock(Some(&world.token(&address, "mcp:basic")));
    assert_eq!(refused.status, 401, "{refused:?}");
}

#[test]
#[ignore = "needs peers: cargo xtask interop"]
fn a_token_for_another_server_is_refused() {
    let world = World::with_our_server();
    let home = world.home();
    let good = world.token(world.server(), "mcp:basic");
    home.list_with(&good).success();

    let other = world.token(ANOTHER, "mcp:basic");
    assert_eq!(claims(&other)["aud"], ANOTHER);
    let refused = world.knock(Some(&other));
    assert_eq!(refused.status, 401, "{refused:?}");
    let said = refused.header("www-authenticate").unwrap();
    assert!(
        said.starts_with("Bearer error=\"invalid_token\", "),
        "{said}"
    );
    let refused = home.list_with(&other);
    assert_eq!(refused.exit, Some(3), "{refused:?}");
}

#[test]
#[ignore = "needs peers: cargo xtask interop"]
fn a_login_that_covers_too_little_is_extended() {
    let world = World::with_our_server();
    let home = world.home();
    home.log_in(&[], None).success();
    home.list().success();

    world.restart_server(&["mcp:basic", "mcp:write"]);
    let little = world.token(world.server(), "mcp:basic");
    let refused = world.knock(Some(&little));
    assert_eq!(refused.status, 403, "{refused:?}");
    let error = "error=\"insufficient_scope\", error_description=\"the token lacks a scope\", ";
    let expected = challenge(&world, error, "mcp:basic mcp:write");
    assert_eq!(refused.header("www-authenticate"), Some(expected.as_str()));

    let refused = home.list();
    assert_eq!(refused.exit, Some(3), "{refused:?}");
    let args = refused.next_login();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    home.log_in(&args, None).success();
    home.list().success();
    assert_eq!(claims(&home.access_token())["scope"], "mcp:basic mcp:write");
}

#[test]
#[ignore = "needs peers: cargo xtask interop"]
fn a_token_that_has_expired_is_refused_and_renewed() {
    let world = World::with_our_server();
    let home = world.home();
    // The client is told that there is an hour left.
    world.tokens_are_old(Duration::from_secs(2 * 3600));
    let refused = home.log_in(&[], None);
    assert_eq!(refused.exit, Some(3), "{refused:?}");
    let reason =
        "the server refuses its token: HTTP status 401, invalid_token (the token has expired)";
    assert!(refused.stderr.contains(reason), "{refused:?}");
    let old = world.token(world.server(), "mcp:basic");
    world.tokens_are_old(Duration::ZERO);
    world.events();

    let refused = world.knock(Some(&old));
    assert_eq!(refused.status, 401, "{refused:?}");
    let said = refused.header("www-authenticate").unwrap();
    assert!(
        said.starts_with("Bearer error=\"invalid_token\", "),
        "{said}"
    );
    home.list().success();
    home.list().success();
    assert_eq!(world.asked(), ["token refresh_token ok"]);
}

#[test]
#[ignore = "needs peers: cargo xtask interop"]
fn no_login_is_lost_while_the_issuer_is_away() {
    let world = World::with_our_server();
    let home = world.home();
    home.log_in(&[], None).success();
    let login = fs::read(home.store()).unwrap();
    world.stop_issuer();
    // The keys are still known.
    home.list().success();

    world.restart_server(&["mcp:basic"]);
    let token = home.access_token();
    let refused = world.knock(Some(&token));
    assert_eq!(refused.status, 503, "{refused:?}");
    assert_eq!(refused.header("www-authenticate"), None);
    let refused = home.list();
    assert_eq!(refused.exit, Some(4), "{refused:?}");
    assert_eq!(fs::read(home.store()).unwrap(), login);

    world.start_issuer();
    world.events();
    // The server asks the issuer again after a pause of its own.
    let deadline = Instant::now() + Duration::from_secs(600);
    while home.list().exit == Some(4) && Instant::now() < deadline {}
    home.list().success();
    assert_eq!(fs::read(home.store()).unwrap(), login);
    assert_eq!(world.asked(), [""; 0]);
}

#[test]
#[ignore = "needs peers: cargo xtask interop"]
fn a_new_key_of_the_issuer_is_good_at_once_and_the_old_one_no_longer() {
    let world = World::with_our_server();
    let (early, late) = (world.home(), world.home());
    early.log_in(&[], None).success();
    world.rotate_keys();
    early.list().success();
    late.log_in(&[], None).success();
    late.list().success();
    world.events();

    for _ in 0..2 {
        early.list().success();
    }
    assert_eq!(world.asked(), ["token refresh_token ok"]);
}

#[test]
#[ignore = "needs peers: cargo xtask interop"]
fn a_key_that_cannot_be_looked_up_is_not_a_wrong_one() {
    let world = World::with_our_server();
    world.rotate_keys();
    let token = world.token(world.server(), "mcp:basic");
    world.stop_issuer();
    let refused = world.knock(Some(&token));
    assert_eq!(refused.status, 503, "{refused:?}");
    assert_eq!(refused.header("www-authenticate"), None);
}
