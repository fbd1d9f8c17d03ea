//! Prompts, and the completion of their arguments.

use callgate_mcp::Error;
use callgate_mcp::router::{RequestCx, RouteError, Router};
use callgate_mcp::wire::completion::{CompleteParams, Completion};
use callgate_mcp::wire::content::Content;
use callgate_mcp::wire::elicitation::{ElicitParams, RequestedSchema, StringSchema};
use callgate_mcp::wire::prompt::{Prompt, PromptArgument, PromptMessage};
use callgate_mcp::wire::resource::ResourceContents;
use serde::Deserialize;

use crate::content::PNG;

pub(crate) fn add(router: &Router) -> Result<(), RouteError> {
    router.add_prompt(
        Prompt::new("test_simple_prompt", "Takes no arguments"),
        async || "This is a simple prompt for testing.",
    );
    let two = [
        ("arg1", "The first argument"),
        ("arg2", "The second argument"),
    ];
    router.add_prompt(
        prompt("test_prompt_with_arguments", "Takes two arguments", &two),
        with_arguments,
    );
    let uri = [("resourceUri", "The resource to embed")];
    router.add_prompt(
        prompt(
            "test_prompt_with_embedded_resource",
            "Embeds a resource",
            &uri,
        ),
        embedded,
    );
    router.add_prompt(
        Prompt::new("test_prompt_with_image", "Has an image"),
        with_image,
    );
    router.add_prompt(
        Prompt::new("test_input_required_result_prompt", "Asks first"),
        asks_first,
    );
    Ok(())
}

fn prompt(name: &str, description: &str, arguments: &[(&str, &str)]) -> Prompt {
    let arguments = arguments
        .iter()
        .map(|(name, about)| PromptArgument::required(*name, *about));
    Prompt::new(name, description).with_arguments(arguments.collect())
}

#[derive(Deserialize)]
struct TwoArguments {
    arg1: String,
    arg2: String,
}

async fn with_arguments(TwoArguments { arg1, arg2 }: TwoArguments) -> String {
    format!("Prompt with arguments: arg1='{arg1}', arg2='{arg2}'")
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResourceArgument {
    resource_uri: String,
}

async fn embedded(arguments: ResourceArgument) -> Vec<PromptMessage> {
    let contents = ResourceContents::text(
        arguments.resource_uri,
        "Embedded resource content for testing.",
    );
    vec![
        PromptMessage::user(Content::resource(contents.with_mime_type("text/plain"))),
        PromptMessage::user(Content::text("Please process the embedded resource above.")),
    ]
}

async fn with_image() -> Vec<PromptMessage> {
    vec![
        PromptMessage::user(Content::image(PNG, "image/png")),
        PromptMessage::user(Content::text("Please analyze the image above.")),
    ]
}

async fn asks_first(cx: RequestCx) -> Result<String, Error> {
    let form = RequestedSchema::new().with_required("context", StringSchema::default());
    let ask = ElicitParams::form("What context should the prompt use?", form);
    let answer = cx.ask("user_context", ask).await?;
    Ok(format!("Context: {}", answer.as_raw().as_str()))
}

pub(crate) async fn complete(params: CompleteParams) -> Completion {
    let values = ["paris", "park", "party"].map(str::to_owned);
    let fits = |value: &String| value.starts_with(&params.argument.value);
    Completion::of(values.into_iter().filter(fits).collect())
}
