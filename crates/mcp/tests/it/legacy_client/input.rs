use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use callgate_mcp::upstream::UpstreamConfig;
use callgate_mcp::wire::{Limits, RawJson};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::fixture::{
    EVERYTHING, FORM, TAIL, asked, asks, complete, connect, connect_as, heard, outcome, questions,
    request, start, start_told, told, tool_call,
};
use crate::stdio_fixture::{RawPeer, cancelled, json as raw, notification, result};

const TOOLS: &str = r#"{"tools":{}}"#;

fn accepted(name: &str) -> Value {
    json!({"action":"accept","content":{"name":name}})
}

async fn ask(peer: &mut RawPeer, id: &str) {
    peer.send(&asks(id, "elicitation/create", FORM)).await;
}

#[tokio::test]
async fn a_question_in_the_middle_of_a_call_is_answered_by_its_next_round() {
    let (stream, mut peer) = connect(TOOLS, UpstreamConfig::default()).await;
    let first = start(&stream, tool_call(EVERYTHING));
    heard(&mut peer).await;
    ask(&mut peer, "\"q\"").await;
    let asked = asked(first).await;
    let state = asked["requestState"].as_str().expect("a state").to_owned();
    assert_eq!(
        asked,
        json!({
            "resultType":"input_required",
            "inputRequests":{"1":{
                "method":"elicitation/create",
                "params":{"message":"Who?","requestedSchema":{"type":"object","properties":{}}},
            }},
            "requestState":state,
            "_meta":{"io.modelcontextprotocol/serverInfo":{"name":"old","version":"1"}},
        })
    );
    let second = tool_call(EVERYTHING).retry(&asked, &json!({"1":accepted("Ada")}));
    let second = start(&stream, second);
    assert_eq!(
        heard(&mut peer).await,
        json!({"jsonrpc":"2.0","id":"q","result":{"action":"accept","content":{"name":"Ada"}}})
    );
    peer.send(&result("3", r#"{"content":[]}"#)).await;
    assert_eq!(
        complete(second).await,
        format!(r#"{{"content":[],{TAIL}}}"#)
    );
}

#[tokio::test]
async fn a_call_may_ask_several_times_and_several_things_at_once() {
    let (stream, mut peer) = connect(TOOLS, UpstreamConfig::default()).await;
    let first = start(&stream, tool_call(EVERYTHING));
    heard(&mut peer).await;
    ask(&mut peer, "1").await;
    let message =
        r#"{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":5}"#;
    peer.send(&asks("2", "sampling/createMessage", message))
        .await;
    let once = asked(first).await;
    assert_eq!(
        questions(&once),
        json!([["1", "elicitation/create"], ["2", "sampling/createMessage"]])
    );

    // What is not answered is asked again.
    let second = tool_call(EVERYTHING).retry(&once, &json!({"1":accepted("Ada")}));
    let second = start(&stream, second);
    assert_eq!(heard(&mut peer).await["id"], 1);
    let twice = asked(second).await;
    assert_eq!(questions(&twice), json!([["2", "sampling/createMessage"]]));

    let said = json!({"role":"assistant","content":{"type":"text","text":"ho"},"model":"m"});
    let third = tool_call(EVERYTHING).retry(&twice, &json!({"2":said}));
    let third = start(&stream, third);
    assert_eq!(
        heard(&mut peer).await,
        json!({"jsonrpc":"2.0","id":2,"result":said})
    );
    peer.send(&asks("3", "roots/list", "{}")).await;
    let thrice = asked(third).await;
    assert_eq!(questions(&thrice), json!([["3", "roots/list"]]));

    let fourth = tool_call(EVERYTHING).retry(&thrice, &json!({"3":{"roots":[]}}));
    let fourth = start(&stream, fourth);
    assert_eq!(
        heard(&mut peer).await,
        json!({"jsonrpc":"2.0","id":3,"result":{"roots":[]}})
    );
    peer.send(&result("3", r#"{"content":[]}"#)).await;
    complete(fourth).await;
}

#[tokio::test(start_paused = true)]
async fn questions_of_one_call_are_gathered_for_so_long() {
    let mut config = UpstreamConfig::default();
    config.input_gathering = Duration::from_secs(5);
    let (stream, mut peer) = connect(TOOLS, config).await;
    let call = start(&stream, tool_call(EVERYTHING));
    heard(&mut peer).await;
    let begun = Instant::now();
    ask(&mut peer, "1").await;
    sleep(Duration::from_secs(4)).await;
    peer.send(&asks("2", "roots/list", "{}")).await;
    assert_eq!(
        questions(&asked(call).await),
        json!([["1", "elicitation/create"], ["2", "roots/list"]])
    );
    assert_eq!(begun.elapsed().as_secs(), 5);
}

#[tokio::test]
async fn hc_2_a_waiting_call_is_taken_out_once_by_its_caller_for_its_request() {
    let (stream, mut peer) = connect(TOOLS, UpstreamConfig::default()).await;
    let first = start(&stream, tool_call(EVERYTHING).by("ada"));
    heard(&mut peer).await;
    ask(&mut peer, "9").await;
    let asked = asked(first).await;
    let answers = json!({"1":accepted("Ada")});
    let other_tool = |name: &str| {
        let params = format!(r#"{{"name":"{name}"}}"#);
        request("tools/call", &params)
            .by("ada")
            .retry(&asked, &answers)
    };
    let refused = [
        tool_call(EVERYTHING).by("bob").retry(&asked, &answers),
        other_tool("u"),
        tool_call(EVERYTHING)
            .by("ada")
            .retry(&json!({"requestState":"forged"}), &answers),
        tool_call(EVERYTHING)
            .by("ada")
            .retry(&asked, &json!({"1":"not an object"})),
    ];
    for request in refused {
        let error = outcome(start(&stream, request))
            .await
            .expect_err("not theirs");
        assert_eq!(error.code(), -32602);
    }
    // The list of names of the params may be in any order; the call is still the same.
    let again = || tool_call(EVERYTHING).by("ada").retry(&asked, &answers);
    let second = start(&stream, again());
    assert_eq!(heard(&mut peer).await["id"], 9);
    let replay = outcome(start(&stream, again()))
        .await
        .expect_err("only once");
    assert_eq!(
        (replay.code(), replay.to_string().as_str()),
        (
            -32602,
            "the call is not waiting any more: it was continued or has expired"
        )
    );
    peer.send(&result("3", r#"{"content":[]}"#)).await;
    complete(second).await;
    drop(stream);
    assert_eq!(peer.rest().await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn hc_2_an_abandoned_call_is_canceled_once() {
    let mut config = UpstreamConfig::default();
    config.input_timeout = Duration::from_secs(5);
    let (stream, mut peer) = connect(TOOLS, config).await;
    let first = start(&stream, tool_call(EVERYTHING));
    heard(&mut peer).await;
    ask(&mut peer, "9").await;
    peer.send(&asks(
        "10",
        "sampling/createMessage",
        r#"{"messages":[],"maxTokens":1}"#,
    ))
    .await;
    let asked = asked(first).await;
    assert_eq!(
        heard(&mut peer).await,
        json!({"jsonrpc":"2.0","id":9,"result":{"action":"cancel"}})
    );
    assert_eq!(
        heard(&mut peer).await,
        json!({"jsonrpc":"2.0","id":10,"error":{"code":-1,"message":"no client answered the question"}})
    );
    assert_eq!(peer.line().await, Some(cancelled("3")));
    let late = tool_call(EVERYTHING).retry(&asked, &json!({"1":accepted("Ada")}));
    let late = outcome(start(&stream, late)).await.expect_err("too late");
    assert_eq!(late.code(), -32602);
    drop(stream);
    assert_eq!(peer.rest().await, [""; 0]);
}

#[tokio::test]
async fn hc_2_calls_that_wait_are_bounded() {
    let mut config = UpstreamConfig::default();
    config.suspended_calls = 1;
    let (stream, mut peer) = connect(TOOLS, config).await;
    let first = start(&stream, tool_call(EVERYTHING));
    heard(&mut peer).await;
    ask(&mut peer, "9").await;
    asked(first).await;
    let second = start(&stream, tool_call(EVERYTHING));
    heard(&mut peer).await;
    ask(&mut peer, "10").await;
    // There is no room to wait, so that nobody is asked and the call goes on.
    assert_eq!(
        heard(&mut peer).await,
        json!({"jsonrpc":"2.0","id":10,"result":{"action":"cancel"}})
    );
    peer.send(&result("4", r#"{"content":[]}"#)).await;
    complete(second).await;
}

#[tokio::test]
async fn hc_2_one_caller_cannot_take_the_room_of_all_others() {
    let mut config = UpstreamConfig::default();
    config.suspended_calls = 3;
    config.suspended_calls_per_caller = 1;
    let (stream, mut peer) = connect(TOOLS, config).await;
    for (question, caller, is_asked) in [
        ("9", "ada", true),
        ("10", "ada", false),
        ("11", "bob", true),
    ] {
        let call = start(&stream, tool_call(EVERYTHING).by(caller));
        let id = heard(&mut peer).await["id"].to_string();
        ask(&mut peer, question).await;
        if is_asked {
            asked(call).await;
            continue;
        }
        let answer = heard(&mut peer).await;
        assert_eq!(answer["result"], json!({"action":"cancel"}), "{caller}");
        peer.send(&result(&id, r#"{"content":[]}"#)).await;
        complete(call).await;
    }
}

#[tokio::test]
async fn hc_2_a_call_that_waits_keeps_nothing_of_its_request() {
    let (stream, mut peer) = connect(TOOLS, UpstreamConfig::default()).await;
    let mut first = tool_call(EVERYTHING);
    let body: Arc<[u8]> = first.call.params().as_bytes().into();
    let left = Arc::downgrade(&body);
    let params = RawJson::parse(Bytes::from_owner(body), &Limits::default()).unwrap();
    first.call.set_params(params);
    let first = start(&stream, first);
    heard(&mut peer).await;
    assert!(left.upgrade().is_some());
    ask(&mut peer, "9").await;
    let asked = asked(first).await;
    assert!(left.upgrade().is_none());

    // What its client can be asked is still known.
    peer.send(&asks("10", "roots/list", "{}")).await;
    peer.send(&asks("11", "sampling/createMessage", "{}")).await;
    // The answer to a malformed question: the one before it was read too.
    assert_eq!(heard(&mut peer).await["error"]["code"], -32602);
    let answers = json!({"1":accepted("Ada"), "2":{"roots":[]}});
    let second = start(&stream, tool_call(EVERYTHING).retry(&asked, &answers));
    assert_eq!(heard(&mut peer).await["id"], 9);
    assert_eq!(heard(&mut peer).await["id"], 10);
    peer.send(&result("3", r#"{"content":[]}"#)).await;
    complete(second).await;
}

#[tokio::test]
async fn hc_2_the_end_of_the_upstream_cancels_waiting_calls() {
    let (stream, mut peer) = connect(TOOLS, UpstreamConfig::default()).await;
    let first = start(&stream, tool_call(EVERYTHING));
    heard(&mut peer).await;
    ask(&mut peer, "9").await;
    let once = asked(first).await;
    let second = start(
        &stream,
        tool_call(EVERYTHING).retry(&once, &json!({"1":accepted("Ada")})),
    );
    assert_eq!(heard(&mut peer).await["id"], 9);
    second.abort();
    assert!(second.await.is_err());
    assert_eq!(peer.line().await, Some(cancelled("3")));
}

#[tokio::test(start_paused = true)]
async fn hc_22_the_time_a_user_takes_is_bounded_by_us_and_not_by_the_call() {
    let mut config = UpstreamConfig::default();
    config.input_timeout = Duration::from_secs(600);
    let (stream, mut peer) = connect(TOOLS, config).await;
    let first = start(&stream, tool_call(EVERYTHING));
    heard(&mut peer).await;
    ask(&mut peer, "9").await;
    let asked = asked(first).await;
    sleep(Duration::from_secs(599)).await;
    let second = tool_call(EVERYTHING).retry(&asked, &json!({"1":accepted("Ada")}));
    let second = start(&stream, second);
    // To the server it is one long call.
    assert_eq!(heard(&mut peer).await["id"], 9);
    peer.send(&result("3", r#"{"content":[]}"#)).await;
    complete(second).await;
}

#[tokio::test]
async fn hc_5_all_capabilities_are_declared_and_questions_beyond_the_callers_are_refused() {
    let (stream, mut peer) = connect(TOOLS, UpstreamConfig::default()).await;
    for (number, capabilities, method, params, code) in [
        (0, "{}", "elicitation/create", FORM, -32601),
        (
            1,
            r#"{"elicitation":{}}"#,
            "elicitation/create",
            r#"{"mode":"url","message":"m","url":"https://a.example","elicitationId":"e"}"#,
            -32602,
        ),
        (2, r#"{"elicitation":{}}"#, "roots/list", "{}", -32601),
        (
            3,
            r#"{"sampling":{}}"#,
            "sampling/createMessage",
            r#"{"messages":[],"maxTokens":1,"tools":[]}"#,
            -32602,
        ),
    ] {
        let call = start(&stream, tool_call(capabilities));
        heard(&mut peer).await;
        peer.send(&asks("\"q\"", method, params)).await;
        assert_eq!(heard(&mut peer).await["error"]["code"], code, "{method}");
        let id = (3 + number).to_string();
        peer.send(&result(&id, r#"{"content":[]}"#)).await;
        complete(call).await;
    }
}

#[tokio::test]
async fn hc_3_a_question_goes_to_the_newest_call_that_can_carry_it() {
    let (stream, mut peer) = connect(TOOLS, UpstreamConfig::default()).await;
    let older = start(&stream, tool_call(EVERYTHING).by("ada"));
    heard(&mut peer).await;
    let newer = start(&stream, tool_call(EVERYTHING).by("ada"));
    heard(&mut peer).await;
    let unable = start(&stream, tool_call("{}").by("ada"));
    heard(&mut peer).await;
    ask(&mut peer, "9").await;
    assert_eq!(
        questions(&asked(newer).await),
        json!([["1", "elicitation/create"]])
    );
    for (id, call) in [("3", older), ("5", unable)] {
        peer.send(&result(id, r#"{"content":[]}"#)).await;
        complete(call).await;
    }
}

#[tokio::test]
async fn hc_3_with_calls_of_several_callers_no_caller_is_asked() {
    let (stream, mut peer) = connect(TOOLS, UpstreamConfig::default()).await;
    for (first, second) in [
        (
            tool_call(EVERYTHING).by("ada"),
            tool_call(EVERYTHING).by("bob"),
        ),
        (
            tool_call(EVERYTHING).by_anybody(),
            tool_call(EVERYTHING).by_anybody(),
        ),
    ] {
        let calls = [start(&stream, first), start(&stream, second)];
        let ids = [heard(&mut peer).await, heard(&mut peer).await];
        ask(&mut peer, "9").await;
        assert_eq!(
            heard(&mut peer).await,
            json!({"jsonrpc":"2.0","id":9,"error":{"code":-32602,
                "message":"the request names no call, and calls of several callers are running"}})
        );
        for id in ids {
            peer.send(&result(&id["id"].to_string(), r#"{"content":[]}"#))
                .await;
        }
        for call in calls {
            complete(call).await;
        }
    }
}

#[tokio::test]
async fn a_question_that_the_server_takes_back_is_not_asked() {
    let (stream, mut peer) = connect(TOOLS, UpstreamConfig::default()).await;
    let call = start(&stream, tool_call(EVERYTHING));
    heard(&mut peer).await;
    ask(&mut peer, "9").await;
    peer.send(&cancelled("9")).await;
    peer.send(&result("3", r#"{"content":[]}"#)).await;
    complete(call).await;
    drop(stream);
    assert_eq!(peer.rest().await, [""; 0]);
}

#[tokio::test]
async fn progress_goes_on_in_the_next_round_under_its_token() {
    let (stream, mut peer) = connect(TOOLS, UpstreamConfig::default()).await;
    let params = |token: &str| {
        format!(
            r#"{{"_meta":{{"progressToken":{token},"io.modelcontextprotocol/clientCapabilities":{EVERYTHING}}}}}"#
        )
    };
    let first = start(&stream, request("tools/call", &params("\"one\"")));
    heard(&mut peer).await;
    ask(&mut peer, "9").await;
    let asked = asked(first).await;
    let second = request("tools/call", &params("2")).retry(&asked, &json!({"1":accepted("Ada")}));
    let (second, mut notifications) = start_told(&stream, second);
    heard(&mut peer).await;
    let progress = r#"{"progressToken":1,"progress":2}"#;
    peer.send(&notification("notifications/progress", progress))
        .await;
    assert_eq!(
        told(&mut notifications).await,
        (
            "notifications/progress".to_owned(),
            raw(r#"{"progressToken":2,"progress":2}"#)
        )
    );
    peer.send(&result("3", r#"{"content":[]}"#)).await;
    complete(second).await;
}

#[tokio::test]
async fn an_older_server_gets_one_block_of_a_message() {
    let (stream, mut peer) = connect_as("2025-06-18", TOOLS, UpstreamConfig::default()).await;
    let first = start(&stream, tool_call(EVERYTHING));
    heard(&mut peer).await;
    peer.send(&asks(
        "9",
        "sampling/createMessage",
        r#"{"messages":[],"maxTokens":1}"#,
    ))
    .await;
    let asked = asked(first).await;
    let said = json!({"role":"assistant","content":[{"type":"text","text":"ho"}],"model":"m"});
    let _second = start(
        &stream,
        tool_call(EVERYTHING).retry(&asked, &json!({"1":said})),
    );
    assert_eq!(
        heard(&mut peer).await["result"]["content"],
        json!({"type":"text","text":"ho"})
    );
}
