use callgate_wire::elicitation::ElicitResult;
use callgate_wire::input::InputResponses;
use callgate_wire::pagination::PaginatedParams;
use callgate_wire::tool::{CallToolParams, CallToolResult, ListToolsResult, Tool, ToolAnnotations};
use callgate_wire::{RawJson, method};
use serde_json::json;

use super::{client, content, icon, plain_meta, request_meta, result_meta};
use crate::sample::{Sample, json, request, response, value};

pub(super) fn samples() -> Vec<Sample> {
    let page = PaginatedParams {
        meta: Some(request_meta()),
        cursor: Some("next".to_owned()),
    };
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
    Tool {
        title: Some("Weather".to_owned()),
        icons: Some(vec![icon()]),
        output_schema: Some(json(&json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "array",
        }))),
        annotations: Some(annotations()),
        meta: Some(plain_meta()),
        ..Tool::new("get_weather", "Says the weather", object_schema())
    }
}

pub(super) fn result() -> CallToolResult {
    CallToolResult {
        structured_content: Some(json(&json!([1.5, null, "x"]))),
        is_error: Some(false),
        meta: Some(result_meta()),
        ..CallToolResult::new(content::blocks())
    }
}

fn object_schema() -> RawJson {
    json(&json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": { "city": { "type": "string" } },
    }))
}

fn annotations() -> ToolAnnotations {
    ToolAnnotations {
        title: Some("Weather".to_owned()),
        read_only_hint: Some(true),
        destructive_hint: Some(false),
        idempotent_hint: Some(true),
        open_world_hint: Some(true),
    }
}

fn tools() -> ListToolsResult {
    ListToolsResult {
        next_cursor: Some("next".to_owned()),
        meta: Some(result_meta()),
        ..ListToolsResult::new(vec![tool()])
    }
}

fn params() -> CallToolParams {
    let answers = [("sure", (&ElicitResult::consent()).into())];
    CallToolParams {
        meta: Some(request_meta()),
        input_responses: Some(answers.into_iter().collect::<InputResponses>()),
        request_state: Some("state".to_owned()),
        ..CallToolParams::new("get_weather", json(&json!({ "city": "Paris" })))
    }
}
