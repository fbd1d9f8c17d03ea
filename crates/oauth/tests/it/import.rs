use std::fs;

use callgate_oauth::store::import::{Imported, from_opencode};
use callgate_oauth::store::{LoginBinding, StoreError};

use crate::store_fixture::{Place, login};

const OPENCODE: &str = r#"{
  "github": {
    "tokens": { "accessToken": "at", "refreshToken": "rt", "expiresAt": 1763260000.5, "tokenType": "x" },
    "clientInfo": { "clientId": "id" },
    "codeVerifier": "cv",
    "oauthState": "st",
    "serverUrl": "https://github.example/mcp"
  },
  "known": { "tokens": { "accessToken": "other" }, "serverUrl": "https://known.example" },
  "unbound": { "tokens": { "accessToken": "at" } },
  "empty": { "serverUrl": "https://empty.example" },
  "odd": 3
}"#;

#[test]
fn the_logins_of_opencode_are_added_to_our_own() {
    let place = Place::new();
    let source = place.path("opencode.json");
    fs::write(&source, OPENCODE).expect("the directory can be written");
    place
        .store()
        .update("known", |it| *it = login("own", None))
        .expect("it saves");

    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let mut expect = Imported::default();
    expect.added = names(&["github"]);
    expect.kept = names(&["known"]);
    expect.skipped = names(&["unbound", "empty", "odd"]);
    assert_eq!(
        from_opencode(&place.store(), &source).expect("it imports"),
        expect
    );

    let github = place
        .store()
        .login("github")
        .expect("it reads")
        .expect("it is there");
    let standing = github.binding("https://github.example/mcp", "https://issuer.example");
    assert_eq!(standing, LoginBinding::IssuerUnknown);
    assert_eq!((github.code_verifier, github.oauth_state), (None, None));
    assert!(
        place
            .read()
            .contains(r#""expiresAt": 1763260000.5, "tokenType": "x""#)
    );
    let known = place.store().login("known").expect("it reads");
    assert_eq!(known, Some(login("own", None)));
    assert_eq!(fs::read_to_string(&source).expect("it is there"), OPENCODE);

    expect.added = Vec::new();
    expect.kept = names(&["github", "known"]);
    assert_eq!(
        from_opencode(&place.store(), &source).expect("it imports"),
        expect
    );
}

#[test]
fn a_file_without_logins_is_not_imported() {
    let place = Place::new();
    let source = place.path("opencode.json");
    let missing = from_opencode(&place.store(), &source).expect_err("it is missing");
    assert!(matches!(missing, StoreError::Missing { .. }), "{missing:?}");
    for text in ["", "[]", "{\"a\":"] {
        fs::write(&source, text).expect("the directory can be written");
        let error = from_opencode(&place.store(), &source).expect_err("it is malformed");
        assert!(matches!(error, StoreError::Malformed { .. }), "{error:?}");
    }
    assert!(!place.file().exists());
}
