use std::sync::Arc;

use callgate_mcp::Service;
use callgate_mcp::router::{
    Json, RawArguments, RequestCx, Router, TaskConfig, TaskSupport, ToolError, ToolRoute,
};
use callgate_mcp::wire::RawJson;
use callgate_mcp::wire::cache::CacheScope;
use callgate_mcp::wire::completion::CompleteParams;
use callgate_mcp::wire::implementation::Implementation;
use callgate_mcp::wire::logging::LogLevel;
use callgate_mcp::wire::prompt::{Prompt, PromptArgument};
use callgate_mcp::wire::resource::{
    ReadResourceResult, Resource, ResourceContents, ResourceTemplate,
};
use callgate_mcp::wire::tool::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use super::asking;
use super::noted::{Exchange, Noted};

/// The server at the far end, as a test watches and changes it.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) router: Arc<Router>,
    noted: Arc<Noted>,
    waiting: Arc<watch::Sender<Waiting>>,
}

/// How often a call that never ends began and was dropped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Waiting {
    pub(crate) begun: u32,
    pub(crate) dropped: u32,
}

impl Server {
    pub(crate) fn new() -> Self {
        let waiting = Arc::new(watch::Sender::new(Waiting::default()));
        let router = Router::new(Implementation::new("far", "1.0"))
            .instructions("Be kind.")
            .page_size(5)
            .tasks(TaskConfig::default().with_poll_interval(std::time::Duration::from_millis(1)));
        let router = with_tools(router, &waiting);
        let router = asking::with_questions(with_documents(router));
        let router = Arc::new(router);
        Self {
            noted: Arc::new(Noted::new(router.clone())),
            router,
            waiting,
        }
    }

    pub(crate) fn service(&self) -> Arc<dyn Service> {
        self.noted.clone()
    }

    /// What was asked and answered here.
    pub(crate) fn exchanges(&self) -> Vec<Exchange> {
        self.noted.exchanges()
    }

    /// Waits for a notification of the client, and returns all so far.
    pub(crate) async fn notifications(&self) -> Vec<(String, RawJson)> {
        self.noted.notifications().await
    }

    /// Waits until `reached` is true of the calls that never end.
    pub(crate) async fn waiting(&self, reached: impl Fn(&Waiting) -> bool) -> Waiting {
        let mut watching = self.waiting.subscribe();
        *watching.wait_for(reached).await.unwrap()
    }
}

#[derive(Deserialize, JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    sum: i64,
}

fn with_tools(router: Router, waiting: &Arc<watch::Sender<Waiting>>) -> Router {
    let any = RawJson::encode(&serde_json::json!({"type": "object"})).unwrap();
    let waiting = waiting.clone();
    let wait = move || {
        let held = Held::begin(waiting.clone());
        async move {
            let _held = held;
            std::future::pending::<()>().await;
        }
    };
    router
        .tool("add", "Adds", |Add { a, b }: Add| async move {
            Json(Sum { sum: a + b })
        })
        .tool("list", "Lists", || async { Json(vec![1, 2]) })
        .tool_with(
            Tool::new("echo", "Echoes", any),
            |RawArguments(raw): RawArguments| async move { raw.as_str().to_owned() },
        )
        .tool("fail", "Fails", || async {
            Err::<(), _>(ToolError::failed("no luck"))
        })
        .tool("count", "Makes progress", count)
        .tool("log", "Logs", log)
        .route(ToolRoute::new("work", "Works", || async { "done" }).task(TaskSupport::Optional))
        .route(ToolRoute::new("wait", "Never ends", wait).task(TaskSupport::Optional))
}

fn with_documents(router: Router) -> Router {
    let name = PromptArgument::required("name", "Whom to greet");
    let prompt = Prompt::new("greet", "Greets").with_arguments(vec![name]);
    router
        .prompt(prompt, |Named { name }: Named| async move {
            format!("Hello, {name}")
        })
        .resource(Resource::new("test://note", "note"), || async { "a note" })
        .resource(Resource::new("test://public", "public"), public)
        .resource_template(
            ResourceTemplate::new("test://item/{name}", "item"),
            |Named { name }: Named| async move { (name != "none").then(|| format!("item {name}")) },
        )
        .completion(
            |params: CompleteParams| async move { vec![format!("{}!", params.argument.value)] },
        )
}

#[derive(Deserialize, JsonSchema)]
struct Named {
    name: String,
}

/// May be shared by everybody for a minute.
async fn public() -> ReadResourceResult {
    let contents = ResourceContents::text("test://public", "for everybody");
    ReadResourceResult::new(vec![contents]).with_cache(60_000, CacheScope::Public)
}

async fn count(cx: RequestCx) -> &'static str {
    for step in 1..=3_u8 {
        cx.progress(f64::from(step), Some(3.0), Some("counting"))
            .await;
    }
    "counted"
}

async fn log(cx: RequestCx) -> &'static str {
    for level in [
        LogLevel::Debug,
        LogLevel::Info,
        LogLevel::Warning,
        LogLevel::Error,
    ] {
        cx.log(level, Some("far"), &level).await;
    }
    "logged"
}

/// A call that never ends, while it goes on.
struct Held(Arc<watch::Sender<Waiting>>);

impl Held {
    fn begin(waiting: Arc<watch::Sender<Waiting>>) -> Self {
        waiting.send_modify(|waiting| waiting.begun += 1);
        Self(waiting)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.send_modify(|waiting| waiting.dropped += 1);
    }
}
