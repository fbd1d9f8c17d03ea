//! The examples of the specification, each read as the type that its folder is named after.

use std::path::Path;

use bytes::BytesMut;
use callgate_wire::capabilities::{ClientCapabilities, ServerCapabilities};
use callgate_wire::completion::{CompleteParams, CompleteResult};
use callgate_wire::content::{
    AudioContent, Content, EmbeddedResource, ImageContent, ResourceLink, TextContent,
    ToolResultContent, ToolUseContent,
};
use callgate_wire::discover::{DiscoverParams, DiscoverResult};
use callgate_wire::elicitation::{
    BooleanSchema, ElicitFormParams, ElicitRequest, ElicitResult, ElicitUrlParams, NumberSchema,
    PrimitiveSchema, StringSchema, TitledMultiSelectEnumSchema, TitledSingleSelectEnumSchema,
    UntitledMultiSelectEnumSchema, UntitledSingleSelectEnumSchema,
};
use callgate_wire::error_data::{
    MissingRequiredClientCapabilityData, UnsupportedProtocolVersionData,
};
use callgate_wire::input::{InputRequest, InputRequests, InputRequiredResult, InputResponses};
use callgate_wire::logging::LoggingMessageParams;
use callgate_wire::pagination::PaginatedParams;
use callgate_wire::params::NotificationParams;
use callgate_wire::progress::ProgressParams;
use callgate_wire::prompt::{GetPromptParams, GetPromptResult, ListPromptsResult};
use callgate_wire::resource::{
    BlobResourceContents, ListResourceTemplatesResult, ListResourcesResult, ReadResourceParams,
    ReadResourceResult, Resource, ResourceContents, ResourceUpdatedParams, TextResourceContents,
};
use callgate_wire::result::Outcome;
use callgate_wire::roots::{ListRootsRequest, ListRootsResult, Root};
use callgate_wire::sampling::{
    CreateMessageParams, CreateMessageRequest, CreateMessageResult, ModelPreferences,
    SamplingMessage,
};
use callgate_wire::subscription::{
    SubscriptionsAcknowledgedParams, SubscriptionsListenParams, SubscriptionsListenResult,
};
use callgate_wire::tool::{CallToolParams, CallToolResult, ListToolsResult, Tool};
use callgate_wire::{Frame, Limits, RawJson, RpcError, cancel::CancelledParams, encode};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::canonical::canonical;
use crate::files;

/// Reads a value as one type and writes it again.
type Rewrite = fn(&RawJson) -> RawJson;

/// Reads and writes every example; gives how many there are, and of how many types.
pub(crate) fn check(dir: &Path) -> (usize, usize) {
    let mut count = 0;
    let types = files::names(dir);
    for name in &types {
        let rewrites = rewrites(name);
        assert!(!rewrites.is_empty(), "no type for the examples of {name}");
        for file in files::names(&dir.join(name)) {
            let example = files::read(&dir.join(name).join(&file));
            for rewrite in &rewrites {
                let written = rewrite(&example);
                assert_eq!(
                    canonical(&written),
                    canonical(&example),
                    "{name}/{file} is not what it was"
                );
            }
            count += 1;
        }
    }
    assert!(count > 0, "no examples in {dir:?}");
    (count, types.len())
}

/// Readers and writers of the examples of a type: by itself, and as a part of its unions.
fn rewrites(name: &str) -> Vec<Rewrite> {
    match name.strip_suffix("Params") {
        Some(_) => params(name),
        None if name.ends_with("Request") => request(name),
        None if name.ends_with("Notification") => notification(name),
        None if name.ends_with("ResultResponse") => response(name),
        None if name.ends_with("Error") => error(name),
        None if name.ends_with("Schema") => field(name),
        None => result(name).or_else(|| part(name)).unwrap_or_default(),
    }
}

fn params(name: &str) -> Vec<Rewrite> {
    vec![match name {
        "CallToolRequestParams" => value::<CallToolParams>,
        "CancelledNotificationParams" => value::<CancelledParams>,
        "CompleteRequestParams" => value::<CompleteParams>,
        "CreateMessageRequestParams" => value::<CreateMessageParams>,
        "ElicitRequestFormParams" => value::<ElicitFormParams>,
        "ElicitRequestURLParams" => value::<ElicitUrlParams>,
        "GetPromptRequestParams" => value::<GetPromptParams>,
        "LoggingMessageNotificationParams" => value::<LoggingMessageParams>,
        "PaginatedRequestParams" => value::<PaginatedParams>,
        "ProgressNotificationParams" => value::<ProgressParams>,
        "ResourceUpdatedNotificationParams" => value::<ResourceUpdatedParams>,
        _ => return Vec::new(),
    }]
}

fn request(name: &str) -> Vec<Rewrite> {
    match name {
        "CallToolRequest" => vec![message::<CallToolParams>],
        "CompleteRequest" => vec![message::<CompleteParams>],
        "CreateMessageRequest" => vec![value::<CreateMessageRequest>, value::<InputRequest>],
        "DiscoverRequest" => vec![message::<DiscoverParams>],
        "ElicitRequest" => vec![value::<ElicitRequest>, value::<InputRequest>],
        "GetPromptRequest" => vec![message::<GetPromptParams>],
        "ListPromptsRequest"
        | "ListResourceTemplatesRequest"
        | "ListResourcesRequest"
        | "ListToolsRequest" => vec![message::<PaginatedParams>],
        "ListRootsRequest" => vec![value::<ListRootsRequest>, value::<InputRequest>],
        "ReadResourceRequest" => vec![message::<ReadResourceParams>],
        "SubscriptionsListenRequest" => vec![message::<SubscriptionsListenParams>],
        _ => Vec::new(),
    }
}

fn notification(name: &str) -> Vec<Rewrite> {
    vec![match name {
        "CancelledNotification" => message::<CancelledParams>,
        "LoggingMessageNotification" => message::<LoggingMessageParams>,
        "ProgressNotification" => message::<ProgressParams>,
        "PromptListChangedNotification"
        | "ResourceListChangedNotification"
        | "ToolListChangedNotification" => message::<NotificationParams>,
        "ResourceUpdatedNotification" => message::<ResourceUpdatedParams>,
        "SubscriptionsAcknowledgedNotification" => message::<SubscriptionsAcknowledgedParams>,
        _ => return Vec::new(),
    }]
}

fn response(name: &str) -> Vec<Rewrite> {
    vec![match name {
        "CallToolResultResponse" => message::<Outcome<CallToolResult>>,
        "CompleteResultResponse" => message::<CompleteResult>,
        "DiscoverResultResponse" => message::<DiscoverResult>,
        "GetPromptResultResponse" => message::<Outcome<GetPromptResult>>,
        "ListPromptsResultResponse" => message::<ListPromptsResult>,
        "ListResourceTemplatesResultResponse" => message::<ListResourceTemplatesResult>,
        "ListResourcesResultResponse" => message::<ListResourcesResult>,
        "ListToolsResultResponse" => message::<ListToolsResult>,
        "ReadResourceResultResponse" => message::<Outcome<ReadResourceResult>>,
        "SubscriptionsListenResultResponse" => message::<SubscriptionsListenResult>,
        _ => return Vec::new(),
    }]
}

fn error(name: &str) -> Vec<Rewrite> {
    vec![match name {
        "HeaderMismatchError" => message::<RpcError>,
        "MissingRequiredClientCapabilityError" => error_data::<MissingRequiredClientCapabilityData>,
        "UnsupportedProtocolVersionError" => error_data::<UnsupportedProtocolVersionData>,
        "InternalError" | "InvalidParamsError" | "MethodNotFoundError" | "ParseError" => {
            value::<RpcError>
        }
        _ => return Vec::new(),
    }]
}

fn field(name: &str) -> Vec<Rewrite> {
    let own: Rewrite = match name {
        "BooleanSchema" => value::<BooleanSchema>,
        "NumberSchema" => value::<NumberSchema>,
        "StringSchema" => value::<StringSchema>,
        "TitledMultiSelectEnumSchema" => value::<TitledMultiSelectEnumSchema>,
        "TitledSingleSelectEnumSchema" => value::<TitledSingleSelectEnumSchema>,
        "UntitledMultiSelectEnumSchema" => value::<UntitledMultiSelectEnumSchema>,
        "UntitledSingleSelectEnumSchema" => value::<UntitledSingleSelectEnumSchema>,
        _ => return Vec::new(),
    };
    vec![own, known_field]
}

fn result(name: &str) -> Option<Vec<Rewrite>> {
    Some(match name {
        "CallToolResult" => vec![value::<CallToolResult>, value::<Outcome<CallToolResult>>],
        "CompleteResult" => vec![value::<CompleteResult>],
        "CreateMessageResult" => vec![value::<CreateMessageResult>],
        "DiscoverResult" => vec![value::<DiscoverResult>],
        "ElicitResult" => vec![value::<ElicitResult>],
        "GetPromptResult" => vec![value::<GetPromptResult>, value::<Outcome<GetPromptResult>>],
        "InputRequiredResult" => {
            vec![
                value::<InputRequiredResult>,
                value::<Outcome<CallToolResult>>,
            ]
        }
        "ListPromptsResult" => vec![value::<ListPromptsResult>],
        "ListResourceTemplatesResult" => vec![value::<ListResourceTemplatesResult>],
        "ListResourcesResult" => vec![value::<ListResourcesResult>],
        "ListRootsResult" => vec![value::<ListRootsResult>],
        "ListToolsResult" => vec![value::<ListToolsResult>],
        "ReadResourceResult" => vec![value::<ReadResourceResult>],
        "SubscriptionsListenResult" => vec![value::<SubscriptionsListenResult>],
        _ => return None,
    })
}

fn part(name: &str) -> Option<Vec<Rewrite>> {
    Some(match name {
        "AudioContent" => vec![value::<AudioContent>, known_content],
        "BlobResourceContents" => vec![value::<BlobResourceContents>, value::<ResourceContents>],
        "ClientCapabilities" => vec![value::<ClientCapabilities>],
        "EmbeddedResource" => vec![value::<EmbeddedResource>, known_content],
        "ImageContent" => vec![value::<ImageContent>, known_content],
        "InputRequests" => vec![value::<InputRequests>],
        "InputResponses" => vec![value::<InputResponses>, known_input_responses],
        "ModelPreferences" => vec![value::<ModelPreferences>],
        "Resource" => vec![value::<Resource>],
        "ResourceLink" => vec![value::<ResourceLink>, known_content],
        "Root" => vec![value::<Root>],
        "SamplingMessage" => vec![value::<SamplingMessage>],
        "ServerCapabilities" => vec![value::<ServerCapabilities>],
        "TextContent" => vec![value::<TextContent>, known_content],
        "TextResourceContents" => vec![value::<TextResourceContents>, value::<ResourceContents>],
        "Tool" => vec![value::<Tool>],
        "ToolResultContent" => vec![value::<ToolResultContent>, known_content],
        "ToolUseContent" => vec![value::<ToolUseContent>, known_content],
        _ => return None,
    })
}

fn value<T: Serialize + DeserializeOwned>(example: &RawJson) -> RawJson {
    let value: T = example
        .decode()
        .unwrap_or_else(|error| panic!("{error}: {example:?}"));
    RawJson::encode(&value).unwrap()
}

/// Reads a whole message, and its parameters, result or error as a `T`.
fn message<T: Serialize + DeserializeOwned>(example: &RawJson) -> RawJson {
    let mut out = BytesMut::new();
    match Frame::parse(&example.clone().into_bytes(), &Limits::default()).unwrap() {
        Frame::Request(request) => {
            let params = value::<T>(&request.params);
            encode::request(&mut out, &request.id, &request.method, &params);
        }
        Frame::Notification(notification) => {
            let params = value::<T>(&notification.params);
            encode::notification(&mut out, &notification.method, &params);
        }
        Frame::Response(response) => match response.outcome {
            Ok(result) => encode::result(&mut out, &response.id.unwrap(), &value::<T>(&result)),
            Err(error) => {
                encode::raw_error(&mut out, response.id.as_ref(), &value::<T>(&error));
            }
        },
    }
    RawJson::parse(out.freeze(), &Limits::default()).unwrap()
}

/// Reads an error response and the data in it.
fn error_data<T: Serialize + DeserializeOwned>(example: &RawJson) -> RawJson {
    let data = example.at(&["error", "data"]).unwrap();
    assert_eq!(canonical(&value::<T>(&data)), canonical(&data));
    message::<RpcError>(example)
}

fn known_content(example: &RawJson) -> RawJson {
    let content: Content = example.decode().unwrap();
    assert!(!matches!(content, Content::Other(_)), "{content:?}");
    RawJson::encode(&content).unwrap()
}

fn known_field(example: &RawJson) -> RawJson {
    let field: PrimitiveSchema = example.decode().unwrap();
    assert!(!matches!(field, PrimitiveSchema::Other(_)), "{field:?}");
    RawJson::encode(&field).unwrap()
}

/// Reads each answer as what it is, which only the one who asked can tell.
fn known_input_responses(example: &RawJson) -> RawJson {
    let answers: InputResponses = example.decode().unwrap();
    let rewritten = answers.iter().map(|(key, answer)| {
        let rewrite = match answer.as_raw() {
            answer if answer.get("action").is_some() => value::<ElicitResult>,
            answer if answer.get("model").is_some() => value::<CreateMessageResult>,
            _ => value::<ListRootsResult>,
        };
        (key, rewrite(answer.as_raw()).into())
    });
    RawJson::encode(&rewritten.collect::<InputResponses>()).unwrap()
}
