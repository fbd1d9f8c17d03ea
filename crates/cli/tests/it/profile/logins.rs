use std::panic::catch_unwind;
use std::sync::Mutex;
use std::thread;

use super::data::{Profile, all};
use super::stage::Stage;
use crate::fixture::{LoggingIn, Ran};

/// Logs in, lists the tools, and lists them again with a token that has ended.
fn tell(profile: &Profile) {
    let stage = Stage::new(profile.clone());
    let (name, server) = (&profile.name, &profile.server);
    let ran = stage.log_in(&mut stage.auth());
    let accepted = format!("logged in to {server}; the server `mcp` accepts the login\n");
    assert!(ran.stdout.ends_with(&accepted), "{name}: {ran:?}");
    assert_eq!(ran.exit, Some(0), "{name}: {ran:?}");
    let tools = Ran::printed("whoami  Tell who asks\n");
    assert_eq!(stage.list(), tools, "{name}");
    let registers = !profile.options.iter().any(|it| it == "--client-id");
    let mut expected = vec!["authorize", "code"];
    if registers {
        expected.insert(0, "register");
    }
    assert_eq!(stage.world.events(), expected, "{name}");

    stage.world.end_access_tokens();
    let ran = stage.list();
    if profile.token.refresh == "none" {
        assert_eq!(ran.exit, Some(3), "{name}: {ran:?}");
        return;
    }
    assert_eq!(ran, tools, "{name}");
    assert_eq!(stage.world.events(), ["refresh"], "{name}");
    // A token that is known to have expired is replaced before it is sent.
    stage.world.end_access_tokens();
    let expire = |login: &mut serde_json::Value| login["tokens"]["expiresAt"] = 1.into();
    stage.home.edit_login(server, expire);
    assert_eq!(stage.list(), tools, "{name}");
    assert_eq!(stage.world.events(), ["refresh"], "{name}");
}

#[test]
fn a_code_on_another_device_logs_in_where_the_provider_has_one() {
    let mut names = Vec::new();
    for profile in all().into_iter().filter(|it| it.device.is_some()) {
        let stage = Stage::new(profile.clone());
        let login = LoggingIn::start(stage.auth().arg("--device"));
        let verification = &profile.device.as_ref().unwrap().verification;
        assert_eq!(login.page, *verification, "{}", profile.name);
        let ran = login.end();
        assert_eq!(ran.exit, Some(0), "{}: {ran:?}", profile.name);
        assert!(
            ran.stderr.contains("enter this code: WDJB-MJHT\n"),
            "{ran:?}"
        );
        assert_eq!(stage.world.events(), ["device", "pending", "code"]);
        assert_eq!(stage.list(), Ran::printed("whoami  Tell who asks\n"));
        names.push(profile.name);
    }
    assert_eq!(names, ["GitHub"]);
}

#[test]
fn one_command_logs_in_at_every_provider() {
    with_every_profile(tell);
}

/// Runs a test with every profile, a few at once, and names those that fail.
pub(super) fn with_every_profile(test: fn(&Profile)) {
    let profiles = Mutex::new(all().into_iter());
    let failures = Mutex::new(Vec::new());
    let next = || profiles.lock().unwrap().next();
    let work = || {
        while let Some(profile) = next() {
            if catch_unwind(|| test(&profile)).is_err() {
                failures.lock().unwrap().push(profile.name);
            }
        }
    };
    thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(work))));
    assert_eq!(failures.into_inner().unwrap(), [""; 0]);
}
