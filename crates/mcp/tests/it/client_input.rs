use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use callgate_mcp::client::{ClientBuilder, ClientLimits, InputRefused, with_defaults};
use callgate_mcp::wire::content::Content;
use callgate_mcp::wire::elicitation::ElicitResult;
use callgate_mcp::wire::result::Outcome;
use callgate_mcp::wire::roots::Root;
use callgate_mcp::wire::sampling::CreateMessageResult;
use callgate_mcp::wire::tool::{CallToolParams, CallToolResult};
use callgate_mcp::wire::{Map, RawJson};
use callgate_mcp::{Error, Kind};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::client_scripted::{Scripted, raw, result};

fn required(requests: &Value, state: Option<&str>) -> Value {
    let mut required = json!({"resultType": "input_required", "inputRequests": requests});
    if let Some(state) = state {
        required["requestState"] = json!(state);
    }
    required
}

fn form(message: &str) -> Value {
    json!({"method": "elicitation/create", "params": {
        "message": message,
        "requestedSchema": {"type": "object", "properties": {
            "name": {"type": "string", "default": "Ada"},
        }},
    }})
}

fn url() -> Value {
    json!({"method": "elicitation/create", "params": {
        "mode": "url", "message": "pay", "url": "https://a.example/pay",
    }})
}

fn sampling() -> Value {
    json!({"method": "sampling/createMessage", "params": {
        "maxTokens": 5,
        "messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}],
    }})
}

fn roots() -> Value {
    json!({"method": "roots/list"})
}

fn done() -> Value {
    json!({"content": [{"type": "text", "text": "done"}]})
}

/// Sets handlers for all kinds of input.
fn willing(client: ClientBuilder) -> ClientBuilder {
    client
        .elicitation(|form| async move {
            let nothing = RawJson::empty_object();
            ElicitResult::accept(with_defaults(&form.requested_schema, &nothing))
        })
        .elicitation_url(|_| async { ElicitResult::consent() })
        .sampling(|_| async { Ok(CreateMessageResult::new("model", Content::text("hello"))) })
        .roots(|| async { Ok(vec![Root::new("file:///a")]) })
}

fn asked_again(extra: &Value) -> (String, Value) {
    let mut params = json!({"name": "ask", "arguments": {"n": 1}});
    for (key, value) in extra.as_object().unwrap() {
        params[key] = value.clone();
    }
    ("tools/call".to_owned(), params)
}

async fn call(client: ClientBuilder) -> Result<CallToolResult, Error> {
    client.build().call_tool("ask", &json!({"n": 1})).await
}

#[tokio::test]
async fn all_kinds_of_input_are_given_in_one_round() {
    let requests = json!({"f": form("who"), "u": url(), "s": sampling(), "r": roots()});
    let server = Scripted::new([result(required(&requests, Some("s1"))), result(done())]);
    let answer = call(willing(server.builder())).await.unwrap();
    assert_eq!(answer, CallToolResult::text("done"));
    let responses = json!({
        "f": {"action": "accept", "content": {"name": "Ada"}},
        "u": {"action": "accept"},
        "s": {"role": "assistant", "model": "model", "content": {"type": "text", "text": "hello"}},
        "r": {"roots": [{"uri": "file:///a"}]},
    });
    assert_eq!(
        server.asked(),
        [
            asked_again(&json!({})),
            asked_again(&json!({"inputResponses": responses, "requestState": "s1"})),
        ]
    );
    let seen = server.seen();
    let token = |index: usize| seen[index].meta["progressToken"].clone();
    assert_eq!((token(0), token(1)), (json!(1), json!(2)));
}

#[tokio::test]
async fn each_round_carries_only_the_newest_answers_and_state() {
    let server = Scripted::new([
        result(required(&json!({"a": form("1")}), Some("s1"))),
        result(required(&json!({"b": roots()}), None)),
        result(done()),
    ]);
    call(willing(server.builder())).await.unwrap();
    assert_eq!(
        server.asked(),
        [
            asked_again(&json!({})),
            asked_again(&json!({
                "inputResponses": {"a": {"action": "accept", "content": {"name": "Ada"}}},
                "requestState": "s1",
            })),
            asked_again(&json!({"inputResponses": {"b": {"roots": [{"uri": "file:///a"}]}}})),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn the_state_is_echoed_as_the_bytes_it_came_in() {
    use crate::client_scripted::step;
    use callgate_mcp::Reply;

    const STATE: &str = r#""\u0061\/\ud83d\ude00 \ud800""#;
    let server = Scripted::new([
        step(|_| async {
            let text = format!(r#"{{"resultType":"input_required","requestState":{STATE}}}"#);
            Ok(Reply::InputRequired(serde_json::from_str(&text).unwrap()))
        }),
        step(|call| async move {
            let state = call.params().get("requestState").unwrap();
            Ok(Reply::Complete(raw(
                &json!({"same": state.as_str() == STATE}),
            )))
        }),
    ]);
    let answer = server
        .client()
        .request("tools/call", &json!({}))
        .await
        .unwrap();
    assert_eq!(answer.as_str(), r#"{"same":true}"#);
}

#[tokio::test]
async fn prompts_and_resources_may_ask_too() {
    let ask = || result(required(&json!({"r": roots()}), None));
    let server = Scripted::new([
        ask(),
        result(json!({"messages": []})),
        ask(),
        result(json!({"contents": []})),
    ]);
    let client = willing(server.builder()).build();
    client.get_prompt("p", Map::new()).await.unwrap();
    client.read_resource("a:b").await.unwrap();
    let answers = json!({"r": {"roots": [{"uri": "file:///a"}]}});
    assert_eq!(
        server.asked(),
        [
            ("prompts/get".to_owned(), json!({"name": "p"})),
            (
                "prompts/get".to_owned(),
                json!({"name": "p", "inputResponses": answers})
            ),
            ("resources/read".to_owned(), json!({"uri": "a:b"})),
            (
                "resources/read".to_owned(),
                json!({"uri": "a:b", "inputResponses": answers})
            ),
        ]
    );
}

#[tokio::test]
async fn declining_a_form_is_an_answer() {
    let server = Scripted::new([
        result(required(&json!({"f": form("who"), "u": url()}), None)),
        result(done()),
    ]);
    let client = server
        .builder()
        .elicitation(|_| async { ElicitResult::decline() })
        .elicitation_url(|_| async { ElicitResult::cancel() });
    call(client).await.unwrap();
    let responses = json!({"f": {"action": "decline"}, "u": {"action": "cancel"}});
    assert_eq!(
        server.asked()[1],
        asked_again(&json!({"inputResponses": responses}))
    );
}

#[tokio::test]
async fn input_of_an_undeclared_kind_is_refused() {
    let with_tools = |member: &str, value: Value| {
        let mut request = sampling();
        request["params"][member] = value;
        request
    };
    let offers_sampling =
        |client: ClientBuilder| client.sampling(|_| async { panic!("must not be asked") });
    let check =
        async |client: &dyn Fn(ClientBuilder) -> ClientBuilder, request: Value, what: &str| {
            let server = Scripted::new([result(required(&json!({"k": request}), None))]);
            let failed = call(client(server.builder())).await.unwrap_err();
            assert_eq!(failed.kind(), Kind::Protocol);
            assert_eq!(failed.to_string(), what);
        };
    let offers_nothing = |client: ClientBuilder| client;
    let not_offered = |what| format!("the server asks for {what}, which this client did not offer");
    check(
        &offers_nothing,
        form("who"),
        &not_offered("elicitation by form"),
    )
    .await;
    check(&offers_nothing, url(), &not_offered("elicitation by URL")).await;
    check(&offers_nothing, sampling(), &not_offered("sampling")).await;
    check(&offers_nothing, roots(), &not_offered("roots")).await;
    let tools = with_tools("tools", json!([]));
    check(&offers_sampling, tools, &not_offered("sampling with tools")).await;
    let choice = with_tools("toolChoice", json!({"mode": "none"}));
    check(
        &offers_sampling,
        choice,
        &not_offered("sampling with tools"),
    )
    .await;
    let unknown = json!({"method": "ping"});
    check(&offers_nothing, unknown, "malformed input requests").await;
}

#[tokio::test]
async fn tools_for_the_model_may_be_offered() {
    let mut request = sampling();
    request["params"]["toolChoice"] = json!({"mode": "auto"});
    let server = Scripted::new([
        result(required(&json!({"k": request}), None)),
        result(done()),
    ]);
    let client = server.builder().sampling_with_tools(|params| async move {
        assert!(params.tool_choice.is_some());
        Ok(CreateMessageResult::new("model", Content::text("hello")))
    });
    call(client).await.unwrap();
}

#[tokio::test]
async fn a_refusal_ends_the_call_without_another_round() {
    let refusing = |client: ClientBuilder| {
        client
            .sampling(|_| async { Err(InputRefused::new("no model")) })
            .roots(|| async { Err(InputRefused::new("private")) })
    };
    for (request, message) in [
        (
            sampling(),
            "the server's request for sampling was refused: no model",
        ),
        (
            roots(),
            "the server's request for roots was refused: private",
        ),
    ] {
        let server = Scripted::new([result(required(&json!({"k": request}), None))]);
        let failed = call(refusing(server.builder())).await.unwrap_err();
        assert_eq!(failed.kind(), Kind::InputRequired);
        assert_eq!(failed.to_string(), message);
    }
}

#[tokio::test]
async fn rounds_are_bounded() {
    let limits = ClientLimits::default().with_input_rounds(2);
    let ask = || result(required(&json!({"f": form("again")}), None));
    let server = Scripted::new([ask(), ask(), ask()]);
    let failed = call(willing(server.builder()).limits(limits))
        .await
        .unwrap_err();
    assert_eq!(failed.kind(), Kind::InputRequired);
    assert_eq!(
        failed.to_string(),
        "`tools/call` still asks for input after 2 rounds"
    );

    let server = Scripted::new([ask(), ask(), result(done())]);
    call(willing(server.builder()).limits(limits))
        .await
        .unwrap();
}

#[tokio::test]
async fn inputs_of_one_round_are_bounded() {
    let asked = Arc::new(AtomicUsize::new(0));
    let limits = ClientLimits::default().with_inputs(1);
    let requests = json!({"a": roots(), "b": roots()});
    let server = Scripted::new([result(required(&requests, None))]);
    let count = asked.clone();
    let client = server.builder().limits(limits).roots(move || {
        count.fetch_add(1, Ordering::SeqCst);
        async { Ok(vec![]) }
    });
    let failed = call(client).await.unwrap_err();
    assert_eq!(failed.kind(), Kind::InputRequired);
    assert_eq!(
        failed.to_string(),
        "the server asks for more than 1 inputs at once"
    );
    assert_eq!(asked.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_the_server_wants_again_is_repeated_with_backoff() {
    let again = json!({"resultType": "input_required", "requestState": "s"});
    let server = Scripted::new([result(again.clone()), result(again), result(done())]);
    let started = Instant::now();
    call(server.builder()).await.unwrap();
    let waited = started.elapsed().as_millis();
    // Half of each wait is random: 100 to 200 ms, then 200 to 400 ms.
    assert!((300..=610).contains(&waited), "{waited}");
    assert_eq!(
        server.asked(),
        [
            asked_again(&json!({})),
            asked_again(&json!({"requestState": "s"})),
            asked_again(&json!({"requestState": "s"})),
        ]
    );
}

#[tokio::test]
async fn a_call_made_once_returns_the_input_request_to_the_caller() {
    let question = required(&json!({"r": roots()}), Some("s1"));
    let server = Scripted::new([result(question.clone()), result(done())]);
    let client = server.client();
    let mut params = CallToolParams::new("ask", raw(&json!({"n": 1})));
    let Outcome::InputRequired(asked) = client.call_tool_once(&params).await.unwrap() else {
        panic!("expected a question");
    };
    assert_eq!(serde_json::to_value(&asked).unwrap(), question);

    let roots = raw(&json!({"roots": []})).into();
    params.input_responses = Some(Map::from_iter([("r", roots)]));
    params.request_state = asked.request_state;
    let answer = client.call_tool_once(&params).await.unwrap();
    assert_eq!(answer, Outcome::Complete(CallToolResult::text("done")));
    assert_eq!(
        server.asked()[1],
        asked_again(&json!({"inputResponses": {"r": {"roots": []}}, "requestState": "s1"}))
    );
}
