//! A seeded simulation: servers die, hang, lock, answer late and change their lists, people turn them
//! off and on and restart the hub with saved catalogs, while callers call, cancel and listen. Every
//! call gets exactly one answer, and the catalog ends equal to the truth.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use callgate_hub::Hub;
use callgate_mcp::Client;
use callgate_mcp::router::ToolRoute;
use callgate_mcp::wire::subscription::SubscriptionFilter;
use serde_json::json;
use tokio::task::JoinSet;

use crate::fake_server::{FakeServer, hub, router, server_name};

/// Saved catalogs by server, as an owner keeps them.
type Saved = HashMap<String, Vec<u8>>;

/// Number of schedules that are run.
const SCHEDULES: u64 = 10_000;
/// Servers of a schedule.
const SERVERS: [&str; 3] = ["a", "b", "c"];

#[test]
fn every_call_is_answered_and_the_catalog_ends_equal_to_the_servers() {
    let next = AtomicU64::new(0);
    let run = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= SCHEDULES {
                return;
            }
            let mut runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = runtime.enable_time().start_paused(true).build();
            runtime.unwrap().block_on(schedule(seed));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(run);
        }
    });
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
    ToolRoute::new(name, "Waits and says yes", move || async move {
        tokio::time::sleep(Duration::from_millis(delay)).await;
        "yes"
    })
}

async fn schedule(seed: u64) {
    let mut random = Random(seed);
    let servers = SERVERS.map(|name| {
        let delay = random.below(3_000);
        FakeServer::new(router(name).route(tool("t0", delay)))
    });
    let named: Vec<_> = SERVERS.into_iter().zip(&servers).collect();
    let mut saved = Saved::new();
    let (mut hub, mut client) = start(&named, &saved);
    let mut calls = JoinSet::new();
    let mut made = 0;
    for step in 1..=20 {
        let server = &servers[usize::try_from(random.below(3)).unwrap()];
        let name = SERVERS[usize::try_from(random.below(3)).unwrap()];
        match random.below(16) {
            0 => server.crash(),
            1 => server.go_down(),
            2 => server.lock(),
            3 => server.hang(),
            4 => {
                let route = tool(&format!("t{step}"), random.below(500));
                server.router.add_tool(route).unwrap();
            }
            5 => hub.login_changed(&server_name(name)),
            6 => {
                // A caller that cancels.
                let limit = Duration::from_millis(random.below(900));
                let _ =
                    tokio::time::timeout(limit, call(client.clone(), format!("{name}_t0"))).await;
            }
            7 => {
                let listen = client.clone();
                let filter = SubscriptionFilter::default().with_tools();
                let _ = tokio::time::timeout(Duration::from_secs(1), listen.listen(&filter)).await;
            }
            8 => {
                // The same tool with another definition.
                server.router.remove_tool("t0");
                server
                    .router
                    .add_tool(tool("t0", random.below(500)))
                    .unwrap();
            }
            9 => server.answer_after(Duration::from_millis(random.below(40_000))),
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
            }
            _ => {
                made += 1;
                calls.spawn(call(client.clone(), format!("{name}_t0")));
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
    save(&hub, &mut saved);
    hub.close().await;
    servers.iter().for_each(FakeServer::hang);
    let (_hub, client) = start(&named, &saved);
    assert_eq!(names(&client).await, truth, "seed {seed}");
}

/// A hub over the servers, with the catalogs that were saved.
fn start(named: &[(&str, &FakeServer)], saved: &Saved) -> (Arc<Hub>, Client) {
    let (hub, client) = hub(&[]);
    for (name, server) in named {
        let mut config = server.config(name);
        config.catalog_key = Some("key".into());
        config.saved_catalog = saved.get(*name).cloned();
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
                call(client.clone(), format!("{name}_t0")).await;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let listed = tokio::time::timeout(Duration::from_secs(300), listed).await;
    assert!(listed.is_ok(), "seed {seed}: {:?}", hub.statuses());
    truth
}

/// Makes a call, which ends in any way.
async fn call(client: Client, tool: String) {
    let _ = client.call_tool(&tool, &json!({})).await;
}
