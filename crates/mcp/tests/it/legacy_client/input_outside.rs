use std::time::Duration;

use callgate_mcp::upstream::UpstreamConfig;
use serde_json::json;

use super::fixture::{
    EVERYTHING, FORM, asked, asks, complete, connect, heard, questions, request, start, tool_call,
};
use crate::stdio_fixture::{cancelled, result};

const ALL: &str = r#"{"tools":{}}"#;

#[tokio::test]
async fn hc_4_a_question_outside_of_any_call_waits_for_one_that_can_carry_it() {
    let (stream, mut peer) = connect(ALL, UpstreamConfig::default()).await;
    peer.send(&asks("0", "roots/list", "{}")).await;
    let list = start(&stream, request("tools/list", "{}"));
    assert_eq!(heard(&mut peer).await["id"], 3);
    peer.send(&result("3", r#"{"tools":[]}"#)).await;
    complete(list).await;
    let unable = start(&stream, tool_call("{}"));
    assert_eq!(heard(&mut peer).await["id"], 4);
    peer.send(&result("4", r#"{"content":[]}"#)).await;
    complete(unable).await;

    let call = start(&stream, tool_call(EVERYTHING));
    assert_eq!(heard(&mut peer).await["id"], 5);
    let asked = asked(call).await;
    assert_eq!(questions(&asked), json!([["1", "roots/list"]]));
    let again = tool_call(EVERYTHING).retry(&asked, &json!({"1":{"roots":[]}}));
    let again = start(&stream, again);
    assert_eq!(
        heard(&mut peer).await,
        json!({"jsonrpc":"2.0","id":0,"result":{"roots":[]}})
    );
    peer.send(&result("5", r#"{"content":[]}"#)).await;
    complete(again).await;
}

#[tokio::test(start_paused = true)]
async fn hc_4_a_question_without_a_call_is_refused() {
    let mut config = UpstreamConfig::default();
    config.unassigned_timeout = Duration::from_secs(5);
    config.unassigned_questions = 2;
    let (_stream, mut peer) = connect(ALL, config).await;
    peer.send(&asks("1", "roots/list", "{}")).await;
    peer.send(&asks("2", "elicitation/create", FORM)).await;
    peer.send(&asks("3", "roots/list", "{}")).await;
    let nobody = |id: u32| json!({"jsonrpc":"2.0","id":id,"error":{"code":-32603,"message":"no client answered the question"}});
    assert_eq!(
        heard(&mut peer).await,
        json!({"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"too many questions wait for answers"}})
    );
    assert_eq!(heard(&mut peer).await, nobody(1));
    assert_eq!(
        heard(&mut peer).await,
        json!({"jsonrpc":"2.0","id":2,"result":{"action":"cancel"}})
    );
}

#[tokio::test]
async fn hc_4_a_canceled_question_does_not_wait() {
    let (stream, mut peer) = connect(ALL, UpstreamConfig::default()).await;
    peer.send(&asks("1", "roots/list", "{}")).await;
    peer.send(&cancelled("1")).await;
    peer.send(&asks("2", "ping", "{}")).await;
    assert_eq!(heard(&mut peer).await["id"], 2);
    let call = start(&stream, tool_call(EVERYTHING));
    heard(&mut peer).await;
    peer.send(&result("3", r#"{"content":[]}"#)).await;
    complete(call).await;
}
