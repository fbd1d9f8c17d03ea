use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use super::keyring::Keyring;
use crate::fixture::{Home, LoggingIn, Ran};
use crate::provider::{Provider, Settings};

/// A user with a keychain.
struct User {
    keyring: Keyring,
    home: Home,
}

impl User {
    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.home.command(args);
        command.env("DBUS_SESSION_BUS_ADDRESS", &self.keyring.address);
        command
    }

    fn run(&self, args: &[&str]) -> Ran {
        Ran::from(self.command(args).output().unwrap())
    }

    fn log_in(&self, provider: &Provider) {
        let mut auth = self.command(&["auth", &provider.url, "--callback-port", "0"]);
        let ran = LoggingIn::start(&mut auth).consent();
        assert_eq!(ran.exit, Some(0), "{ran:?}");
    }

    fn file(&self) -> PathBuf {
        self.home.path().join(".local/share/callgate/mcp-auth.json")
    }

    fn stored(&self) -> String {
        fs::read_to_string(self.file()).unwrap()
    }
}

fn with_keyring(keyring: Keyring) -> (User, Provider) {
    let user = User {
        keyring,
        home: Home::new(),
    };
    (user, Provider::start(Settings::default()))
}

/// User with a login whose secrets are sealed.
fn sealed() -> (User, Provider) {
    let (user, provider) = with_keyring(Keyring::start());
    user.log_in(&provider);
    assert_eq!(user.run(&["auth", "store", "keychain"]).exit, Some(0));
    (user, provider)
}

#[test]
#[ignore = "needs GNOME Keyring: cargo xtask keychain"]
fn a_sealed_store_works_as_the_file_does() {
    let (user, provider) = with_keyring(Keyring::start());
    let path = user.file();
    let path = path.display();
    let is_sealed =
        format!("keychain: the secrets in {path} are sealed with a key in the keychain\n");
    let is_plain = format!("file: the secrets are in {path}, which only you can read\n");
    assert_eq!(user.run(&["auth", "store"]), Ran::printed(&is_plain));
    for _ in 0..2 {
        let ran = user.run(&["auth", "store", "keychain"]);
        assert_eq!(ran, Ran::printed(&is_sealed));
    }
    assert_eq!(user.keyring.items().len(), 1);

    user.log_in(&provider);
    provider.events();
    let whoami = Ran::printed("granted: read\n");
    assert_eq!(user.run(&["call", &provider.url, "whoami"]), whoami);
    provider.end_access_tokens();
    assert_eq!(user.run(&["call", &provider.url, "whoami"]), whoami);
    assert_eq!(provider.events(), ["refresh_token of registered"]);
    let stored = user.stored();
    for secret in provider.secrets() {
        assert!(!stored.contains(&secret), "{secret}");
    }

    assert_eq!(
        user.run(&["auth", "store", "file"]),
        Ran::printed(&is_plain)
    );
    assert_eq!(user.keyring.items(), [""; 0]);
    assert_eq!(user.run(&["call", &provider.url, "whoami"]), whoami);
}

#[test]
#[ignore = "needs GNOME Keyring: cargo xtask keychain"]
fn a_hundred_processes_renew_a_sealed_token_once() {
    let (user, provider) = sealed();
    provider.events();
    provider.end_access_tokens();
    let mut command = user.command(&["call", &provider.url, "whoami"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let children: Vec<_> = (0..100).map(|_| command.spawn().unwrap()).collect();
    for child in children {
        let ran = Ran::from(child.wait_with_output().unwrap());
        let (said, exit) = (ran.stdout.as_str(), ran.exit);
        assert_eq!((said, exit), ("granted: read\n", Some(0)), "{ran:?}");
    }
    assert_eq!(provider.events(), ["refresh_token of registered"]);
}

#[test]
#[ignore = "needs GNOME Keyring: cargo xtask keychain"]
fn a_locked_keychain_is_named_with_the_way_to_unlock_it() {
    let (user, provider) = sealed();
    let url = &provider.url;
    let before = user.stored();
    user.keyring.lock();
    let path = user.file();
    let refused = format!(
        "error: cannot open the logins in `{}`: the keychain is locked\n\
         hint: unlock the keychain: `callgate auth list` opens its dialog if there is a desktop; without one, run \
         `gnome-keyring-daemon --replace --unlock --daemonize`, which reads the password from standard input\n\
         hint: no login is lost; to do without a keychain, run `callgate auth store file` once it is open again\n",
        path.display()
    );
    for args in [&["call", url, "whoami"][..], &["list", url]] {
        assert_eq!(user.run(args), Ran::failed(1, &refused));
    }
    // These commands open the unlock dialog, which no user answers in this test.
    let asked =
        " WARN callgate_oauth::store::migration: the keychain is locked; waiting for its dialog\n";
    let refused = format!("{asked}{refused}");
    for args in [
        &["auth", "list"][..],
        &["auth", url],
        &["logout", url],
        &["auth", "store", "file"],
    ] {
        assert_eq!(user.run(args), Ran::failed(1, &refused), "{args:?}");
    }
    // Without a login the key is not needed.
    let other = Provider::start(Settings {
        is_open: true,
        ..Settings::default()
    });
    assert_eq!(user.run(&["list", &other.url]).exit, Some(0));
    assert_eq!(user.stored(), before);

    user.keyring.unlock();
    let ran = user.run(&["call", url, "whoami"]);
    assert_eq!(ran, Ran::printed("granted: read\n"));
}

#[test]
#[ignore = "needs GNOME Keyring: cargo xtask keychain"]
fn a_key_that_was_deleted_costs_no_login_until_the_user_says_so() {
    let (user, provider) = sealed();
    let before = user.stored();
    for item in user.keyring.items() {
        user.keyring.delete(&item);
    }
    let path = user.file();
    let path = path.display();
    let refused = format!(
        "error: cannot open the logins in `{path}`: their key is not in the keychain\n\
         hint: no login was deleted: restore the key in the keychain of your system, and they work again\n\
         hint: if the key is lost, the logins are too: run `mv {path} {path}.lost`, and log in again\n"
    );
    for args in [
        &["call", &provider.url, "whoami"][..],
        &["auth", "list"],
        &["auth", &provider.url],
        &["logout", &provider.url],
        &["auth", "store", "file"],
    ] {
        assert_eq!(user.run(args), Ran::failed(1, &refused), "{args:?}");
        assert_eq!(user.stored(), before, "{args:?}");
    }
}

#[test]
#[ignore = "needs GNOME Keyring: cargo xtask keychain"]
fn without_a_keychain_the_logins_stay_in_the_file() {
    let (user, provider) = with_keyring(Keyring::bus_only());
    user.log_in(&provider);
    let before = user.stored();
    let ran = user.run(&["auth", "store", "keychain"]);
    let begin = format!(
        "error: cannot seal the logins in `{}`: no keychain was found: no program offers the Secret Service (",
        user.file().display()
    );
    assert!(ran.stderr.starts_with(&begin), "{ran:?}");
    assert_eq!(ran.exit, Some(1));
    assert_eq!(user.stored(), before);
    let ran = user.run(&["call", &provider.url, "whoami"]);
    assert_eq!(ran, Ran::printed("granted: read\n"));
}

#[test]
#[ignore = "needs GNOME Keyring: cargo xtask keychain"]
fn a_move_that_is_killed_loses_no_login() {
    let (user, provider) = with_keyring(Keyring::start());
    user.log_in(&provider);
    let mut moved = 0;
    for kill in 0..60_u64 {
        let to = if kill % 2 == 0 { "keychain" } else { "file" };
        let before = user.stored();
        let mut command = user.command(&["auth", "store", to]);
        let mut child = command.stdout(Stdio::null()).spawn().unwrap();
        // Not a wait for anything: the process is killed at another point each time.
        sleep(Duration::from_micros(kill * 997 % 40_000));
        child.kill().unwrap();
        child.wait().unwrap();
        moved += u32::from(user.stored() != before);
        let ran = user.run(&["call", &provider.url, "whoami"]);
        assert_eq!(ran, Ran::printed("granted: read\n"), "{kill}");
        // The next round begins in the other place.
        assert_eq!(user.run(&["auth", "store", to]).exit, Some(0));
    }
    eprintln!("{moved} of 60 moves were done before the process was killed");
}
