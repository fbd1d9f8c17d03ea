use callgate_mcp::upstream::UpstreamConfig;
use callgate_mcp::wire::Id;
use callgate_mcp::{Kind, Retry};
use serde_json::json;

use super::fixture::{
    TAIL, asks, complete, connect, connect_as, error, heard, outcome, request, start, start_told,
    told, tool_call,
};
use crate::stdio_fixture::{cancelled, json as raw, notification, result};

const ALL: &str = r#"{"tools":{},"prompts":{},"resources":{},"completions":{}}"#;

#[tokio::test]
async fn calls_lose_new_members_and_results_get_them() {
    let (stream, mut peer) = connect(ALL, UpstreamConfig::default()).await;
    let params = r#"{"name":"t","arguments":{"n":49E-31},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"traceparent":"00-1"}}"#;
    let call = start(&stream, request("tools/call", params));
    assert_eq!(
        peer.line().await.as_deref(),
        Some(
            r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"t","arguments":{"n":49E-31},"_meta":{"traceparent":"00-1"}}}"#
        )
    );
    peer.send(&result("3", r#"{"isError":true}"#)).await;
    assert_eq!(
        complete(call).await,
        format!(r#"{{"isError":true,{TAIL},"content":[]}}"#)
    );
}

#[tokio::test]
async fn an_unknown_notification_reaches_the_newest_call_of_an_only_caller() {
    let (stream, mut peer) = connect(ALL, UpstreamConfig::default()).await;
    let ann = |params: &str| request("tools/call", params).by("ann");
    let (_first, _) = start_told(&stream, ann(r#"{"name":"t"}"#));
    heard(&mut peer).await;
    let (_second, mut of_second) = start_told(&stream, ann(r#"{"name":"t"}"#));
    heard(&mut peer).await;
    let news = "notifications/vendor/news";
    peer.send(&notification(news, r#"{"n":1}"#)).await;
    let expect = (news.to_owned(), raw(r#"{"n":1}"#));
    assert_eq!(told(&mut of_second).await, expect);

    // With a call of another caller, it might be about that one.
    let (other, mut of_other) = start_told(&stream, request("tools/call", "{}").by("bob"));
    heard(&mut peer).await;
    peer.send(&notification(news, r#"{"n":2}"#)).await;
    peer.send(&result("5", r#"{"content":[]}"#)).await;
    complete(other).await;
    assert_eq!(of_other.try_next(), None);
    assert_eq!(of_second.try_next(), None);
}

#[tokio::test]
async fn hc_7_lists_are_never_kept_since_they_may_differ_by_session() {
    let (stream, mut peer) = connect(ALL, UpstreamConfig::default()).await;
    for (id, (method, list)) in (3..).zip([
        ("tools/list", "tools"),
        ("prompts/list", "prompts"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
        ("resources/read", "contents"),
    ]) {
        let call = start(&stream, request(method, "{}"));
        heard(&mut peer).await;
        let listed = format!(r#""{list}":[{{"name":"only in this session"}}]"#);
        peer.send(&result(&id.to_string(), &format!("{{{listed}}}")))
            .await;
        assert_eq!(
            complete(call).await,
            format!(r#"{{{listed},{TAIL},"ttlMs":0,"cacheScope":"private"}}"#)
        );
    }
}

#[tokio::test]
async fn hc_6_calls_of_one_process_share_the_session_of_the_server() {
    let (stream, mut peer) = connect(ALL, UpstreamConfig::default()).await;
    for (id, caller) in [("3", "ada"), ("4", "bob")] {
        let call = start(&stream, tool_call("{}").by(caller));
        // The same process and the same session, whoever calls.
        assert_eq!(heard(&mut peer).await["id"].to_string(), id);
        peer.send(&result(id, r#"{"content":[]}"#)).await;
        complete(call).await;
    }
}

#[tokio::test]
async fn methods_that_old_servers_lack_are_refused_here() {
    let (stream, peer) = connect(r#"{"tools":{}}"#, UpstreamConfig::default()).await;
    for method in [
        "prompts/list",
        "resources/read",
        "completion/complete",
        "tasks/get",
        "ping",
        "initialize",
        "logging/setLevel",
    ] {
        let refused = outcome(start(&stream, request(method, "{}"))).await;
        let error = refused.expect_err("there is no such method");
        assert_eq!(
            (error.kind(), error.code()),
            (Kind::MethodNotFound, -32601),
            "{method}"
        );
    }
    drop(stream);
    let mut peer = peer;
    assert_eq!(peer.rest().await, [""; 0]);
}

#[tokio::test]
async fn completion_needs_no_capability_in_the_first_revision() {
    let (stream, mut peer) =
        connect_as("2024-11-05", r#"{"prompts":{}}"#, UpstreamConfig::default()).await;
    let call = start(&stream, request("completion/complete", "{}"));
    assert_eq!(heard(&mut peer).await["method"], "completion/complete");
    peer.send(&result("3", r#"{"completion":{"values":[]}}"#))
        .await;
    assert_eq!(
        complete(call).await,
        format!(r#"{{"completion":{{"values":[]}},{TAIL}}}"#)
    );
}

#[tokio::test]
async fn hc_17_progress_comes_back_under_the_token_of_its_caller() {
    let (stream, mut peer) = connect(ALL, UpstreamConfig::default()).await;
    // Two callers chose the same token, but not the same type.
    for (id, number, token) in [("3", 1, json!(1)), ("4", 2, json!("1"))] {
        let params = json!({"name":"t","_meta":{"progressToken":token}}).to_string();
        let request = request("tools/call", &params).with_id(Id::text("same"));
        let (call, mut notifications) = start_told(&stream, request);
        assert_eq!(
            heard(&mut peer).await["params"]["_meta"],
            json!({"progressToken": number})
        );
        let progress = format!(r#"{{"progress":0.50,"progressToken":{number}}}"#);
        peer.send(&notification("notifications/progress", &progress))
            .await;
        peer.send(&result(id, r#"{"content":[]}"#)).await;
        complete(call).await;
        assert_eq!(
            told(&mut notifications).await,
            (
                "notifications/progress".to_owned(),
                raw(&format!(r#"{{"progress":0.50,"progressToken":{token}}}"#))
            )
        );
    }
}

#[tokio::test]
async fn dropping_a_call_cancels_it_once() {
    let (stream, mut peer) = connect(ALL, UpstreamConfig::default()).await;
    let call = start(&stream, tool_call("{}"));
    heard(&mut peer).await;
    call.abort();
    assert!(call.await.is_err());
    drop(stream);
    assert_eq!(peer.rest().await, [cancelled("3")]);
}

#[tokio::test]
async fn hc_12_a_lost_call_is_not_sent_again() {
    let (stream, mut peer) = connect(ALL, UpstreamConfig::default()).await;
    let call = start(&stream, tool_call("{}"));
    heard(&mut peer).await;
    peer.finish().await;
    let lost = outcome(call).await.expect_err("the server is gone");
    assert_eq!((lost.kind(), lost.retry()), (Kind::Closed, Retry::Never));
    let unsent = outcome(start(&stream, tool_call("{}"))).await;
    let unsent = unsent.expect_err("the server is gone");
    assert_eq!((unsent.kind(), unsent.retry()), (Kind::Closed, Retry::Safe));
    drop(stream);
    assert_eq!(peer.rest().await, [""; 0]);
}

#[tokio::test]
async fn pings_of_the_server_are_answered_and_unknown_requests_refused() {
    let (_stream, mut peer) = connect(ALL, UpstreamConfig::default()).await;
    peer.send(&asks("7", "ping", "{}")).await;
    assert_eq!(
        heard(&mut peer).await,
        json!({"jsonrpc":"2.0","id":7,"result":{}})
    );
    peer.send(&asks("8", "tasks/list", "{}")).await;
    assert_eq!(heard(&mut peer).await["error"]["code"], -32601);
}

#[tokio::test]
async fn a_flood_of_requests_of_the_server_is_refused() {
    let mut config = UpstreamConfig::default();
    config.queued_messages = 1;
    let (_stream, mut peer) = connect(ALL, config).await;
    // Both come at once, before anybody can deal with the first.
    let both = [asks("7", "ping", "{}"), asks("8", "ping", "{}")];
    peer.send(&both.join("\n")).await;
    assert_eq!(
        peer.lines(2).await,
        [
            error("8", -32603, "too many messages wait to be handled"),
            result("7", "{}")
        ]
    );
}
