//! The ways to be a client that authorization servers offer.

use std::fs;
use std::path::{Path, PathBuf};

use rcgen::{CertificateParams, KeyPair};

use crate::peer::{Peers, Server};
use crate::world::{Event, Home, World};

/// Logs in, and checks that the login is good for a call and was made by `client`.
fn logs_in(home: &Home<'_>, args: &[&str], secret: Option<&str>, client: &str) {
    home.log_in(args, secret).success();
    let expected = Event {
        what: "token authorization_code ok".to_owned(),
        client: client.to_owned(),
        resource: Some(home.world.server().to_owned()),
    };
    assert_eq!(home.world.events(), [expected]);
    let said = home.whoami().success();
    assert_eq!(said, format!("{client} may mcp:basic\n"));
}

#[test]
#[ignore = "needs peers: cargo xtask interop"]
fn a_client_is_registered_on_the_spot_and_anew_if_the_user_starts_again() {
    let world = World::start();
    let home = world.home();
    let refused = home.whoami();
    assert_eq!(refused.exit, Some(3), "{refused:?}");
    let next = format!("callgate auth {}", world.server());
    assert!(refused.stderr.contains(&next), "{refused:?}");
    assert_eq!(world.events(), []);

    home.log_in(&[], None).success();
    let events = world.events();
    let what: Vec<&str> = events.iter().map(|event| event.what.as_str()).collect();
    assert_eq!(what, ["registration ok", "token authorization_code ok"]);
    let client = &events[0].client;
    let said = home.whoami().success();
    assert_eq!(said, format!("{client} may mcp:basic\n"));

    home.log_in(&["--again"], None).success();
    let events = world.events();
    let what: Vec<&str> = events.iter().map(|event| event.what.as_str()).collect();
    assert_eq!(what, ["registration ok", "token authorization_code ok"]);
    assert_ne!(events[0].client, *client);
}

#[test]
#[ignore = "needs peers: cargo xtask interop"]
fn at_a_terminal_the_browser_is_opened() {
    let world = World::start();
    let home = world.home();
    home.log_in_at_a_terminal().success();
    home.whoami().success();
}

#[test]
#[ignore = "needs peers: cargo xtask interop"]
fn without_a_browser_the_address_of_the_last_page_is_pasted() {
    let world = World::start();
    let home = world.home();
    home.log_in(&["--no-browser"], None).success();
    home.whoami().success();
}

#[test]
#[ignore = "needs peers: cargo xtask interop"]
fn a_client_that_the_user_has_registered_is_used() {
    let world = World::start();
    let public = ["--client-id", "static-public"];
    logs_in(&world.home(), &public, None, "static-public");
    let secret = Some("a secret with ~ and % and + in it");
    let confidential = ["--client-id", "static-secret"];
    logs_in(&world.home(), &confidential, secret, "static-secret");
}

#[test]
#[ignore = "needs peers: cargo xtask interop"]
fn a_client_is_known_by_the_address_of_its_document() {
    let peers = Peers::find();
    let dir = tempfile::tempdir().unwrap();
    let (key, certificate) = certificate(dir.path());
    let template = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/client-metadata.json");
    let mut host = peers.node("client_document.mjs");
    host.args([&key, &certificate, &template]);
    let document = Server::start(&mut host, &dir.path().join("host.log"));
    let world = World::trusting(Some(certificate));
    let args = ["--client-metadata-url", document.url()];
    logs_in(&world.home(), &args, None, document.url());
}

#[test]
#[ignore = "needs peers: cargo xtask interop"]
fn a_code_is_entered_on_another_device() {
    let world = World::start();
    let home = world.home();
    home.log_in(&["--device", "--client-id", "device"], None)
        .success();
    let events = world.events();
    let what: Vec<&str> = events.iter().map(|event| event.what.as_str()).collect();
    let grant = "token urn:ietf:params:oauth:grant-type:device_code";
    assert_eq!(what.first(), Some(&"device_authorization ok"));
    assert_eq!(what.last(), Some(&format!("{grant} ok").as_str()));
    let said = home.whoami().success();
    assert_eq!(said, "device may mcp:basic\n");
}

#[test]
#[ignore = "needs peers: cargo xtask interop"]
fn a_program_logs_in_as_itself() {
    let world = World::start();
    let home = world.home();
    let args = ["--client-credentials", "--client-id", "machine"];
    let secret = Some("machine-secret");
    home.log_in(&args, secret).success();
    home.expire_tokens();
    // The token has ended, and nothing but the client itself can get another one.
    for _ in 0..2 {
        let said = home.whoami().success();
        assert_eq!(said, "machine may mcp:basic\n");
    }
    let token = || Event {
        what: "token client_credentials ok".to_owned(),
        client: "machine".to_owned(),
        resource: Some(world.server().to_owned()),
    };
    assert_eq!(world.events(), [token(), token()]);
}

/// A key and a certificate for this machine, in files.
fn certificate(dir: &Path) -> (PathBuf, PathBuf) {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(["localhost".to_owned()]).unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let paths = (dir.join("key.pem"), dir.join("certificate.pem"));
    fs::write(&paths.0, key.serialize_pem()).unwrap();
    fs::write(&paths.1, certificate.pem()).unwrap();
    paths
}
