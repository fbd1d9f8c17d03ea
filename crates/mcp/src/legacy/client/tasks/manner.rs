use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use callgate_wire::legacy::tool::TaskSupport;
use callgate_wire::{Method, RawJson, method};
use serde_json::json;
use tokio::time::timeout;

use crate::legacy::client::flight::Client;
use crate::legacy::client::session::Shared;
use crate::legacy::client::transport::{Heard, Outgoing};
use crate::service::Call;

/// How a call is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// As it is.
    Direct,
    /// As a task that the client knows.
    Task,
    /// As a task that the client does not know: the call waits for it.
    Held,
}

/// What the tools of a server say about tasks, as far as they do.
#[derive(Debug, Default)]
pub(crate) struct Tools(Mutex<Option<HashMap<String, TaskSupport>>>);

/// The most pages of tools that are read.
const MOST_PAGES: usize = 64;

/// The most tools that are remembered.
const MOST_TOOLS: usize = 10_000;

impl Tools {
    /// Forgets everything, since the tools changed.
    pub(crate) fn forget(&self) {
        *self.known() = None;
    }

    fn support(&self, name: &str) -> Option<TaskSupport> {
        let known = self.known();
        Some(known.as_ref()?.get(name).copied().unwrap_or_default())
    }

    fn known(&self) -> MutexGuard<'_, Option<HashMap<String, TaskSupport>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    /// How to make a call for this client.
    pub(crate) async fn manner(&self, call: &Call, client: &Client) -> Manner {
        if call.method.as_str() != method::TOOLS_CALL || !self.server.has_tasks() {
            return Manner::Direct;
        }
        let name = call.params.get("name");
        let name = name.as_ref().and_then(RawJson::text).unwrap_or_default();
        match (self.task_support(&name).await, client.knows_tasks()) {
            (TaskSupport::Forbidden, _) | (TaskSupport::Optional, false) => Manner::Direct,
            (TaskSupport::Optional | TaskSupport::Required, true) => Manner::Task,
            (TaskSupport::Required, false) => Manner::Held,
        }
    }

    async fn task_support(&self, name: &str) -> TaskSupport {
        if let Some(support) = self.tools.support(name) {
            return support;
        }
        let reading = timeout(self.config.handshake, self.read_tools());
        let Ok(Some(tools)) = reading.await else {
            // Without knowing, a call is made as most are.
            return TaskSupport::Forbidden;
        };
        let support = tools.get(name).copied().unwrap_or_default();
        *self.tools.known() = Some(tools);
        support
    }

    /// What the tools say about tasks, where they say anything.
    async fn read_tools(&self) -> Option<HashMap<String, TaskSupport>> {
        let mut tools = HashMap::new();
        let mut params = RawJson::empty_object();
        for _ in 0..MOST_PAGES {
            let (heard, _hearing) = Heard::channel(1);
            let request = Outgoing {
                method: Method::new(method::TOOLS_LIST),
                params,
            };
            let page = self.transport.request(request, heard).await.ok()?;
            for tool in page.get("tools").iter().flat_map(RawJson::elements) {
                let support = tool.at(&["execution", "taskSupport"]);
                let support = support.and_then(|support| support.decode().ok());
                let name = tool.get("name");
                let name = name.as_ref().and_then(RawJson::text);
                if let (Some(support), Some(name)) = (support, name)
                    && tools.len() < MOST_TOOLS
                {
                    tools.insert(name.into_owned(), support);
                }
            }
            let cursor = page.get("nextCursor");
            let Some(cursor) = cursor.filter(|cursor| cursor.text().is_some()) else {
                break;
            };
            params = RawJson::encode(&json!({ "cursor": cursor })).ok()?;
        }
        Some(tools)
    }
}
