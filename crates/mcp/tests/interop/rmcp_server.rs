//! A server on the official SDK, with something for every request of the protocol.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult,
    CompletionInfo, ContentBlock, ElicitRequest, ElicitRequestParams, GetPromptRequestParams,
    GetPromptResponse, GetPromptResult, Implementation, InputRequest, InputRequests,
    InputRequiredResult, JsonObject, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProgressNotificationParam,
    Prompt, PromptArgument, PromptMessage, ReadResourceRequestParams, ReadResourceResponse,
    ReadResourceResult, Resource, ResourceContents, ResourceTemplate, Role, ServerCapabilities,
    ServerConfig, SubscriptionFilter, Tool,
};
use rmcp::service::{RequestContext, RoleServer, SubscriptionContext};
use rmcp::{ErrorData, ServerHandler};
use serde_json::{Value, json};
use tokio::sync::Notify;

#[derive(Clone, Default)]
pub(crate) struct Everything {
    /// Told when `wait` is called.
    pub(crate) waiting: Arc<Notify>,
    /// Told when the call of `wait` was cancelled.
    pub(crate) cancelled: Arc<Notify>,
}

fn object(value: Value) -> Arc<JsonObject> {
    Arc::new(serde_json::from_value(value).unwrap())
}

fn tools() -> Vec<Tool> {
    let numbers = json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}});
    let sum =
        json!({"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]});
    let nothing = || object(json!({"type": "object"}));
    vec![
        Tool::new("add", "Adds", object(numbers)).with_raw_output_schema(object(sum)),
        Tool::new("greet", "Greets who the user says", nothing()),
        Tool::new("count", "Counts to three", nothing()),
        Tool::new("wait", "Waits for ever", nothing()),
        Tool::new("fail", "Fails", nothing()),
    ]
}

/// Asks for a name, and greets it when it comes.
fn greet(request: &CallToolRequestParams) -> Result<CallToolResponse, ErrorData> {
    let Some(responses) = &request.input_responses else {
        let form = json!({"type": "object", "properties": {"name": {"type": "string"}}});
        let params = ElicitRequestParams::FormElicitationParams {
            meta: None,
            message: "Who?".into(),
            requested_schema: serde_json::from_value(form).unwrap(),
        };
        let ask = InputRequest::Elicitation(ElicitRequest::new(params));
        let requests = InputRequests::from_iter([("who".to_owned(), ask)]);
        let state = Some("a \"state\"".to_owned());
        return Ok(InputRequiredResult::new(Some(requests), state).into());
    };
    if request.request_state.as_deref() != Some("a \"state\"") {
        return Err(ErrorData::invalid_params("the state is gone", None));
    }
    let who = serde_json::to_value(&responses["who"]).unwrap();
    let hello = format!("Hello, {}", who["content"]["name"].as_str().unwrap());
    Ok(CallToolResult::success(vec![ContentBlock::text(hello)]).into())
}

impl ServerHandler for Everything {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_prompts()
            .enable_resources()
            .enable_completions()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("rmcp", "3.8.0"))
            .with_instructions("Try everything")
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        // Three to a page.
        let cursor = request.and_then(|request| request.cursor);
        let mut tools = tools();
        let rest = tools.split_off(3);
        if cursor.is_some() {
            return Ok(ListToolsResult::with_all_items(rest));
        }
        let mut page = ListToolsResult::with_all_items(tools);
        page.next_cursor = Some(String::new());
        Ok(page)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        match request.name.as_ref() {
            "add" => {
                let arguments = request.arguments.unwrap_or_default();
                let number = |name: &str| arguments[name].as_i64().unwrap();
                let sum = json!({"sum": number("a") + number("b")});
                Ok(CallToolResult::structured(sum).into())
            }
            "greet" => greet(&request),
            "count" => {
                let token = context.meta.get_progress_token().unwrap();
                for number in [1.0, 2.0, 3.0] {
                    let progress = ProgressNotificationParam::new(token.clone(), number);
                    context.peer.notify_progress(progress).await.unwrap();
                }
                Ok(CallToolResult::success(vec![]).into())
            }
            "wait" => {
                self.waiting.notify_one();
                context.ct.cancelled().await;
                self.cancelled.notify_one();
                Err(ErrorData::internal_error("cancelled", None))
            }
            "fail" => Ok(CallToolResult::error(vec![ContentBlock::text("no")]).into()),
            _ => Err(ErrorData::invalid_params("unknown tool", None)),
        }
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let argument = PromptArgument::new("topic").with_required(true);
        let prompt = Prompt::new("essay", Some("Writes"), Some(vec![argument]));
        Ok(ListPromptsResult::with_all_items(vec![prompt]))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let topic = request.arguments.unwrap_or_default()["topic"].clone();
        let text = format!("Write about {}", topic.as_str().unwrap());
        let message = PromptMessage::new_text(Role::User, text);
        Ok(GetPromptResult::new(vec![message]).into())
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resource = Resource::new("note:1", "first").with_mime_type("text/plain");
        Ok(ListResourcesResult::with_all_items(vec![resource]))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let template = ResourceTemplate::new("note:{id}", "note");
        Ok(ListResourceTemplatesResult::with_all_items(vec![template]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        if request.uri != "note:1" {
            return Err(ErrorData::resource_not_found("no such note", None));
        }
        let contents = ResourceContents::text("remember", request.uri);
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let value = format!("{}pple", request.argument.value);
        let completion = CompletionInfo::with_all_values(vec![value]).unwrap();
        Ok(CompleteResult::new(completion))
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.supported_by(&self.get_info().capabilities))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        context.sink().notify_tool_list_changed().await.unwrap();
        Ok(())
    }
}
