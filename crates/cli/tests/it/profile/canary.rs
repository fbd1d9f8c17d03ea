use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::data::Profile;
use super::logins::with_every_profile;
use super::stage::Stage;
use crate::fixture::Ran;

/// Logs in and refreshes with logging at its loudest.
fn tell(profile: &Profile) {
    let stage = Stage::new(profile.clone());
    let name = &profile.name;
    let ran = stage.log_in(stage.auth().env("CALLGATE_LOG", "trace"));
    assert_eq!(ran.exit, Some(0), "{name}: {ran:?}");
    stage.world.end_access_tokens();
    let mut list = stage.command(&["list", &profile.server]);
    let listed = Ran::from(list.env("CALLGATE_LOG", "trace").output().unwrap());
    let told = [ran.stdout, ran.stderr, listed.stdout, listed.stderr].concat();
    assert!(told.contains("TRACE"), "{name}: {told}");
    let state = stage.world.state();
    let pairs = state.clients.iter().filter_map(|(id, client)| {
        let secret = client.secret.as_ref()?;
        Some(BASE64_STANDARD.encode(format!("{id}:{secret}")))
    });
    let secrets = state.secrets.iter().cloned().chain(pairs);
    let leaked: Vec<_> = secrets.filter(|it| told.contains(it.as_str())).collect();
    assert!(leaked.is_empty(), "{name}: {leaked:?}\n{told}");
    let kinds = ["canary-code-", "canary-access-token-"];
    for kind in kinds {
        assert!(
            state.secrets.iter().any(|it| it.starts_with(kind)),
            "{kind}"
        );
    }
}

#[test]
fn no_provider_makes_callgate_tell_a_secret() {
    with_every_profile(tell);
}
