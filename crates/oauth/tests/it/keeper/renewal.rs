use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use callgate_mcp::client::Client;
use callgate_mcp::{Kind, Retry};
use callgate_oauth::Secret;
use callgate_oauth::keeper::Reason;
use callgate_oauth::store::Tokens;
use futures_util::future::join_all;

use super::provider::{Counts, Fault, Rotation, Traits};
use super::scene::{Scene, client, needed};

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
        let client = client(&scene.alone());
        let replies = join_all((0..20).map(|_| client.list_tools())).await;
        for reply in replies {
            reply.unwrap();
        }
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
async fn keepers_of_one_process_and_of_many_share_what_is_renewed() {
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
    assert_eq!(needed(&error), &Reason::Revoked);
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
async fn an_access_token_outlives_its_refresh_token() {
    let scene = Scene::logged_in(Traits::default()).await;
    scene.edit_tokens(|tokens| tokens.refresh_token = Some(Secret::new("worthless")));
    scene.age(3500.0, 3600.0);
    let client = client(&scene.alone());
    for _ in 0..3 {
        client.list_tools().await.unwrap();
    }
    assert_eq!(scene.login().tokens.unwrap().refresh_token, None);
    assert_eq!(scene.provider.counts(), refreshes(0));
}

#[tokio::test]
async fn what_another_process_has_renewed_is_used() {
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
async fn a_login_in_another_process_is_found() {
    let scene = Scene::logged_in(Traits::default()).await;
    let waiting = client(&scene.alone());
    scene.provider.ledger().end_logins();
    let error = waiting.list_tools().await.unwrap_err();
    assert_eq!(needed(&error), &Reason::Revoked);
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
    assert_eq!(needed(&error), &Reason::NoLogin);
    assert_eq!(scene.provider.counts().refreshes, 0);
}

#[tokio::test]
async fn a_bad_moment_while_the_token_works_concerns_nobody() {
    let scene = Scene::logged_in(Traits::default()).await;
    scene.age(3500.0, 3600.0);
    scene.provider.ledger().faults.push_back(Fault::Page(500));
    let client = client(&scene.alone());
    for _ in 0..5 {
        client.list_tools().await.unwrap();
    }
    assert_eq!(scene.provider.counts(), refreshes(0));
    assert!(scene.provider.ledger().faults.is_empty());
}

#[tokio::test]
async fn a_bad_moment_when_the_token_has_ended_can_be_tried_again_later() {
    let scene = Scene::logged_in(Traits::default()).await;
    let before = scene.login();
    scene.provider.ledger().end_access();
    scene.provider.ledger().faults.push_back(Fault::Later(7));
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
    // The provider asked for it: nobody has bothered it again.
    assert!(scene.provider.ledger().faults.is_empty());
    assert_eq!(scene.provider.counts(), refreshes(0));

    client(&scene.alone()).list_tools().await.unwrap();
    waiting.list_tools().await.unwrap();
    assert_eq!(scene.provider.counts(), refreshes(1));
}

#[tokio::test]
async fn a_slow_renewal_does_not_hold_up_a_token_that_works() {
    let scene = Scene::logged_in(Traits::default()).await;
    scene.age(3500.0, 3600.0);
    let slow = Fault::Slow(Duration::from_secs(6));
    scene.provider.ledger().faults.push_back(slow);
    let keeper = scene.alone();
    let client = client(&keeper);
    let start = std::time::Instant::now();
    for _ in 0..10 {
        client.list_tools().await.unwrap();
    }
    assert!(
        start.elapsed() < Duration::from_secs(4),
        "{:?}",
        start.elapsed()
    );
    assert_eq!(scene.provider.counts(), refreshes(0));
}

#[tokio::test]
async fn a_renewed_token_that_cannot_be_saved_yet_is_not_lost() {
    let scene = Scene::logged_in(Traits::default()).await;
    let directory = scene.place.path("");
    let set_mode = |mode| {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(&directory, permissions).unwrap();
    };
    if rustix::process::geteuid().is_root() {
        // Nothing is forbidden to root: something else has to be in the way of the new file.
        std::fs::create_dir(scene.place.path("mcp-auth.json.new")).unwrap();
    } else {
        // The locks have to be there already.
        scene.provider.ledger().end_access();
        client(&scene.alone()).list_tools().await.unwrap();
        set_mode(0o500);
    }
    let before = scene.login();
    let client = client(&scene.alone());
    scene.provider.ledger().end_access();
    client.list_tools().await.unwrap();
    client.list_tools().await.unwrap();
    assert_eq!(scene.login(), before);

    if rustix::process::geteuid().is_root() {
        std::fs::remove_dir(scene.place.path("mcp-auth.json.new")).unwrap();
    } else {
        set_mode(0o700);
    }
    scene.provider.ledger().end_access();
    client.list_tools().await.unwrap();
    assert_ne!(scene.login(), before);
    assert_eq!(scene.provider.counts().reuses, 0);
}

#[tokio::test]
async fn a_file_that_others_can_read_is_not_used() {
    let scene = Scene::logged_in(Traits::default()).await;
    scene.place.set_mode(0o644);
    let error = client(&scene.alone()).list_tools().await.unwrap_err();
    assert_eq!(error.kind(), Kind::Internal);
    assert!(error.to_string().contains("chmod 600"), "{error}");
}
