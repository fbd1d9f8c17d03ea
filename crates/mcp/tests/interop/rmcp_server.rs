//! A server on the official SDK, with something for every request of the protocol.

use std::sync::{Arc, Mutex};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult,
    CompletionInfo, ContentBlock, CreateTaskResult, DetailedTask, ElicitRequest,
    ElicitRequestParams, GetPromptRequestParams, GetPromptResponse, GetPromptResult, GetTaskParams,
    GetTaskResult, Implementation, InputRequest, InputRequests, InputRequiredResult, JsonObject,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ProgressNotificationParam, Prompt, PromptArgument, PromptMessage,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Resource,
    ResourceContents, ResourceTemplate, Role, ServerCapabilities, ServerConfig, SubscriptionFilter,
    Task, TaskPayload, TaskStatus, Tool, UpdateTaskParams,
};
use rmcp::service::{RequestContext, RoleServer, SubscriptionContext};
use rmcp::{ErrorData, ServerHandler};
use serde_json::{Value, json};
use tokio::sync::Notify;

#[derive(Clone, Default)]
pub(crate) struct Everything {
    /// The answer that the task was given.
    answer: Arc<Mutex<Option<Value>>>,
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
        Tool::new("later", "Greets who the user says, later", nothing()),
    ]
}

fn ask_who() -> InputRequests {
    let form = json!({"type": "object", "properties": {"name": {"type": "string"}}});
    let params = ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: "Who?".into(),
        requested_schema: serde_json::from_value(form).unwrap(),
    };
    let ask = InputRequest::Elicitation(ElicitRequest::new(params));
    InputRequests::from_iter([("who".to_owned(), ask)])
}

fn hello(answer: &Value) -> CallToolResult {
    let hello = format!("Hello, {}", answer["content"]["name"].as_str().unwrap());
    CallToolResult::success(vec![ContentBlock::text(hello)])
}

/// The task, as far as it has come.
fn task(payload: TaskPayload) -> DetailedTask {
    let now = "2026-07-28T00:00:00Z";
    let task = Task::new("the task", TaskStatus::Working, now, now).with_poll_interval_ms(100);
    DetailedTask::new(task, payload)
}

/// Asks for a name, and greets it when it comes.
fn greet(request: &CallToolRequestParams) -> Result<CallToolResponse, ErrorData> {
    let Some(responses) = &request.input_responses else {
        let requests = ask_who();
        let state = Some("a \"state\"".to_owned());
        return Ok(InputRequiredResult::new(Some(requests), state).into());
    };
    if request.request_state.as_deref() != Some("a \"state\"") {
        return Err(ErrorData::invalid_params("the state is gone", None));
    }
    Ok(hello(&serde_json::to_value(&responses["who"]).unwrap()).into())
}

impl ServerHandler for Everything {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_prompts()
            .enable_resources()
            .enable_completions()
            .enable_tasks()
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
            "later" => {
                let created = task(TaskPayload::Working).task;
                Ok(CallToolResponse::Task(CreateTaskResult::new(created)))
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

    async fn get_task(
        &self,
        _request: GetTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let payload = match &*self.answer.lock().unwrap() {
            Some(answer) => TaskPayload::Completed {
                result: (*object(serde_json::to_value(hello(answer)).unwrap())).clone(),
            },
            None => TaskPayload::InputRequired {
                input_requests: ask_who(),
            },
        };
        Ok(GetTaskResult::new(task(payload)))
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let answer = serde_json::to_value(&request.input_responses["who"]).unwrap();
        *self.answer.lock().unwrap() = Some(answer);
        Ok(())
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
