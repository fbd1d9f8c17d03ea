use std::sync::{Arc, Mutex};
use std::time::Duration;

use callgate_mcp::client::CallOptions;
use callgate_mcp::wire::completion::{CompleteArgument, CompleteParams, Reference};
use callgate_mcp::wire::content::Content;
use callgate_mcp::wire::implementation::Implementation;
use callgate_mcp::wire::logging::LogLevel;
use callgate_mcp::wire::roots::Root;
use callgate_mcp::wire::tool::CallToolResult;
use callgate_mcp::wire::{Map, RawJson, Version};
use callgate_mcp::{Call, Error, Kind, Origin, Reply};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::client_scripted::{
    Scripted, Seen, Step, error, failure, notify, raw, reply, result, silence, step,
};

fn seen(method: &str, params: Value) -> (String, Value) {
    (method.to_owned(), params)
}

fn upstream(name: &str) -> Origin {
    Origin::Upstream(Arc::from(name))
}

#[tokio::test]
async fn a_tool_call_has_the_arguments_and_the_metadata_of_the_client() {
    #[derive(Serialize)]
    struct Add {
        a: u8,
        b: u8,
    }
    let server = Scripted::new([
        result(json!({"resultType": "complete", "content": [{"type": "text", "text": "3"}]})),
        result(json!({"content": []})),
    ]);
    let client = server
        .builder()
        .info(Implementation::new("me", "1.0"))
        .roots(|| async { Ok(vec![Root::new("file:///a")]) })
        .build();
    let sum = client.call_tool("add", &Add { a: 1, b: 2 }).await.unwrap();
    assert_eq!(sum, CallToolResult::new(vec![Content::text("3")]));
    let options = CallOptions::default()
        .meta("traceparent", "00-1-2-03")
        .on_log(LogLevel::Warning, |_| {});
    let client = client.with_options(options);
    let nothing = client.call_tool("add", &json!({})).await.unwrap();
    assert_eq!(nothing, CallToolResult::new(vec![]));

    let meta = |token: u64| {
        json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "me", "version": "1.0"},
            "io.modelcontextprotocol/clientCapabilities": {"roots": {}},
            "progressToken": token,
        })
    };
    let mut second = meta(2);
    second["io.modelcontextprotocol/logLevel"] = json!("warning");
    second["traceparent"] = json!("00-1-2-03");
    let call = |arguments: Value, meta: Value| Seen {
        method: "tools/call".to_owned(),
        params: json!({"name": "add", "arguments": arguments}),
        meta,
    };
    assert_eq!(
        server.seen(),
        [
            call(json!({"a": 1, "b": 2}), meta(1)),
            call(json!({}), second)
        ]
    );
}

#[tokio::test]
async fn capabilities_follow_from_the_handlers() {
    use callgate_mcp::client::{ClientBuilder, InputRefused};
    use callgate_mcp::wire::elicitation::ElicitResult;

    async fn check(build: impl FnOnce(ClientBuilder) -> ClientBuilder, expect: Value) {
        let server = Scripted::new([result(
            json!({"supportedVersions": ["2026-07-28"], "capabilities": {}}),
        )]);
        build(server.builder()).build().discover().await.unwrap();
        let meta = &server.seen()[0].meta;
        assert_eq!(meta["io.modelcontextprotocol/clientCapabilities"], expect);
    }
    let decline = || async { ElicitResult::decline() };
    let refuse = || async { Err(InputRefused::new("no")) };
    check(|client| client, json!({})).await;
    check(
        |client| client.elicitation(move |_| decline()),
        json!({"elicitation": {"form": {}}}),
    )
    .await;
    check(
        |client| client.elicitation_url(move |_| decline()),
        json!({"elicitation": {"url": {}}}),
    )
    .await;
    check(
        |client| client.sampling(move |_| refuse()),
        json!({"sampling": {}}),
    )
    .await;
    check(
        |client| client.sampling_with_tools(move |_| refuse()).tasks(),
        json!({
            "sampling": {"tools": {}},
            "extensions": {"io.modelcontextprotocol/tasks": {}},
        }),
    )
    .await;
}

#[tokio::test]
async fn every_method_sends_its_request() {
    let server = Scripted::new([
        result(json!({
            "messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}],
        })),
        result(json!({"messages": []})),
        result(json!({"contents": [{"uri": "file:///a", "text": "b"}]})),
        result(json!({"completion": {"values": ["x"]}})),
        result(json!({"any": 1})),
    ]);
    let client = server.client();
    let prompt = client
        .get_prompt("greet", Map::from_iter([("who", "Ada".to_owned())]))
        .await
        .unwrap();
    assert_eq!(prompt.messages[0].content.as_text(), Some("hi"));
    client.get_prompt("bare", Map::new()).await.unwrap();
    let read = client.read_resource("file:///a").await.unwrap();
    assert_eq!(read.contents[0].uri(), "file:///a");
    let argument = CompleteArgument::new("who", "A");
    let params = CompleteParams::new(Reference::prompt("greet"), argument);
    let completed = client.complete(&params).await.unwrap();
    assert_eq!(completed.completion.values, ["x"]);
    let any = client
        .request("vendor/any", &json!({"n": 1}))
        .await
        .unwrap();
    assert_eq!(any.as_str(), r#"{"any":1}"#);
    assert_eq!(
        server.asked(),
        [
            seen(
                "prompts/get",
                json!({"name": "greet", "arguments": {"who": "Ada"}})
            ),
            seen("prompts/get", json!({"name": "bare"})),
            seen("resources/read", json!({"uri": "file:///a"})),
            seen(
                "completion/complete",
                json!({
                    "ref": {"type": "ref/prompt", "name": "greet"},
                    "argument": {"name": "who", "value": "A"},
                })
            ),
            seen("vendor/any", json!({"n": 1})),
        ]
    );
}

#[tokio::test]
async fn an_error_of_the_server_is_returned_unchanged() {
    let server = Scripted::new([failure(
        json!({"code": -32602, "message": "unknown tool", "data": {"x": 1}}),
    )]);
    let failed = server.client().call_tool("nope", &json!({})).await;
    let failed = failed.unwrap_err();
    assert_eq!(failed.kind(), Kind::Rpc);
    assert_eq!(failed.code(), -32602);
    assert_eq!(failed.to_string(), "unknown tool");
    assert_eq!(failed.data().map(RawJson::as_str), Some(r#"{"x":1}"#));
}

#[tokio::test]
async fn a_result_that_breaks_the_protocol_is_refused() {
    let check = async |method: &'static str, answer: Value, message: &str| {
        let server = Scripted::new([result(answer)]);
        let client = server.builder().server_name("far").build();
        let failed = client.request(method, &json!({})).await.unwrap_err();
        assert_eq!(failed.kind(), Kind::Protocol);
        assert_eq!(failed.origin(), &upstream("far"));
        assert_eq!(failed.to_string(), message);
    };
    check(
        "tools/call",
        json!({"resultType": "surprise"}),
        "`tools/call` was answered with the result type \"surprise\", which it must not have",
    )
    .await;
    check(
        "tools/list",
        json!({"resultType": "input_required", "requestState": "s"}),
        "`tools/list` was answered with the result type \"input_required\", which it must not have",
    )
    .await;
    check(
        "tools/call",
        json!({"resultType": "input_required"}),
        "`tools/call` asks for input but for none",
    )
    .await;
    check(
        "tools/call",
        json!({"resultType": "task", "taskId": "t"}),
        "`tools/call` was answered with the result type \"task\", which it must not have",
    )
    .await;
    check(
        "tools/call",
        json!([]),
        "the result of `tools/call` is not an object",
    )
    .await;
}

#[tokio::test]
async fn a_result_of_another_shape_is_refused() {
    let server = Scripted::new([result(json!({"content": 7}))]);
    let failed = server.client().call_tool("add", &json!({})).await;
    assert_eq!(failed.unwrap_err().kind(), Kind::Protocol);
}

#[tokio::test]
async fn params_that_are_no_object_are_never_sent() {
    let server = Scripted::new([]);
    let failed = server.client().request("any", &json!([1])).await;
    assert_eq!(failed.unwrap_err().kind(), Kind::InvalidParams);
    assert_eq!(server.asked(), []);
}

fn unsupported(supported: &[&str]) -> Step {
    failure(json!({
        "code": -32022,
        "message": "unsupported",
        "data": {"supported": supported, "requested": "2026-07-28"},
    }))
}

#[tokio::test]
async fn a_refused_revision_is_followed_by_one_that_the_server_speaks() {
    let server = Scripted::new([
        unsupported(&["2025-11-25"]),
        result(json!({})),
        result(json!({})),
    ]);
    let client = server
        .builder()
        .versions([Version::V2026_07_28, Version::V2025_11_25])
        .build();
    client.request("any", &json!({})).await.unwrap();
    client.request("any", &json!({})).await.unwrap();
    assert_eq!(client.version(), Version::V2025_11_25);
    let versions = server.seen().into_iter();
    let versions: Vec<Value> = versions
        .map(|seen| seen.meta["io.modelcontextprotocol/protocolVersion"].clone())
        .collect();
    assert_eq!(versions, ["2026-07-28", "2025-11-25", "2025-11-25"]);
}

#[tokio::test]
async fn a_revision_is_chosen_once_per_request() {
    let server = Scripted::new([unsupported(&["2026-07-28"]), unsupported(&["2026-07-28"])]);
    let failed = server.client().request("any", &json!({})).await;
    assert_eq!(failed.unwrap_err().code(), -32022);
    assert_eq!(server.asked().len(), 2);
}

#[tokio::test]
async fn without_a_common_revision_both_sides_are_named() {
    const MESSAGE: &str = "no common protocol version: the server supports 1999-01-01, this client supports 2026-07-28";
    let about = json!({"supportedVersions": ["1999-01-01"], "capabilities": {}});
    for answer in [unsupported(&["1999-01-01"]), result(about)] {
        let server = Scripted::new([answer]);
        let client = server.builder().server_name("far").build();
        let failed = client.discover().await.unwrap_err();
        assert_eq!(failed.kind(), Kind::UnsupportedVersion);
        assert_eq!(failed.origin(), &upstream("far"));
        assert_eq!(failed.to_string(), MESSAGE);
    }
}

async fn progress(call: &Call, progress: u64) {
    let token: Value = call
        .cx
        .peer()
        .progress_token()
        .unwrap()
        .as_raw()
        .decode()
        .unwrap();
    let params = json!({"progressToken": token, "progress": progress});
    notify(&call.cx.notify, "notifications/progress", &params).await;
}

/// Reports progress every 20 s, `times` times, and then answers.
fn slow(times: u64) -> Step {
    step(move |call| async move {
        for number in 1..=times {
            sleep(Duration::from_secs(20)).await;
            progress(&call, number).await;
        }
        reply(&json!({}))
    })
}

#[tokio::test(start_paused = true)]
async fn a_silent_server_times_out_after_the_idle_time() {
    let server = Scripted::new([silence()]);
    let client = server.builder().server_name("far").build();
    let started = Instant::now();
    let failed = client.request("any", &json!({})).await.unwrap_err();
    assert_eq!(started.elapsed().as_secs(), 30);
    assert_eq!(failed.kind(), Kind::Timeout);
    assert_eq!(failed.origin(), &upstream("far"));
    assert_eq!(
        failed.to_string(),
        "`any` got neither answer nor progress for 30s"
    );
    assert_eq!(server.cancelled(), 1);
}

#[tokio::test(start_paused = true)]
async fn progress_keeps_a_call_alive_up_to_the_maximum() {
    let server = Scripted::new([slow(29), slow(1000)]);
    let client = server.client();
    let started = Instant::now();
    client.request("any", &json!({})).await.unwrap();
    assert_eq!(started.elapsed().as_secs(), 29 * 20);

    let started = Instant::now();
    let failed = client.request("any", &json!({})).await.unwrap_err();
    assert_eq!(started.elapsed().as_secs(), 600);
    assert_eq!(failed.to_string(), "`any` got no answer within 600s");
    assert_eq!(server.cancelled(), 1);
}

#[tokio::test]
async fn endless_progress_does_not_extend_the_maximum() {
    let server = Scripted::new([step(|call: Call| async move {
        let started = Instant::now();
        // There is always another notification to deliver, until long after the maximum.
        while started.elapsed() < Duration::from_secs(60) {
            progress(&call, 1).await;
        }
        reply(&json!({}))
    })]);
    let client = server.client();
    let options = CallOptions::default().maximum(Duration::from_millis(20));
    let asked = client
        .with_options(options)
        .request("any", &json!({}))
        .await;
    assert_eq!(
        asked.unwrap_err().to_string(),
        "`any` got no answer within 20ms"
    );
}

#[tokio::test(start_paused = true)]
async fn progress_of_another_request_and_log_messages_do_not_reset_the_idle_timeout() {
    let server = Scripted::new([step(|call: Call| async move {
        sleep(Duration::from_secs(20)).await;
        let params = json!({"progressToken": "other", "progress": 1});
        notify(&call.cx.notify, "notifications/progress", &params).await;
        let params = json!({"level": "info", "data": 1});
        notify(&call.cx.notify, "notifications/message", &params).await;
        std::future::pending().await
    })]);
    let started = Instant::now();
    let failed = server.client().request("any", &json!({})).await;
    assert_eq!(failed.unwrap_err().kind(), Kind::Timeout);
    assert_eq!(started.elapsed().as_secs(), 30);
}

#[tokio::test(start_paused = true)]
async fn timeouts_are_those_of_the_options() {
    let server = Scripted::new([silence(), slow(100), silence()]);
    let options = CallOptions::default()
        .idle(Duration::from_secs(25))
        .maximum(Duration::from_secs(50));
    let client = server.builder().options(options).build();
    let unbounded = client
        .options()
        .clone()
        .idle(Duration::MAX)
        .maximum(Duration::MAX);
    for (client, seconds) in [
        (client.clone(), 25),
        (client.clone(), 50),
        (client.with_options(unbounded), 10 * 365 * 24 * 60 * 60),
    ] {
        let started = Instant::now();
        let failed = client.request("any", &json!({})).await;
        assert_eq!(failed.unwrap_err().kind(), Kind::Timeout);
        assert_eq!(started.elapsed().as_secs(), seconds);
    }
}

#[tokio::test]
async fn notifications_are_delivered_in_order_and_before_the_result() {
    let server = Scripted::new([step(|call: Call| async move {
        // More than the queue holds: the server waits until they are read.
        for number in 1..=100 {
            progress(&call, number).await;
        }
        let params = json!({"level": "error", "logger": "db", "data": {"n": 1}});
        notify(&call.cx.notify, "notifications/message", &params).await;
        notify(
            &call.cx.notify,
            "notifications/progress",
            &json!({"progress": 1}),
        )
        .await;
        reply(&json!({}))
    })]);
    let heard: Arc<Mutex<Vec<Value>>> = Arc::default();
    let listen =
        |heard: Arc<Mutex<Vec<Value>>>| move |said: Value| heard.lock().unwrap().push(said);
    let (on_progress, on_log) = (listen(heard.clone()), listen(heard.clone()));
    let options = CallOptions::default()
        .on_progress(move |params| on_progress(serde_json::to_value(params).unwrap()))
        .on_log(LogLevel::Debug, move |params| {
            on_log(serde_json::to_value(params).unwrap());
        });
    let client = server.client().with_options(options);
    client.request("any", &json!({})).await.unwrap();
    let mut expect: Vec<Value> = (1..=100)
        .map(|number| json!({"progressToken": 1, "progress": number}))
        .collect();
    expect.push(json!({"level": "error", "logger": "db", "data": {"n": 1}}));
    assert_eq!(*heard.lock().unwrap(), expect);
}

#[tokio::test]
async fn dropping_a_call_cancels_it() {
    let server = Scripted::new([silence()]);
    let client = server.client();
    let arguments = json!({});
    let mut call = Box::pin(client.call_tool("slow", &arguments));
    tokio::select! {
        biased;
        _ = &mut call => panic!("the server does not answer"),
        () = std::future::ready(()) => {}
    }
    assert_eq!((server.asked().len(), server.cancelled()), (1, 0));
    drop(call);
    assert_eq!(server.cancelled(), 1);
}

#[tokio::test]
async fn calls_have_ids_and_deadlines_of_their_own() {
    let calls: Arc<Mutex<Vec<(String, bool)>>> = Arc::default();
    let remember = |calls: Arc<Mutex<Vec<(String, bool)>>>| {
        step(move |call: Call| async move {
            let deadline = call.cx.deadline.is_some();
            calls
                .lock()
                .unwrap()
                .push((call.cx.id.to_string(), deadline));
            Ok::<Reply, Error>(Reply::Complete(raw(&json!({}))))
        })
    };
    let server = Scripted::new([remember(calls.clone()), remember(calls.clone())]);
    let client = server.client();
    client.request("a", &json!({})).await.unwrap();
    client.clone().request("b", &json!({})).await.unwrap();
    let calls = calls.lock().unwrap().clone();
    assert_eq!(calls, [("1".to_owned(), true), ("2".to_owned(), true)]);
}

#[tokio::test]
async fn a_method_that_the_server_does_not_know_is_an_error() {
    let server = Scripted::new([error(-32601, "method not found")]);
    let failed = server.client().request("any", &json!({})).await;
    assert_eq!(failed.unwrap_err().code(), -32601);
}
