use std::sync::Arc;

use callgate_wire::input::InputRequiredResult;
use callgate_wire::result::Outcome;
use callgate_wire::tool::{CallToolResult, Tool, ToolAnnotations};
use callgate_wire::{DecodeError, RawJson};
use schemars::JsonSchema;

use super::error::RouteError;
use super::handler::{ErasedHandler, Handler, erase};
use super::handler_call::{HandlerCall, panic_error, run_handler, unknown_outcome};
use super::input_exchange::HandlerStop;
use super::params;
use super::service::RouterState;
use super::task::{self, TaskSupport};
use super::tool_output::{ToolError, ToolOutput};
use crate::error::Error;
use crate::header_param::HeaderParam;
use crate::schema::{self, CompiledSchema};
use crate::service::{Call, PeerInfo, Reply};

/// Tool with its handler, to be added to a [`Router`](super::Router).
///
/// Arguments are checked against the input schema before the handler gets them, and results against
/// the output schema before the client gets them: one that violates it is a failure of the tool.
///
/// ```
/// # use callgate_mcp::router::{Json, Router, ToolError, ToolRoute};
/// # use callgate_mcp::wire::implementation::Implementation;
/// # use callgate_mcp::wire::tool::ToolAnnotations;
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Add { a: i64, b: i64 }
///
/// #[derive(serde::Serialize, schemars::JsonSchema)]
/// struct Sum { sum: i64 }
///
/// async fn add(args: Add) -> Result<Json<Sum>, ToolError> {
///     let sum = args.a.checked_add(args.b).ok_or_else(|| ToolError::failed("too large"))?;
///     Ok(Json(Sum { sum }))
/// }
///
/// let route = ToolRoute::new("add", "Adds two numbers", add)
///     .annotations(ToolAnnotations::new().with_read_only(true));
/// let router = Router::new(Implementation::new("demo", "1.0"));
/// router.add_tool(route)?;
/// # Ok::<(), callgate_mcp::router::RouteError>(())
/// ```
pub struct ToolRoute {
    pub(super) tool: Tool,
    function: Arc<ErasedHandler<(), ToolOutcome>>,
    task: TaskSupport,
    task_start: TaskStart,
}

/// Moment at which a call becomes a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TaskStart {
    /// Before the handler runs.
    Immediate,
    /// At the call of [`RequestCx::detach`](super::RequestCx::detach).
    OnDetach,
}

/// Registered tool, with its compiled schemas.
pub(crate) struct ToolEntry {
    pub(super) route: ToolRoute,
    input: CompiledSchema,
    output: Option<CompiledSchema>,
    /// Parameters that HTTP requests mirror in headers.
    pub(super) header_params: Arc<[HeaderParam]>,
}

/// Outcome of a tool handler.
pub(crate) type ToolOutcome = Result<Outcome<CallToolResult>, ToolError>;

impl ToolRoute {
    /// Creates a tool whose schemas are derived from the types of its handler.
    pub fn new<S, H>(name: impl Into<String>, description: impl Into<String>, handler: H) -> Self
    where
        H: Handler<S, Arguments: JsonSchema, Output: ToolOutput>,
    {
        let input_schema = schema::input_schema::<H::Arguments>();
        let mut tool = Tool::new(name, description, input_schema);
        tool.output_schema = H::Output::output_schema();
        Self::with(tool, handler)
    }

    /// Creates a tool with a complete description; its handler may take
    /// [`RawArguments`](super::RawArguments).
    pub fn with<S, H>(tool: Tool, handler: H) -> Self
    where
        H: Handler<S, Output: ToolOutput>,
    {
        Self {
            tool,
            function: erase(
                handler,
                |output: H::Output, ()| output.into_outcome(),
                |error, arguments, ()| Err(wrong_arguments(&error, arguments)),
            ),
            task: TaskSupport::Forbidden,
            task_start: TaskStart::Immediate,
        }
    }

    /// Sets the title, which is the name that clients show to people.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.tool.title = Some(title.into());
        self
    }

    /// Sets the annotations, which are hints about the behavior of the tool.
    #[must_use]
    pub fn annotations(mut self, annotations: ToolAnnotations) -> Self {
        self.tool.annotations = Some(annotations);
        self
    }

    /// Makes calls tasks from their start.
    ///
    /// Input requests of the handler wait for their answers, and the handler is not run again.
    #[must_use]
    pub fn task(mut self, support: TaskSupport) -> Self {
        self.task = support;
        self.task_start = TaskStart::Immediate;
        self
    }

    /// Makes calls tasks once the handler calls [`RequestCx::detach`](super::RequestCx::detach).
    ///
    /// Input that the handler requests before that is requested as in any other tool, so that the
    /// task starts with all the answers it needs.
    #[must_use]
    pub fn task_when_detached(mut self, support: TaskSupport) -> Self {
        self.task = support;
        self.task_start = TaskStart::OnDetach;
        self
    }
}

impl ToolEntry {
    /// Validates a tool and compiles its schemas.
    pub(super) fn new(route: ToolRoute) -> Result<Self, RouteError> {
        let tool = &route.tool;
        let name = || tool.name.clone();
        if !is_tool_name(&tool.name) {
            return Err(RouteError::ToolName { name: name() });
        }
        let input = CompiledSchema::of_arguments(&tool.input_schema);
        let output = tool.output_schema.as_ref().map(CompiledSchema::new);
        let headers = HeaderParam::find_all(&tool.input_schema);
        Ok(Self {
            input: input.map_err(|source| RouteError::Schema {
                name: name(),
                source,
            })?,
            output: output
                .transpose()
                .map_err(|source| RouteError::OutputSchema {
                    name: name(),
                    source,
                })?,
            header_params: headers
                .map_err(|source| RouteError::Header {
                    name: name(),
                    source,
                })?
                .into(),
            route,
        })
    }

    /// True if calls can become tasks.
    pub(super) fn can_be_a_task(&self) -> bool {
        self.route.task != TaskSupport::Forbidden
    }

    /// True if the call of this client may become a task.
    ///
    /// # Errors
    /// The tool requires a task, and the client did not declare the extension.
    fn may_detach(&self, peer: &PeerInfo) -> Result<bool, Error> {
        match self.route.task {
            TaskSupport::Forbidden => Ok(false),
            TaskSupport::Optional => Ok(task::require_extension(peer).is_ok()),
            TaskSupport::Required => task::require_extension(peer).map(|()| true),
        }
    }

    /// Checks arguments against the input schema. The error is a message for the model.
    fn check_arguments(&self, arguments: &RawJson) -> Result<(), String> {
        let name = &self.route.tool.name;
        self.input
            .check(arguments)
            .map_err(|problem| format!("Invalid arguments for tool `{name}`: {problem}"))
    }

    /// Checks a result against the output schema. The error is a message for the model.
    ///
    /// A result with `isError` passes: a failed tool has no structured content.
    fn check_result(&self, result: &CallToolResult) -> Result<(), String> {
        let Some(schema) = &self.output else {
            return Ok(());
        };
        if result.is_error == Some(true) {
            return Ok(());
        }
        let checked = match &result.structured_content {
            None => Err("there is no structured content".to_owned()),
            Some(content) => schema.check(content),
        };
        checked.map_err(|problem| {
            let name = &self.route.tool.name;
            format!("Tool `{name}` gave a result that breaks its output schema: {problem}")
        })
    }
}

/// Answers `tools/call`.
pub(crate) async fn call(router: &Arc<RouterState>, call: Call) -> Result<Reply, Error> {
    let [name, arguments, responses, state] = params::handler_members(&call);
    let name = params::target(&call.method, name.as_ref())?;
    let entry = router
        .catalog()
        .tools
        .get(&name)
        .cloned()
        .ok_or_else(|| Error::invalid_params(format!("unknown tool `{name}`")))?;
    let arguments = params::object(arguments, "arguments")?;
    // A task is refused before the state is opened and the arguments are checked: a client that
    // lacks the extension cannot succeed with any of them.
    let may_detach = entry.may_detach(call.cx.peer())?;
    let request = HandlerCall::new(router, call, [responses, state])?;
    // A result and no error, as the specification demands: the model reads it and can correct its call.
    if let Err(problem) = entry.check_arguments(&arguments) {
        let failed = Err(ToolError::Failed(problem));
        return result(router, &entry, failed).map(Reply::Complete);
    }
    let mut handler = (entry.route.function)(request.cx.clone(), &arguments, ());
    match (may_detach, entry.route.task_start) {
        (true, TaskStart::Immediate) => return task::start(router, entry, &request, handler),
        (true, TaskStart::OnDetach) => request.cx.input()?.allow_detach(),
        (false, _) => {}
    }
    match run_handler(&request.cx, &mut handler).await {
        Ok(Ok(Outcome::InputRequired(result))) => request.require_input(router, result),
        Ok(outcome) => result(router, &entry, outcome).map(Reply::Complete),
        Err(HandlerStop::InputRequired(requests)) => {
            request.require_input(router, InputRequiredResult::new(requests, None))
        }
        Err(HandlerStop::Detach) => task::start(router, entry, &request, handler),
        Err(HandlerStop::Panicked) => Err(panic_error()),
    }
}

/// Final result of a call, checked against the output schema.
pub(crate) fn result(
    router: &RouterState,
    entry: &ToolEntry,
    outcome: ToolOutcome,
) -> Result<RawJson, Error> {
    let result = match outcome {
        Ok(Outcome::Complete(result)) => match entry.check_result(&result) {
            Ok(()) => result,
            Err(problem) => {
                tracing::error!(problem, "the result of a tool violates its output schema");
                CallToolResult::error(problem)
            }
        },
        Ok(Outcome::InputRequired(_)) => {
            return Err(Error::internal(
                "the handler of a task returned input requests; in a task, use `RequestCx::ask`",
            ));
        }
        Ok(Outcome::Task(_)) => {
            return Err(Error::internal(
                "the handler returned a task; use `ToolRoute::task` instead",
            ));
        }
        Ok(_) => return Err(unknown_outcome()),
        Err(ToolError::Failed(message)) => CallToolResult::error(message),
        Err(ToolError::Protocol(error)) => return Err(error),
    };
    router.results.write_tool_result(result)
}

/// Failure of arguments that fit the schema but not the type of the handler.
fn wrong_arguments(error: &DecodeError, arguments: &RawJson) -> ToolError {
    ToolError::Failed(match error.pointer_in(arguments).as_str() {
        "" => format!("Invalid arguments: {error}"),
        field => format!("Invalid arguments: `{field}`: {error}"),
    })
}

/// Tool names as the specification recommends them; some clients refuse others.
fn is_tool_name(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    (1..=128).contains(&name.len()) && name.bytes().all(is_allowed)
}
