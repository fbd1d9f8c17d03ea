use std::sync::{Arc, Mutex};

use callgate_oauth::Secret;
use callgate_oauth::registration::{ClientInfo, ConfiguredClient};
use callgate_oauth::token_source::{
    Assertion, Grant, LoginMode, LoginState, ShowCode, TokenSource,
};

use super::provider::{Rotation, Traits};
use super::scene::{Scene, client};

#[tokio::test]
async fn a_client_with_credentials_needs_no_person_and_no_refresh_token() {
    let traits = Traits {
        rotation: Rotation::None,
        registers: false,
        ..Traits::default()
    };
    let scene = Scene::new(traits).await;
    let mut config = scene.config();
    config.grant = Grant::ClientCredentials;
    let mut machine = ClientInfo::public("machine");
    machine.secret = Some(Secret::new("machine-secret"));
    config.client = Some(ConfiguredClient::new(machine));
    let token_source = TokenSource::new(config);
    let client = client(&token_source);
    for logins in 1..=3 {
        client.list_tools().await.unwrap();
        assert_eq!(scene.provider.counts().logins, logins);
        scene.provider.ledger().end_access();
    }
    // The secret is the user's, not the store's.
    assert!(!scene.place.read().contains("machine-secret"));
}

#[tokio::test]
async fn a_person_with_another_device_types_a_code() {
    let scene = Scene::new(Traits::default()).await;
    scene.provider.ledger().pending = 1;
    let shown = Arc::new(Mutex::new(Vec::new()));
    let mut config = scene.config();
    config.grant = Grant::DeviceCode(ShowCode::new({
        let shown = shown.clone();
        move |prompt| shown.lock().unwrap().push(prompt.user_code.clone())
    }));
    let token_source = TokenSource::new(config);
    let status = token_source.log_in(LoginMode::IfNeeded).await.unwrap();
    assert_eq!(status.state, LoginState::LoggedIn);
    assert_eq!(*shown.lock().unwrap(), ["ABCD-EFGH"]);

    // The stored registration is enough from then on.
    scene.provider.ledger().end_access();
    client(&scene.alone()).list_tools().await.unwrap();
    assert_eq!(scene.provider.counts().refreshes, 1);
}

#[tokio::test]
async fn tokens_that_are_bound_to_a_key_come_with_a_proof_for_each_request() {
    let traits = Traits {
        binds: true,
        ..Traits::default()
    };
    let scene = Scene::logged_in(traits).await;
    let tokens = scene.login().tokens.unwrap();
    assert_eq!(tokens.token_type.as_deref(), Some("DPoP"));
    let client = client(&scene.alone());
    for nonce in 2..5 {
        client.list_tools().await.unwrap();
        client.list_tools().await.unwrap();
        scene.provider.ledger().nonce = nonce;
    }
    assert_eq!(scene.provider.counts().refreshes, 0);

    scene.provider.ledger().end_access();
    client.list_tools().await.unwrap();
    assert_eq!(scene.provider.counts().refreshes, 1);
    let renewed = scene.login().tokens.unwrap();
    assert_ne!(renewed.access_token, tokens.access_token);
    assert_eq!(renewed.dpop_key, tokens.dpop_key);
}

#[tokio::test]
async fn an_identity_token_that_was_refused_is_not_sent_again() {
    let scene = Scene::new(Traits::default()).await;
    let file = scene.place.path("identity");
    std::fs::write(&file, "first\n").unwrap();
    let mut config = scene.config();
    config.client = Some(ConfiguredClient::new(ClientInfo::public("machine")));
    config.grant = Grant::WorkloadIdentity(Assertion::File(file.clone()));
    let token_source = TokenSource::new(config);
    let client = client(&token_source);
    for expected in [
        "invalid_grant",
        "the identity token was refused before",
        "the identity token was refused before",
    ] {
        let error = client.list_tools().await.unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
    assert_eq!(scene.provider.ledger().assertions, ["first"]);

    std::fs::write(&file, "good").unwrap();
    client.list_tools().await.unwrap();
    scene.provider.ledger().end_access();
    client.list_tools().await.unwrap();
    assert_eq!(
        scene.provider.ledger().assertions,
        ["first", "good", "good"]
    );
}
