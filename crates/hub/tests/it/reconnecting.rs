use std::time::Duration;

use callgate_hub::ServerState;
use callgate_hub::reconnect::Start;
use callgate_mcp::router::ToolRoute;
use serde_json::json;
use tokio::time::timeout;

use crate::fake_server::{FakeServer, hub, router, server_name, state_of, wait_for};

fn server() -> FakeServer {
    FakeServer::new(router("s").route(ToolRoute::new("echo", "Says yes", || async { "yes" })))
}

#[tokio::test(start_paused = true)]
async fn a_server_that_exits_is_connected_again_at_once() {
    let server = server();
    let (hub, _client) = hub(&[("s", &server)]);
    wait_for(&hub, "s", "connected", 1).await;
    let start = tokio::time::Instant::now();
    server.crash();
    while server.connects() < 2 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    wait_for(&hub, "s", "connected", 1).await;
    assert!(
        start.elapsed() < Duration::from_millis(100),
        "{:?}",
        start.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn a_locked_server_is_not_asked_again_until_its_login_changes() {
    let server = server();
    let (hub, _client) = hub(&[("s", &server)]);
    wait_for(&hub, "s", "connected", 1).await;
    server.lock();
    wait_for(&hub, "s", "needs_auth", 1).await;
    let attempts = server.connects();
    tokio::time::sleep(Duration::from_secs(24 * 60 * 60)).await;
    assert_eq!(server.connects(), attempts);
    server.crash();
    hub.login_changed(&server_name("s"));
    wait_for(&hub, "s", "connected", 1).await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_down_is_tried_five_times_and_then_stopped() {
    let server = server();
    server.go_down();
    let (hub, _client) = hub(&[("s", &server)]);
    while state_of(&hub, "s") != (ServerState::Stopped { attempts: 5 }) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(server.connects(), 5);
    tokio::time::sleep(Duration::from_secs(60 * 60)).await;
    assert_eq!(server.connects(), 5);
    server.crash();
    hub.retry(&server_name("s"));
    wait_for(&hub, "s", "connected", 1).await;
}

#[tokio::test(start_paused = true)]
async fn a_server_at_a_url_that_dies_is_noticed_without_a_call() {
    let server = server();
    let (hub, _client) = hub(&[("s", &server)]);
    wait_for(&hub, "s", "connected", 1).await;
    server.become_unreachable();
    let start = tokio::time::Instant::now();
    while state_of(&hub, "s") == ServerState::Connected {
        assert!(start.elapsed() < Duration::from_secs(120));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    server.crash();
    wait_for(&hub, "s", "connected", 1).await;
}

#[tokio::test(start_paused = true)]
async fn one_server_that_hangs_does_not_keep_another_from_connecting() {
    let (hanging, good) = (server(), server());
    hanging.hang();
    let (hub, _client) = hub(&[("hanging", &hanging), ("good", &good)]);
    wait_for(&hub, "good", "connected", 1).await;
    assert_eq!(state_of(&hub, "hanging"), ServerState::Connecting);
    while state_of(&hub, "hanging") == ServerState::Connecting {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let reason = hub.status(&server_name("hanging")).unwrap().reason.unwrap();
    assert_eq!(&*reason, "server `hanging` did not connect within 30s");
}

#[tokio::test(start_paused = true)]
async fn a_process_is_started_when_the_earlier_one_has_ended() {
    let server = server();
    server.close_after(Duration::from_secs(4));
    let (hub, client) = hub(&[]);
    let mut config = server.config("s");
    config.start = Start::OnFirstUse;
    config.idle_stop = Some(Duration::from_secs(60));
    hub.add(config).unwrap();
    hub.retry(&server_name("s"));
    wait_for(&hub, "s", "connected", 1).await;
    let call = async || client.call_tool("s_echo", &json!({})).await;
    wait_for(&hub, "s", "idle", 1).await;
    assert!(call().await.is_ok());
    assert_eq!((server.connects(), server.overlaps()), (2, 0));
    // One that does not end is not waited for without end.
    server.close_after(Duration::from_secs(60 * 60));
    wait_for(&hub, "s", "idle", 1).await;
    assert!(call().await.is_ok());
    assert_eq!((server.connects(), server.overlaps()), (3, 1));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_starts_at_once_is_not_stopped_when_it_is_unused() {
    let server = server();
    let (hub, client) = hub(&[]);
    let mut config = server.config("s");
    config.idle_stop = Some(Duration::from_secs(60));
    hub.add(config).unwrap();
    wait_for(&hub, "s", "connected", 1).await;
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert!(client.call_tool("s_echo", &json!({})).await.is_ok());
    assert_eq!(server.connects(), 1);
    // Its supervisor still follows it.
    hub.close().await;
}

#[tokio::test(start_paused = true)]
async fn closing_the_hub_turns_every_server_off() {
    let (first, second) = (server(), server());
    let (hub, _client) = hub(&[("a", &first), ("b", &second)]);
    wait_for(&hub, "a", "connected", 1).await;
    wait_for(&hub, "b", "connected", 1).await;
    hub.close().await;
    assert_eq!(state_of(&hub, "a"), ServerState::Disabled);
    assert_eq!((first.closed(), second.closed()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn closing_the_hub_waits_for_an_attempt_to_connect_that_would_lose_something() {
    const LONG: Duration = Duration::from_secs(3600);
    for is_removed in [false, true] {
        let server = server();
        server.become_mute();
        server.set_unsettled(true);
        let (hub, _client) = hub(&[("a", &server)]);
        while server.connects() == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        if is_removed {
            // The caller gives up, but not the server.
            let removal = timeout(LONG, hub.remove(&server_name("a"))).await;
            assert!(removal.is_err());
        }
        assert!(timeout(LONG, hub.close()).await.is_err(), "{is_removed}");
        server.set_unsettled(false);
        hub.close().await;
        assert_eq!(server.closed(), 0);
    }
}
