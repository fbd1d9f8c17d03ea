use callgate_oauth::Secret;
use callgate_oauth::store::{
    Login, LoginStore, RefreshDecision, RefreshPermit, StoreError, StoreLimits,
};

use crate::store_fixture::{Place, login, tokens};

#[test]
fn the_first_caller_refreshes_and_missing_members_stay() {
    let place = stored(login("at-1", Some("rt-1")));
    let permit = permit(&place);
    assert_eq!(permit.tokens(), &tokens("at-1", Some("rt-1")));

    let renewed = login("at-2", Some("rt-1"));
    let outcome = permit.complete(tokens("at-2", None)).expect("it saves");
    assert_eq!(outcome, Some(renewed.clone()));
    assert_eq!(current(&place), Some(renewed));
}

#[test]
fn a_rotated_refresh_token_replaces_the_old_one() {
    let place = stored(login("at-1", Some("rt-1")));
    let outcome = permit(&place)
        .complete(tokens("at-2", Some("rt-2")))
        .expect("it saves");
    assert_eq!(outcome, Some(login("at-2", Some("rt-2"))));
}

#[test]
fn the_key_of_a_bound_login_outlives_its_tokens() {
    let bound = |access_token: &str, key: Option<&str>| {
        let mut login = login(access_token, Some("rt-1"));
        let tokens = login.tokens.as_mut().expect("it has tokens");
        tokens.token_type = Some("DPoP".to_owned());
        tokens.dpop_key = key.map(Secret::new);
        login
    };
    let place = stored(bound("at-1", Some("key")));
    let tokens = bound("at-2", None).tokens.expect("it has tokens");
    let outcome = permit(&place).complete(tokens);
    let renewed = bound("at-2", Some("key"));
    assert_eq!(outcome.expect("it saves"), Some(renewed));
}

#[test]
fn the_second_caller_uses_the_tokens_of_the_first() {
    let place = stored(login("at-2", Some("rt-2")));
    let refresh = place
        .store()
        .begin_refresh("a", &Secret::new("at-1"))
        .expect("it reads");
    let RefreshDecision::Replaced(found) = refresh else {
        panic!("there is another token: {refresh:?}");
    };
    assert_eq!(found, login("at-2", Some("rt-2")));
}

#[test]
fn a_store_that_cannot_be_written_is_found_before_a_refresh() {
    let place = stored(login("at-1", Some("rt-1")));
    permit(&place)
        .check_writable()
        .expect("nothing is in the way");
    let before = (place.read(), place.files());

    let room = 64 * 1024;
    let limits = |bytes| {
        let mut limits = StoreLimits::default();
        limits.bytes = bytes;
        limits
    };
    for (bytes, fits) in [(0, true), (1, false)] {
        let limits = limits(before.0.len() + room - bytes);
        let store = LoginStore::new(place.file(), limits);
        let refresh = store.begin_refresh("a", &Secret::new("at-1"));
        let Ok(RefreshDecision::Permitted(permit)) = refresh else {
            panic!("{refresh:?}");
        };
        let outcome = permit.check_writable();
        let is_too_large = matches!(outcome, Err(StoreError::TooLarge { .. }));
        assert_eq!((outcome.is_ok(), is_too_large), (fits, !fits));
    }
    let permit = permit(&place);
    assert_eq!((place.read(), place.files()), before);
    std::fs::create_dir(place.path("mcp-auth.json.new")).expect("it is free");
    let outcome = permit.check_writable();
    assert!(matches!(outcome, Err(StoreError::Io { .. })), "{outcome:?}");
}

#[test]
fn a_refresh_that_fails_without_an_answer_keeps_the_tokens() {
    let place = stored(login("at-1", Some("rt-1")));
    drop(permit(&place));
    assert_eq!(current(&place), Some(login("at-1", Some("rt-1"))));
    drop(permit(&place));
}

#[test]
fn tokens_that_are_rejected_are_forgotten_and_the_registration_stays() {
    let with_server = |mut login: Login| {
        login.server_url = Some("https://s".to_owned());
        login
    };
    let place = stored(with_server(login("at-1", Some("rt-1"))));
    assert_eq!(permit(&place).reject().expect("it saves"), None);
    assert_eq!(current(&place), Some(with_server(Login::default())));
}

#[test]
fn a_refresh_token_that_is_rejected_is_forgotten_alone() {
    let place = stored(login("at-1", Some("rt-1")));
    let outcome = permit(&place).reject_refresh_token().expect("it saves");
    assert_eq!(outcome, Some(login("at-1", None)));
    assert_eq!(current(&place), Some(login("at-1", None)));
}

#[test]
fn a_login_that_was_made_meanwhile_wins() {
    let meanwhile = login("at-9", Some("rt-9"));
    for reject in [false, true] {
        let place = stored(login("at-1", Some("rt-1")));
        let permit = permit(&place);
        place
            .store()
            .update("a", |it| *it = meanwhile.clone())
            .expect("it saves");
        let outcome = if reject {
            permit.reject()
        } else {
            permit.complete(tokens("at-2", Some("rt-2")))
        };
        assert_eq!(outcome.expect("it reads"), Some(meanwhile.clone()));
        assert_eq!(current(&place), Some(meanwhile.clone()));
    }
}

#[test]
fn a_logout_is_not_undone() {
    let place = stored(login("at-1", Some("rt-1")));
    let permit = permit(&place);
    place.store().remove("a").expect("it saves");
    let outcome = permit.complete(tokens("at-2", None)).expect("it reads");
    assert_eq!(outcome, None);
    assert_eq!(current(&place), None);
    drop(permit);
    let refresh = place
        .store()
        .begin_refresh("a", &Secret::new("at-1"))
        .expect("it reads");
    assert!(matches!(refresh, RefreshDecision::NoTokens), "{refresh:?}");
}

#[test]
fn the_wait_for_a_refresh_is_bounded_and_other_logins_do_not_wait() {
    let place = stored(login("at-1", Some("rt-1")));
    place
        .store()
        .update("b", |it| *it = login("at-1", None))
        .expect("it saves");
    let permit = permit(&place);
    let seen = Secret::new("at-1");
    let error = place
        .hasty_store()
        .begin_refresh("a", &seen)
        .expect_err("it is locked");
    assert!(matches!(error, StoreError::Busy { .. }), "{error:?}");
    let other = place
        .hasty_store()
        .begin_refresh("b", &seen)
        .expect("it is free");
    assert!(matches!(other, RefreshDecision::Permitted(_)), "{other:?}");
    drop(permit);
    place
        .hasty_store()
        .begin_refresh("a", &seen)
        .expect("it is free");
}

fn stored(login: Login) -> Place {
    let place = Place::new();
    place
        .store()
        .update("a", |it| *it = login)
        .expect("it saves");
    place
}

fn current(place: &Place) -> Option<Login> {
    place.store().login("a").expect("it reads")
}

fn permit(place: &Place) -> RefreshPermit {
    match place
        .store()
        .begin_refresh("a", &Secret::new("at-1"))
        .expect("it reads")
    {
        RefreshDecision::Permitted(permit) => permit,
        other => panic!("it is ours to refresh: {other:?}"),
    }
}
