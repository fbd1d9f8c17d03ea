//! What servers ask: elicitation, sampling and roots.

use callgate_mcp::Error;
use callgate_mcp::client::Client;
use callgate_mcp::wire::Map;
use serde_json::{Value, json};

use super::basics::shown;
use super::pair::{Pair, check, failure};

/// What a tool answers, and what the user was asked for it.
pub(crate) async fn ask(pair: Pair, tool: &str, arguments: Value) -> Result<Value, Error> {
    let result = pair.client.call_tool(tool, &arguments).await?;
    Ok(json!([shown(&result)[0], pair.user.asked()]))
}

#[tokio::test]
async fn a_form_that_is_filled_in() {
    let form = |pair| ask(pair, "form", json!({"question": "Who?"}));
    check(form, |_, _| json!([["Ada"], ["Who?"]])).await;
}

#[tokio::test]
async fn a_form_that_is_declined() {
    let form = |pair| ask(pair, "form", json!({"question": "Say no"}));
    check(form, |_, _| json!([["declined"], ["Say no"]])).await;
}

#[tokio::test]
async fn a_url_to_visit() {
    let visit = |pair| ask(pair, "visit", json!({}));
    let asked = "Sign in https://example.com/sign-in";
    check(visit, |_, _| json!([["Accept"], [asked]])).await;
}

#[tokio::test]
async fn sampling() {
    let sample = |pair| ask(pair, "sample", json!({}));
    check(sample, |_, _| json!([["parrot: Polly"], ["Polly"]])).await;
}

#[tokio::test]
async fn roots() {
    let roots = |pair| ask(pair, "roots", json!({}));
    check(roots, |_, _| json!([["file:///project"], ["roots"]])).await;
}

#[tokio::test]
async fn two_questions_at_once() {
    let both = |pair| ask(pair, "both", json!({}));
    check(both, |_, _| json!([["Ada has 1 roots"], ["Who?", "roots"]])).await;
}

#[tokio::test]
async fn two_questions_in_turn() {
    let twice = |pair| ask(pair, "twice", json!({}));
    let expect = json!([["Ada and Ada"], ["First?", "Second?"]]);
    check(twice, |_, _| expect.clone()).await;
}

#[tokio::test]
async fn questions_of_prompts_and_resources() {
    async fn others(pair: Pair) -> Result<Value, Error> {
        let prompt = pair.client.get_prompt("asking", Map::new()).await?;
        let resource = pair.client.read_resource("test://asking").await?;
        let said = prompt
            .messages
            .iter()
            .map(|message| message.content.as_text());
        let said: Vec<_> = said.collect();
        Ok(json!([said, resource.contents, pair.user.asked()]))
    }
    let contents = json!([{"uri": "test://asking", "text": "Ada"}]);
    let expect = json!([["Ada"], contents, ["Who?", "Who?"]]);
    check(others, |_, _| expect.clone()).await;
}

#[tokio::test]
async fn a_client_that_cannot_answer_gets_the_missing_capability() {
    async fn silent(pair: Pair) -> Result<Value, Error> {
        let client = Client::builder(pair.service().clone()).build();
        let mut outcomes = Vec::new();
        for (tool, arguments) in [
            ("form", json!({"question": "Who?"})),
            ("visit", json!({})),
            ("sample", json!({})),
            ("roots", json!({})),
        ] {
            let outcome = client.call_tool(tool, &arguments).await;
            outcomes.push(outcome.map_or_else(|error| failure(&error), |result| shown(&result)));
        }
        Ok(json!(outcomes))
    }
    check(silent, |client, server| {
        let missing = |what: &str| {
            let message = format!("the client did not declare a required capability{what}");
            json!({"code": -32021, "message": message})
        };
        let refused = |what: &str| {
            let reason = "the client of this call did not declare that it can be asked this";
            let message = format!("the client refused `{what}`: {reason}");
            json!({"code": -32603, "message": message})
        };
        if client.is_old_process() || server.is_old_process() {
            // An old process learns once what its client can do, so it is told that everything can
            // be asked; to be unable to show something to a user means that the user went away.
            json!([
                {"code": -32603, "message": "nobody answered"},
                [["Cancel"], null, null],
                refused("sampling/createMessage"),
                refused("roots/list"),
            ])
        } else if client.is_old() || server.is_old() {
            // The old revisions have no code for this, so the message says it as well.
            json!([
                missing(r#": {"elicitation":{"form":{}}}"#),
                missing(r#": {"elicitation":{"url":{}}}"#),
                missing(r#": {"sampling":{}}"#),
                missing(r#": {"roots":{}}"#),
            ])
        } else {
            json!([missing(""), missing(""), missing(""), missing("")])
        }
    })
    .await;
}
