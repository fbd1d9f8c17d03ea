use std::sync::Arc;

use callgate_mcp::Retry;
use callgate_oauth::Secret;
use callgate_oauth::options::EndpointUrl;
use callgate_oauth::registration::{ClientInfo, ConfiguredClient};
use callgate_oauth::store::{Login, TokenEndpoint};
use callgate_oauth::token_source::{Grant, LoginReason, Revocation, TokenSource};

use super::provider::{Provider, Traits};
use super::scene::{NAME, Scene, client, needed};

/// Edits the stored token endpoint.
fn edit_endpoint(scene: &Scene, edit: impl FnOnce(&mut Option<TokenEndpoint>)) {
    let edit = |login: &mut Login| edit(&mut login.token_endpoint);
    scene.place.store().update(NAME, edit).expect("it saves");
}

/// Token endpoint that is stored.
fn stored(scene: &Scene) -> Option<String> {
    scene.login().token_endpoint.map(|it| it.url)
}

/// Refreshes the token; returns the numbers of refreshes and of metadata requests.
async fn refresh(scene: &Scene) -> (u32, u32) {
    scene.provider.ledger().end_access();
    scene.provider.ledger().documents = 0;
    client(&scene.alone()).list_tools().await.unwrap();
    let refreshes = scene.provider.counts().refreshes;
    (refreshes, scene.provider.ledger().documents)
}

#[tokio::test]
async fn a_refresh_needs_no_metadata() {
    let scene = Scene::logged_in(Traits::default()).await;
    scene.provider.ledger().has_metadata = false;
    assert_eq!(refresh(&scene).await, (1, 0));
    assert_eq!(refresh(&scene).await, (2, 0));
}

#[tokio::test]
async fn a_token_endpoint_that_has_moved_is_found_again() {
    let scene = Scene::logged_in(Traits::default()).await;
    scene.provider.ledger().token_path = "/moved";
    assert_eq!(refresh(&scene).await, (1, 2));
    let moved = format!("{}/moved", scene.provider.base);
    assert_eq!(stored(&scene), Some(moved.clone()));
    assert_eq!(refresh(&scene).await, (2, 0));

    // The host of the stored endpoint is gone.
    edit_endpoint(&scene, |it| {
        it.as_mut().unwrap().url = "http://127.0.0.1:1/token".to_owned();
    });
    assert_eq!(refresh(&scene).await, (3, 2));
    assert_eq!(stored(&scene), Some(moved));
}

#[tokio::test]
async fn missing_metadata_does_not_cost_a_login() {
    let scene = Scene::logged_in(Traits::default()).await;
    let before = scene.login();
    scene.provider.ledger().end_access();
    scene.provider.ledger().has_metadata = false;
    scene.provider.ledger().token_path = "/moved";
    let error = client(&scene.alone()).list_tools().await.unwrap_err();
    assert_eq!(error.retry(), Retry::Safe, "{error}");
    assert_eq!(scene.login(), before);

    scene.provider.ledger().token_path = "/token";
    assert_eq!(refresh(&scene).await, (1, 0));
}

#[tokio::test]
async fn a_login_of_an_older_file_is_refreshed_by_metadata_once() {
    let scene = Scene::logged_in(Traits::default()).await;
    let endpoint = stored(&scene);
    for unusable in [None, Some("http://as.example/token")] {
        edit_endpoint(&scene, |it| match unusable {
            None => *it = None,
            Some(url) => url.clone_into(&mut it.as_mut().unwrap().url),
        });
        let (_, documents) = refresh(&scene).await;
        assert_eq!((documents, stored(&scene)), (2, endpoint.clone()));
        assert_eq!(refresh(&scene).await.1, 0);
    }
    assert_eq!(scene.provider.counts().logins, 0);
}

/// Token source whose configuration names the token endpoint `url`.
fn naming(scene: &Scene, url: &str) -> Arc<TokenSource> {
    let mut config = scene.config();
    config.options.token_endpoint = Some(EndpointUrl::parse(url).unwrap());
    TokenSource::new(config)
}

#[tokio::test]
async fn a_login_is_never_sent_to_a_token_endpoint_of_another_origin() {
    let other = Provider::start(Traits::default()).await;
    let configured = format!("{}/token", other.base);
    for forget in [
        |_: &mut Login| {},
        // The login of an older file, and that of OpenCode.
        |login: &mut Login| login.token_endpoint = None,
        |login: &mut Login| {
            login.token_endpoint = None;
            login.issuer = None;
        },
    ] {
        let scene = Scene::logged_in(Traits::default()).await;
        scene.place.store().update(NAME, forget).unwrap();
        scene.provider.ledger().end_access();
        let before = scene.login();

        let source = naming(&scene, &configured);
        let error = client(&source).list_tools().await.unwrap_err();
        let stored = match &before.issuer {
            Some(issuer) => issuer.clone(),
            None => "a provider that was not recorded".to_owned(),
        };
        let expected = LoginReason::EndpointChanged {
            stored,
            configured: configured.parse().unwrap(),
        };
        assert_eq!(needed(&error), &expected);
        assert_eq!(scene.login(), before);
        assert_eq!(source.log_out().await.unwrap(), Revocation::Failed);
        assert_eq!(scene.provider.counts().revocations, 0);
    }
    assert_eq!(other.ledger().token_requests, 0);
}

#[tokio::test]
async fn the_secret_of_a_client_is_never_sent_to_a_token_endpoint_of_another_origin() {
    let scene = Scene::new(Traits::default()).await;
    let other = Provider::start(Traits::default()).await;
    let source = |url: &str| {
        let mut config = scene.config();
        let mut machine = ClientInfo::public("machine");
        machine.secret = Some(Secret::new("machine-secret"));
        config.client = Some(ConfiguredClient::new(machine));
        config.grant = Grant::ClientCredentials;
        config.options.token_endpoint = Some(EndpointUrl::parse(url).unwrap());
        TokenSource::new(config)
    };
    let own = source(&format!("{}/token", scene.provider.base));
    client(&own).list_tools().await.unwrap();

    scene.provider.ledger().end_access();
    let configured = format!("{}/token", other.base);
    let error = client(&source(&configured)).list_tools().await.unwrap_err();
    let expected = LoginReason::EndpointChanged {
        stored: scene.provider.base.clone(),
        configured: configured.parse().unwrap(),
    };
    assert_eq!(needed(&error), &expected);
    assert_eq!(other.ledger().token_requests, 0);
    client(&own).list_tools().await.unwrap();
}

#[tokio::test]
async fn a_login_made_with_a_configured_token_endpoint_goes_on_with_it() {
    let scene = Scene::new(Traits::default()).await;
    scene.provider.ledger().token_path = "/moved";
    let own = format!("{}/moved", scene.provider.base);
    let mut config = scene.config();
    config.options.token_endpoint = Some(EndpointUrl::parse(&own).unwrap());
    config.consent = Some(scene.person.clone());
    client(&TokenSource::new(config))
        .list_tools()
        .await
        .unwrap();
    assert_eq!(stored(&scene), Some(own.clone()));

    scene.provider.ledger().end_access();
    client(&naming(&scene, &own)).list_tools().await.unwrap();
    assert_eq!(scene.provider.counts().refreshes, 1);

    // Without the option too.
    scene.provider.ledger().end_access();
    client(&scene.alone()).list_tools().await.unwrap();
    assert_eq!(scene.provider.counts().refreshes, 2);
}
