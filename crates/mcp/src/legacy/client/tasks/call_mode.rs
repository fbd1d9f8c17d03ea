use std::collections::HashMap;

use callgate_wire::legacy::tool::TaskSupport;
use callgate_wire::{Method, RawJson, method};
use serde_json::json;
use tokio::time::timeout;

use crate::legacy::client::call_table::Requester;
use crate::legacy::client::session::SessionShared;
use crate::legacy::client::transport::OldRequest;
use crate::mutex::Mutex;
use crate::service::Call;

/// Way to call a tool, by the task support of the tool and of the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallMode {
    /// A plain call.
    Direct,
    /// A task that the client follows.
    Task,
    /// A task that the client does not know of: the call waits for its result.
    AwaitTask,
}

/// Cache of the task support of the tools of a server; empty if it is not known.
pub(crate) type TaskSupportCache = Mutex<Option<HashMap<String, TaskSupport>>>;

/// Maximum number of pages of `tools/list` that are read.
const MAX_PAGES: usize = 64;

/// Maximum number of remembered tools. Any others are called without a task.
const MAX_TOOLS: usize = 10_000;

impl SessionShared {
    /// Chooses the way to make a call.
    pub(crate) async fn call_mode(&self, call: &Call, client: &Requester) -> CallMode {
        if call.method.as_str() != method::TOOLS_CALL || !self.server.has_tasks() {
            return CallMode::Direct;
        }
        let name = call.params().get("name");
        let name = name.as_ref().and_then(RawJson::text).unwrap_or_default();
        match (self.task_support(&name).await, client.knows_tasks()) {
            (TaskSupport::Forbidden, _) | (TaskSupport::Optional, false) => CallMode::Direct,
            (TaskSupport::Optional | TaskSupport::Required, true) => CallMode::Task,
            (TaskSupport::Required, false) => CallMode::AwaitTask,
        }
    }

    async fn task_support(&self, name: &str) -> TaskSupport {
        if let Some(tools) = &*self.tools.lock() {
            return tools.get(name).copied().unwrap_or_default();
        }
        // Calls at the same time may read the list more than once; any of the results will do.
        let reading = timeout(self.config.handshake_timeout, self.read_tools());
        let tools = match reading.await {
            Ok(Some(tools)) => tools,
            // The list could not be read: most tools are called without a task.
            Ok(None) => return TaskSupport::Forbidden,
            // Each further attempt would delay a call as long.
            Err(_) => HashMap::new(),
        };
        let support = tools.get(name).copied().unwrap_or_default();
        *self.tools.lock() = Some(tools);
        support
    }

    /// Reads the task support of all tools that declare it.
    async fn read_tools(&self) -> Option<HashMap<String, TaskSupport>> {
        let mut tools = HashMap::new();
        let mut params = RawJson::empty_object();
        for _ in 0..MAX_PAGES {
            let request = OldRequest {
                method: Method::new(method::TOOLS_LIST),
                params,
            };
            let page = self.transport.ask(request).await.ok()?;
            read_page(&page, &mut tools);
            let Some(cursor) = next_cursor(&page) else {
                break;
            };
            params = RawJson::encode(&json!({ "cursor": cursor })).ok()?;
        }
        Some(tools)
    }

    /// Learns the task support of all tools from a list that a client asked for, if it is complete: most
    /// clients list the tools before they call one, and need not wait for another list then.
    pub(crate) fn learn_task_support(&self, call: &Call, result: &RawJson) {
        let is_whole = || call.params().get("cursor").is_none() && next_cursor(result).is_none();
        if call.method.as_str() == method::TOOLS_LIST && self.server.has_tasks() && is_whole() {
            let mut tools = HashMap::new();
            read_page(result, &mut tools);
            *self.tools.lock() = Some(tools);
        }
    }
}

/// Adds the tools of a page that declare their task support.
fn read_page(page: &RawJson, tools: &mut HashMap<String, TaskSupport>) {
    for tool in page.get("tools").iter().flat_map(RawJson::elements) {
        let support = tool.at(&["execution", "taskSupport"]);
        let support = support.and_then(|support| support.decode().ok());
        let name = tool.get("name");
        let name = name.as_ref().and_then(RawJson::text);
        if let (Some(support), Some(name)) = (support, name)
            && tools.len() < MAX_TOOLS
        {
            tools.insert(name.into_owned(), support);
        }
    }
}

fn next_cursor(page: &RawJson) -> Option<RawJson> {
    let cursor = page.get("nextCursor");
    cursor.filter(|cursor| cursor.text().is_some())
}
