use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::provider::Traits;
use super::scene::Scene;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_processes_that_want_a_token_refresh_it_once() {
    let scene = Scene::logged_in(Traits::default()).await;
    for expected in 1..=2 {
        scene.provider.ledger().end_access();
        let processes: Vec<Child> = (0..100).map(|_| start(&scene, "1", "0")).collect();
        finish(processes).await;
        let counts = scene.provider.counts();
        let harm = (counts.logins, counts.registrations, counts.reuses);
        assert_eq!((counts.refreshes, harm), (expected, (0, 0, 0)));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_storm_of_refreshes_loses_nothing() {
    let traits = Traits {
        expires_in: Some(1),
        life: Duration::from_secs(2),
        ..Traits::default()
    };
    let scene = Scene::logged_in(traits).await;
    let start_time = Instant::now();
    let processes: Vec<Child> = (0..8).map(|_| start(&scene, "50", "5")).collect();
    finish(processes).await;
    let counts = scene.provider.counts();
    let harm = (counts.logins, counts.registrations, counts.reuses);
    assert_eq!(harm, (0, 0, 0));
    // Each token is renewed once, after three quarters of its second at the earliest.
    let most = start_time.elapsed().as_secs_f64() / 0.75 + 2.0;
    assert!(f64::from(counts.refreshes) <= most, "{counts:?} of {most}");
    assert!(counts.refreshes >= 2, "{counts:?}");
}

/// A process with so many tasks, each of which makes requests for so many seconds, and one at least.
fn start(scene: &Scene, tasks: &str, seconds: &str) -> Child {
    let store = scene.place.file();
    Command::new(env!("CARGO_BIN_EXE_callgate-oauth-peer"))
        .args([
            "call",
            store.to_str().unwrap(),
            &scene.provider.server(),
            tasks,
            seconds,
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts")
}

async fn finish(processes: Vec<Child>) {
    let waiting = tokio::task::spawn_blocking(move || {
        for process in processes {
            let output = process.wait_with_output().expect("it ran");
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "{text}");
        }
    });
    waiting.await.unwrap();
}
