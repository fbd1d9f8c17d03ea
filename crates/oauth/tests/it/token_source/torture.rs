//! Table of real providers' behavior. None of them may cost a login.

use std::time::Duration;

use super::provider::{Fault, Rotation, Traits};
use super::scene::{Scene, client};

/// Faults of the provider each time its token has ended, and the number of requests that may fail.
struct Case {
    name: &'static str,
    traits: Traits,
    faults: &'static [Fault],
    failures: u32,
}

const SECOND: Duration = Duration::from_secs(1);

/// Providers that always behave like this.
fn characters() -> Vec<Case> {
    let case = |name, traits| Case {
        name,
        traits,
        faults: &[],
        failures: 0,
    };
    let usual = Traits::default;
    vec![
        case("well-behaved", usual()),
        case(
            "tokens of one second",
            Traits {
                expires_in: Some(1),
                uses: Some(2),
                ..usual()
            },
        ),
        case(
            "tokens that end at once, it says",
            Traits {
                expires_in: Some(0),
                ..usual()
            },
        ),
        case(
            "no expires_in",
            Traits {
                expires_in: None,
                ..usual()
            },
        ),
        case(
            "tokens that end long before it says, as with a clock two days off",
            Traits {
                expires_in: Some(172_800),
                uses: Some(2),
                ..usual()
            },
        ),
        case(
            "tokens that end long after it says, as with a clock two days off",
            Traits {
                expires_in: Some(1),
                ..usual()
            },
        ),
        case(
            "refresh tokens that stay and are not repeated",
            Traits {
                rotation: Rotation::Stays,
                ..usual()
            },
        ),
    ]
}

/// Providers with a temporary fault.
fn moments() -> Vec<Case> {
    let case = |name, faults, failures| Case {
        name,
        traits: Traits::default(),
        faults,
        failures,
    };
    let mut lost = case("an answer that gets lost", &[Fault::Lost], 0);
    lost.traits.rotation = Rotation::Stays;
    vec![
        case("one internal error", &[Fault::Page(500)], 0),
        case(
            "two internal errors",
            &[Fault::Page(500), Fault::Page(503)],
            0,
        ),
        case("a page with status 200", &[Fault::Page(200)], 0),
        case("a page with status 403", &[Fault::Page(403)], 0),
        case("a redirect to a page", &[Fault::Page(302)], 0),
        case("hanging up", &[Fault::Hangup], 0),
        lost,
        case("slow", &[Fault::Slow(SECOND)], 0),
        case("too many requests", &[Fault::Later(1)], 0),
        case("too many requests, for long", &[Fault::Later(3)], 8),
        case("down for a while", &[Fault::Page(502); 3], 8),
        case("down for long", &[Fault::Page(503); 7], 30),
        case("not reachable for a while", &[Fault::Hangup; 3], 8),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_login_is_ever_lost() {
    let mut running = tokio::task::JoinSet::new();
    for is_sealed in [false, true] {
        for case in characters().into_iter().chain(moments()) {
            running.spawn(check(case, is_sealed));
        }
    }
    while let Some(done) = running.join_next().await {
        done.unwrap();
    }
}

async fn check(case: Case, is_sealed: bool) {
    let mut scene = Scene::logged_in(case.traits).await;
    if is_sealed {
        scene = scene.sealed();
    }
    let name = case.name;
    for _ in 0..2 {
        scene.provider.ledger().end_access();
        scene.provider.ledger().faults.extend(case.faults);
        let client = client(&scene.alone());
        let mut failures = 0;
        // The retries of a user or a program.
        while let Err(error) = client.list_tools().await {
            assert_eq!(error.retry(), callgate_mcp::Retry::Safe, "{name}: {error}");
            assert!(failures < case.failures, "{name}: {error}");
            failures += 1;
            tokio::time::sleep(SECOND / 2).await;
        }
        for _ in 0..5 {
            let reply = client.list_tools().await;
            reply.unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        assert!(scene.provider.ledger().faults.is_empty(), "{name}");
    }
    if !case.faults.is_empty() {
        // Each fault costs one request, and each refresh another one.
        let most = 1 + 2 * (u32::try_from(case.faults.len()).unwrap() + 1);
        let found = scene.provider.ledger().token_requests;
        assert!(found <= most, "{name}: {found} requests, {most} needed");
    }
    let counts = scene.provider.counts();
    let harm = (counts.logins, counts.registrations, counts.reuses);
    assert_eq!(harm, (0, 0, 0), "{name}");
}
