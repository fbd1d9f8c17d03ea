use std::sync::Arc;

use callgate_wire::RawJson;
use callgate_wire::input::InputRequiredResult;
use callgate_wire::result::Outcome;
use callgate_wire::tool::{CallToolResult, Tool, ToolAnnotations};
use schemars::JsonSchema;

use super::context::RequestCx;
use super::contract::Contract;
use super::error::RouteError;
use super::handler::{Arguments, Handler};
use super::output::{ToolError, ToolOutput};
use super::params;
use super::round::{Ran, Round, drive, panicked};
use super::schema;
use super::service::Shared;
use super::task::{self, TaskSupport};
use crate::error::Error;
use crate::header_param::HeaderParam;
use crate::service::{BoxFuture, Call, PeerInfo, Reply};

/// A tool with the function that answers its calls.
///
/// Arguments are checked before the function sees them, and results before the client does: one that
/// breaks the output schema is a failure of the tool.
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
/// let route = ToolRoute::new("add", "Adds two numbers", add).annotations(ToolAnnotations {
///     read_only_hint: Some(true),
///     ..ToolAnnotations::default()
/// });
/// let router = Router::new(Implementation::new("demo", "1.0"));
/// router.add_tool(route)?;
/// # Ok::<(), callgate_mcp::router::RouteError>(())
/// ```
pub struct ToolRoute {
    tool: Tool,
    function: Arc<ToolFn>,
    task: TaskSupport,
    detaches: Detaches,
}

/// When a call becomes a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Detaches {
    AtOnce,
    /// When the handler says so.
    Later,
}

/// A tool that can be called.
pub(crate) struct ToolEntry {
    contract: Contract,
    header_params: Arc<[HeaderParam]>,
    function: Arc<ToolFn>,
    task: TaskSupport,
    detaches: Detaches,
}

/// A handler with its types forgotten.
type ToolFn = dyn Fn(RequestCx, &RawJson) -> BoxFuture<'static, ToolOutcome> + Send + Sync;

/// What a handler of a tool answers.
pub(crate) type ToolOutcome = Result<Outcome<CallToolResult>, ToolError>;

impl ToolRoute {
    /// A tool whose schemas are derived from the types of its handler.
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

    /// A tool that is described in full; its handler may take
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
            detaches: Detaches::AtOnce,
        }
    }

    /// The same tool with a name for people.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.tool.title = Some(title.into());
        self
    }

    /// The same tool with hints about what it does.
    #[must_use]
    pub fn annotations(mut self, annotations: ToolAnnotations) -> Self {
        self.tool.annotations = Some(annotations);
        self
    }

    /// The same tool as a task, from its start.
    ///
    /// Questions of the handler wait for their answers, and nothing is run again.
    #[must_use]
    pub fn task(mut self, support: TaskSupport) -> Self {
        self.task = support;
        self.detaches = Detaches::AtOnce;
        self
    }

    /// The same tool as a task once its handler calls [`RequestCx::detach`].
    ///
    /// What it asks before that is asked as in any other tool, so that the task starts with all it
    /// needs.
    #[must_use]
    pub fn task_when_detached(mut self, support: TaskSupport) -> Self {
        self.task = support;
        self.detaches = Detaches::Later;
        self
    }

    /// What lists say of the tool, and the tool itself.
    pub(crate) fn into_entry(self) -> Result<(Tool, ToolEntry), RouteError> {
        let Self {
            tool,
            function,
            task,
            detaches,
        } = self;
        let name = tool.name.clone();
        if !is_tool_name(&name) {
            return Err(RouteError::ToolName { name });
        }
        let contract = Contract::of(&tool)?;
        let header_params = match HeaderParam::find_all(&tool.input_schema) {
            Ok(params) => params.into(),
            Err(source) => return Err(RouteError::Header { name, source }),
        };
        let entry = ToolEntry {
            contract,
            header_params,
            function,
            task,
            detaches,
        };
        Ok((tool, entry))
    }
}

impl ToolEntry {
    /// Whether calls can become tasks.
    pub(crate) fn can_be_a_task(&self) -> bool {
        self.task != TaskSupport::Forbidden
    }

    /// Whether this call may become a task, or has to be refused.
    fn may_detach(&self, peer: &PeerInfo) -> Result<bool, Error> {
        match (self.task, task::require_extension(peer)) {
            (TaskSupport::Forbidden, _) => Ok(false),
            (TaskSupport::Optional, declared) => Ok(declared.is_ok()),
            (TaskSupport::Required, declared) => declared.map(|()| true),
        }
    }

    /// The parameters that HTTP requests mirror in headers.
    pub(crate) fn header_params(&self) -> &Arc<[HeaderParam]> {
        &self.header_params
    }
}

/// Answers `tools/call`.
pub(crate) async fn call(shared: &Arc<Shared>, call: Call) -> Result<Reply, Error> {
    let [name, arguments, responses, state] = call
        .params
        .pick_beside(call.cx.peer.meta(), params::MAY_ASK);
    let name = params::text(name.as_ref(), "name")?;
    let entry = shared
        .catalog()
        .tools
        .get(&name)
        .cloned()
        .ok_or_else(|| Error::invalid_params(format!("unknown tool `{name}`")))?;
    let arguments = params::object(arguments, "arguments")?;
    let may_detach = entry.can_be_a_task() && entry.may_detach(&call.cx.peer)?;
    let round = Round::begin(shared, call, [responses, state])?;
    if let Err(problem) = entry.contract.check_arguments(&arguments) {
        return finish(shared, &entry, &round, Err(ToolError::Failed(problem)));
    }
    let mut handler = (entry.function)(round.cx.clone(), &arguments);
    match (may_detach, entry.detaches) {
        (true, Detaches::AtOnce) => return task::start(shared, entry, &round, handler),
        (true, Detaches::Later) => round.cx.dialogue()?.allow_detach(),
        (false, _) => {}
    }
    match drive(&round.cx, &mut handler).await {
        Ran::Done(outcome) => finish(shared, &entry, &round, outcome),
        Ran::Asked(requests) => round.ask(shared, InputRequiredResult::new(requests, None)),
        Ran::Detached => task::start(shared, entry, &round, handler),
        Ran::Panicked => Err(panicked()),
    }
}

/// The reply to a call whose handler answered.
fn finish(
    shared: &Shared,
    entry: &ToolEntry,
    round: &Round,
    outcome: ToolOutcome,
) -> Result<Reply, Error> {
    match outcome {
        Ok(Outcome::InputRequired(result)) => round.ask(shared, result),
        outcome => result(shared, entry, outcome).map(Reply::Complete),
    }
}

/// The final result of a call, which keeps what the tool promises.
pub(crate) fn result(
    shared: &Shared,
    entry: &ToolEntry,
    outcome: ToolOutcome,
) -> Result<RawJson, Error> {
    let mut result = match outcome {
        Ok(Outcome::Complete(result)) => match entry.contract.check_result(&result) {
            Ok(()) => result,
            Err(problem) => {
                tracing::error!(problem, "a tool broke its promise");
                CallToolResult::error(problem)
            }
        },
        Ok(Outcome::InputRequired(_)) => {
            return Err(Error::internal("a task asks with `RequestCx::ask` only"));
        }
        Ok(Outcome::Task(_)) => return Err(Error::internal("only the router makes tasks")),
        Err(ToolError::Failed(message)) => CallToolResult::error(message),
        Err(ToolError::Protocol(error)) => return Err(error),
    };
    let meta = result.meta.take();
    shared.results.write(&result, meta)
}

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

fn is_tool_name(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    (1..=128).contains(&name.len()) && name.bytes().all(is_allowed)
}
