//! Values for the types that only older revisions have.

mod task;

use callgate_wire::capabilities::{
    ElicitationCapability, ListCapability, ResourcesCapability, SamplingCapability,
};
use callgate_wire::implementation::Implementation;
use callgate_wire::legacy::cancel::CancelledParams;
use callgate_wire::legacy::capabilities::{ClientCapabilities, ServerCapabilities};
use callgate_wire::legacy::elicitation::{
    ElicitUrlParams, ElicitationCompleteParams, UrlElicitationRequiredData,
};
use callgate_wire::legacy::initialize::{InitializeParams, InitializeResult, InitializedParams};
use callgate_wire::legacy::logging::SetLevelParams;
use callgate_wire::legacy::method;
use callgate_wire::legacy::ping::{PingParams, PingResult};
use callgate_wire::legacy::roots::{ListRootsResult, RootsListChangedParams};
use callgate_wire::legacy::subscription::SubscribeParams;
use callgate_wire::legacy::task::TaskMetadata;
use callgate_wire::logging::LogLevel;
use callgate_wire::roots::Root;
use callgate_wire::{Id, Meta, RawJson, Version, meta, method as modern};
use serde_json::json;

use crate::sample::{Sample, error_response, json, notification, request, value, with};

/// The values for a revision.
pub(crate) fn samples(version: Version) -> Vec<Sample> {
    let mut samples = handshake(version);
    samples.extend(connection());
    if version >= Version::V2025_11_25 {
        samples.extend(params(version));
        samples.extend(elicitation());
        samples.extend(task::samples());
    }
    samples
}

fn handshake(version: Version) -> Vec<Sample> {
    vec![
        value("ClientCapabilities", &client_capabilities(version)),
        value("ClientCapabilities", &ClientCapabilities::default()),
        value("ServerCapabilities", &server_capabilities(version)),
        value("ServerCapabilities", &ServerCapabilities::default()),
        request(
            "InitializeRequest",
            method::INITIALIZE,
            &initialize_params(version),
        ),
        value("InitializeResult", &initialize_result(version)),
        notification(
            "InitializedNotification",
            method::NOTIFICATIONS_INITIALIZED,
            &with(InitializedParams::default(), |it| {
                it.meta = Some(plain_meta());
            }),
        ),
    ]
}

fn connection() -> Vec<Sample> {
    let ping = with(PingParams::default(), |it| {
        it.meta = Some(request_meta());
    });
    let result = PingResult {
        meta: Some(plain_meta()),
    };
    let roots = ListRootsResult {
        roots: vec![Root::new("file:///home")],
        meta: Some(plain_meta()),
    };
    let changed = with(RootsListChangedParams::default(), |it| {
        it.meta = Some(plain_meta());
    });
    vec![
        request("PingRequest", method::PING, &ping),
        value("EmptyResult", &result),
        value("EmptyResult", &PingResult::default()),
        request("SetLevelRequest", method::LOGGING_SET_LEVEL, &set_level()),
        request(
            "SubscribeRequest",
            method::RESOURCES_SUBSCRIBE,
            &subscribe(),
        ),
        request(
            "UnsubscribeRequest",
            method::RESOURCES_UNSUBSCRIBE,
            &subscribe(),
        ),
        value("ListRootsResult", &roots),
        notification(
            "RootsListChangedNotification",
            method::NOTIFICATIONS_ROOTS_LIST_CHANGED,
            &changed,
        ),
        notification(
            "CancelledNotification",
            modern::NOTIFICATIONS_CANCELLED,
            &cancelled(),
        ),
    ]
}

/// Parameters, which have a type of their own only in the last of these revisions.
fn params(version: Version) -> Vec<Sample> {
    vec![
        value("InitializeRequestParams", &initialize_params(version)),
        value("SetLevelRequestParams", &set_level()),
        value("SubscribeRequestParams", &subscribe()),
        value("UnsubscribeRequestParams", &subscribe()),
        value("CancelledNotificationParams", &cancelled()),
        value("CancelledNotificationParams", &CancelledParams::default()),
    ]
}

fn elicitation() -> Vec<Sample> {
    let page = ElicitUrlParams {
        meta: Some(request_meta()),
        task: Some(TaskMetadata { ttl: Some(1) }),
        ..ElicitUrlParams::new("Please sign in", "e-1", "https://example.com/login")
    };
    let complete = ElicitationCompleteParams {
        elicitation_id: "e-1".to_owned(),
    };
    let required = UrlElicitationRequiredData {
        elicitations: vec![page.clone()],
    };
    vec![
        value("ElicitRequestURLParams", &page),
        value("ElicitRequestParams", &page),
        request("ElicitRequest", modern::ELICITATION_CREATE, &page),
        notification(
            "ElicitationCompleteNotification",
            method::NOTIFICATIONS_ELICITATION_COMPLETE,
            &complete,
        ),
        error_response("URLElicitationRequiredError", &required.into()),
    ]
}

fn client_capabilities(version: Version) -> ClientCapabilities {
    ClientCapabilities {
        experimental: Some([("x", json(&json!({ "y": 1 })))].into_iter().collect()),
        roots: list(),
        sampling: Some(with(SamplingCapability::default(), |it| {
            it.context = object();
            it.tools = object();
        })),
        elicitation: Some(with(ElicitationCapability::default(), |it| {
            it.form = object();
            it.url = object();
        })),
        tasks: (version >= Version::V2025_11_25).then(task::client_capability),
        extensions: Some(
            [("com.example/x", RawJson::empty_object())]
                .into_iter()
                .collect(),
        ),
    }
}

fn server_capabilities(version: Version) -> ServerCapabilities {
    ServerCapabilities {
        experimental: Some([("x", json(&json!({ "y": 1 })))].into_iter().collect()),
        logging: object(),
        completions: object(),
        prompts: list(),
        resources: Some(with(ResourcesCapability::default(), |it| {
            it.subscribe = Some(true);
            it.list_changed = Some(true);
        })),
        tools: list(),
        tasks: (version >= Version::V2025_11_25).then(task::server_capability),
        extensions: Some(
            [("com.example/x", RawJson::empty_object())]
                .into_iter()
                .collect(),
        ),
    }
}

fn initialize_params(version: Version) -> InitializeParams {
    InitializeParams {
        meta: Some(request_meta()),
        protocol_version: version.to_string(),
        capabilities: client_capabilities(version),
        client_info: Implementation::new("client", "1.0.0"),
    }
}

fn initialize_result(version: Version) -> InitializeResult {
    InitializeResult {
        protocol_version: version.to_string(),
        capabilities: server_capabilities(version),
        server_info: Implementation::new("server", "1.0.0"),
        instructions: Some("Be nice".to_owned()),
        meta: Some(plain_meta()),
    }
}

fn set_level() -> SetLevelParams {
    SetLevelParams {
        meta: Some(request_meta()),
        ..SetLevelParams::new(LogLevel::Warning)
    }
}

fn subscribe() -> SubscribeParams {
    SubscribeParams {
        meta: Some(request_meta()),
        ..SubscribeParams::new("file:///a")
    }
}

fn cancelled() -> CancelledParams {
    CancelledParams {
        meta: Some(plain_meta()),
        request_id: Some(Id::number(3)),
        reason: Some("No longer needed".to_owned()),
    }
}

fn object() -> Option<RawJson> {
    Some(RawJson::empty_object())
}

fn list() -> Option<ListCapability> {
    Some(with(ListCapability::default(), |it| {
        it.list_changed = Some(true);
    }))
}

fn plain_meta() -> Meta {
    Meta::new().with("com.example/key", &1)
}

fn request_meta() -> Meta {
    Meta::new().with(meta::PROGRESS_TOKEN, &Id::number(7))
}
