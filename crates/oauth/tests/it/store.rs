use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use callgate_oauth::store::{Login, LoginStore, StoreError, StoreLimits, read_secret_file};

use crate::store_fixture::{Place, login};

#[test]
fn a_login_is_kept_changed_and_forgotten() {
    let place = Place::new();
    let store = place.store();
    assert_eq!(store.login("a").expect("it reads"), None);
    assert!(!store.remove("a").expect("it reads"));

    let first = login("at-1", Some("rt-1"));
    store
        .update("a", |login| *login = first.clone())
        .expect("it saves");
    store
        .update("b", |login| login.server_url = Some("https://b".to_owned()))
        .expect("it saves");
    assert_eq!(place.store().login("a").expect("it reads"), Some(first));
    assert_eq!(store.names().expect("it reads"), ["a", "b"]);

    assert!(store.remove("a").expect("it saves"));
    assert_eq!(store.login("a").expect("it reads"), None);
    assert_eq!(store.names().expect("it reads"), ["b"]);
}

#[test]
fn only_the_owner_has_access_to_the_files() {
    let place = Place::new();
    let store = LoginStore::new(
        place.path("new/directory/mcp-auth.json"),
        StoreLimits::default(),
    );
    store
        .update("a", |it| *it = login("at", None))
        .expect("it saves");
    assert_eq!(place.files(), [("new".to_owned(), 0o700)]);

    place
        .store()
        .update("a", |it| *it = login("at", None))
        .expect("it saves");
    let files = [
        ("mcp-auth.json", 0o600),
        ("mcp-auth.json.lock", 0o600),
        ("new", 0o700),
    ];
    assert_eq!(
        place.files(),
        files.map(|(name, mode)| (name.to_owned(), mode))
    );
}

#[test]
fn a_directory_that_other_users_can_write_to_is_refused() {
    let place = Place::new();
    place.write(b"{}");
    let directory = place.file().parent().expect("a directory").to_owned();
    for mode in [0o720, 0o702, 0o777, 0o1777] {
        let permissions = fs::Permissions::from_mode(mode);
        fs::set_permissions(&directory, permissions).expect("it is ours");
        for outcome in [
            place.store().login("a").map(drop),
            place.store().update("a", |_| {}).map(drop),
            read_secret_file(&place.file()).map(drop),
        ] {
            let error = outcome.expect_err("it is refused");
            assert!(
                matches!(error, StoreError::ExposedDirectory { mode: found, .. } if found == mode)
            );
        }
    }
    let permissions = fs::Permissions::from_mode(0o755);
    fs::set_permissions(&directory, permissions).expect("it is ours");
    place.store().update("a", |_| {}).expect("it is accepted");
}

#[test]
fn a_secret_file_has_a_limited_size() {
    let place = Place::new();
    place.write(&vec![b'x'; 64 * 1024]);
    let read = read_secret_file(&place.file()).expect("it fits");
    assert_eq!(read.map(|bytes| bytes.len()), Some(64 * 1024));
    place.write(&vec![b'x'; 64 * 1024 + 1]);
    let error = read_secret_file(&place.file()).expect_err("it is refused");
    assert!(matches!(error, StoreError::TooLarge { .. }), "{error:?}");
}

#[test]
fn files_that_other_users_can_access_are_refused() {
    let place = Place::new();
    place.write(b"{}");
    for mode in [
        0o601, 0o604, 0o602, 0o610, 0o640, 0o644, 0o660, 0o666, 0o777,
    ] {
        place.set_mode(mode);
        let error = place.store().login("a").expect_err("it is refused");
        assert!(matches!(error, StoreError::Exposed { mode: found, .. } if found == mode));
        let error = place
            .store()
            .update("a", |_| {})
            .expect_err("it is refused");
        assert!(matches!(error, StoreError::Exposed { mode: found, .. } if found == mode));
    }
    assert_eq!(place.read(), "{}");
}

#[test]
fn a_store_that_is_no_file_is_refused() {
    let place = Place::new();
    fs::create_dir(place.file()).expect("a directory");
    let error = place.store().login("a").expect_err("it is refused");
    assert!(matches!(error, StoreError::NotAFile { .. }), "{error:?}");

    fs::remove_dir(place.file()).expect("it is there");
    symlink(place.file(), place.file()).expect("a link");
    let error = place.store().login("a").expect_err("it is refused");
    assert!(matches!(error, StoreError::Links { .. }), "{error:?}");
}

#[test]
fn a_link_leads_to_the_store_and_stays() {
    let place = Place::new();
    fs::create_dir(place.path("elsewhere")).expect("a directory");
    symlink("second", place.file()).expect("a link");
    symlink("elsewhere/logins.json", place.path("second")).expect("a link");
    // The file does not exist at first, then it does.
    for token in ["at-1", "at-2"] {
        let saved = place.store().update("a", |it| *it = login(token, None));
        saved.expect("it saves");
        let target = place.path("elsewhere/logins.json");
        let direct = LoginStore::new(&target, StoreLimits::default());
        assert_eq!(
            direct.login("a").expect("it reads"),
            Some(login(token, None))
        );
        for link in [place.file(), place.path("second")] {
            assert!(
                fs::symlink_metadata(link)
                    .expect("it is there")
                    .is_symlink()
            );
        }
    }
    place.set_mode(0o644);
    let error = place.store().login("a").expect_err("it is refused");
    assert!(matches!(error, StoreError::Exposed { .. }), "{error:?}");

    // Both ways to the file share its locks.
    let files = fs::read_dir(place.path("elsewhere")).expect("a directory");
    assert_eq!(files.count(), 2);
    assert_eq!(place.files().len(), 3);
}

#[test]
fn what_a_person_has_edited_is_used() {
    let place = Place::new();
    for name in ["kept", "edited"] {
        let saved = place.store().update(name, |it| *it = login("at-1", None));
        saved.expect("it saves");
    }
    let (before, edited) = place.read().rsplit_once("at-1").map_or_else(
        || panic!("the token is in the file"),
        |(before, after)| (before.to_owned(), after.to_owned()),
    );
    place.write(format!("{before}at-2{edited}").as_bytes());
    let stored = |name| place.store().login(name).expect("it reads");
    assert_eq!(stored("edited"), Some(login("at-2", None)));
    assert_eq!(stored("kept"), Some(login("at-1", None)));
    assert_eq!(place.files().len(), 2, "nothing was put aside");
}

#[test]
fn files_that_cannot_be_read_are_set_aside() {
    let place = Place::new();
    place
        .store()
        .update("a", |it| *it = login("at-1", None))
        .expect("it saves");
    let whole = place.read();

    for damaged in [
        &whole.as_bytes()[..whole.len() / 2],
        b"",
        b"\0\0\0\0",
        b"\xff{}",
        b"[]",
    ] {
        let place = Place::new();
        place.write(damaged);
        assert_eq!(place.store().login("a").expect("it is repaired"), None);
        assert_eq!(place.read(), "{}\n");

        let files = place.files();
        let [(_, 0o600), (copy, 0o600), (_, 0o600)] = files.as_slice() else {
            panic!("there is one copy: {files:?}");
        };
        assert!(copy.starts_with("mcp-auth.json.corrupt-"), "{copy}");
        assert_eq!(fs::read(place.path(copy)).expect("it is there"), damaged);
        assert_eq!(place.files(), files);
    }
}

#[test]
fn damage_that_comes_back_is_set_aside_again() {
    let place = Place::new();
    for copies in 1..=3 {
        place.write(format!("damage {copies}").as_bytes());
        place.store().names().expect("it is repaired");
        let is_copy = |(name, _): &&(String, u32)| name.contains(".corrupt-");
        assert_eq!(place.files().iter().filter(is_copy).count(), copies);
    }
}

#[test]
fn bytes_that_are_not_ours_stay() {
    let place = Place::new();
    let text = "{\n  \"other\" : {\"x\": 1.50, \"tokens\":{\"accessToken\":\"\\u0061\"} },\n  \"y\": [ ]\n}";
    place.write(text.as_bytes());
    place
        .store()
        .update("new", |it| it.server_url = Some("https://s".to_owned()))
        .expect("it saves");
    place.store().remove("new").expect("it saves");
    assert_eq!(place.read().trim_end(), text);
}

#[test]
fn an_edit_that_changes_nothing_writes_nothing() {
    let place = Place::new();
    place.write(b"{\"a\":{\"serverUrl\":\"https://s\"}}");
    let login = place.store().update("a", |_| {}).expect("it reads");
    assert_eq!(login.server_url.as_deref(), Some("https://s"));
    assert_eq!(place.read(), "{\"a\":{\"serverUrl\":\"https://s\"}}");
}

#[test]
fn a_file_does_not_grow_without_end() {
    let place = Place::new();
    let limits = {
        let mut limits = StoreLimits::default();
        limits.bytes = 200;
        limits
    };
    let store = LoginStore::new(place.file(), limits);
    store
        .update("a", |it| *it = login("at", None))
        .expect("it fits");
    let before = place.read();
    let error = store
        .update("a", |it| *it = login(&"x".repeat(200), None))
        .expect_err("it is too large");
    assert!(
        matches!(error, StoreError::TooLarge { limit: 200, .. }),
        "{error:?}"
    );
    assert_eq!(place.read(), before);

    place.write(&[b' '; 201]);
    let error = store.login("a").expect_err("it is too large");
    assert!(
        matches!(error, StoreError::TooLarge { limit: 200, .. }),
        "{error:?}"
    );
    place.write(format!("{{{}}}", " ".repeat(198)).as_bytes());
    assert_eq!(store.login("a").expect("it fits"), None::<Login>);
}

#[test]
fn the_wait_for_an_edit_is_bounded() {
    let place = Place::new();
    let busy = place.store().update("a", |_| {
        let error = place
            .hasty_store()
            .update("b", |_| {})
            .expect_err("it is locked");
        assert!(matches!(error, StoreError::Busy { .. }), "{error:?}");
        place.hasty_store().login("b").expect("readers do not wait");
    });
    busy.expect("it saves");
}

#[test]
fn a_failed_save_leaves_everything_as_it_was() {
    let place = Place::new();
    place
        .store()
        .update("a", |it| *it = login("at", None))
        .expect("it saves");
    let before = (place.read(), place.files());
    // Nothing can be created in the place of a directory that is not empty.
    fs::create_dir_all(place.path("mcp-auth.json.new/full")).expect("a directory");
    let error = place.store().remove("a").expect_err("it cannot save");
    assert!(
        matches!(
            error,
            StoreError::Io {
                action: "remove",
                ..
            }
        ),
        "{error:?}"
    );
    fs::remove_dir_all(place.path("mcp-auth.json.new")).expect("it is there");
    assert_eq!((place.read(), place.files()), before);
}

#[test]
fn no_secret_is_in_the_debug_text_of_a_login() {
    let text = format!("{:?}", login("hunter2", Some("hunter3")));
    assert!(!text.contains("hunter"), "{text}");
}
