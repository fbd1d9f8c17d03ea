//! Tools that test the input schema.

use callgate_mcp::router::{RawArguments, RouteError, Router, ToolRoute};
use callgate_mcp::wire::RawJson;
use callgate_mcp::wire::tool::Tool;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

pub(crate) fn add(router: &Router) -> Result<(), RouteError> {
    let name = "json_schema_2020_12_tool";
    let tool = Tool::new(name, "Has every keyword in its schema", schema());
    router.add_tool(ToolRoute::with(tool, accept_all))?;
    router.add_tool(ToolRoute::new(
        "test_x_mcp_header",
        "Mirrors a parameter",
        mirror,
    ))
}

fn schema() -> RawJson {
    RawJson::encode(&json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": { "street": { "type": "string" }, "city": { "type": "string" } }
            }
        },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" }
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": {
            "properties": { "contactMethod": { "const": "phone" } },
            "required": ["contactMethod"]
        },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false
    }))
    .expect("a schema is JSON")
}

async fn accept_all(RawArguments(arguments): RawArguments) -> String {
    arguments.as_str().to_owned()
}

#[derive(Deserialize, JsonSchema)]
struct Mirrored {
    #[schemars(extend("x-mcp-header" = "Region"))]
    region: String,
}

async fn mirror(arguments: Mirrored) -> String {
    format!("Region: {}", arguments.region)
}
