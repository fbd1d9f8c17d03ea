use callgate_wire::elicitation::ElicitResult;
use callgate_wire::input::InputResponses;
use callgate_wire::pagination::PaginatedParams;
use callgate_wire::tool::{CallToolParams, CallToolResult, ListToolsResult, Tool, ToolAnnotations};
use callgate_wire::{RawJson, method};
use serde_json::json;

use super::{client, content, icon, plain_meta, request_meta, result_meta};
use crate::sample::{Sample, json, request, response, value, with};

pub(super) fn samples() -> Vec<Sample> {
    let page = with(PaginatedParams::default(), |it| {
        it.meta = Some(request_meta());
        it.cursor = Some("next".to_owned());
    });
    vec![
        value("Tool", &tool()),
        value("Tool", &Tool::new("now", "Says the time", object_schema())),
        value("ToolAnnotations", &annotations()),
        request("ListToolsRequest", method::TOOLS_LIST, &page),
        request("PaginatedRequest", method::TOOLS_LIST, &page),
        value("PaginatedRequestParams", &page),
        value("ListToolsResult", &tools()),
        value("PaginatedResult", &tools()),
        value("CacheableResult", &tools()),
        response("ListToolsResultResponse", &tools()),
        value("CallToolRequestParams", &params()),
        value("InputResponseRequestParams", &params()),
        request("CallToolRequest", method::TOOLS_CALL, &params()),
        value("CallToolResult", &result()),
        value("CallToolResult", &CallToolResult::text("hi")),
        value(
            "CallToolResult",
            &CallToolResult::structured(RawJson::null()),
        ),
        response("CallToolResultResponse", &result()),
        response("CallToolResultResponse", &client::input_required()),
    ]
}

pub(super) fn tool() -> Tool {
    with(
        Tool::new("get_weather", "Says the weather", object_schema()),
        |it| {
            it.title = Some("Weather".to_owned());
            it.icons = Some(vec![icon()]);
            it.output_schema = Some(json(&json!({
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "type": "array",
            })));
            it.annotations = Some(annotations());
            it.meta = Some(plain_meta());
        },
    )
}

pub(super) fn result() -> CallToolResult {
    with(CallToolResult::new(content::blocks()), |it| {
        it.structured_content = Some(json(&json!([1.5, null, "x"])));
        it.is_error = Some(false);
        it.meta = Some(result_meta());
    })
}

fn object_schema() -> RawJson {
    json(&json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": { "city": { "type": "string" } },
    }))
}

fn annotations() -> ToolAnnotations {
    with(ToolAnnotations::default(), |it| {
        it.title = Some("Weather".to_owned());
        it.read_only_hint = Some(true);
        it.destructive_hint = Some(false);
        it.idempotent_hint = Some(true);
        it.open_world_hint = Some(true);
    })
}

fn tools() -> ListToolsResult {
    with(ListToolsResult::new(vec![tool()]), |it| {
        it.next_cursor = Some("next".to_owned());
        it.meta = Some(result_meta());
    })
}

fn params() -> CallToolParams {
    let answers = [("sure", (&ElicitResult::consent()).into())];
    with(
        CallToolParams::new("get_weather", json(&json!({ "city": "Paris" }))),
        |it| {
            it.meta = Some(request_meta());
            it.input_responses = Some(answers.into_iter().collect::<InputResponses>());
            it.request_state = Some("state".to_owned());
        },
    )
}
