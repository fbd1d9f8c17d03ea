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
    let result = with(PingResult::default(), |it| it.meta = Some(plain_meta()));
    let roots = vec![Root::new("file:///home")];
    let roots = with(ListRootsResult::new(roots), |it| {
        it.meta = Some(plain_meta());
    });
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
    let page = ElicitUrlParams::new("Please sign in", "e-1", "https://example.com/login");
    let page = with(page, |it| {
        it.meta = Some(request_meta());
        it.task = Some(TaskMetadata::new(1));
    });
    let complete = ElicitationCompleteParams::new("e-1");
    let required = UrlElicitationRequiredData::new(vec![page.clone()]);
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
    with(ClientCapabilities::default(), |it| {
        it.experimental = Some([("x", json(&json!({ "y": 1 })))].into_iter().collect());
        it.roots = list();
        it.sampling = Some(with(SamplingCapability::default(), |it| {
            it.context = object();
            it.tools = object();
        }));
        it.elicitation = Some(with(ElicitationCapability::default(), |it| {
            it.form = object();
            it.url = object();
        }));
        it.tasks = (version >= Version::V2025_11_25).then(task::client_capability);
        it.extensions = Some(
            [("com.example/x", RawJson::empty_object())]
                .into_iter()
                .collect(),
        );
    })
}

fn server_capabilities(version: Version) -> ServerCapabilities {
    with(ServerCapabilities::default(), |it| {
        it.experimental = Some([("x", json(&json!({ "y": 1 })))].into_iter().collect());
        it.logging = object();
        it.completions = object();
        it.prompts = list();
        it.resources = Some(with(ResourcesCapability::default(), |it| {
            it.subscribe = Some(true);
            it.list_changed = Some(true);
        }));
        it.tools = list();
        it.tasks = (version >= Version::V2025_11_25).then(task::server_capability);
        it.extensions = Some(
            [("com.example/x", RawJson::empty_object())]
                .into_iter()
                .collect(),
        );
    })
}

fn initialize_params(version: Version) -> InitializeParams {
    let client = Implementation::new("client", "1.0.0");
    let capabilities = client_capabilities(version);
    with(
        InitializeParams::new(version.to_string(), capabilities, client),
        |it| it.meta = Some(request_meta()),
    )
}

fn initialize_result(version: Version) -> InitializeResult {
    let server = Implementation::new("server", "1.0.0");
    let capabilities = server_capabilities(version);
    with(
        InitializeResult::new(version.to_string(), capabilities, server),
        |it| {
            it.instructions = Some("Be nice".to_owned());
            it.meta = Some(plain_meta());
        },
    )
}

fn set_level() -> SetLevelParams {
    with(SetLevelParams::new(LogLevel::Warning), |it| {
        it.meta = Some(request_meta());
    })
}

fn subscribe() -> SubscribeParams {
    with(SubscribeParams::new("file:///a"), |it| {
        it.meta = Some(request_meta());
    })
}

fn cancelled() -> CancelledParams {
    with(CancelledParams::new(Id::number(3)), |it| {
        it.meta = Some(plain_meta());
        it.reason = Some("No longer needed".to_owned());
    })
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
