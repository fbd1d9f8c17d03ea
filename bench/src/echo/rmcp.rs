//! The measured tools on the official SDK, as a hand-written handler: its macros cost more per call.

use ::rmcp::ErrorData;
use ::rmcp::ServerHandler;
use ::rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ServerCapabilities,
    ServerConfig, SubscriptionFilter,
};
use ::rmcp::service::{RequestContext, RoleServer};
use serde_json::Value;

use crate::workload;

/// The handler behind both rmcp servers.
#[derive(Debug, Clone, Copy)]
pub struct Tools;

impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed();
        ServerConfig::new(capabilities.build())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let argument = |name| {
            let arguments = request.arguments.as_ref();
            arguments.and_then(|arguments| arguments.get(name))
        };
        let text = argument("text").and_then(Value::as_str);
        let length = argument("length").and_then(Value::as_u64);
        let content = match (&*request.name, text, length) {
            ("echo", Some(text), _) => ContentBlock::text(text),
            ("measure", Some(text), _) => ContentBlock::text(text.len().to_string()),
            ("produce", _, Some(length)) => ContentBlock::text(workload::text(length as usize)),
            _ => return Err(ErrorData::invalid_params("unknown tool", None)),
        };
        Ok(CallToolResult::success(vec![content]).into())
    }
}
