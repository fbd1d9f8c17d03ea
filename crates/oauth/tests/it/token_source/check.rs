use callgate_oauth::token_source::LoginCheck;

use super::provider::{Counts, Traits};
use super::scene::Scene;

#[tokio::test]
async fn a_login_is_checked_without_a_refresh() {
    let scene = Scene::logged_in(Traits::default()).await;
    let check = scene.alone().check_login().await.unwrap();
    assert!(matches!(check, LoginCheck::Accepted { .. }), "{check:?}");

    scene.provider.ledger().end_access();
    let check = scene.alone().check_login().await.unwrap();
    let LoginCheck::Refused(refusal) = check else {
        panic!("{check:?}");
    };
    assert_eq!(refusal.status, 401);
    // The token is what was asked about, so nothing replaced it.
    assert_eq!(scene.provider.counts(), Counts::default());
}

#[tokio::test]
async fn a_nonce_is_no_refusal() {
    let scene = Scene::logged_in(Traits {
        binds: true,
        ..Traits::default()
    })
    .await;
    scene.provider.ledger().nonce += 1;
    let check = scene.alone().check_login().await.unwrap();
    assert!(matches!(check, LoginCheck::Accepted { .. }), "{check:?}");
}

#[tokio::test]
async fn without_an_answer_nothing_is_known() {
    let scene = Scene::logged_in(Traits::default()).await;
    let token_source = scene.alone();
    drop(scene.provider);
    let check = token_source.check_login().await.unwrap();
    assert!(matches!(check, LoginCheck::Unknown(_)), "{check:?}");
}
