//! Input rounds: requests that ask their client before they answer.

use callgate_mcp::Error;
use callgate_mcp::router::{Elicited, RequestCx, Router};
use callgate_mcp::wire::content::Content;
use callgate_mcp::wire::elicitation::{ElicitParams, RequestedSchema, StringSchema};
use callgate_mcp::wire::implementation::Implementation;
use callgate_mcp::wire::input::{InputRequest, InputRequests, InputRequiredResult};
use callgate_mcp::wire::prompt::Prompt;
use callgate_mcp::wire::resource::Resource;
use callgate_mcp::wire::result::Outcome;
use callgate_mcp::wire::sampling::{CreateMessageParams, SamplingMessage, ToolChoice};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::ask::{Ask, demo_meta, text_result};

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

async fn name(cx: &RequestCx, key: &str) -> Result<String, Error> {
    Ok(
        match cx.elicit_form::<Name>(key, "What is your name?").await? {
            Elicited::Accepted(form) => form.name,
            Elicited::Declined => "stranger".to_owned(),
            _ => "nobody".to_owned(),
        },
    )
}

async fn hello(cx: RequestCx) -> Result<String, Error> {
    Ok(format!("Hello, {}!", name(&cx, "user_name").await?))
}

fn question() -> CreateMessageParams {
    CreateMessageParams::new(vec![SamplingMessage::user(Content::text("Capital?"))], 100)
}

fn demo() -> Router {
    Router::new(Implementation::new("demo", "1.0"))
        .tool("hello", "", hello)
        .prompt(Prompt::new("hello", ""), hello)
        .resource(Resource::new("test://hello", "hello"), hello)
        .tool("rounds", "", |cx: RequestCx| async move {
            let first = name(&cx, "first").await?;
            let second = name(&cx, "second").await?;
            let third = name(&cx, "third").await?;
            Ok::<_, Error>(format!("{first} {second} {third}"))
        })
        .tool("sample", "", |cx: RequestCx| async move {
            let answer = cx.sample("capital", question()).await?;
            Ok::<_, Error>(answer.content.blocks().to_vec())
        })
        .tool("roots", "", |cx: RequestCx| async move {
            let roots = cx.list_roots("roots").await?;
            Ok::<_, Error>(roots.into_iter().map(|root| root.uri).collect::<String>())
        })
        .tool("all", "", |cx: RequestCx| async move {
            let form = RequestedSchema::new().with_required("name", StringSchema::default());
            let requests: InputRequests = [
                ("user", ElicitParams::form("Who?", form).into()),
                ("capital", question().into()),
                ("roots", InputRequest::list_roots()),
            ]
            .into_iter()
            .collect();
            let answers = cx.ask_all(requests).await?;
            let keys: Vec<_> = answers.iter().map(|(key, _)| key.to_owned()).collect();
            Ok::<_, Error>(keys.join(" "))
        })
        .tool("open", "", |cx: RequestCx| async move {
            let result = cx
                .elicit("page", ElicitParams::url("Log in", "https://a.example"))
                .await?;
            Ok::<_, Error>(format!("{:?}", result.action))
        })
        .tool("sample_with_tools", "", |cx: RequestCx| async move {
            let mut params = question();
            params.tool_choice = Some(ToolChoice::default());
            cx.sample("capital", params).await.map(drop)
        })
        .tool("own", "", |cx: RequestCx| async move {
            let step: u32 = cx
                .request_state()
                .map_or(0, |state| state.parse().unwrap_or(0));
            if step == 2 {
                let answered = cx.input_responses().contains("more");
                return Outcome::Complete(format!("step {step}, answered {answered}"));
            }
            let requests: InputRequests =
                [("more", InputRequest::list_roots())].into_iter().collect();
            let mut result = InputRequiredResult::new(requests, Some((step + 1).to_string()));
            if step == 0 {
                result.input_requests = None;
            }
            Outcome::InputRequired(result)
        })
        .tool("asks_nothing", "", || async {
            InputRequiredResult::default()
        })
        .tool("spawns", "", |cx: RequestCx| async move {
            let asking = tokio::spawn(async move { name(&cx, "user_name").await });
            asking.await.map_err(|_| Error::internal("gone"))?
        })
        .tool("panics", "", || async {
            if true {
                panic!("on purpose");
            }
        })
}

fn forms() -> Value {
    json!({"elicitation": {}})
}

fn accept(name: &str) -> Value {
    json!({"action": "accept", "content": {"name": name}})
}

/// The request for a name under `key`, without its sealed state.
fn asks_name(key: &str) -> Value {
    let request = json!({
        "method": "elicitation/create",
        "params": {
            "mode": "form",
            "message": "What is your name?",
            "requestedSchema": {
                "type": "object",
                "properties": {"name": {"type": "string"}},
                "required": ["name"]
            }
        }
    });
    json!({"resultType": "input_required", "inputRequests": {key: request}, "_meta": demo_meta()})
}

/// Input requests of a result, without its sealed state, which must be there.
fn without_state(asked: &Value) -> Value {
    let mut asked = asked.clone();
    let state = asked.as_object_mut().unwrap().remove("requestState");
    assert!(state.is_some_and(|state| state.is_string()));
    asked
}

#[tokio::test]
async fn a_question_ends_the_round_and_its_answer_completes_the_next() {
    let router = demo();
    let ask = || Ask::tool("hello", json!({})).capabilities(forms());
    let asked = ask().of(&router).await.unwrap();
    assert_eq!(without_state(&asked), asks_name("user_name"));
    for (answer, expect) in [
        (accept("Ada"), "Hello, Ada!"),
        (json!({"action": "decline"}), "Hello, stranger!"),
        (json!({"action": "cancel"}), "Hello, nobody!"),
    ] {
        let answered = ask().answering(&asked, json!({"user_name": answer}));
        assert_eq!(answered.of(&router).await, Ok(text_result(expect)));
    }
}

#[tokio::test]
async fn prompts_and_resources_ask_too() {
    for (method, params) in [
        ("prompts/get", json!({"name": "hello"})),
        ("resources/read", json!({"uri": "test://hello"})),
    ] {
        let router = demo();
        let ask = Ask::new(method, params).capabilities(forms());
        let asked = ask.clone().of(&router).await.unwrap();
        assert_eq!(without_state(&asked), asks_name("user_name"));
        let answered = ask.answering(&asked, json!({"user_name": accept("Ada")}));
        let result = answered.of(&router).await.unwrap();
        assert!(result.to_string().contains("Hello, Ada!"), "{result}");
        assert_eq!(result["resultType"], "complete");
    }
}

#[tokio::test]
async fn answers_of_earlier_rounds_are_remembered() {
    let router = demo();
    let ask = || Ask::tool("rounds", json!({})).capabilities(forms());
    let first = ask().of(&router).await.unwrap();
    assert_eq!(without_state(&first), asks_name("first"));
    let second = ask()
        .answering(&first, json!({"first": accept("A")}))
        .of(&router)
        .await
        .unwrap();
    assert_eq!(without_state(&second), asks_name("second"));
    assert_ne!(first["requestState"], second["requestState"]);
    // An answer that was given cannot be changed later.
    let answers = json!({"second": accept("B"), "first": accept("X")});
    let third = ask().answering(&second, answers).of(&router).await.unwrap();
    assert_eq!(without_state(&third), asks_name("third"));
    let done = ask()
        .answering(&third, json!({"third": accept("C")}))
        .of(&router)
        .await;
    assert_eq!(done, Ok(text_result("A B C")));
}

#[tokio::test]
async fn missing_answers_are_asked_for_again_and_extra_ones_ignored() {
    let router = demo();
    let ask = || Ask::tool("hello", json!({})).capabilities(forms());
    let asked = ask().of(&router).await.unwrap();
    for responses in [
        json!({}),
        json!({"wrong": accept("Ada")}),
        json!({"wrong": null}),
    ] {
        let again = ask()
            .answering(&asked, responses)
            .of(&router)
            .await
            .unwrap();
        assert_eq!(without_state(&again), asks_name("user_name"));
    }
    let responses = json!({"wrong": 7, "user_name": accept("Ada")});
    assert_eq!(
        ask().answering(&asked, responses).of(&router).await,
        Ok(text_result("Hello, Ada!"))
    );
}

#[tokio::test]
async fn malformed_answers_are_errors() {
    let router = demo();
    let ask = || Ask::tool("hello", json!({})).capabilities(forms());
    let asked = ask().of(&router).await.unwrap();
    for responses in [
        json!(null),
        json!([]),
        json!("x"),
        json!({"user_name": null}),
        json!({"user_name": "Ada"}),
        json!({"user_name": {}}),
        json!({"user_name": {"action": "shout"}}),
        json!({"user_name": {"action": "accept"}}),
        json!({"user_name": {"action": "accept", "content": {"name": 7}}}),
    ] {
        let answered = ask().answering(&asked, responses.clone());
        assert_eq!(
            answered.of(&router).await.unwrap_err()["code"],
            -32602,
            "{responses}"
        );
    }
}

#[tokio::test]
async fn models_and_roots_are_asked_too() {
    let router = demo();
    let capabilities = json!({"sampling": {}, "roots": {}, "elicitation": {"form": {}}});
    let ask = |tool| Ask::tool(tool, json!({})).capabilities(capabilities.clone());
    let message =
        json!({"role": "assistant", "content": {"type": "text", "text": "Paris"}, "model": "m"});
    let roots = json!({"roots": [{"uri": "file:///a"}]});

    let asked = ask("sample").of(&router).await.unwrap();
    assert_eq!(
        asked["inputRequests"]["capital"],
        json!({
            "method": "sampling/createMessage",
            "params": {
                "messages": [{"role": "user", "content": {"type": "text", "text": "Capital?"}}],
                "maxTokens": 100
            }
        })
    );
    let answered = ask("sample").answering(&asked, json!({"capital": message}));
    assert_eq!(answered.of(&router).await, Ok(text_result("Paris")));

    let asked = ask("roots").of(&router).await.unwrap();
    assert_eq!(
        asked["inputRequests"],
        json!({"roots": {"method": "roots/list"}})
    );
    let answered = ask("roots").answering(&asked, json!({"roots": roots}));
    assert_eq!(answered.of(&router).await, Ok(text_result("file:///a")));

    let asked = ask("all").of(&router).await.unwrap();
    let keys: Vec<_> = asked["inputRequests"]
        .as_object()
        .unwrap()
        .keys()
        .cloned()
        .collect();
    assert_eq!(keys.len(), 3, "{keys:?}");
    // One answer of three: only the others are asked for again.
    let asked = ask("all")
        .answering(&asked, json!({"capital": message}))
        .of(&router)
        .await
        .unwrap();
    let open = asked["inputRequests"].as_object().unwrap();
    assert_eq!((open.len(), open.contains_key("capital")), (2, false));
    let wrong = json!({"roots": message, "user": accept("Ada")});
    assert_eq!(
        ask("all").answering(&asked, wrong).of(&router).await,
        Err(json!({
            "code": -32602,
            "message": "the input response `roots` does not answer `roots/list`"
        }))
    );
    let answered = ask("all").answering(&asked, json!({"roots": roots, "user": accept("Ada")}));
    assert_eq!(
        answered.of(&router).await,
        Ok(text_result("user capital roots"))
    );
}

#[tokio::test]
async fn a_client_is_asked_only_by_its_capabilities() {
    let form = json!({"elicitation": {"form": {}}});
    let url = json!({"elicitation": {"url": {}}});
    let tools = json!({"sampling": {"tools": {}}});
    for (tool, capabilities, required) in [
        ("hello", json!({}), Some(form.clone())),
        ("hello", json!({"sampling": {}}), Some(form.clone())),
        ("hello", url.clone(), Some(form.clone())),
        ("hello", form.clone(), None),
        ("hello", json!({"elicitation": {}}), None),
        ("open", form, Some(url.clone())),
        ("open", url, None),
        ("sample", json!({}), Some(json!({"sampling": {}}))),
        (
            "sample_with_tools",
            json!({"sampling": {}}),
            Some(tools.clone()),
        ),
        ("sample_with_tools", tools, None),
        ("roots", json!({}), Some(json!({"roots": {}}))),
        (
            "all",
            json!({"sampling": {}}),
            Some(json!({"elicitation": {"form": {}}})),
        ),
    ] {
        let seen = Ask::tool(tool, json!({}))
            .capabilities(capabilities.clone())
            .of(&demo())
            .await;
        let expect = required.map(|required| {
            json!({
                "code": -32021,
                "message": "the client did not declare a required capability",
                "data": {"requiredCapabilities": required}
            })
        });
        assert_eq!(seen.err(), expect, "{tool} {capabilities}");
    }
}

#[tokio::test]
async fn a_handler_can_ask_with_a_state_of_its_own() {
    let router = demo();
    let ask = || Ask::tool("own", json!({})).capabilities(json!({"roots": {}}));
    let first = ask().of(&router).await.unwrap();
    assert_eq!(
        without_state(&first),
        json!({"resultType": "input_required", "_meta": demo_meta()})
    );
    let second = ask()
        .answering(&first, json!({}))
        .of(&router)
        .await
        .unwrap();
    assert_eq!(
        second["inputRequests"],
        json!({"more": {"method": "roots/list"}})
    );
    let third = ask().answering(&second, json!({"more": {"roots": []}}));
    assert_eq!(
        third.of(&router).await,
        Ok(text_result("step 2, answered true"))
    );

    let undeclared = Ask::tool("own", json!({})).answering(&first, json!({}));
    assert_eq!(undeclared.of(&router).await.unwrap_err()["code"], -32021);
    let nothing = Ask::tool("asks_nothing", json!({})).of(&router).await;
    assert_eq!(nothing.unwrap_err()["code"], -32603);
}

#[tokio::test]
async fn a_question_from_another_task_ends_the_round_too() {
    let ask = Ask::tool("spawns", json!({})).capabilities(forms());
    let asked = ask.of(&demo()).await.unwrap();
    assert_eq!(without_state(&asked), asks_name("user_name"));
}

#[tokio::test]
async fn a_panic_is_an_error_of_its_request() {
    assert_eq!(
        Ask::tool("panics", json!({})).of(&demo()).await,
        Err(json!({"code": -32603, "message": "the handler of the request panicked"}))
    );
}
