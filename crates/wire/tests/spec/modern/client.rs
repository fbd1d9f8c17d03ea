use callgate_wire::capabilities::{ClientCapabilities, ElicitationCapability, SamplingCapability};
use callgate_wire::content::Content;
use callgate_wire::elicitation::{ElicitParams, ElicitResult};
use callgate_wire::input::{InputRequest, InputRequests, InputRequiredResult, InputResponses};
use callgate_wire::roots::{ListRootsParams, ListRootsRequest, ListRootsResult, Root};
use callgate_wire::sampling::{
    CreateMessageParams, CreateMessageRequest, CreateMessageResult, IncludeContext, ModelHint,
    ModelPreferences, SamplingMessage, ToolChoice, ToolChoiceMode,
};
use callgate_wire::{Number, RawJson};
use serde_json::json;

use super::{content, form, plain_meta, result_meta, tool};
use crate::sample::{Sample, json, value, with};

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
        samples.push(value(
            "ToolChoice",
            &with(ToolChoice::default(), |it| {
                it.mode = Some(mode);
            }),
        ));
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
    with(ClientCapabilities::default(), |it| {
        it.experimental = Some([("x", json(&json!({ "y": 1 })))].into_iter().collect());
        it.roots = object();
        it.sampling = Some(with(SamplingCapability::default(), |it| {
            it.context = object();
            it.tools = object();
        }));
        it.elicitation = Some(with(ElicitationCapability::default(), |it| {
            it.form = object();
            it.url = object();
        }));
        it.extensions = None;
    })
    .with_extension("com.example/x", RawJson::empty_object())
}

pub(super) fn input_required() -> InputRequiredResult {
    with(
        InputRequiredResult::new(input_requests(), Some("state".to_owned())),
        |it| {
            it.meta = Some(result_meta());
        },
    )
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
    with(Root::new("file:///home"), |it| {
        it.name = Some("Home".to_owned());
        it.meta = Some(plain_meta());
    })
}

fn list_roots() -> ListRootsRequest {
    with(ListRootsRequest::default(), |it| {
        it.params = Some(with(ListRootsParams::default(), |it| {
            it.meta = Some(plain_meta());
        }));
    })
}

fn roots() -> ListRootsResult {
    with(ListRootsResult::default(), |it| {
        it.roots = vec![root()];
    })
}

fn hint() -> ModelHint {
    with(ModelHint::default(), |it| {
        it.name = Some("claude".to_owned());
    })
}

fn preferences() -> ModelPreferences {
    with(ModelPreferences::default(), |it| {
        it.hints = Some(vec![hint()]);
        it.cost_priority = Some(0.into());
        it.speed_priority = Some(1.into());
        it.intelligence_priority = Number::from_f64(0.25);
    })
}

fn message() -> SamplingMessage {
    with(
        SamplingMessage::assistant(content::sampling_blocks()),
        |it| {
            it.meta = Some(plain_meta());
        },
    )
}

fn create_params() -> CreateMessageParams {
    with(CreateMessageParams::new(vec![message()], 100), |it| {
        it.model_preferences = Some(preferences());
        it.system_prompt = Some("Be brief".to_owned());
        it.include_context = Some(IncludeContext::ThisServer);
        it.temperature = Number::from_f64(0.7);
        it.stop_sequences = Some(vec!["END".to_owned()]);
        it.metadata = Some(json(&json!({ "a": "b" })));
        it.tools = Some(vec![tool::tool()]);
        it.tool_choice = Some(with(ToolChoice::default(), |it| {
            it.mode = Some(ToolChoiceMode::Auto);
        }));
    })
}

fn create_request() -> CreateMessageRequest {
    CreateMessageRequest::new(create_params())
}

fn create_result() -> CreateMessageResult {
    with(
        CreateMessageResult::new("claude", Content::text("Paris")),
        |it| {
            it.stop_reason = Some("endTurn".to_owned());
            it.meta = Some(plain_meta());
        },
    )
}

fn accepted() -> ElicitResult {
    ElicitResult::accept(json(&json!({
        "name": "x", "age": 3, "sure": true, "colors": ["red"],
    })))
}
