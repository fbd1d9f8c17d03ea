use callgate_mcp::Error;
use callgate_mcp::router::{RawArguments, RequestCx, Router};
use callgate_mcp::wire::completion::{CompleteParams, Completion};
use callgate_mcp::wire::content::Content;
use callgate_mcp::wire::implementation::Implementation;
use callgate_mcp::wire::prompt::{Prompt, PromptArgument, PromptMessage};
use callgate_mcp::wire::resource::ResourceTemplate;
use serde::Deserialize;
use serde_json::{Value, json};

use super::ask::{Ask, demo_meta};

#[derive(Deserialize)]
struct Greeting {
    name: String,
    tone: Option<String>,
}

fn demo() -> Router {
    let greet = Prompt::new("greet", "Greets somebody").with_arguments(vec![
        PromptArgument::required("name", "Whom"),
        PromptArgument::optional("tone", "How"),
    ]);
    Router::new(Implementation::new("demo", "1.0"))
        .prompt(greet, |args: Greeting| async move {
            format!("Greet {} {}.", args.name, args.tone.unwrap_or_default())
        })
        .prompt(
            Prompt::new("talk", "Talks"),
            |_: RequestCx, RawArguments(raw): RawArguments| async move {
                vec![
                    PromptMessage::user(Content::text(raw.as_str())),
                    PromptMessage::assistant(Content::text("yes")),
                ]
            },
        )
        .prompt(Prompt::new("broken", ""), || async {
            Err::<String, _>(Error::internal("no ink"))
        })
        .resource_template(ResourceTemplate::new("test://{id}", "t"), || async { "" })
        .completion(|params: CompleteParams| async move {
            match params.argument.value.as_str() {
                "many" => Ok((0..150).map(|n| n.to_string()).collect::<Vec<_>>()),
                "bad" => Err(Error::invalid_params("bad")),
                value => Ok(vec![format!("{value}!")]),
            }
        })
}

fn get(name: &str, arguments: &Value) -> Ask {
    Ask::new("prompts/get", json!({"name": name, "arguments": arguments}))
}

fn message(role: &str, text: &str) -> Value {
    json!({"role": role, "content": {"type": "text", "text": text}})
}

#[tokio::test]
async fn a_prompt_is_filled_in() {
    assert_eq!(
        get("greet", &json!({"name": "Ada", "tone": "warmly"}))
            .of(&demo())
            .await,
        Ok(json!({
            "resultType": "complete",
            "description": "Greets somebody",
            "messages": [message("user", "Greet Ada warmly.")],
            "_meta": demo_meta()
        }))
    );
    assert_eq!(
        Ask::new("prompts/get", json!({"name": "talk"}))
            .of(&demo())
            .await
            .unwrap()["messages"],
        json!([message("user", "{}"), message("assistant", "yes")])
    );
}

#[tokio::test]
async fn a_prompt_that_cannot_be_filled_in_is_an_error() {
    for (ask, code, text) in [
        (
            get("nothing", &json!({})),
            -32602,
            "unknown prompt `nothing`",
        ),
        (
            get("greet", &json!({})),
            -32602,
            "the argument `name` is required",
        ),
        (
            get("greet", &json!({"name": 7})),
            -32602,
            "the arguments of a prompt must be strings",
        ),
        (
            get("greet", &json!([])),
            -32602,
            "`arguments` must be an object",
        ),
        (
            Ask::new("prompts/get", json!({})),
            -32602,
            "`name` must be a string",
        ),
        (get("broken", &json!({})), -32603, "no ink"),
    ] {
        assert_eq!(
            ask.of(&demo()).await,
            Err(json!({"code": code, "message": text}))
        );
    }
}

fn complete(reference: &Value, value: &str) -> Ask {
    let argument = json!({"name": "name", "value": value});
    Ask::new(
        "completion/complete",
        json!({"ref": reference, "argument": argument}),
    )
}

#[tokio::test]
async fn arguments_are_completed() {
    let greet = json!({"type": "ref/prompt", "name": "greet"});
    let template = json!({"type": "ref/resource", "uri": "test://{id}"});
    for reference in [&greet, &template] {
        assert_eq!(
            complete(reference, "Ada").of(&demo()).await,
            Ok(json!({
                "resultType": "complete",
                "completion": {"values": ["Ada!"], "total": 1, "hasMore": false},
                "_meta": demo_meta()
            }))
        );
    }
    let many = complete(&greet, "many").of(&demo()).await.unwrap();
    let completion = &many["completion"];
    assert_eq!(completion["values"].as_array().unwrap().len(), 100);
    assert_eq!(
        (&completion["total"], &completion["hasMore"]),
        (&json!(150), &json!(true))
    );
    assert_eq!(
        complete(&greet, "bad").of(&demo()).await.unwrap_err()["code"],
        -32602
    );
}

#[tokio::test]
async fn more_values_than_a_result_may_carry_are_left_off() {
    let values: Vec<_> = (0..101).map(|n| n.to_string()).collect();
    let router = demo().completion(move |_: CompleteParams| {
        let values = values.clone();
        async move {
            let mut completion = Completion::default();
            completion.values = values;
            completion
        }
    });
    let result = complete(&json!({"type": "ref/prompt", "name": "greet"}), "")
        .of(&router)
        .await;
    let completion = &result.unwrap()["completion"];
    assert_eq!(completion["values"].as_array().unwrap().len(), 100);
    assert_eq!(completion["hasMore"], true);
}

#[tokio::test]
async fn completions_are_only_for_known_prompts_and_templates() {
    for reference in [
        json!({"type": "ref/prompt", "name": "nothing"}),
        json!({"type": "ref/resource", "uri": "test://nothing"}),
        json!({"type": "ref/other"}),
        json!(7),
    ] {
        let error = complete(&reference, "").of(&demo()).await.unwrap_err();
        assert_eq!(error["code"], -32602, "{error}");
    }
}
