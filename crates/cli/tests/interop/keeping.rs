//! Refresh, revocation and logout of a login.

use std::fs;
use std::thread;

use crate::person::Ran;
use crate::world::{Event, Home, World};

/// Logs in, and lets the token expire.
fn expired_login(home: &Home<'_>) {
    home.log_in(&[], None).success();
    home.expire_tokens();
    home.world.events();
}

#[test]
#[ignore = "needs peers: cargo xtask interop"]
fn an_expired_token_is_refreshed_and_the_refresh_token_rotates() {
    let world = World::start();
    let home = world.home();
    expired_login(&home);
    for _ in 0..2 {
        home.whoami().success();
        home.expire_tokens();
    }
    let events = world.events();
    let expected = |event: &Event| Event {
        what: "token refresh_token ok".to_owned(),
        client: event.client.clone(),
        resource: Some(world.server().to_owned()),
    };
    assert_eq!(events.len(), 2);
    assert!(events.iter().all(|event| *event == expected(event)));
}

#[test]
#[ignore = "needs peers: cargo xtask interop"]
fn processes_that_find_an_expired_token_refresh_it_once() {
    let world = World::start();
    let home = world.home();
    expired_login(&home);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| home.whoami().success());
        }
    });
    assert_eq!(world.asked(), ["token refresh_token ok"]);
}

#[test]
#[ignore = "needs peers: cargo xtask interop"]
fn a_login_that_was_revoked_is_forgotten_but_not_the_client() {
    let world = World::start();
    let home = world.home();
    expired_login(&home);
    let old = fs::read(home.store()).unwrap();
    home.whoami().success();
    assert_eq!(world.asked(), ["token refresh_token ok"]);

    // As after a backup was restored: the authorization server sees a token that was used before.
    fs::write(home.store(), old).unwrap();
    for _ in 0..2 {
        let refused = home.whoami();
        assert_eq!(refused.exit, Some(3), "{refused:?}");
    }
    assert_eq!(world.asked(), ["token refresh_token invalid_grant"]);

    home.log_in(&[], None).success();
    assert_eq!(world.asked(), ["token authorization_code ok"]);
    home.whoami().success();
}

#[test]
#[ignore = "needs peers: cargo xtask interop"]
fn a_server_that_issues_its_own_tokens_renews_and_ends_them() {
    let world = World::in_one();
    let home = world.home();
    home.log_in(&[], None).success();
    let said = home.whoami().success();
    let token = home.access_token();
    home.expire_tokens();
    assert_eq!(home.whoami().success(), said);
    assert_ne!(home.access_token(), token);
    let ended = Ran::of(&mut home.callgate("logout")).success();
    let expected = format!("logged out of {}; its tokens are revoked\n", world.server());
    assert_eq!(ended, expected);
    let refused = home.whoami();
    assert_eq!(refused.exit, Some(3), "{refused:?}");
}

#[test]
#[ignore = "needs peers: cargo xtask interop"]
fn a_server_that_wants_more_than_before_is_given_it() {
    let world = World::start();
    let home = world.home();
    home.log_in(&[], None).success();
    world.restart_server(&["mcp:basic", "mcp:write"]);
    let refused = home.whoami();
    assert_eq!(refused.exit, Some(3), "{refused:?}");
    world.events();

    let args = refused.next_login();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    home.log_in(&args, None).success();
    // The server does not say that it is the scopes, so the token is renewed in vain, in case that it had ended.
    // This server does not let a client ask for more scopes than it registered.
    let expected = [
        "token refresh_token ok",
        "token refresh_token ok",
        "registration ok",
        "token authorization_code ok",
    ];
    assert_eq!(world.asked(), expected);
    let said = home.whoami().success();
    assert!(said.ends_with(" may mcp:basic mcp:write\n"), "{said}");
}

#[test]
#[ignore = "needs peers: cargo xtask interop"]
fn a_logout_ends_the_login_on_both_sides() {
    let world = World::start();
    let home = world.home();
    expired_login(&home);
    let old = fs::read(home.store()).unwrap();
    Ran::of(&mut home.callgate("logout")).success();
    let asked_for = world.asked();
    assert!(!asked_for.is_empty());
    assert!(asked_for.iter().all(|what| what == "revocation ok"));
    let refused = home.whoami();
    assert_eq!(refused.exit, Some(3), "{refused:?}");
    assert_eq!(world.asked(), [""; 0]);

    // A copy of the file is worthless.
    fs::write(home.store(), old).unwrap();
    let refused = home.whoami();
    assert_eq!(refused.exit, Some(3), "{refused:?}");
    assert_eq!(world.asked(), ["token refresh_token invalid_grant"]);
}
