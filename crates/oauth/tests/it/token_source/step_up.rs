use callgate_oauth::Scopes;
use callgate_oauth::token_source::{LoginMode, LoginReason, TokenError, TokenSource};
use futures_util::future::join_all;

use super::provider::Traits;
use super::scene::{Scene, client, needed};

#[tokio::test]
async fn scopes_are_added_when_needed_and_granted_ones_stay() {
    let scene = Scene::logged_in(Traits::default()).await;
    let client = client(&scene.with_person());
    client.list_tools().await.unwrap();
    for scope in ["write", "admin"] {
        scene.provider.ledger().traits.scope = scope;
        let replies = join_all((0..20).map(|_| client.list_tools())).await;
        for reply in replies {
            reply.unwrap();
        }
    }
    let requested = scene.provider.ledger().requested.clone();
    assert_eq!(requested, ["basic", "basic write", "basic write admin"]);
    let tokens = scene.login().tokens.unwrap();
    assert_eq!(tokens.requested_scope.as_deref(), Some("basic write admin"));
}

#[tokio::test]
async fn access_is_asked_for_three_times_at_most() {
    let scene = Scene::new(Traits::default()).await;
    scene.provider.ledger().grants_scopes = false;
    scene.provider.ledger().traits.scope = "admin";
    let client = client(&scene.with_person());
    for _ in 0..3 {
        let error = client.list_tools().await.unwrap_err();
        assert!(error.to_string().contains("403"), "{error}");
        assert_eq!(scene.person.asked(), 3);
    }
}

#[tokio::test]
async fn without_a_person_the_caller_is_told_which_scopes_to_ask_for() {
    let scene = Scene::logged_in(Traits::default()).await;
    scene.provider.ledger().traits.scope = "admin";
    let error = client(&scene.alone()).list_tools().await.unwrap_err();
    let scopes = Scopes::parse("basic admin");
    assert_eq!(needed(&error), &LoginReason::Scopes { scopes });
}

#[tokio::test]
async fn more_that_was_asked_for_in_another_process_is_used() {
    let scene = Scene::logged_in(Traits::default()).await;
    let waiting = client(&scene.alone());
    waiting.list_tools().await.unwrap();
    scene.provider.ledger().traits.scope = "admin";
    for _ in 0..5 {
        // The error is the same for every attempt.
        let error = waiting.list_tools().await.unwrap_err();
        let scopes = Scopes::parse("basic admin");
        assert_eq!(needed(&error), &LoginReason::Scopes { scopes });
    }
    client(&scene.with_person()).list_tools().await.unwrap();
    assert_eq!(scene.person.asked(), 2);
    waiting.list_tools().await.unwrap();
}

#[tokio::test]
async fn a_login_asks_for_the_requested_and_the_required_scopes() {
    let scene = Scene::new(Traits::default()).await;
    let mut config = scene.config();
    config.consent = Some(scene.person.clone());
    config.scopes = Some(Scopes::parse("admin"));
    TokenSource::new(config)
        .log_in(LoginMode::Again)
        .await
        .unwrap();
    assert_eq!(scene.provider.ledger().requested, ["basic admin"]);
}

#[tokio::test]
async fn a_login_that_does_not_open_the_server_is_not_taken_for_one_that_does() {
    let scene = Scene::logged_in(Traits::default()).await;
    scene.provider.ledger().grants_scopes = false;
    scene.provider.ledger().traits.scope = "admin";
    let error = scene.alone().log_in(LoginMode::IfNeeded).await.unwrap_err();
    let scopes = Scopes::parse("basic admin");
    let TokenError::NeedsLogin(needed) = &*error else {
        panic!("{error:?}");
    };
    assert_eq!(needed.reason, LoginReason::Scopes { scopes });

    let with_person = scene.with_person();
    let error = with_person.log_in(LoginMode::IfNeeded).await.unwrap_err();
    assert!(error.to_string().contains("403"), "{error}");
}
