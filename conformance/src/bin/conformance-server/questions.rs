//! Tools that ask the client for one input and return its answer.

use callgate_mcp::router::{RequestCx, RouteError, Router, ToolError, ToolRoute};
use callgate_mcp::wire::Number;
use callgate_mcp::wire::content::Content;
use callgate_mcp::wire::elicitation::{
    BooleanSchema, ChoiceOption, ElicitParams, LegacyTitledEnumSchema, NumberSchema,
    RequestedSchema, StringSchema, TitledMultiSelectEnumSchema, TitledSingleSelectEnumSchema,
    UntitledMultiSelectEnumSchema, UntitledSingleSelectEnumSchema,
};
use callgate_mcp::wire::sampling::{CreateMessageParams, CreateMessageResult, SamplingMessage};
use schemars::JsonSchema;
use serde::Deserialize;

pub(crate) fn add(router: &Router) -> Result<(), RouteError> {
    let tools = [
        ToolRoute::new("test_sampling", "Asks the model", sampling),
        ToolRoute::new("test_elicitation", "Asks the user", elicitation),
        ToolRoute::new(
            "test_elicitation_sep1034_defaults",
            "Asks with suggestions",
            defaults,
        ),
        ToolRoute::new("test_elicitation_sep1330_enums", "Asks to choose", choices),
    ];
    tools.into_iter().try_for_each(|tool| router.add_tool(tool))
}

#[derive(Deserialize, JsonSchema)]
struct Prompt {
    prompt: String,
}

#[derive(Deserialize, JsonSchema)]
struct Message {
    message: String,
}

async fn sampling(cx: RequestCx, Prompt { prompt }: Prompt) -> Result<String, ToolError> {
    let message = SamplingMessage::user(Content::text(prompt));
    let answer = cx
        .ask("answer", CreateMessageParams::new(vec![message], 100))
        .await?;
    let answer: CreateMessageResult = answer.decode().map_err(ToolError::failed)?;
    Ok(format!("LLM response: {:?}", answer.content))
}

async fn elicitation(cx: RequestCx, Message { message }: Message) -> Result<String, ToolError> {
    let form = RequestedSchema::new()
        .with_required("username", described("User's response"))
        .with_required("email", described("User's email address"));
    ask(&cx, &message, form).await
}

async fn defaults(cx: RequestCx) -> Result<String, ToolError> {
    let score = Number::from_f64(95.5).expect("95.5 is a JSON number");
    let form = RequestedSchema::new()
        .with_optional("name", described("User name").with_default("John Doe"))
        .with_optional("age", NumberSchema::integer().with_default(30))
        .with_optional("score", NumberSchema::new().with_default(score))
        .with_optional(
            "status",
            UntitledSingleSelectEnumSchema::new(["active", "inactive", "pending"])
                .with_default("active"),
        )
        .with_optional("verified", BooleanSchema::new().with_default(true));
    ask(&cx, "Please review and update the form fields", form).await
}

async fn choices(cx: RequestCx) -> Result<String, ToolError> {
    let names = ["option1", "option2", "option3"];
    let titles = ["Option One", "Option Two", "Option Three"];
    let legacy = LegacyTitledEnumSchema::new(["opt1", "opt2", "opt3"], titles);
    let form = RequestedSchema::new()
        .with_optional("untitledSingle", UntitledSingleSelectEnumSchema::new(names))
        .with_optional("titledSingle", TitledSingleSelectEnumSchema::new(titled()))
        .with_optional("legacyEnum", legacy)
        .with_optional("untitledMulti", UntitledMultiSelectEnumSchema::new(names))
        .with_optional("titledMulti", TitledMultiSelectEnumSchema::new(titled()));
    ask(&cx, "Please select options", form).await
}

async fn ask(cx: &RequestCx, message: &str, form: RequestedSchema) -> Result<String, ToolError> {
    let answer = cx.ask("answer", ElicitParams::form(message, form)).await?;
    Ok(format!("User response: {}", answer.as_raw().as_str()))
}

fn described(description: &str) -> StringSchema {
    StringSchema::new().with_description(description)
}

fn titled() -> [ChoiceOption; 3] {
    [
        ChoiceOption::new("value1", "First Option"),
        ChoiceOption::new("value2", "Second Option"),
        ChoiceOption::new("value3", "Third Option"),
    ]
}
