use std::sync::Arc;

use callgate_wire::RawJson;
use callgate_wire::input::InputRequiredResult;
use callgate_wire::result::Outcome;
use callgate_wire::tool::{CallToolResult, Tool, ToolAnnotations};
use schemars::JsonSchema;

use super::context::RequestCx;
use super::error::RouteError;
use super::handler::{Arguments, Handler};
use super::handler_call::{HandlerCall, panic_error, run_handler};
use super::input_exchange::HandlerStop;
use super::params;
use super::service::RouterState;
use super::task::{self, TaskSupport};
use super::tool_output::{ToolError, ToolOutput};
use crate::error::Error;
use crate::header_param::HeaderParam;
use crate::schema::{self, CompiledSchema};
use crate::service::{BoxFuture, Call, PeerInfo, Reply};

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
    tool: Tool,
    function: Arc<ToolFn>,
    task: TaskSupport,
    task_start: TaskStart,
}

/// Moment at which a call becomes a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TaskStart {
    /// Before the handler runs.
    Immediate,
    /// When the handler calls [`RequestCx::detach`].
    OnDetach,
}

/// Registered tool.
pub(crate) struct ToolEntry {
    schemas: ToolSchemas,
    header_params: Arc<[HeaderParam]>,
    function: Arc<ToolFn>,
    task: TaskSupport,
    task_start: TaskStart,
}

/// Compiled input and output schema of a tool.
#[derive(Debug)]
pub(crate) struct ToolSchemas {
    name: String,
    input: CompiledSchema,
    output: Option<CompiledSchema>,
}

/// Type-erased tool handler.
type ToolFn = dyn Fn(RequestCx, &RawJson) -> BoxFuture<'static, ToolOutcome> + Send + Sync;

/// Outcome of a tool handler.
pub(crate) type ToolOutcome = Result<Outcome<CallToolResult>, ToolError>;

impl ToolRoute {
    /// Creates a tool whose schemas are derived from the types of its handler.
    pub fn new<S, H>(name: impl Into<String>, description: impl Into<String>, handler: H) -> Self
    where
        H: Handler<S>,
        H::Arguments: Arguments + JsonSchema,
        H::Output: ToolOutput,
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
        H: Handler<S>,
        H::Arguments: Arguments,
        H::Output: ToolOutput,
    {
        Self {
            tool,
            function: erase(handler),
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

    /// Makes calls tasks once the handler calls [`RequestCx::detach`].
    ///
    /// Input that the handler requests before that is requested as in any other tool, so that the
    /// task starts with all the answers it needs.
    #[must_use]
    pub fn task_when_detached(mut self, support: TaskSupport) -> Self {
        self.task = support;
        self.task_start = TaskStart::OnDetach;
        self
    }

    /// Validates the tool and splits it into its description for lists and the registered tool.
    pub(crate) fn into_entry(self) -> Result<(Tool, ToolEntry), RouteError> {
        let Self {
            tool,
            function,
            task,
            task_start,
        } = self;
        let name = tool.name.clone();
        if !is_tool_name(&name) {
            return Err(RouteError::ToolName { name });
        }
        let schemas = ToolSchemas::compile(&tool)?;
        let header_params = match HeaderParam::find_all(&tool.input_schema) {
            Ok(params) => params.into(),
            Err(source) => return Err(RouteError::Header { name, source }),
        };
        let entry = ToolEntry {
            schemas,
            header_params,
            function,
            task,
            task_start,
        };
        Ok((tool, entry))
    }
}

impl ToolEntry {
    /// True if calls can become tasks.
    pub(crate) fn can_be_a_task(&self) -> bool {
        self.task != TaskSupport::Forbidden
    }

    /// True if the call of this client may become a task.
    ///
    /// # Errors
    /// The tool requires a task, and the client did not declare the extension.
    fn may_detach(&self, peer: &PeerInfo) -> Result<bool, Error> {
        match (self.task, task::require_extension(peer)) {
            (TaskSupport::Forbidden, _) => Ok(false),
            (TaskSupport::Optional, declared) => Ok(declared.is_ok()),
            (TaskSupport::Required, declared) => declared.map(|()| true),
        }
    }

    /// Parameters that HTTP requests mirror in headers.
    pub(crate) fn header_params(&self) -> &Arc<[HeaderParam]> {
        &self.header_params
    }
}

impl ToolSchemas {
    /// Compiles the schemas of a tool.
    pub(crate) fn compile(tool: &Tool) -> Result<Self, RouteError> {
        let name = tool.name.clone();
        let input = match CompiledSchema::of_arguments(&tool.input_schema) {
            Ok(schema) => schema,
            Err(source) => return Err(RouteError::Schema { name, source }),
        };
        let output = match tool.output_schema.as_ref().map(CompiledSchema::new) {
            None => None,
            Some(Ok(schema)) => Some(schema),
            Some(Err(source)) => return Err(RouteError::OutputSchema { name, source }),
        };
        Ok(Self {
            name,
            input,
            output,
        })
    }

    /// Checks arguments against the input schema. The error is a message for the model.
    pub(crate) fn check_arguments(&self, arguments: &RawJson) -> Result<(), String> {
        self.input
            .check(arguments)
            .map_err(|problem| format!("Invalid arguments for tool `{}`: {problem}", self.name))
    }

    /// Checks a result against the output schema. The error is a message for the model.
    ///
    /// A result with `isError` passes: a failed tool has no structured content.
    pub(crate) fn check_result(&self, result: &CallToolResult) -> Result<(), String> {
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
            let name = &self.name;
            format!("Tool `{name}` gave a result that breaks its output schema: {problem}")
        })
    }
}

/// Answers `tools/call`.
pub(crate) async fn call(router: &Arc<RouterState>, call: Call) -> Result<Reply, Error> {
    let [name, arguments, responses, state] = call
        .params()
        .pick_beside(call.cx.peer().meta(), params::handler_members(&call.method));
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
    let may_detach = entry.can_be_a_task() && entry.may_detach(call.cx.peer())?;
    let request = HandlerCall::new(router, call, [responses, state])?;
    if let Err(problem) = entry.schemas.check_arguments(&arguments) {
        let failed = Err(ToolError::Failed(problem));
        return result(router, &entry, failed).map(Reply::Complete);
    }
    let mut handler = (entry.function)(request.cx.clone(), &arguments);
    match (may_detach, entry.task_start) {
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
    let mut result = match outcome {
        Ok(Outcome::Complete(result)) => match entry.schemas.check_result(&result) {
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
        Err(ToolError::Failed(message)) => CallToolResult::error(message),
        Err(ToolError::Protocol(error)) => return Err(error),
    };
    let meta = result.meta.take();
    router.results.write(&result, meta)
}

/// Erases the types of a handler.
fn erase<S, H>(handler: H) -> Arc<ToolFn>
where
    H: Handler<S>,
    H::Arguments: Arguments,
    H::Output: ToolOutput,
{
    Arc::new(move |cx, arguments| match H::Arguments::decode(arguments) {
        Ok(arguments) => {
            let answer = handler.call(cx, arguments);
            Box::pin(async move { answer.await.into_outcome() })
        }
        Err(error) => {
            let problem = match error.pointer_in(arguments).as_str() {
                "" => format!("Invalid arguments: {error}"),
                field => format!("Invalid arguments: `{field}`: {error}"),
            };
            Box::pin(std::future::ready(Err(ToolError::Failed(problem))))
        }
    })
}

/// Tool names as the specification recommends them; some clients refuse others.
fn is_tool_name(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    (1..=128).contains(&name.len()) && name.bytes().all(is_allowed)
}
