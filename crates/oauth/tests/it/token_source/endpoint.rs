use callgate_mcp::Retry;
use callgate_oauth::store::{Login, TokenEndpoint};

use super::provider::Traits;
use super::scene::{NAME, Scene, client};

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
