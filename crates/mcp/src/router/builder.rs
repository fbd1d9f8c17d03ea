use std::time::Duration;

use callgate_wire::cache::CacheScope;
use callgate_wire::completion::CompleteParams;
use callgate_wire::prompt::Prompt;
use callgate_wire::resource::{Resource, ResourceTemplate};
use callgate_wire::tool::Tool;
use schemars::JsonSchema;

use super::catalog::Cache;
use super::completion::{self, CompletionOutput};
use super::handler::{Arguments, Handler};
use super::output::ToolOutput;
use super::prompt::PromptOutput;
use super::resource_output::ResourceOutput;
use super::service::Router;
use super::task::TaskConfig;
use super::tool::ToolRoute;
use crate::seal::StateKey;

/// As good as for ever, and no clock overflows.
const LONGEST: Duration = Duration::from_secs(100 * 365 * 86_400);

/// Building a router.
///
/// What these methods are given is part of the program, so they panic where it is wrong; for what
/// is not, there are [`Router::add_tool`] and the like.
impl Router {
    /// The same router with instructions for models on how to use it.
    #[must_use]
    pub fn instructions(self, instructions: impl Into<String>) -> Self {
        let instructions = instructions.into();
        self.shared
            .edit(|catalog| catalog.instructions = Some(instructions));
        self
    }

    /// The same router with lists in pages of at most `items`, at least 1; by default 100.
    #[must_use]
    pub fn page_size(self, items: usize) -> Self {
        self.shared.edit(|catalog| catalog.page_size = items.max(1));
        self
    }

    /// The same router with lists, resources and the discovery that may be kept so long and shared
    /// so widely; by default not at all.
    ///
    /// A resource that answers with a whole result decides for itself.
    #[must_use]
    pub fn cache(self, ttl: Duration, scope: CacheScope) -> Self {
        self.shared
            .edit(|catalog| catalog.cache = Cache::new(ttl, scope));
        self
    }

    /// The same router with this key for the state of requests that wait for input, instead of a
    /// random one; servers that share it can continue each other's requests.
    #[must_use]
    pub fn state_key(self, key: StateKey) -> Self {
        self.shared.sealer.replace(key);
        self
    }

    /// The same router with clients that may take so long to answer; by default 10 minutes.
    #[must_use]
    pub fn state_ttl(self, ttl: Duration) -> Self {
        self.shared
            .edit(|catalog| catalog.state_ttl = ttl.min(LONGEST));
        self
    }

    /// The same router with at most so many subscriptions at once; by default 1,000.
    #[must_use]
    pub fn max_listeners(self, listeners: usize) -> Self {
        self.shared
            .edit(|catalog| catalog.max_listeners = listeners);
        self
    }

    /// The same router with tasks that are kept in this way.
    #[must_use]
    pub fn tasks(self, mut config: TaskConfig) -> Self {
        config.ttl = config.ttl.min(LONGEST);
        self.shared.edit(|catalog| catalog.tasks = config);
        self
    }

    /// The same router with a tool whose schemas are derived from the types of its handler.
    ///
    /// # Panics
    /// The name is not one that clients take, or the schema goes beyond a limit.
    #[must_use]
    pub fn tool<S, H>(
        self,
        name: impl Into<String>,
        description: impl Into<String>,
        handler: H,
    ) -> Self
    where
        H: Handler<S>,
        H::Arguments: Arguments + JsonSchema,
        H::Output: ToolOutput,
    {
        self.route(ToolRoute::new(name, description, handler))
    }

    /// The same router with a tool that is described in full; its handler may take
    /// [`RawArguments`](super::RawArguments).
    ///
    /// # Panics
    /// The name is not one that clients take, or the schema is not one that can be used.
    #[must_use]
    pub fn tool_with<S, H>(self, tool: Tool, handler: H) -> Self
    where
        H: Handler<S>,
        H::Arguments: Arguments,
        H::Output: ToolOutput,
    {
        self.route(ToolRoute::with(tool, handler))
    }

    /// The same router with a tool.
    ///
    /// # Panics
    /// The name is not one that clients take, or the schema is not one that can be used.
    #[must_use]
    pub fn route(self, route: ToolRoute) -> Self {
        self.add_tool(route)
            .expect("the tools of a program have names and schemas that can be used");
        self
    }

    /// The same router with a prompt; its handler may take the arguments, which are texts.
    #[must_use]
    pub fn prompt<S, H>(self, prompt: Prompt, handler: H) -> Self
    where
        H: Handler<S>,
        H::Arguments: Arguments,
        H::Output: PromptOutput,
    {
        self.add_prompt(prompt, handler);
        self
    }

    /// The same router with a resource.
    #[must_use]
    pub fn resource<S, H>(self, resource: Resource, handler: H) -> Self
    where
        H: Handler<S>,
        H::Arguments: Arguments,
        H::Output: ResourceOutput,
    {
        self.add_resource(resource, handler);
        self
    }

    /// The same router with resources of a template; its handler may take the variables, which are
    /// texts.
    ///
    /// A URI is read by the resource that has it, else by the first template that it fits. In a
    /// template, `{name}` stands for text without `/` and `{+name}` for any text.
    ///
    /// # Panics
    /// The URI template has other expressions.
    #[must_use]
    pub fn resource_template<S, H>(self, template: ResourceTemplate, handler: H) -> Self
    where
        H: Handler<S>,
        H::Arguments: Arguments,
        H::Output: ResourceOutput,
    {
        self.add_resource_template(template, handler)
            .expect("the URI templates of a program are ones that can be used");
        self
    }

    /// The same router with completion of the arguments of its prompts and resource templates.
    #[must_use]
    pub fn completion<S, H>(self, handler: H) -> Self
    where
        H: Handler<S, Arguments = CompleteParams>,
        H::Output: CompletionOutput,
    {
        let function = completion::erase(handler);
        self.shared
            .edit(|catalog| catalog.completion = Some(function));
        self
    }
}
