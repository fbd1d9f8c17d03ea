//! Tools that ask the client for one input and return its answer.

use callgate_mcp::router::{RequestCx, RouteError, Router, ToolError, ToolRoute};
use callgate_mcp::wire::Number;
use callgate_mcp::wire::content::Content;
use callgate_mcp::wire::elicitation::{
    BooleanSchema, ChoiceOption, ElicitParams, LegacyTitledEnumSchema, NumberSchema, NumberType,
    RequestedSchema, StringSchema, TitledItems, TitledMultiSelectEnumSchema,
    TitledSingleSelectEnumSchema, UntitledItems, UntitledMultiSelectEnumSchema,
    UntitledSingleSelectEnumSchema,
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
    let number = |tag, default| NumberSchema {
        tag,
        default,
        ..NumberSchema::default()
    };
    let form = RequestedSchema::new()
        .with_optional(
            "name",
            StringSchema {
                default: Some("John Doe".to_owned()),
                ..described("User name")
            },
        )
        .with_optional("age", number(NumberType::Integer, Some(30.into())))
        .with_optional("score", number(NumberType::Number, Number::from_f64(95.5)))
        .with_optional(
            "status",
            UntitledSingleSelectEnumSchema {
                options: names(["active", "inactive", "pending"]),
                default: Some("active".to_owned()),
                ..UntitledSingleSelectEnumSchema::default()
            },
        )
        .with_optional(
            "verified",
            BooleanSchema {
                default: Some(true),
                ..BooleanSchema::default()
            },
        );
    ask(&cx, "Please review and update the form fields", form).await
}

async fn choices(cx: RequestCx) -> Result<String, ToolError> {
    let form = RequestedSchema::new()
        .with_optional(
            "untitledSingle",
            UntitledSingleSelectEnumSchema {
                options: names(["option1", "option2", "option3"]),
                ..UntitledSingleSelectEnumSchema::default()
            },
        )
        .with_optional(
            "titledSingle",
            TitledSingleSelectEnumSchema {
                options: titled(),
                ..TitledSingleSelectEnumSchema::default()
            },
        )
        .with_optional(
            "legacyEnum",
            LegacyTitledEnumSchema {
                options: names(["opt1", "opt2", "opt3"]),
                enum_names: Some(names(["Option One", "Option Two", "Option Three"])),
                ..LegacyTitledEnumSchema::default()
            },
        )
        .with_optional(
            "untitledMulti",
            UntitledMultiSelectEnumSchema {
                items: UntitledItems {
                    options: names(["option1", "option2", "option3"]),
                    ..UntitledItems::default()
                },
                ..UntitledMultiSelectEnumSchema::default()
            },
        )
        .with_optional(
            "titledMulti",
            TitledMultiSelectEnumSchema {
                items: TitledItems { options: titled() },
                ..TitledMultiSelectEnumSchema::default()
            },
        );
    ask(&cx, "Please select options", form).await
}

async fn ask(cx: &RequestCx, message: &str, form: RequestedSchema) -> Result<String, ToolError> {
    let answer = cx.ask("answer", ElicitParams::form(message, form)).await?;
    Ok(format!("User response: {}", answer.as_raw().as_str()))
}

fn described(description: &str) -> StringSchema {
    StringSchema {
        description: Some(description.to_owned()),
        ..StringSchema::default()
    }
}

fn names<const N: usize>(names: [&str; N]) -> Vec<String> {
    names.map(str::to_owned).into()
}

fn titled() -> Vec<ChoiceOption> {
    let option = |value: &str, title: &str| ChoiceOption {
        value: value.to_owned(),
        title: title.to_owned(),
    };
    vec![
        option("value1", "First Option"),
        option("value2", "Second Option"),
        option("value3", "Third Option"),
    ]
}
