use std::time::Duration;

use callgate_wire::cache::CacheScope;
use callgate_wire::completion::CompleteParams;
use callgate_wire::prompt::Prompt;
use callgate_wire::resource::{Resource, ResourceTemplate};
use callgate_wire::tool::Tool;
use schemars::JsonSchema;

use super::catalog::CachePolicy;
use super::completion::{self, CompletionOutput};
use super::handler::Handler;
use super::prompt::PromptOutput;
use super::resource::ResourceOutput;
use super::service::Router;
use super::task::TaskConfig;
use super::tool::ToolRoute;
use super::tool_output::ToolOutput;
use crate::seal::StateKey;
use crate::skill::SkillFiles;

/// Maximum lifetime of states and tasks. A longer one means the same, and could overflow a clock.
const MAX_TTL: Duration = Duration::from_secs(100 * 365 * 86_400);

/// Builder methods.
///
/// Their arguments are part of the program, so a wrong one panics. For tools, prompts and resources
/// that come from elsewhere there are [`Router::add_tool`] and its siblings, which return errors.
impl Router {
    /// Sets the instructions, which tell models how to use the server.
    #[must_use]
    pub fn instructions(self, instructions: impl Into<String>) -> Self {
        let instructions = instructions.into();
        self.state
            .edit(|catalog| catalog.instructions = Some(instructions));
        self
    }

    /// Sets the page size of lists: at most `items`, at least 1; by default 100.
    #[must_use]
    pub fn page_size(self, items: usize) -> Self {
        self.state.edit(|catalog| catalog.page_size = items.max(1));
        self
    }

    /// Sets the cache policy of lists, resources and the discovery result: the time and the scope in
    /// which clients may cache them. By default they may not.
    ///
    /// A handler that returns a whole `ReadResourceResult` decides for its own resource.
    #[must_use]
    pub fn cache(self, ttl: Duration, scope: CacheScope) -> Self {
        self.state
            .edit(|catalog| catalog.cache = CachePolicy::new(ttl, scope));
        self
    }

    /// Sets the key that seals the state of requests which wait for input; by default a random one.
    ///
    /// Servers that share a key can continue each other's requests.
    #[must_use]
    pub fn state_key(self, key: StateKey) -> Self {
        self.state.sealer.replace(key);
        self
    }

    /// Sets the time that a client has to answer an input request; by default 10 minutes.
    #[must_use]
    pub fn state_ttl(self, ttl: Duration) -> Self {
        self.state
            .edit(|catalog| catalog.state_ttl = ttl.min(MAX_TTL));
        self
    }

    /// Sets the maximum number of open subscriptions; by default 10,000.
    #[must_use]
    pub fn max_subscriptions(self, limit: usize) -> Self {
        self.state.edit(|catalog| catalog.max_subscriptions = limit);
        self
    }

    /// Sets the limits and the lifetime of tasks.
    #[must_use]
    pub fn tasks(self, mut config: TaskConfig) -> Self {
        config.ttl = config.ttl.min(MAX_TTL);
        self.state.edit(|catalog| catalog.tasks = config);
        self
    }

    /// Adds a tool whose schemas are derived from the types of its handler.
    ///
    /// # Panics
    /// The name is not a valid tool name, or a schema exceeds a limit.
    #[must_use]
    pub fn tool<S, H>(
        self,
        name: impl Into<String>,
        description: impl Into<String>,
        handler: H,
    ) -> Self
    where
        H: Handler<S, Arguments: JsonSchema, Output: ToolOutput>,
    {
        self.route(ToolRoute::new(name, description, handler))
    }

    /// Adds a tool with a complete description; its handler may take
    /// [`RawArguments`](super::RawArguments).
    ///
    /// # Panics
    /// The name is not a valid tool name, or a schema is invalid.
    #[must_use]
    pub fn tool_with<S, H>(self, tool: Tool, handler: H) -> Self
    where
        H: Handler<S, Output: ToolOutput>,
    {
        self.route(ToolRoute::with(tool, handler))
    }

    /// Adds a tool that was built as a [`ToolRoute`].
    ///
    /// # Panics
    /// The name is not a valid tool name, or a schema is invalid.
    #[must_use]
    pub fn route(self, route: ToolRoute) -> Self {
        self.add_tool(route)
            .expect("the tools of a program have valid names and schemas");
        self
    }

    /// Adds a prompt; its handler may take the arguments, which are strings.
    #[must_use]
    pub fn prompt<S, H>(self, prompt: Prompt, handler: H) -> Self
    where
        H: Handler<S, Output: PromptOutput>,
    {
        self.add_prompt(prompt, handler);
        self
    }

    /// Adds a resource.
    #[must_use]
    pub fn resource<S, H>(self, resource: Resource, handler: H) -> Self
    where
        H: Handler<S, Output: ResourceOutput>,
    {
        self.add_resource(resource, handler);
        self
    }

    /// Adds a resource template; its handler may take the variables, which are strings.
    ///
    /// A URI is read by the resource that has it, else by the first template that matches it. In a
    /// template, `{name}` matches text without `/` and `{+name}` any text.
    ///
    /// # Panics
    /// The URI template has other expressions.
    #[must_use]
    pub fn resource_template<S, H>(self, template: ResourceTemplate, handler: H) -> Self
    where
        H: Handler<S, Output: ResourceOutput>,
    {
        self.add_resource_template(template, handler)
            .expect("the URI templates of a program are supported");
        self
    }

    /// Adds a skill, whose files become resources.
    #[must_use]
    pub fn skill(self, skill: SkillFiles) -> Self {
        self.add_skill(skill);
        self
    }

    /// Sets the completion handler for the arguments of prompts and resource templates.
    #[must_use]
    pub fn completion<S, H>(self, handler: H) -> Self
    where
        H: Handler<S, Arguments = CompleteParams, Output: CompletionOutput>,
    {
        let function = completion::erase(handler);
        self.state
            .edit(|catalog| catalog.completion = Some(function));
        self
    }
}
