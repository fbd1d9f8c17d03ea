use std::fmt;
use std::future::ready;
use std::sync::{Arc, PoisonError, RwLock};

use callgate_wire::implementation::Implementation;
use callgate_wire::method;

use super::catalog::Catalog;
use super::listeners::Listeners;
use super::reply::ResultWriter;
use super::task::{self, TaskStore};
use super::{completion, discover, list, listen, prompt, resource, tool};
use crate::error::Error;
use crate::seal::{Sealer, StateKey};
use crate::service::{BoxFuture, Call, Reply, Service};

/// A server made of plain async functions.
///
/// Clones are the same server. What it offers can change while it runs.
///
/// ```
/// use callgate_mcp::router::{Json, Router, ToolError};
/// use callgate_mcp::wire::implementation::Implementation;
///
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
/// let router = Router::new(Implementation::new("demo", "1.0"))
///     .instructions("Adds numbers.")
///     .tool("add", "Adds two numbers", add);
/// ```
#[derive(Clone)]
pub struct Router {
    pub(super) shared: Arc<Shared>,
}

/// What the clones of a router share.
pub(crate) struct Shared {
    catalog: RwLock<Arc<Catalog>>,
    pub(crate) results: ResultWriter,
    pub(crate) sealer: Sealer,
    pub(crate) listeners: Listeners,
    pub(crate) tasks: TaskStore,
}

impl Router {
    /// A server that offers nothing yet.
    #[must_use]
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a server is made from its name once"
    )]
    pub fn new(server: Implementation) -> Self {
        Self {
            shared: Arc::new(Shared {
                catalog: RwLock::default(),
                results: ResultWriter::new(&server),
                sealer: Sealer::new(StateKey::random()),
                listeners: Listeners::default(),
                tasks: TaskStore::default(),
            }),
        }
    }
}

impl Service for Router {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        let shared = &self.shared;
        let catalog = shared.catalog();
        match call.method.as_str() {
            method::TOOLS_CALL if catalog.tools.was_used() => Box::pin(tool::call(shared, call)),
            method::PROMPTS_GET if catalog.prompts.was_used() => {
                Box::pin(prompt::get(shared, call))
            }
            method::RESOURCES_READ if catalog.has_resources() => {
                Box::pin(resource::read(shared, call))
            }
            method::COMPLETION_COMPLETE if catalog.completion.is_some() => {
                Box::pin(completion::complete(shared, call))
            }
            method::SUBSCRIPTIONS_LISTEN => Box::pin(listen::listen(shared, call)),
            _ => Box::pin(ready(shared.answer_at_once(&catalog, &call))),
        }
    }
}

impl Shared {
    /// What is offered at this moment.
    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        self.catalog
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Changes what is offered; requests under way keep what they started with.
    pub(crate) fn edit<T>(&self, change: impl FnOnce(&mut Catalog) -> T) -> T {
        let mut catalog = self.catalog.write().unwrap_or_else(PoisonError::into_inner);
        change(Arc::make_mut(&mut catalog))
    }

    /// Answers what needs no handler.
    fn answer_at_once(&self, catalog: &Catalog, call: &Call) -> Result<Reply, Error> {
        let params = &call.params;
        match call.method.as_str() {
            method::SERVER_DISCOVER => discover::discover(self, catalog),
            method::TOOLS_LIST if catalog.tools.was_used() => {
                list::list(self, catalog, params, "tools", &catalog.tools)
            }
            method::PROMPTS_LIST if catalog.prompts.was_used() => {
                list::list(self, catalog, params, "prompts", &catalog.prompts)
            }
            method::RESOURCES_LIST if catalog.has_resources() => {
                list::list(self, catalog, params, "resources", &catalog.resources)
            }
            method::RESOURCES_TEMPLATES_LIST if catalog.has_resources() => {
                let key = "resourceTemplates";
                list::list(self, catalog, params, key, &catalog.templates)
            }
            method::TASKS_GET if catalog.has_tasks => task::get(self, call),
            method::TASKS_UPDATE if catalog.has_tasks => task::update(self, call),
            method::TASKS_CANCEL if catalog.has_tasks => task::cancel(self, call),
            _ => Err(Error::method_not_found(&call.method)),
        }
    }
}

impl fmt::Debug for Router {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Router").finish_non_exhaustive()
    }
}
