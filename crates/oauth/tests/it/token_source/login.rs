use std::error::Error as _;
use std::sync::Arc;

use callgate_mcp::{Kind, Retry};
use callgate_oauth::Secret;
use callgate_oauth::callback_listener::Page;
use callgate_oauth::quirks::Quirks;
use callgate_oauth::registration::NeedsClientRegistration;
use callgate_oauth::store::{Login, LoginBinding, Tokens};
use callgate_oauth::token_source::{LoginMode, LoginReason, LoginState, Revocation, TokenSource};
use futures_util::future::join_all;

use super::person::{Person, REDIRECT};
use super::provider::{Counts, Fault, Provider, Traits};
use super::scene::{NAME, Scene, client, needed};

/// One login at a new provider.
const FIRST: Counts = Counts {
    registrations: 1,
    logins: 1,
    refreshes: 0,
    reuses: 0,
    revocations: 0,
};

#[tokio::test]
async fn one_login_is_enough_for_every_process_after_it() {
    let scene = Scene::new(Traits::default()).await;
    client(&scene.with_person()).list_tools().await.unwrap();
    assert_eq!(scene.provider.counts(), FIRST);
    assert_eq!(scene.person.shown(), [Page::Done]);

    for _ in 0..3 {
        client(&scene.alone()).list_tools().await.unwrap();
    }
    assert_eq!(scene.provider.counts(), FIRST);
    let login = scene.login();
    let standing = login.binding(&scene.provider.server(), &scene.provider.base);
    assert_eq!(standing, LoginBinding::Bound);
    let tokens = login.tokens.unwrap();
    assert_eq!(tokens.requested_scope.as_deref(), Some("basic"));
    assert_eq!(tokens.client_id, login.client.map(|it| it.id));
    assert_eq!(scene.place.files().last().unwrap().1, 0o600);
}

#[tokio::test]
async fn requests_that_come_together_share_one_login() {
    let scene = Scene::new(Traits::default()).await;
    let client = client(&scene.with_person());
    let replies = join_all((0..50).map(|_| client.list_tools())).await;
    for reply in replies {
        reply.unwrap();
    }
    assert_eq!(scene.provider.counts(), FIRST);
}

#[tokio::test]
async fn a_login_goes_on_when_its_request_is_dropped() {
    let scene = Scene::new(Traits::default()).await;
    let token_source = scene.with_person();
    let client = client(&token_source);
    {
        let request = client.list_tools();
        tokio::pin!(request);
        while scene.person.asked() == 0 {
            tokio::select! {
                biased;
                _ = &mut request => panic!("somebody has to consent first"),
                () = tokio::task::yield_now() => {}
            }
        }
    }
    client.list_tools().await.unwrap();
    assert_eq!(scene.provider.counts(), FIRST);
}

#[tokio::test]
async fn without_a_user_the_error_names_the_next_step() {
    let scene = Scene::new(Traits::default()).await;
    let error = client(&scene.alone()).list_tools().await.unwrap_err();
    assert_eq!(needed(&error), &LoginReason::NoLogin);
    assert_eq!(
        (error.kind(), error.retry()),
        (Kind::Unauthorized, Retry::Never)
    );
    let text = format!(
        "no token for server `{NAME}`: login needed at {}: no login is stored",
        scene.provider.server()
    );
    assert_eq!(error.to_string(), text);
}

#[tokio::test]
async fn without_registration_the_error_names_the_next_step() {
    let traits = Traits {
        registers: false,
        ..Traits::default()
    };
    let scene = Scene::new(traits).await;
    let error = client(&scene.with_person()).list_tools().await.unwrap_err();
    let needed: Option<&NeedsClientRegistration> = error.source().unwrap().downcast_ref();
    let needed = needed.unwrap();
    assert_eq!(needed.issuer, scene.provider.base);
    let redirect_uri = "http://127.0.0.1:19876/mcp/oauth/callback";
    assert_eq!(needed.redirect_uri, redirect_uri);
    assert!(!needed.accepts_metadata_document);
    assert_eq!(error.kind(), Kind::Unauthorized);
}

#[tokio::test]
async fn a_store_in_memory_works_too() {
    let scene = Scene::new(Traits::default()).await;
    let mut config = scene.config();
    config.store = None;
    config.consent = Some(scene.person.clone());
    let token_source = TokenSource::new(config);
    let client = client(&token_source);
    client.list_tools().await.unwrap();
    scene.provider.ledger().end_access();
    client.list_tools().await.unwrap();
    let expected = Counts {
        refreshes: 1,
        ..FIRST
    };
    assert_eq!(scene.provider.counts(), expected);
    assert_eq!(scene.place.files(), []);
}

#[tokio::test]
async fn a_login_for_another_address_is_never_sent() {
    let scene = Scene::logged_in(Traits::default()).await;
    let elsewhere = |login: &mut Login| login.server_url = Some("https://elsewhere/mcp".to_owned());
    scene.place.store().update(NAME, elsewhere).unwrap();
    let error = client(&scene.alone()).list_tools().await.unwrap_err();
    assert_eq!(needed(&error), &LoginReason::NoLogin);
}

#[tokio::test]
async fn a_server_that_moves_to_another_issuer_gets_a_new_login_and_nothing_else() {
    let scene = Scene::logged_in(Traits::default()).await;
    let other = Provider::start(Traits::default()).await;
    scene.provider.ledger().issuer.clone_from(&other.base);
    scene.provider.ledger().end_access();
    // The login of an older file: with a token endpoint, the issuer refreshes it without metadata.
    let forget = |login: &mut Login| login.token_endpoint = None;
    scene.place.store().update(NAME, forget).unwrap();

    let error = client(&scene.alone()).list_tools().await.unwrap_err();
    let issuer = scene.provider.base.clone();
    assert_eq!(needed(&error), &LoginReason::IssuerChanged { issuer });
    assert_eq!(other.counts(), Counts::default());

    // The tokens of the other issuer are refused here, even after a refresh, but that is not the
    // point of this test.
    client(&scene.with_person()).list_tools().await.unwrap_err();
    let expected = Counts {
        refreshes: 1,
        ..FIRST
    };
    assert_eq!(other.counts(), expected);
    assert_eq!(scene.login().issuer, Some(other.base.clone()));
    assert_eq!(scene.provider.counts(), Counts::default());
}

#[tokio::test]
async fn servers_at_one_issuer_share_a_registration() {
    let scene = Scene::logged_in(Traits::default()).await;
    let shared = scene.login().client;
    let other = Provider::start(Traits::default()).await;
    other.ledger().issuer.clone_from(&scene.provider.base);
    let log_in = async |redirect_uri: &str| {
        let mut config = scene.config();
        config.name = "other".into();
        config.server = other.server().parse().unwrap();
        config.consent = Some(Arc::new(Person::at(redirect_uri)));
        let token_source = TokenSource::new(config);
        token_source.log_in(LoginMode::Again).await.unwrap();
        let stored = scene.place.store().login("other").unwrap().unwrap();
        let counts = scene.provider.counts();
        (stored.client, counts.registrations, counts.logins)
    };
    assert_eq!(log_in(REDIRECT).await, (shared.clone(), 0, 1));
    assert_eq!(other.counts(), Counts::default());

    // Another redirect URI needs a registration of its own.
    let (client, registrations, logins) = log_in("http://127.0.0.1:1/cb").await;
    assert_eq!((registrations, logins), (1, 2));
    assert_ne!(client, shared);

    // So does a client that the issuer has deleted.
    scene.place.store().remove("other").unwrap();
    scene.provider.ledger().forget_clients();
    let (client, registrations, logins) = log_in(REDIRECT).await;
    assert_eq!((registrations, logins), (2, 3));
    assert_ne!(client, shared);
}

#[tokio::test]
async fn a_client_that_was_forgotten_is_registered_again() {
    let scene = Scene::logged_in(Traits::default()).await;
    scene.provider.ledger().end_logins();
    scene.provider.ledger().forget_clients();
    let error = client(&scene.alone()).list_tools().await.unwrap_err();
    assert_eq!(needed(&error), &LoginReason::ClientChanged);
    client(&scene.with_person()).list_tools().await.unwrap();
    assert_eq!(scene.provider.counts(), FIRST);
}

#[tokio::test]
async fn a_person_can_log_in_and_out_at_will() {
    let scene = Scene::new(Traits::default()).await;
    let token_source = scene.with_person();
    assert_eq!(
        token_source.status().await.unwrap().state,
        LoginState::LoggedOut
    );
    for (when, logins) in [
        (LoginMode::IfNeeded, 1),
        (LoginMode::IfNeeded, 1),
        (LoginMode::Again, 2),
    ] {
        let status = token_source.log_in(when).await.unwrap();
        assert_eq!(status.state, LoginState::LoggedIn);
        assert_eq!(status.issuer, Some(scene.provider.base.clone()));
        assert_eq!(scene.provider.counts().logins, logins);
    }
    assert_eq!(scene.provider.counts().registrations, 1);

    assert_eq!(token_source.log_out().await.unwrap(), Revocation::Revoked);
    assert_eq!(scene.place.store().names().unwrap(), Vec::<String>::new());
    assert_eq!(scene.provider.counts().revocations, 1);
    assert_eq!(token_source.log_out().await.unwrap(), Revocation::NoLogin);
    let error = client(&scene.alone()).list_tools().await.unwrap_err();
    assert_eq!(needed(&error), &LoginReason::NoLogin);
}

#[tokio::test]
async fn a_user_who_declines_is_asked_once() {
    let scene = Scene::logged_in(Traits::default()).await;
    scene.provider.ledger().end_logins();
    scene.provider.ledger().is_denied = true;
    let asked = scene.person.asked();
    let error = scene.with_person().log_in(LoginMode::IfNeeded).await;
    assert_eq!(
        error.unwrap_err().to_string(),
        "access was not granted: access_denied"
    );
    assert_eq!(scene.person.asked(), asked + 1);
}

#[tokio::test]
async fn a_server_that_wants_none_of_its_tokens_does_not_ask_for_ever() {
    let scene = Scene::new(Traits::default()).await;
    scene.provider.ledger().traits.uses = Some(0);
    let client = client(&scene.with_person());
    for refreshes in [1, 1] {
        let error = client.list_tools().await.unwrap_err();
        assert_eq!(needed(&error), &LoginReason::Refused);
        let expected = Counts { refreshes, ..FIRST };
        assert_eq!(scene.provider.counts(), expected);
    }
}

#[tokio::test]
async fn a_client_of_an_unusual_redirect_is_not_used_for_the_usual_one() {
    let scene = Scene::logged_in(Traits::default()).await;
    scene.provider.ledger().end_logins();
    let unusual = |login: &mut Login| {
        let client = login.client.as_mut().unwrap();
        client.redirect_uri = Some("http://127.0.0.1:1/cb".to_owned());
    };
    scene.place.store().update(NAME, unusual).unwrap();
    client(&scene.with_person()).list_tools().await.unwrap();
    assert_eq!(scene.provider.counts().registrations, 1);
}

#[tokio::test]
async fn nothing_that_is_shown_holds_a_token() {
    let scene = Scene::logged_in(Traits::default()).await;
    let token_source = scene.with_person();
    client(&token_source).list_tools().await.unwrap();
    scene.provider.ledger().end_logins();
    let alone = scene.alone();
    let error = client(&alone).list_tools().await.unwrap_err();
    let shown = format!("{token_source:?} {alone:?} {error:?}");
    for secret in ["access-", "refresh-", "code-"] {
        assert!(!shown.contains(secret), "{secret} in {shown}");
    }
}

#[tokio::test]
async fn a_damaged_login_is_replaced_by_the_next_one() {
    let damages: [fn(&mut Tokens); 2] = [
        |tokens| tokens.access_token = Secret::new("no\nheader"),
        |tokens| tokens.token_type = Some("DPoP".to_owned()),
    ];
    for damage in damages {
        let scene = Scene::logged_in(Traits::default()).await;
        scene.edit_tokens(damage);
        for _ in 0..2 {
            let error = client(&scene.alone()).list_tools().await.unwrap_err();
            assert_eq!(needed(&error), &LoginReason::Unusable);
        }
        let status = scene
            .with_person()
            .log_in(LoginMode::IfNeeded)
            .await
            .unwrap();
        assert_eq!(status.state, LoginState::LoggedIn);
        client(&scene.alone()).list_tools().await.unwrap();
        assert_eq!(scene.provider.counts().logins, 1);
    }
}

#[tokio::test]
async fn a_known_provider_gets_its_parameters_without_an_option() {
    let scene = Scene::new(Traits::default()).await;
    let host = scene.provider.base.strip_prefix("http://").unwrap();
    let mut config = scene.config();
    config.consent = Some(scene.person.clone());
    config.quirks = Quirks::default().with_host_alias(host, "accounts.google.com");
    TokenSource::new(config.clone())
        .log_in(LoginMode::Again)
        .await
        .unwrap();
    let page = scene.provider.ledger().page.clone();
    assert!(
        page.contains("&access_type=offline&prompt=consent"),
        "{page}"
    );

    config
        .options
        .auth_params
        .parse("access_type=online")
        .unwrap();
    TokenSource::new(config)
        .log_in(LoginMode::Again)
        .await
        .unwrap();
    let page = scene.provider.ledger().page.clone();
    assert!(
        page.contains("&access_type=online&prompt=consent"),
        "{page}"
    );
}

#[tokio::test]
async fn a_login_that_begins_anew_replaces_the_registration() {
    let scene = Scene::logged_in(Traits::default()).await;
    let mut config = scene.config();
    config.consent = Some(scene.person.clone());
    config.registers_anew = true;
    let before = scene.login().client.map(|it| it.id);
    TokenSource::new(config)
        .log_in(LoginMode::Again)
        .await
        .unwrap();
    let after = scene.login().client.map(|it| it.id);
    assert!(after.is_some() && after != before, "{after:?}");
    scene.provider.ledger().end_access();
    client(&scene.alone()).list_tools().await.unwrap();
}

#[tokio::test]
async fn a_client_that_was_forgotten_during_the_login_is_registered_again_once() {
    let scene = Scene::logged_in(Traits::default()).await;
    let asked = scene.person.asked();
    let expected = Counts {
        registrations: 1,
        logins: 1,
        ..Counts::default()
    };
    // The authorization page does not know the client.
    scene.provider.ledger().end_logins();
    scene.provider.ledger().forget_clients();
    scene.with_person().log_in(LoginMode::Again).await.unwrap();
    assert_eq!(scene.provider.counts(), expected);
    assert_eq!(scene.person.asked(), asked + 2);

    // The token endpoint does not know it.
    scene.provider.ledger().counts = Counts::default();
    scene
        .provider
        .ledger()
        .faults
        .push_back(Fault::Refusal("invalid_client"));
    scene.with_person().log_in(LoginMode::Again).await.unwrap();
    assert_eq!(scene.provider.counts(), expected);

    // A client that is refused again and again is not registered for ever.
    scene.provider.ledger().counts = Counts::default();
    let refusals = [Fault::Refusal("invalid_client"); 3];
    scene.provider.ledger().faults.extend(refusals);
    scene
        .with_person()
        .log_in(LoginMode::Again)
        .await
        .unwrap_err();
    assert_eq!(scene.provider.counts().registrations, 1);
}
