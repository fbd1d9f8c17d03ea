use std::time::Duration;

use callgate_hub::reconnect::Start;
use callgate_hub::{Hub, ServerState};
use callgate_mcp::router::ToolRoute;
use callgate_mcp::{Client, Version};
use serde_json::json;
use tokio::time::Instant;

use crate::fake_server::{FakeServer, hub, router, server_name, state_of, wait_for};

fn server() -> FakeServer {
    let tool = ToolRoute::new("echo", "Says yes", || async { "yes" });
    FakeServer::new(router("fake").instructions("Ask twice.").route(tool))
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(5)
}

async fn tools(client: &Client) -> usize {
    client.list_tools().await.unwrap().len()
}

#[tokio::test(start_paused = true)]
async fn a_status_says_what_the_server_is_and_since_when() {
    let server = server();
    server.answer_after(Duration::from_millis(30));
    let (hub, _client) = hub(&[("s", &server)]);
    assert!(hub.wait_settled(soon()).await);
    let status = hub.status(&server_name("s")).unwrap();
    let info = status.info.unwrap();
    assert_eq!((&*info.name, &*info.version), ("fake", "1.0"));
    assert_eq!(status.instructions.as_deref(), Some("Ask twice."));
    assert_eq!(status.version, Some(Version::LATEST));
    assert_eq!(status.process_id, Some(1));
    assert_eq!(status.latency, Some(Duration::from_millis(30)));
    assert_eq!((status.attempts, status.restarts), (1, 0));
    assert!(status.connected_since.is_some() && status.listed);
    server.crash();
    while hub.status(&server_name("s")).unwrap().restarts == 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let status = hub.status(&server_name("s")).unwrap();
    assert_eq!((status.attempts, status.restarts), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn a_hub_is_settled_when_every_server_is_listed_or_failed() {
    let (good, down, locked, off) = (server(), server(), server(), server());
    down.go_down();
    locked.lock();
    let (hub, client) = hub(&[("good", &good), ("down", &down), ("locked", &locked)]);
    let mut config = off.config("off");
    config.enabled = false;
    hub.add(config).unwrap();
    assert!(hub.wait_settled(soon()).await);
    assert_eq!(tools(&client).await, 1);
    let states: Vec<_> = hub.statuses();
    let states: Vec<_> = states.iter().map(|status| status.state.as_str()).collect();
    assert_eq!(states, ["connected", "failed", "needs_auth", "disabled"]);
    assert_eq!(off.connects(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_hangs_keeps_the_hub_from_settling_until_the_deadline() {
    let server = server();
    server.hang();
    let (hub, _client) = hub(&[("s", &server)]);
    let deadline = soon();
    assert!(!hub.wait_settled(deadline).await);
    assert_eq!(Instant::now(), deadline);
}

#[tokio::test(start_paused = true)]
async fn every_change_of_a_state_or_list_can_be_waited_for() {
    let server = server();
    let (hub, _client) = hub(&[("s", &server)]);
    let mut changes = hub.changes();
    let until = async |done: fn(&Hub) -> bool, changes: &mut callgate_hub::StatusChanges| {
        while !done(&hub) {
            assert!(changes.next().await);
        }
    };
    until(|hub| hub.statuses()[0].tools == 1, &mut changes).await;
    server.go_down();
    until(
        |hub| hub.statuses()[0].state.as_str() == "failed",
        &mut changes,
    )
    .await;
    assert!(hub.remove(&server_name("s")).await);
    until(|hub| hub.statuses().is_empty(), &mut changes).await;
    drop((hub, _client));
    while changes.next().await {}
}

#[tokio::test(start_paused = true)]
async fn a_server_is_turned_off_and_on_again() {
    let server = server();
    let (hub, client) = hub(&[("s", &server)]);
    wait_for(&hub, "s", "connected", 1).await;
    let name = server_name("s");
    assert!(hub.set_enabled(&name, false));
    wait_for(&hub, "s", "disabled", 0).await;
    assert_eq!(tools(&client).await, 0);
    assert_eq!(client.discover().await.unwrap().instructions, None);
    let error = client.call_tool("s_echo", &json!({})).await.unwrap_err();
    assert_eq!(error.to_string(), "unknown tool `s_echo`");
    while server.closed() == 0 {
        tokio::task::yield_now().await;
    }
    assert!(hub.set_enabled(&name, true));
    wait_for(&hub, "s", "connected", 1).await;
    assert_eq!(
        client.discover().await.unwrap().instructions.as_deref(),
        Some("## s\n\nAsk twice.")
    );
    assert!(client.call_tool("s_echo", &json!({})).await.is_ok());
    assert!(!hub.set_enabled(&server_name("other"), true));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_turned_on_and_off_at_once_is_off() {
    let server = server();
    let (hub, _client) = hub(&[("s", &server)]);
    wait_for(&hub, "s", "connected", 1).await;
    let name = server_name("s");
    hub.set_enabled(&name, true);
    hub.set_enabled(&name, false);
    wait_for(&hub, "s", "disabled", 0).await;
    hub.close().await;
    hub.set_enabled(&name, true);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(state_of(&hub, "s"), ServerState::Disabled);
}

#[tokio::test(start_paused = true)]
async fn a_process_that_does_not_answer_yet_is_shown_with_its_age() {
    let server = server();
    server.become_mute();
    let start = Instant::now();
    let (hub, _client) = hub(&[("s", &server)]);
    let mut changes = hub.changes();
    let status = loop {
        let status = hub.status(&server_name("s")).unwrap();
        if status.process_id.is_some() {
            break status;
        }
        assert!(changes.next().await);
    };
    assert_eq!(status.state, ServerState::Connecting);
    assert_eq!(
        (status.process_id, status.process_since),
        (Some(1), Some(start))
    );
    while state_of(&hub, "s") == ServerState::Connecting {
        assert!(changes.next().await);
    }
    let status = hub.status(&server_name("s")).unwrap();
    assert_eq!((status.process_id, status.process_since), (None, None));
}

#[tokio::test(start_paused = true)]
async fn the_age_of_a_process_counts_from_its_start() {
    let server = server();
    server.answer_after(Duration::from_secs(7));
    let start = Instant::now();
    let (hub, _client) = hub(&[("s", &server)]);
    wait_for(&hub, "s", "connected", 1).await;
    let status = hub.status(&server_name("s")).unwrap();
    assert_eq!(status.process_since, Some(start));
}

#[tokio::test(start_paused = true)]
async fn a_start_after_an_idle_stop_is_no_restart() {
    let server = server();
    let (hub, client) = hub(&[]);
    let mut config = server.config("s");
    config.start = Start::OnFirstUse;
    config.idle_stop = Some(Duration::from_secs(60));
    hub.add(config).unwrap();
    hub.retry(&server_name("s"));
    wait_for(&hub, "s", "connected", 1).await;
    wait_for(&hub, "s", "idle", 1).await;
    assert!(client.call_tool("s_echo", &json!({})).await.is_ok());
    let status = hub.status(&server_name("s")).unwrap();
    assert_eq!((status.attempts, status.restarts), (2, 0));
}
