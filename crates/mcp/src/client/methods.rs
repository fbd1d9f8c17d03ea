use callgate_wire::completion::{CompleteParams, CompleteResult};
use callgate_wire::discover::{DiscoverParams, DiscoverResult};
use callgate_wire::prompt::{GetPromptParams, GetPromptResult, ListPromptsResult, Prompt};
use callgate_wire::resource::{
    ListResourceTemplatesResult, ListResourcesResult, ReadResourceParams, ReadResourceResult,
    Resource, ResourceTemplate,
};
use callgate_wire::result::Outcome;
use callgate_wire::tool::{CallToolParams, CallToolResult, ListToolsResult, Tool};
use callgate_wire::{Map, method};
use serde::Serialize;

use super::handle::Client;
use super::task::Started;
use crate::error::{Error, Kind};

/// The requests of the protocol.
///
/// # Errors
/// Every one of them says what failed, whose fault it was and whether a retry is safe.
impl Client {
    /// Asks the server what it is and can do, and speaks the best revision that both know.
    ///
    /// There is no need to call this first: a server that is asked in a revision it does not know
    /// says which it knows, and the client follows.
    ///
    /// # Errors
    /// If there is no common revision, the error names those of both sides.
    pub async fn discover(&self) -> Result<DiscoverResult, Error> {
        let params = DiscoverParams::default();
        let result = self.ask_cacheable(method::SERVER_DISCOVER, &params).await?;
        let about: DiscoverResult = self.decode(method::SERVER_DISCOVER, &result)?;
        self.choose_version(&about.supported_versions)?;
        Ok(about)
    }

    /// All tools.
    ///
    /// # Errors
    /// See [`Client::request`].
    pub async fn list_tools(&self) -> Result<Vec<Tool>, Error> {
        let split = |page: ListToolsResult| (page.tools, page.next_cursor);
        let tools = self.all_pages(method::TOOLS_LIST, split).await?;
        self.shared.schemas.replace(&tools);
        Ok(tools)
    }

    /// One page of tools: the first, or the one that `cursor` leads to.
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
    /// A failure inside the tool is a result with `isError`, not an error. If the server makes a
    /// task of the call, the end of the task is awaited; dropping the future then ends the waiting
    /// and not the task, see [`Client::start_tool`] and [`Client::cancel_task`].
    ///
    /// # Errors
    /// See [`Client::request`]. If the tool was listed, a result that breaks its output schema is
    /// an error too.
    pub async fn call_tool(
        &self,
        name: &str,
        arguments: &(impl Serialize + ?Sized + Sync),
    ) -> Result<CallToolResult, Error> {
        match self.start_tool(name, arguments).await? {
            Started::Done(result) => Ok(result),
            Started::Task(created) => {
                let result = self.await_new_task(&created.task).await?;
                self.checked(name, result)
            }
        }
    }

    /// Calls a tool once and returns what comes, be it a question to the caller.
    ///
    /// To go on, send the same params again with the answers and the state of the result.
    ///
    /// # Errors
    /// See [`Client::request`].
    pub async fn call_tool_once(
        &self,
        params: &CallToolParams,
    ) -> Result<Outcome<CallToolResult>, Error> {
        let reply = self.request_once(method::TOOLS_CALL, params).await?;
        match self.decode(method::TOOLS_CALL, &reply.into_result())? {
            Outcome::Complete(result) => self.checked(&params.name, result).map(Outcome::Complete),
            outcome => Ok(outcome),
        }
    }

    /// The result of a tool, if it keeps what the tool promised.
    pub(super) fn checked(
        &self,
        tool: &str,
        result: CallToolResult,
    ) -> Result<CallToolResult, Error> {
        match self.shared.schemas.check(tool, &result) {
            Ok(()) => Ok(result),
            Err(mismatch) => {
                let error = Error::new(Kind::Protocol, mismatch.to_string());
                Err(self.of_server(error.with_source(mismatch)))
            }
        }
    }

    /// All prompts.
    ///
    /// # Errors
    /// See [`Client::request`].
    pub async fn list_prompts(&self) -> Result<Vec<Prompt>, Error> {
        let split = |page: ListPromptsResult| (page.prompts, page.next_cursor);
        self.all_pages(method::PROMPTS_LIST, split).await
    }

    /// One page of prompts: the first, or the one that `cursor` leads to.
    ///
    /// # Errors
    /// See [`Client::request`].
    pub async fn list_prompts_page(
        &self,
        cursor: Option<&str>,
    ) -> Result<ListPromptsResult, Error> {
        self.page(method::PROMPTS_LIST, cursor).await
    }

    /// Gets a prompt, filled in with `arguments`.
    ///
    /// # Errors
    /// See [`Client::request`].
    pub async fn get_prompt(
        &self,
        name: &str,
        arguments: Map<String>,
    ) -> Result<GetPromptResult, Error> {
        let params = GetPromptParams {
            arguments: (!arguments.is_empty()).then_some(arguments),
            ..GetPromptParams::new(name)
        };
        self.ask(method::PROMPTS_GET, &params).await
    }

    /// All resources.
    ///
    /// # Errors
    /// See [`Client::request`].
    pub async fn list_resources(&self) -> Result<Vec<Resource>, Error> {
        let split = |page: ListResourcesResult| (page.resources, page.next_cursor);
        self.all_pages(method::RESOURCES_LIST, split).await
    }

    /// One page of resources: the first, or the one that `cursor` leads to.
    ///
    /// # Errors
    /// See [`Client::request`].
    pub async fn list_resources_page(
        &self,
        cursor: Option<&str>,
    ) -> Result<ListResourcesResult, Error> {
        self.page(method::RESOURCES_LIST, cursor).await
    }

    /// All resource templates.
    ///
    /// # Errors
    /// See [`Client::request`].
    pub async fn list_resource_templates(&self) -> Result<Vec<ResourceTemplate>, Error> {
        let split = |page: ListResourceTemplatesResult| (page.resource_templates, page.next_cursor);
        self.all_pages(method::RESOURCES_TEMPLATES_LIST, split)
            .await
    }

    /// One page of resource templates: the first, or the one that `cursor` leads to.
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
        let result = self.ask_cacheable(method::RESOURCES_READ, &params).await?;
        self.decode(method::RESOURCES_READ, &result)
    }

    /// Completes an argument of a prompt or resource template.
    ///
    /// # Errors
    /// See [`Client::request`].
    pub async fn complete(&self, params: &CompleteParams) -> Result<CompleteResult, Error> {
        self.ask(method::COMPLETION_COMPLETE, params).await
    }
}
