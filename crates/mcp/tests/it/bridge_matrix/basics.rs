//! Tools, prompts, resources and completion.

use callgate_mcp::Error;
use callgate_mcp::wire::completion::{CompleteArgument, CompleteParams, Reference};
use callgate_mcp::wire::tool::CallToolResult;
use callgate_mcp::wire::{Limits, Map, RawJson};
use serde_json::{Value, json};

use super::asking::ODD;
use super::edge::Edge;
use super::pair::{Pair, check, failure};

/// What every pair makes of a feature that all revisions have.
fn everywhere(expect: Value) -> impl Fn(Edge, Edge) -> Value {
    move |_, _| expect.clone()
}

/// What is left of a result, without its metadata.
pub(crate) fn shown(result: &CallToolResult) -> Value {
    let texts: Vec<_> = result
        .content
        .iter()
        .filter_map(|block| block.as_text())
        .collect();
    let structured = result.structured_content.as_ref().map(RawJson::as_str);
    json!([texts, structured, result.is_error])
}

#[tokio::test]
async fn the_server_is_discovered() {
    async fn discover(pair: Pair) -> Result<Value, Error> {
        let about = pair.client.discover().await?;
        let info = about.meta.and_then(|meta| meta.server_info().unwrap());
        Ok(json!([info, about.instructions, about.capabilities]))
    }
    let capabilities = json!({
        "tools": {"listChanged": true},
        "prompts": {"listChanged": true},
        "resources": {"listChanged": true, "subscribe": true},
        "completions": {},
        "logging": {},
        "extensions": {"io.modelcontextprotocol/tasks": {}},
    });
    let far = json!({"name": "far", "version": "1.0"});
    check(discover, everywhere(json!([far, "Be kind.", capabilities]))).await;
}

#[tokio::test]
async fn tools_are_listed_in_all_pages() {
    async fn list(pair: Pair) -> Result<Value, Error> {
        let tools = pair.client.list_tools().await?;
        let names: Vec<_> = tools.into_iter().map(|tool| tool.name).collect();
        Ok(json!(names))
    }
    let names = json!([
        "add", "list", "echo", "fail", "count", "log", "work", "wait", "form", "visit", "sample",
        "roots", "both", "twice", "later"
    ]);
    check(list, everywhere(names)).await;
}

pub(crate) async fn add(pair: Pair) -> Result<Value, Error> {
    pair.client.list_tools().await?;
    let sum = pair
        .client
        .call_tool("add", &json!({"a": 2, "b": 3}))
        .await?;
    Ok(shown(&sum))
}

#[tokio::test]
async fn structured_content_that_is_an_object() {
    let sum = r#"{"sum":5}"#;
    check(add, everywhere(json!([[sum], sum, null]))).await;
}

#[tokio::test]
async fn structured_content_that_is_not_an_object() {
    async fn list(pair: Pair) -> Result<Value, Error> {
        pair.client.list_tools().await?;
        Ok(shown(&pair.client.call_tool("list", &json!({})).await?))
    }
    // An old revision can only express objects, so there the list is a member of one.
    check(list, |client, server| {
        let wrapped = client.is_old() || server.is_old();
        json!([
            ["[1,2]"],
            if wrapped {
                r#"{"result":[1,2]}"#
            } else {
                "[1,2]"
            },
            null
        ])
    })
    .await;
}

#[tokio::test]
async fn no_digit_of_an_argument_is_lost() {
    async fn echo(pair: Pair) -> Result<Value, Error> {
        let large = r#"{"n":12345678901234567890123,"x":1.10}"#;
        let large = RawJson::parse(large.into(), &Limits::default()).unwrap();
        Ok(shown(&pair.client.call_tool("echo", &large).await?))
    }
    let large = r#"{"n":12345678901234567890123,"x":1.10}"#;
    check(echo, everywhere(json!([[large], null, null]))).await;
}

#[tokio::test]
async fn the_failure_of_a_tool_is_a_result() {
    async fn fail(pair: Pair) -> Result<Value, Error> {
        Ok(shown(&pair.client.call_tool("fail", &json!({})).await?))
    }
    check(fail, everywhere(json!([["no luck"], null, true]))).await;
}

#[tokio::test]
async fn a_tool_that_does_not_exist_is_an_error() {
    async fn call(pair: Pair) -> Result<Value, Error> {
        Ok(shown(&pair.client.call_tool("none", &json!({})).await?))
    }
    let unknown = json!({"code": -32602, "message": "unknown tool `none`"});
    check(call, everywhere(unknown)).await;
}

#[tokio::test]
async fn prompts() {
    async fn prompts(pair: Pair) -> Result<Value, Error> {
        let listed = pair.client.list_prompts().await?;
        let names: Vec<_> = listed.into_iter().map(|prompt| prompt.name).collect();
        let arguments: Map<String> = [("name", "Ada".to_owned())].into_iter().collect();
        let greeting = pair.client.get_prompt("greet", arguments).await?;
        let said: Vec<_> = greeting
            .messages
            .iter()
            .filter_map(|message| message.content.as_text())
            .collect();
        let missing = pair.client.get_prompt("greet", Map::new()).await;
        Ok(json!([
            names,
            greeting.description,
            said,
            failure(&missing.unwrap_err())
        ]))
    }
    let missing = json!({"code": -32602, "message": "the argument `name` is required"});
    let expect = json!([["greet", ODD, "asking"], "Greets", ["Hello, Ada"], missing]);
    check(prompts, everywhere(expect)).await;
}

#[tokio::test]
async fn resources() {
    async fn resources(pair: Pair) -> Result<Value, Error> {
        let listed = pair.client.list_resources().await?;
        let uris: Vec<_> = listed.into_iter().map(|resource| resource.uri).collect();
        let templates = pair.client.list_resource_templates().await?;
        let templates: Vec<_> = templates
            .into_iter()
            .map(|each| each.uri_template)
            .collect();
        let note = pair.client.read_resource("test://note").await?;
        let item = pair.client.read_resource("test://item/7").await?;
        Ok(json!([uris, templates, note.contents, item.contents]))
    }
    let expect = json!([
        ["test://note", "test://public", "test://asking"],
        ["test://item/{name}"],
        [{"uri": "test://note", "text": "a note"}],
        [{"uri": "test://item/7", "text": "item 7"}],
    ]);
    check(resources, everywhere(expect)).await;
}

#[tokio::test]
async fn a_resource_that_does_not_exist_is_an_error_that_names_it() {
    async fn read(pair: Pair) -> Result<Value, Error> {
        let error = pair
            .client
            .read_resource("test://item/none")
            .await
            .unwrap_err();
        Ok(json!([error.code(), error.data()]))
    }
    check(
        read,
        everywhere(json!([-32602, {"uri": "test://item/none"}])),
    )
    .await;
}

pub(crate) async fn complete(pair: Pair) -> Result<Value, Error> {
    let mut completed = Vec::new();
    for reference in [
        Reference::prompt("greet"),
        Reference::resource_template("test://item/{name}"),
    ] {
        let argument = CompleteArgument::new("name", "A");
        let params = CompleteParams::new(reference, argument);
        completed.push(pair.client.complete(&params).await?.completion.values);
    }
    Ok(json!(completed))
}

#[tokio::test]
async fn completion() {
    check(complete, everywhere(json!([["A!"], ["A!"]]))).await;
}
