//! Processes that share a store.

use std::fs::OpenOptions;
use std::io::{Write, stdout};
use std::time::Duration;

use callgate_oauth::Secret;
use callgate_oauth::store::{Limits, Login, Refresh, Store, Tokens};

/// Counts up in a login for ever, and says after each save how far it has come.
///
/// It allows others everything, so that only the store's own care keeps them out.
pub(crate) fn save_for_ever(path: &str) {
    rustix::process::umask(rustix::fs::Mode::empty());
    let store = Store::new(path, Limits::default());
    loop {
        let login = store.update("killed", count).expect("it saves");
        let tokens = login.tokens.expect("it was set");
        writeln!(stdout(), "{}", tokens.access_token.expose()).expect("the test listens");
    }
}

/// Counts up in a login of its own, and in one that all processes share.
///
/// Whoever saves as often as it can leaves the others little room, so they may take their time.
pub(crate) fn save(path: &str, name: &str, times: &str) {
    let limits = Limits {
        edit_wait: Duration::from_secs(600),
        ..Limits::default()
    };
    let store = Store::new(path, limits);
    for _ in 0..times.parse().expect("a number") {
        store.update(name, count).expect("it saves");
        store.update("shared", count).expect("it saves");
    }
}

/// Wants another token than `seen`; notes it in a file when it has to get one itself.
pub(crate) fn refresh(path: &str, seen: &str) {
    let store = Store::new(path, Limits::default());
    let login = match store
        .begin_refresh("shared", &Secret::new(seen))
        .expect("it reads")
    {
        Refresh::Changed(login) => login,
        Refresh::Ours(ticket) => {
            let mut log = OpenOptions::new()
                .create(true)
                .append(true)
                .open(format!("{path}.log"))
                .expect("the directory can be written");
            writeln!(log, "{seen}").expect("the file can be written");
            let tokens = next(ticket.tokens());
            let login = ticket.complete(tokens).expect("it saves");
            login.expect("nobody logs out")
        }
        Refresh::Gone => panic!("nobody logs out"),
    };
    let tokens = login.tokens.expect("a login has tokens");
    writeln!(stdout(), "{}", tokens.access_token.expose()).expect("the test listens");
}

fn count(login: &mut Login) {
    let none = Tokens {
        refresh_token: Some(Secret::new("r".repeat(20_000))),
        ..Tokens::new(Secret::new("0"))
    };
    login.tokens = Some(next(login.tokens.as_ref().unwrap_or(&none)));
}

fn next(tokens: &Tokens) -> Tokens {
    let number: u64 = tokens.access_token.expose().parse().expect("a number");
    Tokens {
        access_token: Secret::new((number + 1).to_string()),
        ..tokens.clone()
    }
}
