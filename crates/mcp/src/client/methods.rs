use callgate_wire::completion::{CompleteParams, CompleteResult};
use callgate_wire::discover::{DiscoverParams, DiscoverResult};
use callgate_wire::prompt::{GetPromptParams, GetPromptResult, ListPromptsResult, Prompt};
use callgate_wire::resource::{
    ListResourceTemplatesResult, ListResourcesResult, ReadResourceParams, ReadResourceResult,
    Resource, ResourceTemplate,
};
use callgate_wire::result::{Outcome, ResultType};
use callgate_wire::tool::{CallToolParams, CallToolResult, ListToolsResult, Tool};
use callgate_wire::{Map, RawJson, method};
use serde::Serialize;

use super::request::encode;
use super::task::{ToolCallOutcome, poll_interval};
use super::typed_client::Client;
use crate::error::{Error, Kind};

/// Requests of the protocol.
///
/// # Errors
/// Each error says what failed, which side caused it and whether a retry is safe.
impl Client {
    /// Discovers the server's capabilities and revisions, and chooses the best common revision.
    ///
    /// There is no need to call this first: a server that does not support the revision of a
    /// request answers with those it supports, and the client repeats the request in one of them.
    ///
    /// # Errors
    /// If there is no common revision, the error names those of both sides.
    pub async fn discover(&self) -> Result<DiscoverResult, Error> {
        let params = DiscoverParams::default();
        let result = self
            .request_cached(method::SERVER_DISCOVER, &params)
            .await?;
        let about: DiscoverResult = self.decode(method::SERVER_DISCOVER, &result)?;
        self.choose_version(&about.supported_versions)?;
        Ok(about)
    }

    /// Lists all tools.
    ///
    /// # Errors
    /// See [`Client::request`].
    pub async fn list_tools(&self) -> Result<Vec<Tool>, Error> {
        let tools: Vec<Tool> = self.list(method::TOOLS_LIST).await?;
        self.shared.schemas.replace(&tools);
        Ok(tools)
    }

    /// Lists one page of tools: the first, or the one of `cursor`.
    ///
    /// # Errors
    /// See [`Client::request`].
    pub async fn list_tools_page(&self, cursor: Option<&str>) -> Result<ListToolsResult, Error> {
        let page: ListToolsResult = self.page(method::TOOLS_LIST, cursor).await?;
        self.shared.schemas.add(&page.tools);
        Ok(page)
    }

    /// Calls a tool with `arguments`, which become an object.
    ///
    /// A failure inside the tool is a result with `isError`, not an error. If the server turns the
    /// call into a task, the task is polled until it ends; dropping the future then stops the
    /// polling and not the task, see [`Client::start_tool`] and [`Client::cancel_task`].
    ///
    /// # Errors
    /// See [`Client::request`]. If the tool was listed, a result that violates its output schema is
    /// an error too.
    pub async fn call_tool(
        &self,
        name: &str,
        arguments: &(impl Serialize + ?Sized + Sync),
    ) -> Result<CallToolResult, Error> {
        match self.start_tool(name, arguments).await? {
            ToolCallOutcome::Complete(result) => Ok(result),
            ToolCallOutcome::Task(created) => {
                // A task that was made a moment ago has no result yet, so the first poll waits too.
                let wait = poll_interval(&created.task);
                let result = self.await_task_after(wait, &created.task.task_id).await?;
                // Checked here, because the task itself does not say which tool it runs.
                self.check_output(name, result)
            }
        }
    }

    /// Calls a tool like [`Client::call_tool`], and returns the result as the bytes the server sent,
    /// unknown members included.
    ///
    /// If the client allows tasks, the result may be one, which is not awaited.
    ///
    /// # Errors
    /// See [`Client::call_tool`].
    pub async fn call_tool_raw(
        &self,
        name: &str,
        arguments: &(impl Serialize + ?Sized + Sync),
    ) -> Result<RawJson, Error> {
        let params = CallToolParams::new(name, encode(arguments)?);
        let result = self.request(method::TOOLS_CALL, &params).await?;
        if matches!(ResultType::of(&result), Ok(ResultType::Complete)) {
            self.check_output(name, self.decode(method::TOOLS_CALL, &result)?)?;
        }
        Ok(result)
    }

    /// Calls a tool once and returns its outcome, even if that is a request for input.
    ///
    /// To go on, call again with the same params, the answers and the `requestState` of the result.
    ///
    /// # Errors
    /// See [`Client::request`].
    pub async fn call_tool_once(
        &self,
        params: &CallToolParams,
    ) -> Result<Outcome<CallToolResult>, Error> {
        let reply = self.request_once(method::TOOLS_CALL, params).await?;
        match self.decode(method::TOOLS_CALL, &reply.into_result())? {
            Outcome::Complete(result) => self
                .check_output(&params.name, result)
                .map(Outcome::Complete),
            outcome => Ok(outcome),
        }
    }

    /// Checks the result of a tool against the tool's output schema.
    pub(super) fn check_output(
        &self,
        tool: &str,
        result: CallToolResult,
    ) -> Result<CallToolResult, Error> {
        match self.shared.schemas.check(tool, &result) {
            Ok(()) => Ok(result),
            Err(mismatch) => {
                let error = Error::new(Kind::Protocol, mismatch.to_string());
                Err(self.server_error(error.with_source(mismatch)))
            }
        }
    }

    /// Lists all prompts.
    ///
    /// # Errors
    /// See [`Client::request`].
    pub async fn list_prompts(&self) -> Result<Vec<Prompt>, Error> {
        self.list(method::PROMPTS_LIST).await
    }

    /// Lists one page of prompts: the first, or the one of `cursor`.
    ///
    /// # Errors
    /// See [`Client::request`].
    pub async fn list_prompts_page(
        &self,
        cursor: Option<&str>,
    ) -> Result<ListPromptsResult, Error> {
        self.page(method::PROMPTS_LIST, cursor).await
    }

    /// Gets a prompt with `arguments` filled in.
    ///
    /// # Errors
    /// See [`Client::request`].
    pub async fn get_prompt(
        &self,
        name: &str,
        arguments: Map<String>,
    ) -> Result<GetPromptResult, Error> {
        let mut params = GetPromptParams::new(name);
        params.arguments = (!arguments.is_empty()).then_some(arguments);
        self.request_typed(method::PROMPTS_GET, &params).await
    }

    /// Lists all resources.
    ///
    /// # Errors
    /// See [`Client::request`].
    pub async fn list_resources(&self) -> Result<Vec<Resource>, Error> {
        self.list(method::RESOURCES_LIST).await
    }

    /// Lists one page of resources: the first, or the one of `cursor`.
    ///
    /// # Errors
    /// See [`Client::request`].
    pub async fn list_resources_page(
        &self,
        cursor: Option<&str>,
    ) -> Result<ListResourcesResult, Error> {
        self.page(method::RESOURCES_LIST, cursor).await
    }

    /// Lists all resource templates.
    ///
    /// # Errors
    /// See [`Client::request`].
    pub async fn list_resource_templates(&self) -> Result<Vec<ResourceTemplate>, Error> {
        self.list(method::RESOURCES_TEMPLATES_LIST).await
    }

    /// Lists one page of resource templates: the first, or the one of `cursor`.
    ///
    /// # Errors
    /// See [`Client::request`].
    pub async fn list_resource_templates_page(
        &self,
        cursor: Option<&str>,
    ) -> Result<ListResourceTemplatesResult, Error> {
        self.page(method::RESOURCES_TEMPLATES_LIST, cursor).await
    }

    /// Reads a resource.
    ///
    /// # Errors
    /// See [`Client::request`].
    pub async fn read_resource(&self, uri: &str) -> Result<ReadResourceResult, Error> {
        let params = ReadResourceParams::new(uri);
        let result = self.request_cached(method::RESOURCES_READ, &params).await?;
        self.decode(method::RESOURCES_READ, &result)
    }

    /// Completes an argument of a prompt or resource template.
    ///
    /// # Errors
    /// See [`Client::request`].
    pub async fn complete(&self, params: &CompleteParams) -> Result<CompleteResult, Error> {
        self.request_typed(method::COMPLETION_COMPLETE, params)
            .await
    }
}
