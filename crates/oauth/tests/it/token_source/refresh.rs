use callgate_mcp::client::Client;
use callgate_mcp::{Kind, Retry};
use callgate_oauth::store::{Login, Tokens};
use callgate_oauth::token_source::LoginReason;
use callgate_oauth::{ProviderError, Secret};
use futures_util::FutureExt;
use futures_util::future::join_all;

use super::provider::{Counts, Fault, Rotation, Traits};
use super::scene::{NAME, Scene, client, needed};

/// So many refreshes, and nothing else.
fn refreshes(refreshes: u32) -> Counts {
    Counts {
        refreshes,
        ..Counts::default()
    }
}

#[tokio::test]
async fn a_token_is_renewed_before_it_ends_and_never_twice() {
    // Seconds since it was issued, seconds of its life, refreshes.
    for (ago, life, expected) in [
        (0.0, 3600.0, 0),
        (0.7 * 3600.0, 3600.0, 0),
        (0.86 * 3600.0, 3600.0, 1),
        (4000.0, 3600.0, 1),
        // The clock was two days ahead or behind when it was issued.
        (-172_800.0, 3600.0, 0),
        (172_800.0, 3600.0, 1),
    ] {
        let scene = Scene::logged_in(Traits::default()).await;
        scene.age(ago, life);
        let token_source = scene.alone();
        let client = client(&token_source);
        let replies = join_all((0..20).map(|_| client.list_tools())).await;
        for reply in replies {
            reply.unwrap();
        }
        token_source.wait_idle().await;
        assert_eq!(scene.provider.counts(), refreshes(expected), "{ago}");
    }
}

#[tokio::test]
async fn a_token_that_is_refused_is_renewed_once_for_everybody() {
    let scene = Scene::logged_in(Traits::default()).await;
    let client = client(&scene.alone());
    client.list_tools().await.unwrap();
    for expected in 1..=3 {
        scene.provider.ledger().end_access();
        let replies = join_all((0..50).map(|_| client.list_tools())).await;
        for reply in replies {
            reply.unwrap();
        }
        assert_eq!(scene.provider.counts(), refreshes(expected));
    }
}

#[tokio::test]
async fn a_token_that_ends_before_it_is_used_is_renewed_once_more() {
    for (stillborn, expected) in [(1, None), (2, Some(LoginReason::Refused))] {
        let scene = Scene::logged_in(Traits::default()).await;
        scene.provider.ledger().end_access();
        scene.provider.ledger().stillborn = stillborn;
        let found = client(&scene.alone()).list_tools().await.err();
        let reason = found.as_ref().map(|error| needed(error).clone());
        assert_eq!(reason, expected);
        assert_eq!(scene.provider.counts(), refreshes(2));
    }
}

#[tokio::test]
async fn token_sources_of_one_process_and_of_many_share_a_refresh() {
    let scene = Scene::logged_in(Traits::default()).await;
    let clients: Vec<_> = (0..20).map(|_| client(&scene.alone())).collect();
    for client in &clients {
        client.list_tools().await.unwrap();
    }
    scene.provider.ledger().end_access();
    let replies = join_all(clients.iter().map(Client::list_tools)).await;
    for reply in replies {
        reply.unwrap();
    }
    assert_eq!(scene.provider.counts(), refreshes(1));
}

#[tokio::test]
async fn a_refresh_token_that_is_not_repeated_is_kept() {
    let traits = Traits {
        rotation: Rotation::Stays,
        ..Traits::default()
    };
    let scene = Scene::logged_in(traits).await;
    let before = scene.login().tokens.unwrap();
    for expected in 1..=3 {
        scene.provider.ledger().end_access();
        client(&scene.alone()).list_tools().await.unwrap();
        assert_eq!(scene.provider.counts(), refreshes(expected));
    }
    let after = scene.login().tokens.unwrap();
    let kept = |tokens: Tokens| {
        (
            tokens.refresh_token,
            tokens.scope,
            tokens.client_id,
            tokens.requested_scope,
        )
    };
    assert_ne!(after.access_token, before.access_token);
    assert_eq!(kept(after), kept(before));
}

#[tokio::test]
async fn a_login_that_was_ended_is_forgotten_and_the_client_is_not() {
    let scene = Scene::logged_in(Traits::default()).await;
    scene.provider.ledger().end_logins();
    let client_info = scene.login().client;
    let error = client(&scene.alone()).list_tools().await.unwrap_err();
    assert_eq!(needed(&error), &LoginReason::Revoked);
    let login = scene.login();
    assert_eq!((login.tokens, login.client), (None, client_info));

    client(&scene.with_person()).list_tools().await.unwrap();
    let expected = Counts {
        logins: 1,
        ..Counts::default()
    };
    assert_eq!(scene.provider.counts(), expected);
}

#[tokio::test]
async fn a_refusal_that_says_nothing_about_the_login_does_not_cost_it() {
    let scene = Scene::logged_in(Traits::default()).await;
    let before = scene.login();
    scene.provider.ledger().end_access();
    let fault = Fault::Refusal("invalid_target");
    scene.provider.ledger().faults.push_back(fault);
    let error = client(&scene.alone()).list_tools().await.unwrap_err();
    let refusal = ProviderError::new("invalid_target");
    assert_eq!(
        needed(&error),
        &LoginReason::NotRefreshed(Box::new(refusal))
    );
    assert_eq!(scene.login(), before);
    client(&scene.alone()).list_tools().await.unwrap();
}

#[tokio::test]
async fn an_access_token_outlives_its_refresh_token() {
    let scene = Scene::logged_in(Traits::default()).await;
    scene.edit_tokens(|tokens| tokens.refresh_token = Some(Secret::new("worthless")));
    scene.age(3500.0, 3600.0);
    let token_source = scene.alone();
    let client = client(&token_source);
    for _ in 0..3 {
        client.list_tools().await.unwrap();
    }
    token_source.wait_idle().await;
    assert_eq!(scene.login().tokens.unwrap().refresh_token, None);
    assert_eq!(scene.provider.counts(), refreshes(0));
}

#[tokio::test]
async fn a_token_refreshed_by_another_process_is_used() {
    let scene = Scene::logged_in(Traits::default()).await;
    let (first, second) = (client(&scene.alone()), client(&scene.alone()));
    first.list_tools().await.unwrap();
    second.list_tools().await.unwrap();
    scene.provider.ledger().end_access();
    first.list_tools().await.unwrap();
    second.list_tools().await.unwrap();
    assert_eq!(scene.provider.counts(), refreshes(1));
}

#[tokio::test]
async fn a_login_that_was_taken_over_is_renewed_and_bound() {
    let scene = Scene::logged_in(Traits::default()).await;
    let as_imported = |login: &mut Login| {
        let known = std::mem::take(login);
        let tokens = known.tokens.unwrap();
        let mut imported = Tokens::new(tokens.access_token);
        imported.refresh_token = tokens.refresh_token;
        imported.expires_at = tokens.expires_at;
        login.server_url = known.server_url;
        login.client = known.client;
        login.tokens = Some(imported);
    };
    scene.place.store().update(NAME, as_imported).unwrap();
    client(&scene.alone()).list_tools().await.unwrap();
    scene.provider.ledger().end_access();
    client(&scene.alone()).list_tools().await.unwrap();
    assert_eq!(scene.provider.counts(), refreshes(1));
    assert_eq!(scene.login().issuer, Some(scene.provider.base.clone()));
}

#[tokio::test]
async fn a_login_in_another_process_is_found() {
    let scene = Scene::logged_in(Traits::default()).await;
    let waiting = client(&scene.alone());
    scene.provider.ledger().end_logins();
    let error = waiting.list_tools().await.unwrap_err();
    assert_eq!(needed(&error), &LoginReason::Revoked);
    client(&scene.with_person()).list_tools().await.unwrap();
    waiting.list_tools().await.unwrap();
}

#[tokio::test]
async fn a_logout_in_another_process_is_heeded() {
    let scene = Scene::logged_in(Traits::default()).await;
    let client = client(&scene.alone());
    client.list_tools().await.unwrap();
    scene.alone().log_out().await.unwrap();
    let error = client.list_tools().await.unwrap_err();
    assert_eq!(needed(&error), &LoginReason::NoLogin);
    assert_eq!(scene.provider.counts().refreshes, 0);
}

#[tokio::test]
async fn a_failed_refresh_of_a_valid_token_fails_no_request() {
    // A provider that names a time is left alone until then, so only the first request reaches it.
    for (fault, most) in [(Fault::Page(500), 5), (Fault::Later(200), 1)] {
        let scene = Scene::logged_in(Traits::default()).await;
        scene.age(3500.0, 3600.0);
        let faults = [fault; 100];
        scene.provider.ledger().faults.extend(faults);
        let token_source = scene.alone();
        let client = client(&token_source);
        for _ in 0..5 {
            client.list_tools().await.unwrap();
        }
        token_source.wait_idle().await;
        assert_eq!(scene.provider.counts(), refreshes(0));
        let tried = faults.len() - scene.provider.ledger().faults.len();
        assert!((1..=most).contains(&tried), "{tried}");
    }
}

#[tokio::test]
async fn a_bad_moment_when_the_token_has_ended_can_be_tried_again_later() {
    let scene = Scene::logged_in(Traits::default()).await;
    let before = scene.login();
    scene.provider.ledger().end_access();
    scene.provider.ledger().faults.push_back(Fault::Later(200));
    let waiting = client(&scene.alone());
    for _ in 0..3 {
        let error = waiting.list_tools().await.unwrap_err();
        assert_eq!(
            (error.kind(), error.retry()),
            (Kind::Connect, Retry::Safe),
            "{error}"
        );
    }
    assert_eq!(scene.login(), before);
    // The provider named a time, and got no further request.
    assert!(scene.provider.ledger().faults.is_empty());
    assert_eq!(scene.provider.counts(), refreshes(0));

    // Other processes respect that time too.
    let error = client(&scene.alone()).list_tools().await.unwrap_err();
    assert_eq!(error.retry(), Retry::Safe, "{error}");
    assert_eq!(scene.provider.counts(), refreshes(0));

    scene.forget_failures();
    client(&scene.alone()).list_tools().await.unwrap();
    waiting.list_tools().await.unwrap();
    assert_eq!(scene.provider.counts(), refreshes(1));
}

#[tokio::test]
async fn a_slow_renewal_does_not_hold_up_a_token_that_works() {
    let scene = Scene::logged_in(Traits::default()).await;
    scene.age(3500.0, 3600.0);
    scene.provider.ledger().faults.push_back(Fault::Gated);
    let token_source = scene.alone();
    let client = client(&token_source);
    for _ in 0..10 {
        client.list_tools().await.unwrap();
    }
    let renewal = token_source.wait_idle().now_or_never();
    assert_eq!(renewal, None, "the renewal is still under way");
    assert_eq!(scene.provider.counts(), refreshes(0));
}

#[tokio::test]
async fn a_refresh_token_is_not_spent_on_tokens_that_cannot_be_saved() {
    let scene = Scene::logged_in(Traits::default()).await;
    let before = scene.login();
    scene.block_saves();
    scene.provider.ledger().end_access();
    let error = client(&scene.alone()).list_tools().await.unwrap_err();
    assert_eq!(error.kind(), Kind::Internal);
    assert_eq!(scene.provider.counts(), refreshes(0));
    assert_eq!(scene.login(), before);

    // That process has exited, and the next one finds a login that works.
    scene.unblock_saves();
    client(&scene.alone()).list_tools().await.unwrap();
    assert_eq!(scene.provider.counts(), refreshes(1));
}

#[tokio::test]
async fn a_token_that_still_works_does_not_wait_for_room_on_the_disk() {
    let scene = Scene::logged_in(Traits::default()).await;
    scene.age(3500.0, 3600.0);
    scene.block_saves();
    let client = client(&scene.alone());
    for _ in 0..3 {
        client.list_tools().await.unwrap();
    }
    assert_eq!(scene.provider.counts(), refreshes(0));
}

#[tokio::test]
async fn a_renewed_token_that_cannot_be_saved_yet_is_not_lost() {
    let scene = Scene::logged_in(Traits::default()).await;
    let before = scene.login();
    let token_source = scene.alone();
    let client = client(&token_source);
    scene.provider.ledger().end_access();
    scene.provider.ledger().faults.push_back(Fault::Gated);
    let block = async {
        while !scene.provider.ledger().faults.is_empty() {
            tokio::task::yield_now().await;
        }
        scene.block_saves();
        scene.provider.ledger().gate.add_permits(1);
    };
    let (reply, ()) = tokio::join!(client.list_tools(), block);
    reply.unwrap();
    client.list_tools().await.unwrap();
    assert_eq!(scene.login(), before);

    scene.unblock_saves();
    token_source.wait_idle().await;
    assert_ne!(scene.login(), before);
    scene.provider.ledger().end_access();
    super::scene::client(&scene.alone())
        .list_tools()
        .await
        .unwrap();
    assert_eq!(scene.provider.counts(), refreshes(2));
}

#[tokio::test]
async fn a_file_that_others_can_read_is_not_used() {
    let scene = Scene::logged_in(Traits::default()).await;
    scene.place.set_mode(0o644);
    let error = client(&scene.alone()).list_tools().await.unwrap_err();
    assert_eq!(error.kind(), Kind::Internal);
    assert!(error.to_string().contains("chmod 600"), "{error}");
}
