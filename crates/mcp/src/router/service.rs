use std::fmt;
use std::future::ready;
use std::sync::{Arc, PoisonError, RwLock};

use callgate_wire::implementation::Implementation;
use callgate_wire::method;

use super::catalog::Catalog;
use super::reply::ResultWriter;
use super::task::{self, TaskStore};
use super::{completion, discover, list, listen, prompt, resource, skill, tool};
use crate::error::Error;
use crate::seal::{StateKey, StateSealer};
use crate::service::{BoxFuture, Call, Reply, Service};
use crate::subscribers::Subscribers;

/// Router: a server whose tools, prompts and resources are plain async functions.
///
/// Clones are the same server. Tools, prompts and resources can be added and removed while it runs.
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
    pub(super) state: Arc<RouterState>,
}

/// State that the clones of a router share.
pub(crate) struct RouterState {
    catalog: RwLock<Arc<Catalog>>,
    pub(crate) results: ResultWriter,
    pub(crate) sealer: StateSealer,
    pub(crate) subscribers: Subscribers,
    pub(crate) tasks: TaskStore,
}

impl Router {
    /// Creates a server without tools, prompts and resources.
    #[must_use]
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a server is created from its name once"
    )]
    pub fn new(server: Implementation) -> Self {
        Self {
            state: Arc::new(RouterState {
                catalog: RwLock::default(),
                results: ResultWriter::new(&server),
                sealer: StateSealer::new(StateKey::random()),
                subscribers: Subscribers::default(),
                tasks: TaskStore::default(),
            }),
        }
    }
}

impl Service for Router {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        let router = &self.state;
        let catalog = router.catalog();
        // A method whose feature was never registered is unknown here, as the capabilities say.
        let (tools, prompts) = (catalog.tools.was_used(), catalog.prompts.was_used());
        let (resources, tasks) = (catalog.has_resources(), catalog.has_tasks);
        let skills = catalog.skills.was_used();
        let at_once = match call.method.as_str() {
            method::TOOLS_CALL if tools => return Box::pin(tool::call(router, call)),
            method::PROMPTS_GET if prompts => return Box::pin(prompt::get(router, call)),
            method::RESOURCES_READ if resources => return Box::pin(resource::read(router, call)),
            method::COMPLETION_COMPLETE if catalog.completion.is_some() => {
                return Box::pin(completion::complete(router, call));
            }
            method::SUBSCRIPTIONS_LISTEN => return Box::pin(listen::listen(router, call)),
            method::SERVER_DISCOVER => discover::discover(router, &catalog),
            method::TOOLS_LIST if tools => list::list(router, &catalog, &call, &catalog.tools),
            method::PROMPTS_LIST if prompts => {
                list::list(router, &catalog, &call, &catalog.prompts)
            }
            method::RESOURCES_LIST if resources => {
                list::list(router, &catalog, &call, &catalog.resources)
            }
            method::RESOURCES_TEMPLATES_LIST if resources => {
                list::list(router, &catalog, &call, &catalog.templates)
            }
            method::SKILLS_LIST if skills => list::list(router, &catalog, &call, &catalog.skills),
            method::SKILLS_GET if skills => skill::get(router, &catalog, &call),
            method::RESOURCES_DIRECTORY_READ if skills => {
                skill::read_directory(router, &catalog, &call)
            }
            method::TASKS_GET if tasks => task::get(router, &call),
            method::TASKS_UPDATE if tasks => task::update(router, &call),
            method::TASKS_CANCEL if tasks => task::cancel(router, &call),
            _ => Err(Error::method_not_found(&call.method)),
        };
        Box::pin(ready(at_once))
    }
}

impl RouterState {
    /// Current catalog.
    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        self.catalog
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Changes the catalog. Requests under way keep the one that they started with.
    pub(crate) fn edit<T>(&self, change: impl FnOnce(&mut Catalog) -> T) -> T {
        let mut catalog = self.catalog.write().unwrap_or_else(PoisonError::into_inner);
        // Copied only if a request still holds the one before.
        change(Arc::make_mut(&mut catalog))
    }
}

impl fmt::Debug for Router {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Router").finish_non_exhaustive()
    }
}
