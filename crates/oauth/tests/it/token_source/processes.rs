use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStderr, ChildStdin, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use tokio::task::spawn_blocking;

use super::provider::{Fault, Traits};
use super::scene::Scene;
use crate::peer;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_processes_that_want_a_token_refresh_it_once() {
    refresh_in_a_hundred_processes(Scene::logged_in(Traits::default()).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_processes_that_want_a_sealed_token_refresh_it_once() {
    let scene = Scene::logged_in(Traits::default()).await.sealed();
    refresh_in_a_hundred_processes(scene).await;
}

async fn refresh_in_a_hundred_processes(scene: Scene) {
    let mut processes = Processes::start(&scene, 100, "1");
    for expected in 1..=2 {
        scene.provider.ledger().end_access();
        processes = processes.call("done").await;
        let counts = scene.provider.counts();
        let harm = (counts.logins, counts.registrations, counts.reuses);
        assert_eq!((counts.refreshes, harm), (expected, (0, 0, 0)));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_storm_of_refreshes_loses_nothing() {
    refresh_in_a_storm(|scene| scene).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_storm_of_sealed_refreshes_loses_nothing() {
    refresh_in_a_storm(Scene::sealed).await;
}

async fn refresh_in_a_storm(prepare: fn(Scene) -> Scene) {
    // The processes refresh the token by their clocks, all the time, and the server refuses it now
    // and then on top of that.
    let traits = Traits {
        expires_in: Some(1),
        ..Traits::default()
    };
    let scene = prepare(Scene::logged_in(traits).await);
    let start = Instant::now();
    let mut processes = Processes::start(&scene, 8, "50");
    for round in 0..40 {
        if round % 4 == 0 {
            scene.provider.ledger().end_access();
        }
        processes = processes.call("done").await;
    }
    let counts = scene.provider.counts();
    let harm = (counts.logins, counts.registrations, counts.reuses);
    assert_eq!(harm, (0, 0, 0));
    // Each token is refreshed once: after three quarters of its second at the earliest, or when
    // refused.
    let most = start.elapsed().as_secs_f64() / 0.75 + 12.0;
    let (least, found) = (10.0, f64::from(counts.refreshes));
    assert!((least..=most).contains(&found), "{counts:?} of {most}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thirty_processes_ask_a_provider_that_is_down_once() {
    let scene = Scene::logged_in(Traits::default()).await;
    let before = scene.login();
    scene.provider.ledger().token_requests = 0;
    scene.provider.ledger().end_access();
    scene
        .provider
        .ledger()
        .faults
        .extend([Fault::Later(250); 90]);
    let mut processes = Processes::start(&scene, 30, "1");
    // The provider has named a time, so that it does not matter when each process comes.
    for _ in 0..2 {
        processes = processes.call("try again").await;
        assert_eq!(scene.provider.ledger().token_requests, 1);
    }
    drop(processes);
    assert_eq!(scene.login(), before);

    // The time is over, and the provider is up again.
    scene.forget_failures();
    scene.provider.ledger().faults.clear();
    Processes::start(&scene, 30, "1").call("done").await;
    let counts = scene.provider.counts();
    let harm = (counts.logins, counts.registrations, counts.reuses);
    assert_eq!((counts.refreshes, harm), (1, (0, 0, 0)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_that_is_down_is_asked_less_and_less() {
    let scene = Scene::logged_in(Traits::default()).await;
    scene.provider.ledger().token_requests = 0;
    scene.provider.ledger().end_access();
    scene
        .provider
        .ledger()
        .faults
        .extend([Fault::Page(503); 900]);
    let start = Instant::now();
    Processes::start(&scene, 30, "1").call("try again").await;
    // The backoff is half a second at least, and doubles: a slow machine, on which the processes
    // come one by one, sees a few attempts of three requests. Without it there are ninety requests.
    let attempts = 2.0 + (1.0 + 2.0 * start.elapsed().as_secs_f64()).log2();
    let found = f64::from(scene.provider.ledger().token_requests);
    assert!(
        (3.0..=3.0 * attempts).contains(&found),
        "{found} of {attempts}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_was_stopped_reads_the_answer_that_is_there() {
    // Long enough for a busy machine to send the request before.
    const LIMIT: Duration = Duration::from_secs(10);
    let scene = Scene::logged_in(Traits::default()).await;
    scene.provider.ledger().token_requests = 0;
    for refreshes in 1..=2 {
        scene.provider.ledger().end_access();
        scene.provider.ledger().faults.push_back(Fault::Gated);
        let mut process = Process::start(&scene, "1", LIMIT);
        writeln!(process.input).expect("it reads");
        while !scene.provider.ledger().faults.is_empty() {
            tokio::task::yield_now().await;
        }
        process.stop();
        scene.provider.ledger().gate.add_permits(1);
        // Not a wait for anything: the time limit of the stopped process has to pass.
        tokio::time::sleep(LIMIT + Duration::from_secs(2)).await;
        assert_eq!(scene.provider.counts().refreshes, refreshes);
        process.signal(Signal::CONT);
        let _process = Processes(vec![process]).outcome("done").await;
        assert_eq!(scene.provider.ledger().token_requests, refreshes);
    }
    assert_eq!(scene.provider.counts().reuses, 0);
}

/// Processes that share a login, each of which makes its requests when it is told to.
struct Processes(Vec<Process>);

struct Process {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStderr>,
}

impl Processes {
    /// Starts so many processes, each of which makes so many requests at once.
    fn start(scene: &Scene, count: usize, tasks: &str) -> Self {
        // A busy machine with hundreds of processes may take this long for anything.
        let start = |_| Process::start(scene, tasks, Duration::from_secs(600));
        Self((0..count).map(start).collect())
    }

    /// Has every process make its requests, and waits until all have this outcome.
    async fn call(mut self, outcome: &'static str) -> Self {
        for process in &mut self.0 {
            writeln!(process.input).expect("it reads");
        }
        self.outcome(outcome).await
    }

    /// Waits until all processes have this outcome.
    async fn outcome(mut self, outcome: &'static str) -> Self {
        let called = spawn_blocking(move || {
            for process in &mut self.0 {
                let mut line = String::new();
                process.output.read_line(&mut line).expect("it writes");
                assert_eq!(line.trim_end(), outcome);
            }
            self
        });
        called.await.unwrap()
    }
}

impl Process {
    fn start(scene: &Scene, tasks: &str, limit: Duration) -> Self {
        let seconds = limit.as_secs().to_string();
        let store = scene.place.file();
        let store = store.to_str().unwrap();
        let mut child = peer::command(&["call", store, &scene.provider.server(), tasks, &seconds])
            .stdin(Stdio::piped())
            .spawn()
            .expect("it starts");
        Self {
            input: child.stdin.take().expect("it is piped"),
            output: BufReader::new(child.stderr.take().expect("it is piped")),
            child,
        }
    }
}

impl Process {
    fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).expect("it runs");
    }

    /// Stops the process, and waits until it has stopped.
    fn stop(&self) {
        self.signal(Signal::STOP);
        let status = waitpid(Some(self.pid()), WaitOptions::UNTRACED).expect("it is a child");
        assert!(status.is_some_and(|(_, status)| status.stopped()));
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
