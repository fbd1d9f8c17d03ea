use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use callgate_oauth::Secret;
use callgate_oauth::store::import::from_opencode;
use callgate_oauth::store::keychain::{Keychain, KeychainError};
use callgate_oauth::store::{
    ChosenClient, ChosenKind, Login, LoginStore, SecretPlace, StoreError, StoreLimits, Tokens,
};
use serde_json::Value;

use crate::file_keychain::FileKeychain;
use crate::store_fixture::{Place, login, patient};

/// A login with a secret in every place that can have one.
fn full(server_url: &str) -> Login {
    let mut tokens = Tokens::new(Secret::new("secret-1"));
    tokens.refresh_token = Some(Secret::new("secret-2"));
    tokens.dpop_key = Some(Secret::new("secret-3"));
    tokens.expires_at = Some(1_763_260_000.0);
    let mut chosen = ChosenClient::new("id", ChosenKind::Registered);
    chosen.client_secret = Some(Secret::new("secret-4"));
    let mut login = Login::default();
    login.server_url = Some(server_url.to_owned());
    login.issuer = Some("https://as.example".to_owned());
    login.tokens = Some(tokens);
    login.chosen = Some(chosen);
    login.code_verifier = Some(Secret::new("secret-5"));
    login.oauth_state = Some(Secret::new("secret-6"));
    login
}

fn with(place: Place, logins: &[(&str, &Login)]) -> Place {
    for (name, login) in logins {
        let saved = place.store().update(name, |it| it.clone_from(login));
        saved.expect("it saves");
    }
    place
}

/// The file as JSON.
fn file(place: &Place) -> Value {
    serde_json::from_str(&place.read()).expect("JSON")
}

fn error(place: &Place) -> StoreError {
    place.store().login("a").expect_err("there is no key")
}

#[test]
fn secrets_are_sealed_and_all_else_stays() {
    let (one, two) = (full("https://a.example"), full("https://b.example"));
    let place = with(Place::new(), &[("a", &one), ("b", &two)]);
    let before = place.read();
    let place = place.sealed();
    let after = place.read();
    assert!(!after.contains("secret-"), "{after}");
    assert_eq!(place.store().names().expect("it reads"), ["a", "b"]);
    assert_eq!(
        place.store().login("a").expect("it opens"),
        Some(one.clone())
    );
    assert_eq!(place.store().login("b").expect("it opens"), Some(two));
    // Without the key, all but the secrets is there.
    assert_eq!(file(&place)["a"]["tokens"]["expiresAt"], 1_763_260_000);
    let without = place.store().login_without_secrets("a").expect("it reads");
    let without = without.expect("it is there");
    assert_eq!((without.server_url, without.tokens), (one.server_url, None));

    // Nothing changes where nothing was moved.
    let store = place.store();
    assert!(!store.move_secrets(SecretPlace::Keychain).expect("it reads"));
    assert_eq!(place.read(), after);
    assert!(store.move_secrets(SecretPlace::File).expect("it opens"));
    assert_eq!(place.read(), before);
    assert_eq!(place.keychain().names(), [""; 0]);
    assert!(!store.move_secrets(SecretPlace::File).expect("it reads"));
}

#[test]
fn a_sealed_file_seals_what_is_added() {
    let place = Place::new().sealed();
    let place = with(place, &[("a", &full("https://a.example"))]);
    let source = place.path("opencode.json");
    let entry = r#"{"x":{"tokens":{"accessToken":"secret-7"},"serverUrl":"https://x.example"}}"#;
    fs::write(&source, entry).expect("the directory can be written");
    let imported = from_opencode(&place.store(), &source).expect("it imports");
    assert_eq!(imported.added, ["x"]);
    assert!(!place.read().contains("secret-"), "{}", place.read());
    let found = place.store().login("x").expect("it opens");
    let tokens = found.and_then(|it| it.tokens).expect("it was imported");
    assert_eq!(tokens.access_token, Secret::new("secret-7"));

    // A sealed file is of use to its own store alone.
    let other = Place::new();
    let refused = from_opencode(&other.store(), &place.file());
    assert!(matches!(refused, Err(StoreError::SealedSource { .. })));
}

#[test]
fn the_keychain_is_asked_once_and_only_if_secrets_are_sealed() {
    let place = with(Place::new(), &[("a", &login("at", Some("rt")))]);
    let store = place.store();
    store.login("a").expect("it reads");
    store.unlock().expect("there is nothing to unlock");
    assert_eq!(place.keychain().loads(), 0);

    let place = place.sealed();
    assert_eq!(place.keychain().loads(), 1);
    let store = place.store();
    store.names().expect("it reads");
    store.login_without_secrets("a").expect("it reads");
    assert_eq!(store.login("no login").expect("it reads"), None);
    assert_eq!(
        store.secret_place().expect("it reads"),
        SecretPlace::Keychain
    );
    assert_eq!(place.keychain().loads(), 1);
    for _ in 0..3 {
        store.login("a").expect("it opens");
        let saved = store
            .clone()
            .update("a", |it| it.account = Some("b".to_owned()));
        saved.expect("it saves");
    }
    assert_eq!(place.keychain().loads(), 2);
}

#[test]
fn a_secret_that_was_moved_or_changed_does_not_open() {
    let place = with(
        Place::new(),
        &[
            ("a", &full("https://a.example")),
            ("b", &full("https://b.example")),
        ],
    );
    let place = place.sealed();
    let sealed = file(&place);
    let path = |path: &str| format!("/{}", path.replace('.', "/"));
    let moved: [(&str, Value); 7] = [
        (
            "a.tokens.accessToken",
            sealed["b"]["tokens"]["accessToken"].clone(),
        ),
        (
            "a.tokens.accessToken",
            sealed["a"]["tokens"]["refreshToken"].clone(),
        ),
        (
            "a.tokens.accessToken",
            serde_json::json!({"sealed": "AAAA"}),
        ),
        ("a.tokens.accessToken", serde_json::json!({"sealed": 7})),
        ("a.serverUrl", "https://evil.example".into()),
        ("a.issuer", "https://evil.example".into()),
        (
            "a.tokenEndpoint",
            serde_json::json!({"url": "https://evil.example"}),
        ),
    ];
    for (at, value) in moved {
        let mut changed = sealed.clone();
        match changed.pointer_mut(&path(at)) {
            Some(place) => *place = value,
            None => changed["a"]["tokenEndpoint"] = value,
        }
        place.write(changed.to_string().as_bytes());
        let found = place
            .store()
            .login("a")
            .expect("it reads")
            .expect("it is there");
        assert_eq!(found.tokens, None, "{at}");
        // It stays in the file, and the other login works.
        let saved = place
            .store()
            .update("b", |it| it.account = Some("x".to_owned()));
        assert!(saved.expect("it saves").tokens.is_some(), "{at}");
        assert_eq!(
            file(&place)["a"]["tokens"]["accessToken"],
            changed["a"]["tokens"]["accessToken"]
        );
    }
}

#[test]
fn without_its_key_a_file_is_left_alone() {
    let place = with(Place::new(), &[("a", &full("https://a.example"))]).sealed();
    let sealed = place.read();
    let keychain = place.keychain();
    let [name] = <[String; 1]>::try_from(keychain.names()).expect("one key");
    let key = keychain
        .load(&name)
        .expect("it opens")
        .expect("it is there");

    let no_keychain = LoginStore::new(place.file(), StoreLimits::default());
    let missing = KeychainError::Missing("this system has none that Callgate knows".to_owned());
    let found = no_keychain.login("a").expect_err("there is no keychain");
    assert!(matches!(&found, StoreError::Keychain { source, .. } if *source == missing));

    keychain.lock();
    assert!(matches!(
        error(&place),
        StoreError::Keychain {
            source: KeychainError::Locked,
            ..
        }
    ));
    keychain.unlock().expect("it was locked");

    keychain.remove(&name).expect("it is there");
    assert!(matches!(error(&place), StoreError::KeyMissing { .. }));
    for wrong in ["", "x", &"A".repeat(43)] {
        keychain
            .save(&name, "mcp-auth.json", &Secret::new(wrong))
            .expect("it saves");
        assert!(
            matches!(error(&place), StoreError::WrongKey { .. }),
            "{wrong}"
        );
    }
    for (name, result) in [
        (
            "update",
            place
                .store()
                .update("a", |it| *it = Login::default())
                .map(drop),
        ),
        ("remove", place.store().remove("a").map(drop)),
        (
            "move",
            place.store().move_secrets(SecretPlace::File).map(drop),
        ),
        ("unlock", place.store().unlock()),
    ] {
        assert!(
            matches!(result, Err(StoreError::WrongKey { .. })),
            "{name}: {result:?}"
        );
    }
    assert_eq!(place.read(), sealed);

    keychain
        .save(&name, "mcp-auth.json", &key)
        .expect("it saves");
    let found = place.store().login("a").expect("it opens");
    assert_eq!(found, Some(full("https://a.example")));
}

/// Keychain from whose first answer another process is a moment ahead: it moves the secrets to the file.
#[derive(Debug)]
struct Overtaken {
    keychain: FileKeychain,
    other: LoginStore,
    is_moved: AtomicBool,
}

impl Keychain for Overtaken {
    fn load(&self, name: &str) -> Result<Option<Secret>, KeychainError> {
        if !self.is_moved.swap(true, Ordering::Relaxed) {
            let moved = self.other.move_secrets(SecretPlace::File);
            assert!(moved.expect("it moves"));
        }
        self.keychain.load(name)
    }

    fn save(&self, name: &str, label: &str, secret: &Secret) -> Result<(), KeychainError> {
        self.keychain.save(name, label, secret)
    }

    fn remove(&self, name: &str) -> Result<(), KeychainError> {
        self.keychain.remove(name)
    }

    fn unlock(&self) -> Result<(), KeychainError> {
        self.keychain.unlock()
    }
}

#[test]
fn a_reader_that_is_overtaken_by_a_move_reads_again() {
    let login = full("https://a.example");
    let place = with(Place::new(), &[("a", &login)]).sealed();
    let keychain = Overtaken {
        keychain: place.keychain(),
        other: place.store(),
        is_moved: AtomicBool::new(false),
    };
    let store = LoginStore::new(place.file(), patient()).with_keychain(Arc::new(keychain));
    assert_eq!(store.login("a").expect("it reads again"), Some(login));
}

#[test]
fn a_seal_of_another_version_is_not_touched() {
    for header in ["3", "{}", r#"{"sealedWith":"tpm","key":"k","check":"c"}"#] {
        let place = Place::new();
        let text = format!(r#"{{"callgate:secrets":{header},"a":{{}}}}"#);
        place.write(text.as_bytes());
        assert!(
            matches!(error(&place), StoreError::UnknownSeal { .. }),
            "{header}"
        );
        let saved = place.store().update("a", |it| *it = login("at", None));
        assert!(
            matches!(saved, Err(StoreError::UnknownSeal { .. })),
            "{header}"
        );
        assert_eq!(place.read(), text);
    }
}

#[test]
fn only_the_user_command_unlocks_the_keychain() {
    let place = with(Place::new(), &[("a", &full("https://a.example"))]).sealed();
    place.keychain().lock();
    let store = place.store();
    assert!(matches!(store.login("a"), Err(StoreError::Keychain { .. })));
    store.unlock().expect("the user types the password");
    store.login("a").expect("it opens");

    // Moving the secrets is such a command.
    place.keychain().lock();
    assert!(
        place
            .store()
            .move_secrets(SecretPlace::File)
            .expect("it unlocks")
    );
    place.keychain().lock();
    assert!(
        place
            .store()
            .move_secrets(SecretPlace::Keychain)
            .expect("it unlocks")
    );
}

#[test]
fn secrets_that_do_not_fit_when_sealed_stay_as_they_are() {
    let place = with(Place::new(), &[("a", &login(&"x".repeat(3_000), None))]);
    let before = place.read();
    let mut limits = patient();
    limits.bytes = 3_500;
    let keychain = Arc::new(place.keychain());
    let store = LoginStore::new(place.file(), limits).with_keychain(keychain);
    let moved = store.move_secrets(SecretPlace::Keychain);
    assert!(
        matches!(moved, Err(StoreError::TooLarge { .. })),
        "{moved:?}"
    );
    assert_eq!(place.read(), before);
    assert_eq!(place.keychain().names(), [""; 0]);
}
