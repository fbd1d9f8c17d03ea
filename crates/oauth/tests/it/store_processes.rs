use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Child;
use std::thread::sleep;
use std::time::Duration;

use callgate_oauth::store::SecretPlace;

use crate::peer;
use crate::store_fixture::{Place, login};

const KILLS: u32 = 200;

#[test]
fn a_process_that_is_killed_while_saving_loses_nothing() {
    kill_while_saving(&Place::new());
}

#[test]
fn a_process_that_is_killed_while_sealing_loses_nothing() {
    kill_while_saving(&Place::new().sealed());
}

fn kill_while_saving(place: &Place) {
    let mut saved = 0;
    for kill in 0..KILLS {
        let mut process = start(&["save-for-ever", text(&place.file())]);
        let output = process.stderr.take().expect("it is piped");
        let mut lines = BufReader::new(output).lines();
        lines.next().expect("it saves").expect("it writes");
        // Not a wait for anything: the process is killed at another point of the save each time.
        sleep(Duration::from_micros(u64::from(kill) * 37 % 3_000));
        process.kill().expect("it runs");
        process.wait().expect("it ran");

        // The process may have saved once more than it has written.
        let said: u64 = last(lines.map(|line| line.expect("it writes"))).unwrap_or(saved + 1);
        let stored = stored(place);
        assert!(
            (said..=said + 1).contains(&stored),
            "said {said}, stored {stored}"
        );
        assert!(stored > saved, "stored {stored} after {saved}");
        saved = stored;

        for (name, mode) in place.files() {
            let is_keychain = name.ends_with(".keys");
            assert_eq!(
                (name.as_str(), mode == 0o600),
                (name.as_str(), !is_keychain)
            );
            assert!(!name.contains("corrupt"), "{name}");
        }
    }
}

#[test]
fn processes_that_save_at_once_lose_nothing() {
    let place = Place::new();
    let names = ["a", "b", "c"];
    let processes = names.map(|name| start(&["save", text(&place.file()), name, "40"]));
    for mut process in processes {
        assert!(process.wait().expect("it ran").success());
    }
    for (name, count) in [("a", "40"), ("b", "40"), ("c", "40"), ("shared", "120")] {
        let login = place
            .store()
            .login(name)
            .expect("it reads")
            .expect("it is there");
        let tokens = login.tokens.expect("it was set");
        assert_eq!((name, tokens.access_token.expose()), (name, count));
    }
}

#[test]
fn a_process_that_is_killed_while_moving_secrets_loses_nothing() {
    let place = Place::new();
    let logins = ["a", "b"].map(|name| (name, login("at", Some(name))));
    for (name, login) in &logins {
        let saved = place.store().update(name, |it| it.clone_from(login));
        saved.expect("it saves");
    }
    let mut seen = [0, 0];
    for kill in 0..KILLS {
        let mut process = start(&["move-for-ever", text(&place.file())]);
        let output = process.stderr.take().expect("it is piped");
        let mut lines = BufReader::new(output).lines();
        lines.next().expect("it moves").expect("it writes");
        // Not a wait for anything: the process is killed at another point each time.
        sleep(Duration::from_micros(u64::from(kill) * 37 % 3_000));
        process.kill().expect("it runs");
        process.wait().expect("it ran");
        for (name, login) in &logins {
            let found = place.store().login(name).expect("it opens");
            assert_eq!(found.as_ref(), Some(login), "{name}");
        }
        let is_sealed = place.store().secret_place().expect("it reads") == SecretPlace::Keychain;
        assert_eq!(place.read().contains(r#""at""#), !is_sealed);
        seen[usize::from(is_sealed)] += 1;
    }
    assert!(seen[0] > 0 && seen[1] > 0, "{seen:?}");
}

#[test]
fn a_hundred_processes_that_want_a_token_refresh_it_once() {
    refresh_in_a_hundred_processes(&Place::new());
}

#[test]
fn a_hundred_processes_that_want_a_sealed_token_refresh_it_once() {
    refresh_in_a_hundred_processes(&Place::new().sealed());
}

#[test]
fn a_hundred_processes_refresh_a_token_once_while_its_secrets_are_moved() {
    let place = Place::new();
    let mut mover = start(&["move-for-ever", text(&place.file())]);
    refresh_in_a_hundred_processes(&place);
    // It still moves, and has not failed.
    assert_eq!(mover.try_wait().expect("it is a child"), None);
    mover.kill().expect("it runs");
    mover.wait().expect("it ran");
}

fn refresh_in_a_hundred_processes(place: &Place) {
    let saved = start(&["save", text(&place.file()), "own", "1"]).wait();
    assert!(saved.expect("it ran").success());
    for seen in ["1", "2"] {
        let path = place.file();
        let processes: Vec<Child> = (0..100)
            .map(|_| start(&["refresh", text(&path), seen]))
            .collect();
        for process in processes {
            let output = process.wait_with_output().expect("it ran");
            let next = (seen.parse::<u64>().expect("a number") + 1).to_string();
            assert_eq!(String::from_utf8_lossy(&output.stderr).trim_end(), next);
        }
    }
    let log = std::fs::read_to_string(place.path("mcp-auth.json.log"));
    assert_eq!(log.expect("somebody refreshed"), "1\n2\n");
}

fn start(args: &[&str]) -> Child {
    peer::command(args).spawn().expect("it starts")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a plain name")
}

/// The number in the last line that was written to its end.
fn last(lines: impl Iterator<Item = String>) -> Option<u64> {
    lines.last().map(|line| line.parse().expect("a number"))
}

fn stored(place: &Place) -> u64 {
    let login = place
        .store()
        .login("killed")
        .expect("it is whole")
        .expect("it is there");
    let tokens = login.tokens.expect("it was set");
    tokens.access_token.expose().parse().expect("a number")
}
