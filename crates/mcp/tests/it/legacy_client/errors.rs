use std::time::Duration;

use callgate_mcp::upstream::{StateKey, UpstreamConfig};
use callgate_mcp::wire::RawJson;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::fixture::{
    EVERYTHING, FORM, asked, asks, connect, error, heard, outcome, request, start, tool_call,
};
use crate::stdio_fixture::{notification, result};

const ALL: &str = r#"{"tools":{},"resources":{}}"#;

async fn failure(method: &str, error: &str) -> (i64, Option<Value>) {
    let (stream, mut peer) = connect(ALL, UpstreamConfig::default()).await;
    let call = start(&stream, request(method, r#"{"uri":"a:b"}"#));
    heard(&mut peer).await;
    peer.send(&format!(r#"{{"jsonrpc":"2.0","id":3,"error":{error}}}"#))
        .await;
    let error = outcome(call).await.expect_err("the call fails");
    let data = error.data().map(RawJson::decode);
    (error.code(), data.transpose().expect("data is JSON"))
}

#[tokio::test]
async fn hc_13_codes_of_old_servers_do_not_collide_with_those_of_today() {
    assert_eq!(
        failure("resources/read", r#"{"code":-32002,"message":"no"}"#).await,
        (-32602, Some(json!({"uri":"a:b"})))
    );
    assert_eq!(
        failure("tools/call", r#"{"code":-32021,"message":"own","data":7}"#).await,
        (
            -32603,
            Some(json!({"code":-32021,"message":"own","data":7}))
        )
    );
    // What an invalid parameter is about cannot be told.
    assert_eq!(
        failure("resources/read", r#"{"code":-32602,"message":"no"}"#).await,
        (-32602, None)
    );
    assert_eq!(
        failure("tools/call", r#"{"code":-32000,"message":"own"}"#).await,
        (-32000, None)
    );
}

const URL_REQUIRED: &str = r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32042,"message":"first","data":{"elicitations":[{"mode":"url","elicitationId":"e1","url":"https://a.example/login","message":"Log in"}]}}}"#;
const OPENS_URLS: &str = r#"{"elicitation":{"url":{}}}"#;

#[tokio::test]
async fn hc_21_a_url_to_open_first_is_asked_for_and_the_call_made_again() {
    let (stream, mut peer) = connect(ALL, UpstreamConfig::default()).await;
    let first = start(&stream, tool_call(OPENS_URLS));
    heard(&mut peer).await;
    peer.send(URL_REQUIRED).await;
    let asked = asked(first).await;
    assert_eq!(
        asked["inputRequests"],
        json!({"1":{"method":"elicitation/create","params":{
            "mode":"url","message":"Log in","url":"https://a.example/login"
        }}})
    );
    let retry = tool_call(OPENS_URLS).retry(&asked, &json!({"1":{"action":"accept"}}));
    let second = start(&stream, retry);
    // The call is made again as soon as the server says that the user is done.
    peer.send(&notification(
        "notifications/elicitation/complete",
        r#"{"elicitationId":"e1"}"#,
    ))
    .await;
    assert_eq!(
        heard(&mut peer).await,
        json!({"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"t"}})
    );
    peer.send(&result("4", r#"{"content":[]}"#)).await;
    outcome(second).await.expect("the user has logged in");
}

#[tokio::test(start_paused = true)]
async fn hc_21_a_server_that_does_not_say_when_the_user_is_done_is_asked_after_a_while() {
    let mut config = UpstreamConfig::default();
    config.url_timeout = Duration::from_secs(7);
    let (stream, mut peer) = connect(ALL, config).await;
    let first = start(&stream, tool_call(OPENS_URLS));
    heard(&mut peer).await;
    peer.send(URL_REQUIRED).await;
    let asked = asked(first).await;
    let retry = tool_call(OPENS_URLS).retry(&asked, &json!({"1":{"action":"accept"}}));
    let retried = Instant::now();
    let _second = start(&stream, retry);
    assert_eq!(heard(&mut peer).await["id"], 4);
    assert_eq!(retried.elapsed().as_secs(), 7);
}

#[tokio::test]
async fn hc_21_a_url_that_is_not_opened_ends_the_call() {
    let (stream, mut peer) = connect(ALL, UpstreamConfig::default()).await;
    let first = start(&stream, tool_call(OPENS_URLS));
    heard(&mut peer).await;
    peer.send(URL_REQUIRED).await;
    let asked = asked(first).await;
    let retry = tool_call(OPENS_URLS).retry(&asked, &json!({"1":{"action":"decline"}}));
    let refused = outcome(start(&stream, retry))
        .await
        .expect_err("nobody logged in");
    assert_eq!(
        refused.to_string(),
        "the user did not open the page that server `old` needs"
    );

    let unable = start(&stream, tool_call(r#"{"elicitation":{}}"#));
    assert_eq!(heard(&mut peer).await["id"], 4);
    peer.send(&URL_REQUIRED.replace("\"id\":3", "\"id\":4"))
        .await;
    let unable = outcome(unable).await.expect_err("the client opens no URLs");
    assert_eq!(unable.code(), -32021);
    let data: Value = unable.data().expect("data").decode().expect("data is JSON");
    assert_eq!(
        data,
        json!({"requiredCapabilities":{"elicitation":{"url":{}}}})
    );
}

#[tokio::test]
async fn connections_with_the_same_key_open_each_others_states() {
    let with_key = |key: u8| {
        let mut config = UpstreamConfig::default();
        config.state_key = Some(StateKey::new([key; 32]));
        config.url_timeout = Duration::ZERO;
        config
    };
    let (first, mut peer) = connect(ALL, with_key(1)).await;
    let call = start(&first, tool_call(OPENS_URLS));
    heard(&mut peer).await;
    peer.send(URL_REQUIRED).await;
    let asked = asked(call).await;
    let retry = || tool_call(OPENS_URLS).retry(&asked, &json!({"1":{"action":"accept"}}));

    let (other, _peer) = connect(ALL, with_key(2)).await;
    let refused = outcome(start(&other, retry())).await;
    assert_eq!(refused.expect_err("another key").code(), -32602);

    let (same, mut peer) = connect(ALL, with_key(1)).await;
    let call = start(&same, retry());
    assert_eq!(heard(&mut peer).await["method"], "tools/call");
    peer.send(&result("3", r#"{"content":[]}"#)).await;
    outcome(call).await.expect("the user has logged in");
}

#[tokio::test]
async fn a_suspended_call_is_resumed_in_its_own_session_only() {
    let shared_key = || {
        let mut config = UpstreamConfig::default();
        config.state_key = Some(StateKey::new([1; 32]));
        config
    };
    let mut states = Vec::new();
    let mut sessions = Vec::new();
    for _ in 0..2 {
        let (stream, mut peer) = connect(ALL, shared_key()).await;
        let call = start(&stream, tool_call(EVERYTHING));
        heard(&mut peer).await;
        peer.send(&asks("9", "elicitation/create", FORM)).await;
        states.push(asked(call).await);
        sessions.push((stream, peer));
    }
    let answers = json!({"1":{"action":"accept","content":{}}});
    let retry = tool_call(EVERYTHING).retry(&states[0], &answers);
    let refused = outcome(start(&sessions[1].0, retry)).await;
    assert_eq!(refused.expect_err("another session").code(), -32602);

    let (stream, peer) = &mut sessions[1];
    let call = start(stream, tool_call(EVERYTHING).retry(&states[1], &answers));
    assert_eq!(heard(peer).await["id"], 9);
    peer.send(&result("3", r#"{"content":[]}"#)).await;
    outcome(call).await.expect("its own state resumes it");
}

#[tokio::test]
async fn a_result_that_is_no_object_is_an_error() {
    let (stream, mut peer) = connect(ALL, UpstreamConfig::default()).await;
    let call = start(&stream, tool_call("{}"));
    heard(&mut peer).await;
    peer.send(&result("3", "[1]")).await;
    let error = outcome(call).await.expect_err("a result is an object");
    assert_eq!(
        error.to_string(),
        "server `old` answered with a result that is no object"
    );
}

#[tokio::test]
async fn other_errors_pass_as_they_are() {
    let (stream, mut peer) = connect(ALL, UpstreamConfig::default()).await;
    let call = start(&stream, tool_call("{}"));
    heard(&mut peer).await;
    peer.send(&error("3", -32602, "unknown tool")).await;
    let failed = outcome(call).await.expect_err("there is no such tool");
    assert_eq!(
        (failed.code(), failed.to_string().as_str()),
        (-32602, "unknown tool")
    );
}
