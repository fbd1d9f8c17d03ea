use std::time::Duration;

use callgate_mcp::router::ToolRoute;
use callgate_mcp::wire::tool::ToolAnnotations;
use callgate_mcp::{Kind, Origin};
use serde_json::json;

use crate::fake_server::{FakeServer, hub, router, server_name, state_of, wait_for};

fn echo() -> ToolRoute {
    ToolRoute::new("echo", "Says yes", || async { "yes" })
}

/// A tool that never answers.
fn slow() -> ToolRoute {
    ToolRoute::new("slow", "Waits", || async {
        std::future::pending::<String>().await
    })
}

#[tokio::test(start_paused = true)]
async fn a_call_reaches_the_tool_under_its_own_name() {
    let server = FakeServer::new(router("s").route(echo()));
    let (hub, client) = hub(&[("s", &server)]);
    wait_for(&hub, "s", "connected", 1).await;
    let result = client.call_tool("s_echo", &json!({})).await.unwrap();
    assert_eq!(result.content[0].as_text(), Some("yes"));
    let unknown = client.call_tool("echo", &json!({})).await.unwrap_err();
    assert_eq!(unknown.to_string(), "unknown tool `echo`");
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_for_a_server_that_reconnects() {
    let server = FakeServer::new(router("s").route(echo()));
    let (hub, client) = hub(&[("s", &server)]);
    wait_for(&hub, "s", "connected", 1).await;
    server.crash();
    let result = client.call_tool("s_echo", &json!({})).await.unwrap();
    assert_eq!(result.content[0].as_text(), Some("yes"));
    assert_eq!(server.connects(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_call_in_flight_fails_when_its_server_dies_and_is_not_sent_again() {
    let server = FakeServer::new(router("s").route(slow()));
    let other = FakeServer::new(router("o").route(echo()));
    let (hub, client) = hub(&[("s", &server), ("o", &other)]);
    wait_for(&hub, "s", "connected", 1).await;
    wait_for(&hub, "o", "connected", 1).await;
    let call = tokio::spawn({
        let client = client.clone();
        async move { client.call_tool("s_slow", &json!({})).await }
    });
    while server.calls() == 0 {
        tokio::task::yield_now().await;
    }
    let death = tokio::time::Instant::now();
    server.crash();
    let error = call.await.unwrap().unwrap_err();
    assert!(death.elapsed() < Duration::from_millis(250));
    assert_eq!(error.kind(), Kind::Closed);
    assert_eq!(error.origin(), &Origin::Upstream("s".into()));
    wait_for(&hub, "s", "connected", 1).await;
    assert_eq!(server.calls(), 1);
    assert!(client.call_tool("o_echo", &json!({})).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_call_of_a_tool_that_only_reads_is_sent_again() {
    let answered = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let handler = {
        let answered = answered.clone();
        move || {
            let answer = answered.swap(true, std::sync::atomic::Ordering::SeqCst);
            async move {
                if !answer {
                    std::future::pending::<()>().await;
                }
                "yes"
            }
        }
    };
    let route = ToolRoute::new("read", "Reads", handler)
        .annotations(ToolAnnotations::new().with_read_only(true));
    let server = FakeServer::new(router("s").route(route));
    let (hub, client) = hub(&[("s", &server)]);
    wait_for(&hub, "s", "connected", 1).await;
    let call = tokio::spawn({
        let client = client.clone();
        async move { client.call_tool("s_read", &json!({})).await }
    });
    while server.calls() == 0 {
        tokio::task::yield_now().await;
    }
    server.crash();
    let result = call.await.unwrap().unwrap();
    assert_eq!(result.content[0].as_text(), Some("yes"));
    assert_eq!(server.calls(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_call_to_a_server_that_is_down_fails_at_once_with_the_reason() {
    let server = FakeServer::new(router("s").route(echo()));
    let (hub, client) = hub(&[("s", &server)]);
    wait_for(&hub, "s", "connected", 1).await;
    server.go_down();
    while client.call_tool("s_echo", &json!({})).await.is_ok() {}
    tokio::time::sleep(Duration::from_secs(40)).await;
    let start = tokio::time::Instant::now();
    let error = client.call_tool("s_echo", &json!({})).await.unwrap_err();
    assert!(
        start.elapsed() < Duration::from_secs(3),
        "{:?}",
        start.elapsed()
    );
    assert_eq!(error.origin(), &Origin::Upstream("s".into()));
    assert!(error.to_string().contains("connection refused"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_needs_a_login_says_which_command_to_run() {
    let server = FakeServer::new(router("s").route(echo()));
    let (hub, client) = hub(&[("s", &server)]);
    wait_for(&hub, "s", "connected", 1).await;
    server.lock();
    wait_for(&hub, "s", "needs_auth", 1).await;
    let error = client.call_tool("s_echo", &json!({})).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "server `s` needs a login; run `callgate auth s`"
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_that_cannot_reach_its_server_fails_soon_and_the_server_is_connected_again() {
    let server = FakeServer::new(router("s").route(echo()));
    let (hub, client) = hub(&[]);
    let mut config = server.config("s");
    // Short random delays must not end in a stop.
    config.reconnect.breaker_attempts = 1_000;
    hub.add(config).unwrap();
    wait_for(&hub, "s", "connected", 1).await;
    server.become_unreachable();
    let start = tokio::time::Instant::now();
    let error = client.call_tool("s_echo", &json!({})).await.unwrap_err();
    let waited = start.elapsed();
    assert!(waited < Duration::from_secs(3), "{waited:?}");
    assert_eq!(
        error.to_string(),
        "server `s` is not connected: connection refused"
    );
    assert_eq!(error.origin(), &Origin::Upstream("s".into()));
    assert_eq!(state_of(&hub, "s").as_str(), "failed");
    let reason = hub.status(&server_name("s")).unwrap().reason;
    assert_eq!(reason.as_deref(), Some("connection refused"));
    server.crash();
    wait_for(&hub, "s", "connected", 1).await;
    assert!(client.call_tool("s_echo", &json!({})).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_stream_is_cut_is_sent_again_over_the_connection_that_lives() {
    let read_only = ToolAnnotations::new().with_read_only(true);
    let server = FakeServer::new(router("s").route(echo().annotations(read_only)));
    let (hub, client) = hub(&[("s", &server)]);
    wait_for(&hub, "s", "connected", 1).await;
    server.cut_next_call();
    let start = tokio::time::Instant::now();
    assert!(client.call_tool("s_echo", &json!({})).await.is_ok());
    let waited = start.elapsed();
    assert!(waited < Duration::from_secs(1), "{waited:?}");
    assert_eq!((server.calls(), server.connects()), (2, 1));
}
