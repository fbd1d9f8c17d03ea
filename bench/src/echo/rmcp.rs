//! The echo tool on the official SDK, as a hand-written handler: its macros cost more per call.

use ::rmcp::ErrorData;
use ::rmcp::ServerHandler;
use ::rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ServerCapabilities,
    ServerConfig,
};
use ::rmcp::service::{RequestContext, RoleServer};
use serde_json::Value;

/// The handler behind both rmcp servers.
#[derive(Debug, Clone, Copy)]
pub struct Echo;

impl ServerHandler for Echo {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if request.name != "echo" {
            return Err(ErrorData::invalid_params("unknown tool", None));
        }
        let text = request
            .arguments
            .as_ref()
            .and_then(|arguments| arguments.get("text"));
        let Some(text) = text.and_then(Value::as_str) else {
            return Err(ErrorData::invalid_params("text must be a string", None));
        };
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }
}
