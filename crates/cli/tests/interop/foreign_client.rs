//! Clients of others that log in to our own server by themselves.

use std::process::Command;

use serde_json::{Value, json};

use crate::machine::claims;
use crate::person::Ran;
use crate::world::World;

/// Output of a client that speaks `version`, besides its token.
fn expected(version: &str) -> Value {
    json!({
        "version": version,
        "tools": ["workspace_list", "workspace_read", "workspace_write"],
        "note": {"path": "note", "content": "remember", "size": 8},
    })
}

/// Has a client log in, and checks that it was led to the issuer and got a token for this server.
fn logs_in(world: &World, client: &mut Command, version: &str) {
    let mut known: Value = serde_json::from_str(&Ran::of(client).success()).unwrap();
    let token = known.as_object_mut().unwrap().remove("token").unwrap();
    assert_eq!(known, expected(version));
    let said = claims(token.as_str().unwrap());
    assert_eq!(said["iss"], world.issuer());
    assert_eq!(said["aud"], world.server());
    let events = world.events();
    let what: Vec<&str> = events.iter().map(|event| event.what.as_str()).collect();
    assert_eq!(what, ["registration ok", "token authorization_code ok"]);
    assert_eq!(events[1].resource.as_deref(), Some(world.server()));
}

fn typescript(mode: &str, version: &str) {
    let world = World::with_our_server();
    let browser = world.peers.node("browser.mjs");
    let mut client = world.peers.node("typescript_client.mjs");
    client.args([mode, world.server()]).args(browser.get_args());
    logs_in(&world, &mut client, version);
}

fn python(mode: &str, version: &str) {
    let world = World::with_our_server();
    let browser = world.peers.node("browser.mjs");
    let mut client = world.peers.python("python_client.py");
    client.args([mode, world.server()]);
    client.arg(browser.get_program()).args(browser.get_args());
    logs_in(&world, &mut client, version);
}

#[test]
#[ignore = "needs peers: cargo xtask interop"]
fn a_typescript_client_logs_in_in_its_old_mode() {
    typescript("legacy", "2025-11-25");
}

#[test]
#[ignore = "needs peers: cargo xtask interop"]
fn a_typescript_client_logs_in_in_its_new_mode() {
    typescript("auto", "2026-07-28");
}

#[test]
#[ignore = "needs peers: cargo xtask interop"]
fn a_python_client_logs_in_in_its_old_mode() {
    python("legacy", "2025-11-25");
}

#[test]
#[ignore = "needs peers: cargo xtask interop"]
fn a_python_client_logs_in_in_its_new_mode() {
    python("auto", "2026-07-28");
}
