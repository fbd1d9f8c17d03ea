//! A seeded simulation: servers die, hang, lock, answer late and change their lists, people turn them
//! off and on and restart the hub with saved catalogs, while callers call, cancel, listen and watch
//! resources. Every call gets exactly one answer, one that is not safe to repeat is executed at most
//! once, the catalog ends equal to the truth, and those who watch a resource end with its last version.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use callgate_hub::Hub;
use callgate_hub::reconnect::Start;
use callgate_mcp::router::ToolRoute;
use callgate_mcp::wire::resource::{Resource, ResourceContents};
use callgate_mcp::wire::subscription::SubscriptionFilter;
use callgate_mcp::wire::tool::{Tool, ToolAnnotations};
use callgate_mcp::{Client, RawJson};
use serde_json::json;
use tokio::task::JoinSet;

use crate::fake_server::{FakeServer, hub, router, server_name};

/// Saved catalogs by server, as an owner keeps them.
type Saved = HashMap<String, Vec<u8>>;

/// Number of schedules that are run.
const SCHEDULES: u64 = 10_000;
/// Servers of a schedule.
const SERVERS: [&str; 3] = ["a", "b", "c"];

/// The one that starts on first use and stops soon after.
const LAZY: &str = "c";

/// A tool that may be executed once for each call, and one that may be executed again.
const ONCE: &str = "t0";
const AGAIN: &str = "i0";

/// Most executions of a call that may be executed again: the hub sends it again twice.
const MOST: u64 = 3;

#[test]
fn every_call_is_answered_and_callers_end_with_what_is_true_at_the_servers() {
    let next = AtomicU64::new(0);
    let repeated = AtomicU64::new(0);
    let run = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= SCHEDULES {
                return;
            }
            let mut runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = runtime.enable_time().start_paused(true).build();
            let of_schedule = runtime.unwrap().block_on(schedule(seed));
            repeated.fetch_add(of_schedule, Ordering::Relaxed);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(run);
        }
    });
    // Otherwise the schedules would show nothing about calls that are sent again.
    assert!(repeated.into_inner() > 0);
}

/// Numbers that depend on the seed alone (a linear congruential generator).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

fn tool(name: &str, delay: u64) -> ToolRoute {
    // It takes any arguments, since calls have a number.
    let schema = RawJson::encode(&json!({ "type": "object" })).unwrap();
    let tool = Tool::new(name, "Waits and says yes", schema);
    ToolRoute::with(tool, move || async move {
        tokio::time::sleep(Duration::from_millis(delay)).await;
        "yes"
    })
}

/// A note of each server, which its callers watch.
#[derive(Clone, Default)]
struct Note {
    version: Arc<AtomicU64>,
}

impl Note {
    fn uri(server: &str) -> String {
        format!("note://{server}")
    }

    fn text(&self) -> String {
        self.version.load(Ordering::SeqCst).to_string()
    }
}

/// Callers of one hub that watch notes. Dropping it ends them.
#[derive(Default)]
struct Watchers {
    tasks: JoinSet<()>,
    /// The server and the version that each of them knows.
    known: Vec<(usize, Arc<Mutex<String>>)>,
}

impl Watchers {
    fn add(&mut self, client: &Client, server: usize, is_addressed: bool) {
        let known = Arc::new(Mutex::new(String::new()));
        self.known.push((server, known.clone()));
        let name = SERVERS[server];
        let uri = match is_addressed {
            true => format!("mcp://{name}/{}", Note::uri(name)),
            false => Note::uri(name),
        };
        self.tasks.spawn(watch(client.clone(), uri, known));
    }

    /// The same watchers at another hub.
    fn move_to(&mut self, client: &Client) {
        for (server, _) in std::mem::take(self).known {
            self.add(client, server, server == 0);
        }
    }

    fn know(&self, notes: &[Note]) -> bool {
        let mut known = self.known.iter();
        known.all(|(server, known)| *known.lock().unwrap() == notes[*server].text())
    }
}

/// Reads a note at first and whenever the hub tells of a change, as an agent does.
async fn watch(client: Client, uri: String, known: Arc<Mutex<String>>) {
    let filter = SubscriptionFilter::default().with_resource(&uri);
    loop {
        let mut subscription = client.listen(&filter).await.unwrap();
        let accepted = subscription.accepted().resource_subscriptions.as_ref();
        if accepted.is_none_or(Vec::is_empty) {
            // No server lists it yet.
            drop(subscription);
            tokio::time::sleep(Duration::from_secs(1)).await;
            continue;
        }
        loop {
            if let Ok(read) = client.read_resource(&uri).await
                && let Some(ResourceContents::Text(text)) = read.contents.into_iter().next()
            {
                *known.lock().unwrap() = text.text;
            }
            let event = subscription.next().await;
            assert!(matches!(event, Some(Ok(_))), "{event:?}");
        }
    }
}

/// A server with two tools that take this time, and its note.
fn server(name: &str, delay: u64, note: &Note) -> FakeServer {
    let note = note.clone();
    let read = move || {
        let text = note.text();
        async move { text }
    };
    let idempotent = ToolAnnotations::new().with_idempotent(true);
    FakeServer::new(
        router(name)
            .route(tool(ONCE, delay))
            .route(tool(AGAIN, delay).annotations(idempotent))
            .resource(Resource::new(Note::uri(name), "note"), read),
    )
}

/// Something that happens at a server alone.
fn change(server: &FakeServer, event: u64, step: u64, random: &mut Random) {
    match event {
        0 => server.crash(),
        1 => server.go_down(),
        2 => server.lock(),
        3 => server.hang(),
        4 => {
            let route = tool(&format!("t{step}"), random.below(500));
            server.router.add_tool(route).unwrap();
        }
        8 => {
            // The same tool with another definition.
            server.router.remove_tool(ONCE);
            let route = tool(ONCE, random.below(500));
            server.router.add_tool(route).unwrap();
        }
        9 => server.answer_after(Duration::from_millis(random.below(40_000))),
        _ => server.cut_next_call(),
    }
}

/// Runs one schedule. Returns the number of calls that were executed more than once.
async fn schedule(seed: u64) -> u64 {
    let mut random = Random(seed);
    let notes = SERVERS.map(|_| Note::default());
    let mut new = notes.iter();
    let servers = SERVERS.map(|name| server(name, random.below(3_000), new.next().unwrap()));
    let named: Vec<_> = SERVERS.into_iter().zip(&servers).collect();
    let mut saved = Saved::new();
    let (mut hub, mut client) = start(&named, &saved);
    let mut watchers = Watchers::default();
    let mut calls = JoinSet::new();
    let mut made = 0;
    for step in 1..=20 {
        let index = usize::try_from(random.below(3)).unwrap();
        let server = &servers[index];
        let name = SERVERS[usize::try_from(random.below(3)).unwrap()];
        match random.below(20) {
            5 => hub.login_changed(&server_name(name)),
            6 => {
                // A caller that cancels.
                let limit = Duration::from_millis(random.below(900));
                let call = call(client.clone(), format!("{name}_{ONCE}"), step);
                let _ = tokio::time::timeout(limit, call).await;
            }
            7 => {
                let listen = client.clone();
                let filter = SubscriptionFilter::default().with_tools();
                let _ = tokio::time::timeout(Duration::from_secs(1), listen.listen(&filter)).await;
            }
            10 => {
                hub.set_enabled(&server_name(name), false);
            }
            11 => {
                hub.set_enabled(&server_name(name), true);
            }
            12 => {
                // Calls in flight stay with the hub that they were made at.
                save(&hub, &mut saved);
                hub.close().await;
                if random.below(4) == 0 {
                    saved.values_mut().for_each(|catalog| catalog.truncate(40));
                }
                (hub, client) = start(&named, &saved);
                watchers.move_to(&client);
            }
            13 | 14 => {
                notes[index].version.fetch_add(1, Ordering::SeqCst);
                server.router.resource_updated(&Note::uri(SERVERS[index]));
            }
            event @ (0..=4 | 8 | 9 | 16) => change(server, event, step, &mut random),
            15 => watchers.add(&client, index, random.below(2) == 0),
            _ => {
                made += 1;
                let tool = if random.below(3) == 0 { AGAIN } else { ONCE };
                calls.spawn(call(client.clone(), format!("{name}_{tool}"), step));
            }
        }
        tokio::time::sleep(Duration::from_millis(random.below(2_000))).await;
    }
    let mut answered = 0;
    while let Some(call) = calls.join_next().await {
        call.expect("a call panicked");
        answered += 1;
    }
    assert_eq!(answered, made, "seed {seed}");
    let truth = settle(seed, &hub, &client, &named).await;
    let informed = async {
        while !watchers.know(&notes) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let informed = tokio::time::timeout(Duration::from_secs(300), informed).await;
    assert!(informed.is_ok(), "seed {seed}: {:?}", watchers.known);
    drop(watchers);
    save(&hub, &mut saved);
    hub.close().await;
    servers.iter().for_each(FakeServer::hang);
    let (_hub, client) = start(&named, &saved);
    assert_eq!(names(&client).await, truth, "seed {seed}");
    repeated(seed, &servers)
}

/// Number of calls that were executed more than once, which only those may be that are safe to repeat.
fn repeated(seed: u64, servers: &[FakeServer]) -> u64 {
    let mut repeated = 0;
    for ((tool, id), count) in servers.iter().flat_map(FakeServer::executions) {
        let most = if tool == AGAIN { MOST } else { 1 };
        assert!(
            count <= most,
            "seed {seed}: step {id} called {tool} {count} times"
        );
        repeated += u64::from(count > 1);
    }
    repeated
}

/// A hub over the servers, with the catalogs that were saved.
fn start(named: &[(&str, &FakeServer)], saved: &Saved) -> (Arc<Hub>, Client) {
    let (hub, client) = hub(&[]);
    for (name, server) in named {
        let mut config = server.config(name);
        config.catalog_key = Some("key".into());
        config.saved_catalog = saved.get(*name).cloned();
        if *name == LAZY {
            config.start = Start::OnFirstUse;
            config.idle_stop = Some(Duration::from_secs(3));
        }
        hub.add(config).unwrap();
    }
    (hub, client)
}

fn save(hub: &Hub, saved: &mut Saved) {
    for unsaved in hub.take_unsaved_catalogs() {
        let catalog = unsaved.catalog.as_bytes().to_vec();
        saved.insert(unsaved.server.to_string(), catalog);
    }
}

async fn names(client: &Client) -> Vec<String> {
    let tools = client.list_tools().await.unwrap();
    tools.into_iter().map(|tool| tool.name).collect()
}

/// Lets every server run again, waits until the catalog is equal to what they offer, and returns the
/// names of the tools.
async fn settle(
    seed: u64,
    hub: &Hub,
    client: &Client,
    named: &[(&str, &FakeServer)],
) -> Vec<String> {
    // Every server runs again and is turned on, and a person has logged in.
    for (name, server) in named {
        server.crash();
        server.answer_after(Duration::ZERO);
        hub.set_enabled(&server_name(name), true);
        hub.login_changed(&server_name(name));
    }
    let mut truth = Vec::new();
    for (name, server) in named {
        let own = Client::builder(Arc::new(server.router.clone())).build();
        let tools = names(&own).await;
        truth.extend(tools.into_iter().map(|tool| format!("{name}_{tool}")));
    }
    let listed = async {
        loop {
            let states = hub.statuses();
            if names(client).await == truth
                && states
                    .iter()
                    .all(|status| status.state.as_str() == "connected" && status.listed)
            {
                return;
            }
            // A use gets a server going that was stopped after too many attempts.
            for name in SERVERS {
                let _ = client
                    .call_tool(&format!("{name}_{AGAIN}"), &json!({}))
                    .await;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let listed = tokio::time::timeout(Duration::from_secs(300), listed).await;
    assert!(listed.is_ok(), "seed {seed}: {:?}", hub.statuses());
    truth
}

/// Makes the call of a step, which ends in any way.
async fn call(client: Client, tool: String, step: u64) {
    let _ = client.call_tool(&tool, &json!({ "id": step })).await;
}
