//! Processes that share a store.

use std::fs::OpenOptions;
use std::io::{Write, stderr};

use callgate_oauth::Secret;
use callgate_oauth::store::{Login, RefreshDecision, SecretPlace, Tokens};

use crate::store_fixture::store_at;

/// Counts up in a login for ever, and writes the count after each save.
///
/// Its umask allows everything, so that only the modes of the store keep other users out.
pub(crate) fn save_for_ever(path: &str) {
    rustix::process::umask(rustix::fs::Mode::empty());
    let store = store_at(path);
    loop {
        let login = store.update("killed", count).expect("it saves");
        let tokens = login.tokens.expect("it was set");
        writeln!(stderr(), "{}", tokens.access_token.expose()).expect("the test listens");
    }
}

/// Counts up in a login of its own, and in one that all processes share.
///
/// Each saves as often as it can and leaves the others little room, so they wait long.
pub(crate) fn save(path: &str, name: &str, times: &str) {
    let store = store_at(path);
    for _ in 0..times.parse().expect("a number") {
        store.update(name, count).expect("it saves");
        store.update("shared", count).expect("it saves");
    }
}

/// Moves the secrets to the keychain and back for ever, and writes a line after each step.
pub(crate) fn move_for_ever(path: &str) {
    let store = store_at(path);
    for to in [SecretPlace::Keychain, SecretPlace::File]
        .into_iter()
        .cycle()
    {
        store.move_secrets(to).expect("it moves");
        writeln!(stderr(), "{to:?}").expect("the test listens");
    }
}

/// Replaces the token `seen`, and writes a line to a file if this process refreshes it.
pub(crate) fn refresh(path: &str, seen: &str) {
    let store = store_at(path);
    let login = match store
        .begin_refresh("shared", &Secret::new(seen))
        .expect("it reads")
    {
        RefreshDecision::Replaced(login) => login,
        RefreshDecision::Permitted(permit) => {
            let mut log = OpenOptions::new()
                .create(true)
                .append(true)
                .open(format!("{path}.log"))
                .expect("the directory can be written");
            writeln!(log, "{seen}").expect("the file can be written");
            let tokens = next(permit.tokens());
            let login = permit.complete(tokens).expect("it saves");
            login.expect("no step logs out")
        }
        other => panic!("no step logs out: {other:?}"),
    };
    let tokens = login.tokens.expect("a login has tokens");
    writeln!(stderr(), "{}", tokens.access_token.expose()).expect("the test listens");
}

fn count(login: &mut Login) {
    let mut none = Tokens::new(Secret::new("0"));
    none.refresh_token = Some(Secret::new("r".repeat(20_000)));
    login.tokens = Some(next(login.tokens.as_ref().unwrap_or(&none)));
}

fn next(tokens: &Tokens) -> Tokens {
    let number: u64 = tokens.access_token.expose().parse().expect("a number");
    let mut next = tokens.clone();
    next.access_token = Secret::new((number + 1).to_string());
    next
}
