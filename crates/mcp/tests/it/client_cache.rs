use std::time::Duration;

use callgate_mcp::client::ClientLimits;
use callgate_mcp::wire::Version;
use serde_json::{Value, json};
use tokio::time::advance;

use crate::client_scripted::{Scripted, failure, result};

fn tools(ttl: &Value) -> Value {
    json!({"tools": [], "ttlMs": ttl, "cacheScope": "private"})
}

#[tokio::test(start_paused = true)]
async fn a_result_is_cached_for_its_time_to_live() {
    let server = Scripted::new([
        result(tools(&json!(5000))),
        result(tools(&json!(0))),
        result(tools(&json!(0))),
    ]);
    let client = server.client();
    for (wait_ms, asked) in [(0, 1), (4999, 1), (1, 2), (0, 3)] {
        advance(Duration::from_millis(wait_ms)).await;
        client.list_tools().await.unwrap();
        assert_eq!(server.asked().len(), asked);
    }
}

#[tokio::test(start_paused = true)]
async fn a_time_to_live_may_be_any_positive_number_and_is_otherwise_zero() {
    for (ttl, kept) in [
        (json!(1.5e3), true),
        (json!(u64::MAX), true),
        (json!(0.5), false),
        (json!(-1), false),
        (json!(null), false),
    ] {
        let server = Scripted::new([result(tools(&ttl)), result(tools(&ttl))]);
        let client = server.client();
        client.list_tools().await.unwrap();
        client.list_tools().await.unwrap();
        assert_eq!(server.asked().len() == 1, kept, "{ttl}");
    }
}

#[tokio::test(start_paused = true)]
async fn six_methods_are_cached_by_their_parameters() {
    let ttl = |mut page: Value| {
        page["ttlMs"] = json!(1000);
        page["cacheScope"] = json!("public");
        result(page)
    };
    let about = json!({"supportedVersions": ["2026-07-28"], "capabilities": {}});
    let server = Scripted::new([
        ttl(about),
        ttl(json!({"tools": [], "nextCursor": "x"})),
        ttl(json!({"tools": []})),
        ttl(json!({"prompts": []})),
        ttl(json!({"resources": []})),
        ttl(json!({"resourceTemplates": []})),
        ttl(json!({"contents": []})),
        ttl(json!({"contents": []})),
    ]);
    let client = server.client();
    for _ in 0..2 {
        client.discover().await.unwrap();
        client.list_tools().await.unwrap();
        client.list_prompts().await.unwrap();
        client.list_resources().await.unwrap();
        client.list_resource_templates().await.unwrap();
        client.read_resource("a:1").await.unwrap();
        client.read_resource("a:2").await.unwrap();
    }
    assert_eq!((server.asked().len(), server.left()), (8, 0));
}

#[tokio::test(start_paused = true)]
async fn no_cache_sends_a_request_and_caches_its_result() {
    let contents = |text: &str| json!({"contents": [{"uri": "a:1", "text": text}], "ttlMs": 1000, "cacheScope": "private"});
    let server = Scripted::new([result(contents("old")), result(contents("new"))]);
    let client = server.client();
    let always = client.with_options(client.options().clone().no_cache());
    let old = client.read_resource("a:1").await.unwrap();
    let new = always.read_resource("a:1").await.unwrap();
    assert_ne!(old, new);
    assert_eq!(client.read_resource("a:1").await.unwrap(), new);
}

#[tokio::test(start_paused = true)]
async fn a_result_that_took_input_is_not_cached() {
    let contents = || json!({"contents": [], "ttlMs": 1000, "cacheScope": "private"});
    let required = json!({"resultType": "input_required", "requestState": "s"});
    let server = Scripted::new([result(required), result(contents()), result(contents())]);
    let client = server.client();
    client.read_resource("a:1").await.unwrap();
    client.read_resource("a:1").await.unwrap();
    assert_eq!(server.left(), 0);
}

#[tokio::test(start_paused = true)]
async fn another_revision_clears_the_cache() {
    let server = Scripted::new([
        result(tools(&json!(1000))),
        failure(json!({"code": -32022, "message": "m", "data": {"supported": ["2025-11-25"]}})),
        result(json!({})),
        result(tools(&json!(1000))),
    ]);
    let client = server
        .builder()
        .versions([Version::V2026_07_28, Version::V2025_11_25])
        .build();
    client.list_tools().await.unwrap();
    client.request("any", &json!({})).await.unwrap();
    client.list_tools().await.unwrap();
    assert_eq!(server.left(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_cache_has_the_limits_that_were_set() {
    for limits in [
        ClientLimits::default().with_cache_entries(0),
        ClientLimits::default().with_cache_bytes(10),
    ] {
        let server = Scripted::new([result(tools(&json!(1000))), result(tools(&json!(1000)))]);
        let client = server.builder().limits(limits).build();
        client.list_tools().await.unwrap();
        client.list_tools().await.unwrap();
        assert_eq!(server.left(), 0, "{limits:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_unknown_cursor_removes_the_cached_pages() {
    let page = |next: Option<&str>| {
        let mut page = tools(&json!(1000));
        if let Some(next) = next {
            page["nextCursor"] = json!(next);
        }
        result(page)
    };
    let server = Scripted::new([
        page(Some("x")),
        failure(json!({"code": -32602, "message": "unknown cursor"})),
        page(None),
    ]);
    let client = server.client();
    client.list_tools().await.unwrap();
    client.list_tools().await.unwrap();
    assert_eq!((server.asked().len(), server.left()), (3, 0));
}
