//! Tools that need input before they can answer.

use callgate_mcp::router::{RequestCx, RouteError, Router, ToolError, ToolRoute};
use callgate_mcp::wire::content::Content;
use callgate_mcp::wire::elicitation::{
    BooleanSchema, ElicitParams, ElicitResult, RequestedSchema, StringSchema,
};
use callgate_mcp::wire::input::InputRequest;
use callgate_mcp::wire::sampling::{CreateMessageParams, SamplingMessage};

pub(crate) fn add(router: &Router) -> Result<(), RouteError> {
    let tools = [
        ToolRoute::new(
            "test_input_required_result_elicitation",
            "Asks for a name",
            elicitation,
        ),
        ToolRoute::new(
            "test_input_required_result_sampling",
            "Asks the model",
            sampling,
        ),
        ToolRoute::new(
            "test_input_required_result_list_roots",
            "Asks for roots",
            roots,
        ),
        ToolRoute::new(
            "test_input_required_result_request_state",
            "Keeps state",
            request_state,
        ),
        ToolRoute::new(
            "test_input_required_result_multiple_inputs",
            "Asks three things",
            several,
        ),
        ToolRoute::new(
            "test_input_required_result_multi_round",
            "Asks twice",
            two_rounds,
        ),
        ToolRoute::new(
            "test_input_required_result_tampered_state",
            "Seals state",
            request_state,
        ),
        ToolRoute::new(
            "test_input_required_result_capabilities",
            "Asks what it may",
            what_it_may,
        ),
    ];
    tools.into_iter().try_for_each(|tool| router.add_tool(tool))
}

async fn elicitation(cx: RequestCx) -> Result<String, ToolError> {
    let name = ask_text(&cx, "user_name", "What is your name?", "name").await?;
    Ok(format!("Hello, {name}!"))
}

async fn sampling(cx: RequestCx) -> Result<String, ToolError> {
    let answer = cx
        .ask(
            "capital_question",
            question("What is the capital of France?"),
        )
        .await?;
    Ok(format!("LLM response: {}", answer.as_raw().as_str()))
}

async fn roots(cx: RequestCx) -> Result<String, ToolError> {
    let answer = cx.ask("client_roots", InputRequest::list_roots()).await?;
    Ok(format!("Client roots: {}", answer.as_raw().as_str()))
}

async fn request_state(cx: RequestCx) -> Result<&'static str, ToolError> {
    let form = RequestedSchema::new().with_required("ok", BooleanSchema::default());
    cx.ask("confirm", ElicitParams::form("Please confirm", form))
        .await?;
    Ok("state-ok")
}

async fn several(cx: RequestCx) -> Result<String, ToolError> {
    let wanted = [
        ("user_name", name_form().into()),
        ("greeting", question("Generate a greeting").into()),
        ("client_roots", InputRequest::list_roots()),
    ];
    let answers = cx.ask_all(wanted.into_iter().collect()).await?;
    Ok(format!("Got {} answers", answers.len()))
}

async fn two_rounds(cx: RequestCx) -> Result<String, ToolError> {
    let name = ask_text(&cx, "step1", "What is your name?", "name").await?;
    let color = ask_text(&cx, "step2", "What is your favorite color?", "color").await?;
    Ok(format!("{name} likes {color}"))
}

/// Asks for each kind of input that the client declared, and for no other.
async fn what_it_may(cx: RequestCx) -> Result<String, ToolError> {
    let mut wanted: Vec<(&str, InputRequest)> = Vec::new();
    if cx.peer().declares(&["elicitation"]) {
        wanted.push(("user_name", name_form().into()));
    }
    if cx.peer().declares(&["sampling"]) {
        wanted.push(("greeting", question("Generate a greeting").into()));
    }
    if cx.peer().declares(&["roots"]) {
        wanted.push(("client_roots", InputRequest::list_roots()));
    }
    let answers = cx.ask_all(wanted.into_iter().collect()).await?;
    Ok(format!("Got {} answers", answers.len()))
}

fn name_form() -> ElicitParams {
    form("What is your name?", "name")
}

fn form(message: &str, field: &str) -> ElicitParams {
    let schema = RequestedSchema::new().with_required(field, StringSchema::default());
    ElicitParams::form(message, schema)
}

fn question(text: &str) -> CreateMessageParams {
    CreateMessageParams::new(vec![SamplingMessage::user(Content::text(text))], 100)
}

/// Asks the user for one text, which is "stranger" if the user does not accept.
pub(crate) async fn ask_text(
    cx: &RequestCx,
    key: &str,
    message: &str,
    field: &str,
) -> Result<String, ToolError> {
    let answer = cx.ask(key, form(message, field)).await?;
    let answer: ElicitResult = answer.decode().map_err(ToolError::failed)?;
    let text = answer.content.and_then(|content| content.get(field));
    let text = text.and_then(|text| text.text().map(Into::into));
    Ok(text.unwrap_or_else(|| "stranger".to_owned()))
}
