use std::thread;

use callgate_oauth::store::keychain::{Keychain as _, SecretService};

use super::keyring::Keyring;

/// Processes that ask the keychain at the same time.
const PROCESSES: usize = 4;
/// Connections of each, one after the other.
const CONNECTIONS: usize = 500;

// GNOME Keyring ends if a client opens a session as its first call while another one leaves.
#[test]
#[ignore = "needs GNOME Keyring: cargo xtask keychain"]
fn connections_that_come_and_go_leave_the_keyring_running() {
    let keyring = Keyring::start();
    let ask = || {
        let keychain = SecretService::new(Some(keyring.address.clone()));
        for _ in 0..CONNECTIONS {
            assert_eq!(keychain.load("none"), Ok(None));
        }
    };
    thread::scope(|scope| {
        for _ in 0..PROCESSES {
            scope.spawn(ask);
        }
    });
}
