use callgate_mcp::router::{
    Json, RawArguments, RouteError, Router, SchemaError, ToolError, ToolRoute,
};
use callgate_mcp::wire::content::Content;
use callgate_mcp::wire::implementation::Implementation;
use callgate_mcp::wire::tool::{CallToolResult, Tool, ToolAnnotations};
use callgate_mcp::wire::{Limits, Meta, RawJson};
use callgate_mcp::{Error, HeaderParam, Kind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::ask::{Ask, demo_meta, failed_result, raw, text_result};

#[derive(Deserialize, JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    sum: i64,
}

async fn add(args: Add) -> Result<Json<Sum>, ToolError> {
    let sum = args.a.checked_add(args.b);
    let sum = sum.ok_or_else(|| ToolError::failed("the sum is too large"))?;
    Ok(Json(Sum { sum }))
}

fn demo() -> Router {
    Router::new(Implementation::new("demo", "1.0")).tool("add", "Adds two numbers", add)
}

#[tokio::test]
async fn a_tool_is_a_plain_async_function() {
    assert_eq!(
        Ask::tool("add", json!({"a": 2, "b": 3})).of(&demo()).await,
        Ok(json!({
            "resultType": "complete",
            "content": [{"type": "text", "text": "{\"sum\":5}"}],
            "structuredContent": {"sum": 5},
            "_meta": demo_meta()
        }))
    );
}

#[tokio::test]
async fn a_failing_tool_is_a_result_and_a_failing_request_an_error() {
    assert_eq!(
        Ask::tool("add", json!({"a": i64::MAX, "b": 1}))
            .of(&demo())
            .await,
        Ok(failed_result("the sum is too large"))
    );
    let router = demo().tool("broken", "Fails", || async {
        Err::<String, _>(ToolError::from(Error::new(Kind::Busy, "too much")))
    });
    assert_eq!(
        Ask::tool("broken", json!({})).of(&router).await,
        Err(json!({"code": 42900, "message": "too much"}))
    );
}

#[cfg(feature = "schema")]
#[tokio::test]
async fn an_invalid_argument_is_a_result_that_names_the_field() {
    let invalid = |problem: &str| {
        Ok(failed_result(&format!(
            "Invalid arguments for tool `add`: {problem}"
        )))
    };
    for (arguments, expect) in [
        (
            json!({"a": "two", "b": 3}),
            invalid(r#"`/a`: value is not of type "integer""#),
        ),
        (json!({"a": 2}), invalid(r#""b" is a required property"#)),
        (
            json!({}),
            invalid(r#""a" is a required property; "b" is a required property"#),
        ),
    ] {
        assert_eq!(Ask::tool("add", arguments).of(&demo()).await, expect);
    }
    // Larger than the Rust type, though an integer all the same.
    let huge = json!({"a": 9_223_372_036_854_775_808_u64, "b": 1});
    let expect = "Invalid arguments: `/a`: unexpected JSON shape: \
        invalid value: integer `9223372036854775808`, expected i64";
    assert_eq!(
        Ask::tool("add", huge).of(&demo()).await,
        Ok(failed_result(expect))
    );
}

#[tokio::test]
async fn a_malformed_call_is_an_error() {
    let invalid = |message: &str| Err(json!({"code": -32602, "message": message}));
    for (params, expect) in [
        (json!({}), invalid("`name` must be a string")),
        (json!({"name": 7}), invalid("`name` must be a string")),
        (json!({"name": "sub"}), invalid("unknown tool `sub`")),
        (
            json!({"name": "add", "arguments": [1, 2]}),
            invalid("`arguments` must be an object"),
        ),
        (
            json!({"name": "add", "arguments": null}),
            invalid("`arguments` must be an object"),
        ),
    ] {
        assert_eq!(Ask::new("tools/call", params).of(&demo()).await, expect);
    }
}

#[cfg(feature = "schema")]
#[tokio::test]
async fn absent_arguments_count_as_none() {
    let router = demo().tool("hello", "Greets", || async { "hello" }).tool(
        "who",
        "Says who calls",
        |cx: callgate_mcp::router::RequestCx| async move { format!("{:?}", cx.caller()) },
    );
    assert_eq!(
        Ask::new("tools/call", json!({"name": "hello"}))
            .of(&router)
            .await,
        Ok(text_result("hello"))
    );
    assert_eq!(
        Ask::new("tools/call", json!({"name": "who"}))
            .of(&router)
            .await,
        Ok(text_result("Local"))
    );
    let extra = "Invalid arguments for tool `hello`: `x` is not allowed";
    assert_eq!(
        Ask::tool("hello", json!({"x": 1})).of(&router).await,
        Ok(failed_result(extra))
    );
}

#[tokio::test]
async fn a_tool_can_answer_in_many_ways() {
    let router = demo()
        .tool("nothing", "", || async {})
        .tool("content", "", || async { Content::text("one") })
        .tool("contents", "", || async {
            vec![Content::text("one"), Content::text("two")]
        })
        .tool("result", "", || async {
            let mut result = CallToolResult::error("own");
            result.meta = Some(Meta::new().with("com.example/n", &1));
            result
        })
        .tool("list", "", || async { Json(vec![1, 2]) })
        .tool("plain_error", "", || async {
            Err::<(), _>(Error::invalid_params("no"))
        });
    let call = |name| Ask::tool(name, json!({})).of(&router);
    let complete = |more: Value| {
        let mut result = json!({"resultType": "complete", "_meta": demo_meta()});
        let members = more.as_object().unwrap().clone();
        result.as_object_mut().unwrap().extend(members);
        Ok(result)
    };
    let text = |text: &str| json!({"type": "text", "text": text});
    assert_eq!(call("nothing").await, complete(json!({"content": []})));
    assert_eq!(
        call("content").await,
        complete(json!({"content": [text("one")]}))
    );
    assert_eq!(
        call("contents").await,
        complete(json!({"content": [text("one"), text("two")]}))
    );
    assert_eq!(
        call("result").await,
        complete(json!({
            "content": [text("own")],
            "isError": true,
            "_meta": {
                "com.example/n": 1,
                "io.modelcontextprotocol/serverInfo": {"name": "demo", "version": "1.0"}
            }
        }))
    );
    assert_eq!(
        call("list").await,
        complete(json!({"content": [text("[1,2]")], "structuredContent": [1, 2]}))
    );
    assert_eq!(
        call("plain_error").await,
        Err(json!({"code": -32602, "message": "no"}))
    );
}

#[tokio::test]
async fn raw_arguments_keep_every_byte() {
    let schema = raw(&json!({"type": "object", "properties": {"n": {"type": "number"}}}));
    let tool = Tool::new("echo", "Echoes", schema);
    let router = demo().tool_with(tool, |RawArguments(raw): RawArguments| async move {
        raw.as_str().to_owned()
    });
    let params = r#"{"name":"echo","arguments":{"z":12345678901234567890123, "n":49E-31}}"#;
    let (mut call, _notifications) =
        Ask::new("tools/call", json!({})).into_call(&callgate_mcp::wire::Id::number(1));
    call.set_params(RawJson::parse(params.into(), &Limits::default()).unwrap());
    let result = callgate_mcp::Service::call(&router, call)
        .await
        .unwrap()
        .into_result();
    assert_eq!(
        result.get("content").unwrap().elements()[0]
            .get("text")
            .unwrap()
            .text()
            .unwrap(),
        r#"{"z":12345678901234567890123, "n":49E-31}"#
    );
}

#[tokio::test]
async fn tools_come_and_go_while_the_router_runs() {
    let router = demo();
    let clone = router.clone();
    clone
        .add_tool(ToolRoute::new("hello", "Greets", || async { "hello" }))
        .unwrap();
    assert_eq!(
        Ask::tool("hello", json!({})).of(&router).await,
        Ok(text_result("hello"))
    );
    assert!(clone.remove_tool("hello"));
    assert!(!clone.remove_tool("hello"));
    assert_eq!(
        Ask::tool("hello", json!({})).of(&router).await,
        Err(json!({"code": -32602, "message": "unknown tool `hello`"}))
    );
}

#[test]
fn a_tool_that_cannot_be_used_is_refused() {
    let router = demo();
    let with = |name: &str, schema: Value| {
        router.add_tool(ToolRoute::with(
            Tool::new(name, "", raw(&schema)),
            || async {},
        ))
    };
    for name in ["", "with space", "é", &"a".repeat(129)] {
        assert_eq!(
            with(name, json!({"type": "object"})),
            Err(RouteError::ToolName {
                name: name.to_owned()
            })
        );
    }
    assert_eq!(with(&"a".repeat(128), json!({"type": "object"})), Ok(()));
    assert_eq!(
        with("t", json!({"type": "string"})),
        Err(RouteError::Schema {
            name: "t".to_owned(),
            source: SchemaError::NotAnObject
        })
    );
    let header =
        json!({"type": "object", "properties": {"a": {"type": "array", "x-mcp-header": "A"}}});
    assert!(matches!(with("t", header), Err(RouteError::Header { .. })));
}

#[test]
fn header_parameters_of_a_tool_are_known() {
    let schema = json!({"type": "object", "properties": {"r": {"type": "string", "x-mcp-header": "Region"}}});
    let router = demo().tool_with(Tool::new("t", "", raw(&schema)), || async {});
    let header_params = router.header_params();
    let region = HeaderParam::new("mcp-param-region", ["r"]);
    assert_eq!(header_params("t").as_deref(), Some(&[region][..]));
    assert_eq!(header_params("add").as_deref(), Some(&[][..]));
    assert_eq!(header_params("unknown"), None);
}

#[tokio::test]
async fn a_tool_is_listed_with_its_schemas_and_hints() {
    let router = Router::new(Implementation::new("demo", "1.0")).route(
        ToolRoute::new("add", "Adds two numbers", add)
            .title("Add")
            .annotations(ToolAnnotations::new().with_read_only(true)),
    );
    let integer = json!({"type": "integer"});
    assert_eq!(
        Ask::new("tools/list", json!({})).of(&router).await,
        Ok(json!({
            "resultType": "complete",
            "tools": [{
                "name": "add",
                "title": "Add",
                "description": "Adds two numbers",
                "inputSchema": {
                    "type": "object",
                    "properties": {"a": integer, "b": integer},
                    "required": ["a", "b"]
                },
                "outputSchema": {
                    "type": "object",
                    "properties": {"sum": integer},
                    "required": ["sum"]
                },
                "annotations": {"readOnlyHint": true}
            }],
            "ttlMs": 0,
            "cacheScope": "private",
            "_meta": demo_meta()
        }))
    );
}
