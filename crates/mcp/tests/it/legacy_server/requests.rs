use std::sync::Arc;

use callgate_mcp::wire::{Method, Notification};
use callgate_mcp::{Error, Reply, Service};
use tokio::sync::{Notify, mpsc};

use super::fixture::{
    DISCOVERED, discoverable, error, limited, old_client, old_client_with, request,
};
use crate::stdio_fixture::{
    self, SendOnDrop, cancelled, complete, json, notification, result, service, soon,
};

/// Answers what it is told to, in a complete result.
fn echo() -> Arc<dyn Service> {
    discoverable(|call| async move {
        Ok(Reply::Complete(
            call.params().get("say").unwrap_or_else(|| json("{}")),
        ))
    })
}

#[tokio::test]
async fn results_have_nothing_that_only_the_newest_revision_has() {
    let (mut peer, _server) = old_client(echo(), "2025-03-26", "{}").await;
    peer.send(&request(
        "1",
        "tools/call",
        r#"{"say":{"resultType":"complete","structuredContent":[1.0],"content":[{"type":"resource_link","uri":"a:b","name":"n"}],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"n","version":"1"}}}}"#,
    ))
    .await;
    peer.send(&request(
        "2",
        "tools/list",
        r#"{"say":{"resultType":"complete","tools":[],"nextCursor":"","ttlMs":1,"cacheScope":"public"}}"#,
    ))
    .await;
    assert_eq!(
        peer.lines(2).await,
        [
            result(
                "1",
                r#"{"structuredContent":{"result":[1.0]},"content":[{"type":"text","text":"n: a:b"}]}"#
            ),
            result("2", r#"{"tools":[],"nextCursor":"~"}"#),
        ]
    );
}

#[tokio::test]
async fn an_empty_cursor_comes_back_to_the_service_as_it_was() {
    let service = discoverable(|call| async move {
        let cursor = call.params().get("cursor").unwrap();
        complete(&format!(r#"{{"resultType":"complete","was":{cursor:?}}}"#))
    });
    let (mut peer, _server) = old_client(service, "2025-03-26", "{}").await;
    peer.send(&request("1", "tools/list", r#"{"cursor":"~"}"#))
        .await;
    assert_eq!(peer.line().await, Some(result("1", r#"{"was":""}"#)));
}

#[tokio::test]
async fn hc_1_errors_are_answers_that_an_old_client_understands() {
    let service = discoverable(|call| async move {
        let code = call.params().get("code").unwrap();
        let raw = format!(r#"{{"code":{code:?},"message":"m","data":{{"uri":"a:b"}}}}"#);
        Err(Error::rpc(&Arc::from("files"), json(&raw)))
    });
    let (mut peer, _server) = old_client(service, "2025-11-25", "{}").await;
    for (method, code, expect) in [
        (
            "tools/call",
            "-32601",
            r#"{"code":-32601,"message":"m","data":{"uri":"a:b"}}"#,
        ),
        (
            "tools/call",
            "-32022",
            r#"{"code":-32603,"message":"the server cannot be spoken to: m"}"#,
        ),
        (
            "tools/call",
            "-32020",
            r#"{"code":-32603,"message":"the server cannot be spoken to: m"}"#,
        ),
        (
            "resources/read",
            "-32602",
            r#"{"code":-32002,"message":"m","data":{"uri":"a:b"}}"#,
        ),
    ] {
        peer.send(&request("1", method, &format!(r#"{{"code":{code}}}"#)))
            .await;
        assert_eq!(peer.line().await, Some(error("1", expect)));
    }
}

#[tokio::test]
async fn methods_that_the_clients_revision_does_not_have_are_unknown() {
    let (mut peer, _server) = old_client(echo(), "2025-06-18", "{}").await;
    for method in [
        "server/discover",
        "subscriptions/listen",
        "tasks/update",
        "tasks/get",
        "tasks/list",
    ] {
        peer.send(&request("1", method, "{}")).await;
        let expect = format!(r#"{{"code":-32601,"message":"method `{method}` not found"}}"#);
        assert_eq!(peer.line().await, Some(error("1", &expect)));
    }
}

#[tokio::test]
async fn progress_goes_to_the_call_that_asked_for_it() {
    let service = discoverable(|call| async move {
        let token = call.params().at(&["_meta", "progressToken"]);
        let token = token.unwrap_or_else(|| json("0"));
        let progress = Notification {
            method: Method::new("notifications/progress"),
            params: json(&format!(r#"{{"progressToken":{token:?},"progress":0.5}}"#)),
        };
        call.cx.notify.send(progress).await;
        complete(r#"{"resultType":"complete"}"#)
    });
    let (mut peer, _server) = old_client(service, "2024-11-05", "{}").await;
    peer.send(&request(
        "1",
        "tools/call",
        r#"{"_meta":{"progressToken":"a"}}"#,
    ))
    .await;
    assert_eq!(
        peer.lines(2).await,
        [
            notification(
                "notifications/progress",
                r#"{"progressToken":"a","progress":0.5}"#
            ),
            result("1", "{}"),
        ]
    );
    peer.send(&request("2", "tools/call", "{}")).await;
    assert_eq!(peer.line().await, Some(result("2", "{}")));
}

#[tokio::test]
async fn hc_17_a_thousand_requests_with_one_id_are_all_answered() {
    let release = Arc::new(Notify::new());
    let (started, mut starts) = mpsc::channel(1000);
    let service = discoverable({
        let release = release.clone();
        move |call| {
            let (release, started) = (release.clone(), started.clone());
            async move {
                let mut released = Box::pin(release.notified());
                released.as_mut().enable();
                started.send(()).await.unwrap();
                released.await;
                Ok(Reply::Complete(call.params().get("say").unwrap()))
            }
        }
    });
    let (mut peer, _server) = old_client(service, "2025-11-25", "{}").await;
    for number in 0..1000 {
        peer.send(&request(
            "1",
            "tools/call",
            &format!(r#"{{"say":{{"n":{number}}}}}"#),
        ))
        .await;
    }
    for _ in 0..1000 {
        soon(starts.recv()).await.unwrap();
    }
    // Nobody can tell which of them is meant, so none is canceled.
    peer.send(&cancelled("1")).await;
    peer.send(&request("2", "ping", "{}")).await;
    assert_eq!(peer.line().await, Some(result("2", "{}")));
    release.notify_waiters();
    let mut seen = peer.lines(1000).await;
    seen.sort();
    let mut expect: Vec<_> = (0..1000)
        .map(|number| result("1", &format!(r#"{{"n":{number}}}"#)))
        .collect();
    expect.sort();
    assert_eq!(seen, expect);
}

#[tokio::test]
async fn a_cancelled_request_ends_without_an_answer() {
    let (started, mut starts) = mpsc::channel(1);
    let (dropped, mut drops) = mpsc::channel(1);
    let service = discoverable(move |call| {
        let (started, dropped) = (started.clone(), dropped.clone());
        async move {
            let is_call = call.method.as_str() == "tools/call";
            let _guard = is_call.then(|| SendOnDrop(dropped));
            if is_call {
                started.send(()).await.unwrap();
            }
            std::future::pending().await
        }
    });
    let (mut peer, _server) = old_client(service, "2025-11-25", "{}").await;
    peer.send(&request("1", "tools/call", "{}")).await;
    soon(starts.recv()).await.unwrap();
    peer.send(&cancelled("1")).await;
    soon(drops.recv()).await.unwrap();
    peer.send(&request("2", "ping", "{}")).await;
    assert_eq!(peer.line().await, Some(result("2", "{}")));
}

#[tokio::test]
async fn requests_beyond_the_limits_are_refused() {
    for config in [
        limited(|legacy| legacy.in_flight = 1),
        limited(|legacy| legacy.in_flight_bytes = 3),
    ] {
        let service = discoverable(|_| std::future::pending());
        let (mut peer, _server) = old_client_with(service, "2025-11-25", "{}", config).await;
        peer.send(&request("1", "tools/call", "{}")).await;
        peer.send(&request("2", "tools/call", "{}")).await;
        assert_eq!(
            peer.line().await,
            Some(error(
                "2",
                r#"{"code":42900,"message":"too many requests in flight"}"#
            ))
        );
    }
}

#[tokio::test]
async fn requests_that_wait_for_the_handshake_are_limited_as_well() {
    let release = Arc::new(Notify::new());
    let service = service({
        let release = release.clone();
        move |_| {
            let release = release.clone();
            async move {
                release.notified().await;
                complete(DISCOVERED)
            }
        }
    });
    let config = limited(|legacy| legacy.in_flight = 1);
    let (mut peer, _server) = stdio_fixture::RawPeer::of_server(service, config);
    peer.send(&super::fixture::initialize("2025-11-25", "{}"))
        .await;
    peer.send(&request("1", "ping", "{}")).await;
    peer.send(&request("2", "ping", "{}")).await;
    assert_eq!(
        peer.line().await,
        Some(error(
            "2",
            r#"{"code":42900,"message":"too many requests in flight"}"#
        ))
    );
    release.notify_one();
    assert!(peer.line().await.unwrap().contains("protocolVersion"));
    assert_eq!(peer.line().await, Some(result("1", "{}")));
}

#[tokio::test]
async fn at_the_end_of_the_stream_requests_may_finish_and_the_rest_is_cancelled() {
    let (dropped, mut drops) = mpsc::channel(1);
    let release = Arc::new(Notify::new());
    let service = discoverable({
        let release = release.clone();
        move |call| {
            let (release, dropped) = (release.clone(), dropped.clone());
            async move {
                if call.method.as_str() == "subscriptions/listen" {
                    let _guard = SendOnDrop(dropped);
                    return std::future::pending().await;
                }
                release.notified().await;
                complete(r#"{"resultType":"complete"}"#)
            }
        }
    });
    let (mut peer, server) = old_client(service, "2025-11-25", "{}").await;
    peer.send(&request("1", "tools/call", "{}")).await;
    peer.send(&request("2", "ping", "{}")).await;
    assert_eq!(peer.line().await, Some(result("2", "{}")));
    peer.finish().await;
    release.notify_one();
    assert_eq!(peer.rest().await, [result("1", "{}")]);
    soon(server).await.unwrap().unwrap();
    soon(drops.recv()).await.unwrap();
}

#[tokio::test]
async fn the_requests_of_an_old_client_on_stdio_share_a_conversation() {
    let told = discoverable(|call| async move {
        let key = call.cx.source.conversation.as_deref().unwrap_or("none");
        complete(&format!(
            r#"{{"transport":"{:?}","key":"{key}"}}"#,
            call.cx.source.transport
        ))
    });
    let (mut peer, _server) = old_client(told, "2025-11-25", "{}").await;
    for id in ["1", "1"] {
        peer.send(&request(id, "tools/call", "{}")).await;
    }
    let answers = peer.lines(2).await;
    assert_eq!(answers[0], answers[1]);
    assert!(
        answers[0].contains(r#""transport":"Lines","key":""#),
        "{answers:?}"
    );
    assert!(!answers[0].contains("none"), "{answers:?}");
    peer.send(&stdio_fixture::request("2", "x")).await;
    let modern = result("2", r#"{"transport":"Lines","key":"none"}"#);
    assert_eq!(peer.line().await, Some(modern));
}
