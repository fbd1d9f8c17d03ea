//! A server on our router, with something for every request of the protocol.

use std::sync::Arc;
use std::time::Duration;

use callgate_mcp::router::{
    Elicited, Json, RequestCx, Router, TaskConfig, TaskSupport, ToolError, ToolRoute,
};
use callgate_mcp::wire::completion::CompleteParams;
use callgate_mcp::wire::content::Content;
use callgate_mcp::wire::implementation::Implementation;
use callgate_mcp::wire::prompt::{Prompt, PromptArgument};
use callgate_mcp::wire::resource::{Resource, ResourceTemplate};
use callgate_mcp::wire::sampling::{CreateMessageParams, SamplingMessage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

/// What tests hear of the server.
#[derive(Clone, Default)]
pub(crate) struct Signals {
    /// Told when `wait` is called.
    pub(crate) waiting: Arc<Notify>,
    /// Told when the call of `wait` was cancelled.
    pub(crate) cancelled: Arc<Notify>,
}

#[derive(Deserialize, JsonSchema)]
struct Numbers {
    a: i64,
    b: i64,
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    sum: i64,
}

#[derive(Deserialize, JsonSchema)]
struct Who {
    name: String,
}

#[derive(Deserialize)]
struct Topic {
    topic: String,
}

#[derive(Deserialize)]
struct Note {
    id: String,
}

async fn greet(cx: RequestCx) -> Result<String, ToolError> {
    match cx.elicit_form::<Who>("who", "Who?").await? {
        Elicited::Accepted(who) => Ok(format!("Hello, {}", who.name)),
        _ => Err(ToolError::failed("nobody")),
    }
}

async fn quote(cx: RequestCx) -> Result<String, ToolError> {
    let question = vec![SamplingMessage::user(Content::text("Say something"))];
    let answer = cx
        .sample("model", CreateMessageParams::new(question, 10))
        .await?;
    let said = answer.content.blocks().first().and_then(Content::as_text);
    let said = said.unwrap_or_default();
    Ok(format!("{} says {said}", answer.model))
}

async fn roots(cx: RequestCx) -> Result<String, ToolError> {
    let roots = cx.list_roots("roots").await?;
    let uris: Vec<String> = roots.into_iter().map(|root| root.uri).collect();
    Ok(uris.join(" "))
}

struct NotifyOnDrop(Arc<Notify>);

impl Drop for NotifyOnDrop {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

/// The server, which tells `signals` what happens.
pub(crate) fn everything(signals: &Signals) -> Router {
    let Signals { waiting, cancelled } = signals.clone();
    let wait = move || {
        let cancelled = NotifyOnDrop(cancelled.clone());
        waiting.notify_one();
        async move {
            let _cancelled = cancelled;
            std::future::pending::<String>().await
        }
    };
    let topic = PromptArgument::required("topic", "What about");
    let essay = Prompt::new("essay", "Writes").with_arguments(vec![topic]);
    let router = Router::new(Implementation::new("ours", "1.0"));
    let touched = router.clone();
    router
        .instructions("Try everything")
        .page_size(2)
        .tool("add", "Adds", |numbers: Numbers| async move {
            Json(Sum {
                sum: numbers.a + numbers.b,
            })
        })
        .tool("count", "Counts to three", |cx: RequestCx| async move {
            for number in [1.0, 2.0, 3.0] {
                cx.progress(number, Some(3.0), None).await;
            }
            "counted"
        })
        .tool("wait", "Waits for ever", wait)
        .tool("greet", "Greets who the user says", greet)
        .tool("quote", "Says what the model says", quote)
        .tool("roots", "Says what the client works on", roots)
        .tool("touch", "Changes the first note", move || {
            touched.resource_updated("note:1");
            async { "touched" }
        })
        .tool("fail", "Fails", || async {
            Err::<String, ToolError>(ToolError::failed("no"))
        })
        .tasks(TaskConfig::default().with_poll_interval(Duration::from_millis(100)))
        .route(
            ToolRoute::new("later", "Greets who the user says, later", greet)
                .task(TaskSupport::Optional),
        )
        .prompt(essay, |topic: Topic| async move {
            format!("Write about {}", topic.topic)
        })
        .resource(Resource::new("note:1", "first"), || async { "remember" })
        .resource_template(
            ResourceTemplate::new("note:{id}", "note"),
            |note: Note| async move { (note.id == "2").then_some("forget") },
        )
        .completion(|params: CompleteParams| async move {
            vec![format!("{}pple", params.argument.value)]
        })
}
