use callgate_wire::capabilities::{ClientCapabilities, ElicitationCapability, SamplingCapability};
use callgate_wire::content::Content;
use callgate_wire::elicitation::{ElicitParams, ElicitResult};
use callgate_wire::input::{InputRequest, InputRequests, InputRequiredResult, InputResponses};
use callgate_wire::roots::{ListRootsParams, ListRootsRequest, ListRootsResult, Root};
use callgate_wire::sampling::{
    CreateMessageParams, CreateMessageRequest, CreateMessageResult, IncludeContext, ModelHint,
    ModelPreferences, SamplingMessage, ToolChoice, ToolChoiceMode,
};
use callgate_wire::{Number, RawJson, tag};
use serde_json::json;

use super::{content, form, plain_meta, result_meta, tool};
use crate::sample::{Sample, json, value};

pub(super) fn samples() -> Vec<Sample> {
    let mut samples = vec![
        value("ClientCapabilities", &capabilities()),
        value("ClientCapabilities", &ClientCapabilities::default()),
        value("Root", &root()),
        value("ListRootsRequest", &list_roots()),
        value("ListRootsResult", &roots()),
        value("ModelHint", &hint()),
        value("ModelPreferences", &preferences()),
        value("SamplingMessage", &message()),
        value(
            "SamplingMessage",
            &SamplingMessage::user(Content::text("hi")),
        ),
        value("CreateMessageRequestParams", &create_params()),
        value("CreateMessageRequest", &create_request()),
        value("CreateMessageResult", &create_result()),
        value("ElicitResult", &ElicitResult::consent()),
        value("ElicitResult", &ElicitResult::decline()),
        value("ElicitResult", &ElicitResult::cancel()),
        value("ElicitResult", &accepted()),
        value("InputRequests", &input_requests()),
        value("InputResponses", &input_responses()),
        value("InputRequiredResult", &input_required()),
    ];
    for mode in [
        ToolChoiceMode::Auto,
        ToolChoiceMode::Required,
        ToolChoiceMode::None,
    ] {
        samples.push(value("ToolChoice", &ToolChoice { mode: Some(mode) }));
    }
    for (_, request) in input_requests().iter() {
        samples.push(value("InputRequest", request));
        samples.push(value("Request", request));
    }
    for (_, answer) in input_responses().iter() {
        samples.push(value("InputResponse", answer));
    }
    samples
}

pub(super) fn capabilities() -> ClientCapabilities {
    let object = || Some(RawJson::empty_object());
    ClientCapabilities {
        experimental: Some([("x", json(&json!({ "y": 1 })))].into_iter().collect()),
        roots: object(),
        sampling: Some(SamplingCapability {
            context: object(),
            tools: object(),
        }),
        elicitation: Some(ElicitationCapability {
            form: object(),
            url: object(),
        }),
        extensions: None,
    }
    .with_extension("com.example/x", RawJson::empty_object())
}

pub(super) fn input_required() -> InputRequiredResult {
    InputRequiredResult {
        meta: Some(result_meta()),
        ..InputRequiredResult::new(input_requests(), Some("state".to_owned()))
    }
}

pub(super) fn input_requests() -> InputRequests {
    [
        ("form", InputRequest::from(form::form())),
        ("url", InputRequest::from(form::url())),
        ("model", InputRequest::CreateMessage(create_request())),
        ("roots", InputRequest::ListRoots(list_roots())),
        ("more roots", InputRequest::list_roots()),
        (
            "empty form",
            ElicitParams::form("Go on?", callgate_wire::elicitation::RequestedSchema::new()).into(),
        ),
    ]
    .into_iter()
    .collect()
}

pub(super) fn input_responses() -> InputResponses {
    [
        ("form", (&accepted()).into()),
        ("model", (&create_result()).into()),
        ("roots", (&roots()).into()),
    ]
    .into_iter()
    .collect()
}

fn root() -> Root {
    Root {
        name: Some("Home".to_owned()),
        meta: Some(plain_meta()),
        ..Root::new("file:///home")
    }
}

fn list_roots() -> ListRootsRequest {
    ListRootsRequest {
        params: Some(ListRootsParams {
            meta: Some(plain_meta()),
        }),
        ..ListRootsRequest::default()
    }
}

fn roots() -> ListRootsResult {
    ListRootsResult {
        roots: vec![root()],
    }
}

fn hint() -> ModelHint {
    ModelHint {
        name: Some("claude".to_owned()),
    }
}

fn preferences() -> ModelPreferences {
    ModelPreferences {
        hints: Some(vec![hint()]),
        cost_priority: Some(0.into()),
        speed_priority: Some(1.into()),
        intelligence_priority: Number::from_f64(0.25),
    }
}

fn message() -> SamplingMessage {
    SamplingMessage {
        meta: Some(plain_meta()),
        ..SamplingMessage::assistant(content::sampling_blocks())
    }
}

fn create_params() -> CreateMessageParams {
    CreateMessageParams {
        model_preferences: Some(preferences()),
        system_prompt: Some("Be brief".to_owned()),
        include_context: Some(IncludeContext::ThisServer),
        temperature: Number::from_f64(0.7),
        stop_sequences: Some(vec!["END".to_owned()]),
        metadata: Some(json(&json!({ "a": "b" }))),
        tools: Some(vec![tool::tool()]),
        tool_choice: Some(ToolChoice {
            mode: Some(ToolChoiceMode::Auto),
        }),
        ..CreateMessageParams::new(vec![message()], 100)
    }
}

fn create_request() -> CreateMessageRequest {
    CreateMessageRequest {
        method: tag::SamplingCreateMessage::Value,
        params: create_params(),
    }
}

fn create_result() -> CreateMessageResult {
    CreateMessageResult {
        stop_reason: Some("endTurn".to_owned()),
        meta: Some(plain_meta()),
        ..CreateMessageResult::new("claude", Content::text("Paris"))
    }
}

fn accepted() -> ElicitResult {
    ElicitResult::accept(json(&json!({
        "name": "x", "age": 3, "sure": true, "colors": ["red"],
    })))
}
