//! A seeded simulation: servers die, hang, lock and change their lists while callers call, cancel
//! and listen. Every call gets exactly one answer, and the catalog ends equal to the truth.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use callgate_hub::Hub;
use callgate_mcp::Client;
use callgate_mcp::router::ToolRoute;
use callgate_mcp::wire::subscription::SubscriptionFilter;
use serde_json::json;
use tokio::task::JoinSet;

use crate::fake_server::{FakeServer, hub, router, server_name};

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
    let (hub, client) = hub(&named);
    let mut calls = JoinSet::new();
    let mut made = 0;
    for step in 1..=20 {
        let server = &servers[usize::try_from(random.below(3)).unwrap()];
        let name = SERVERS[usize::try_from(random.below(3)).unwrap()];
        match random.below(10) {
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
    settle(seed, &hub, &client, &named).await;
}

/// Lets every server run again, and waits until the catalog is equal to what they offer.
async fn settle(seed: u64, hub: &Hub, client: &Client, named: &[(&str, &FakeServer)]) {
    // Every server runs again, and a person has logged in.
    for (name, server) in named {
        server.crash();
        hub.login_changed(&server_name(name));
    }
    let mut truth = Vec::new();
    for (name, server) in named {
        let own = Client::builder(std::sync::Arc::new(server.router.clone())).build();
        let tools = own.list_tools().await.unwrap();
        truth.extend(
            tools
                .into_iter()
                .map(|tool| format!("{name}_{}", tool.name)),
        );
    }
    let listed = async {
        loop {
            let tools = client.list_tools().await.unwrap();
            let tools: Vec<_> = tools.into_iter().map(|tool| tool.name).collect();
            let states = hub.statuses();
            if tools == truth
                && states
                    .iter()
                    .all(|status| status.state.as_str() == "connected")
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
}

/// Makes a call, which ends in any way.
async fn call(client: Client, tool: String) {
    let _ = client.call_tool(&tool, &json!({})).await;
}
