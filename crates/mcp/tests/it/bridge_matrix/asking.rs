use callgate_mcp::router::{Elicited, RequestCx, Router, TaskSupport, ToolRoute};
use callgate_mcp::wire::content::Content;
use callgate_mcp::wire::elicitation::ElicitParams;
use callgate_mcp::wire::prompt::Prompt;
use callgate_mcp::wire::resource::Resource;
use callgate_mcp::wire::sampling::{CreateMessageParams, SamplingMessage};
use callgate_mcp::{Error, Kind};
use schemars::JsonSchema;
use serde::Deserialize;

/// A name that does not fit into a header as it is.
pub(crate) const ODD: &str = "gr\u{fc}\u{df}e an alle";

/// The router with tools, a prompt and a resource that ask.
pub(crate) fn with_questions(router: Router) -> Router {
    router
        .tool("form", "Asks for a name", form)
        .tool("visit", "Sends to a URL", visit)
        .tool("sample", "Asks a model", sample)
        .tool("roots", "Asks for roots", roots)
        .tool("both", "Asks two things at once", both)
        .tool("twice", "Asks two things in turn", twice)
        .route(ToolRoute::new("later", "Asks as a task", twice).task(TaskSupport::Optional))
        .prompt(Prompt::new(ODD, "Answers"), || async { "hello" })
        .prompt(Prompt::new("asking", "Asks"), |cx: RequestCx| async move {
            name(&cx, "who", "Who?").await
        })
        .resource(
            Resource::new("test://asking", "asking"),
            |cx: RequestCx| async move { name(&cx, "who", "Who?").await },
        )
}

#[derive(Deserialize, JsonSchema)]
struct Question {
    question: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Name {
    name: String,
}

async fn form(cx: RequestCx, Question { question }: Question) -> Result<String, Error> {
    name(&cx, "who", &question).await
}

async fn visit(cx: RequestCx) -> Result<String, Error> {
    let page = ElicitParams::url("Sign in", "https://example.com/sign-in");
    let result = cx.elicit("page", page).await?;
    Ok(format!("{:?}", result.action))
}

async fn sample(cx: RequestCx) -> Result<String, Error> {
    let message = SamplingMessage::user(Content::text("Polly"));
    let result = cx.sample("model", CreateMessageParams::new(vec![message], 100));
    let result = result.await?;
    let said = result.content.blocks().iter().filter_map(Content::as_text);
    Ok(format!("{}: {}", result.model, said.collect::<String>()))
}

async fn roots(cx: RequestCx) -> Result<String, Error> {
    let roots = cx.list_roots("roots").await?;
    let uris: Vec<_> = roots.into_iter().map(|root| root.uri).collect();
    Ok(uris.join(", "))
}

async fn both(cx: RequestCx) -> Result<String, Error> {
    let (name, roots) = tokio::join!(name(&cx, "who", "Who?"), cx.list_roots("roots"));
    Ok(format!("{} has {} roots", name?, roots?.len()))
}

async fn twice(cx: RequestCx) -> Result<String, Error> {
    let first = name(&cx, "first", "First?").await?;
    let second = name(&cx, "second", "Second?").await?;
    Ok(format!("{first} and {second}"))
}

async fn name(cx: &RequestCx, key: &str, question: &str) -> Result<String, Error> {
    match cx.elicit_form::<Name>(key, question).await? {
        Elicited::Accepted(Name { name }) => Ok(name),
        Elicited::Declined => Ok("declined".to_owned()),
        _ => Err(Error::new(Kind::Internal, "nobody answered")),
    }
}
