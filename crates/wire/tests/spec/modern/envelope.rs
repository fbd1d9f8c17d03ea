use callgate_wire::error_data::{
    MissingRequiredClientCapabilityData, UnsupportedProtocolVersionData,
};
use callgate_wire::pagination::PaginatedParams;
use callgate_wire::result::{EmptyResult, Outcome, ResultType};
use callgate_wire::tool::CallToolResult;
use callgate_wire::{Id, RawJson, RpcError, code, method};

use super::{
    client, icon, implementation, notification_meta, plain_meta, request_meta, result_meta, server,
    tool,
};
use crate::sample::{Sample, error_response, json, notification, request, response, value, with};

pub(super) fn samples() -> Vec<Sample> {
    [parts(), messages(), errors()]
        .into_iter()
        .flatten()
        .collect()
}

fn parts() -> Vec<Sample> {
    let empty = with(EmptyResult::default(), |it| {
        it.meta = Some(result_meta());
    });
    let any = json(&serde_json::json!({ "a": [1, "x", true] }));
    vec![
        value("Implementation", &implementation()),
        value("BaseMetadata", &implementation()),
        value("Icons", &implementation()),
        value("Icon", &icon()),
        value("MetaObject", &plain_meta()),
        value("RequestMetaObject", &request_meta()),
        value("ResultMetaObject", &result_meta()),
        value("NotificationMetaObject", &notification_meta()),
        value("RequestId", &Id::number(1)),
        value("RequestId", &Id::text("a")),
        value("ProgressToken", &Id::text("a")),
        value("Cursor", &"next".to_owned()),
        value("ResultType", &ResultType::Complete),
        value("ResultType", &ResultType::InputRequired),
        value("ResultType", &ResultType::Task),
        value("Result", &empty),
        value("EmptyResult", &empty),
        value("ClientResult", &empty),
        value("ServerResult", &server::discover_result()),
        value("ServerResult", &client::input_required()),
        value("ServerResult", &Outcome::Complete(tool::result())),
        value("JSONObject", &any),
        value("JSONValue", &any),
        value("JSONArray", &json(&serde_json::json!([1, "x"]))),
    ]
}

fn messages() -> Vec<Sample> {
    let page = with(PaginatedParams::default(), |it| {
        it.meta = Some(request_meta());
        it.cursor = None;
    });
    let result = with(CallToolResult::text("hi"), |it| {
        it.meta = Some(result_meta());
    });
    let mut samples = Vec::new();
    for name in ["JSONRPCRequest", "JSONRPCMessage", "ClientRequest"] {
        samples.push(request(name, method::TOOLS_LIST, &page));
    }
    for name in ["JSONRPCNotification", "JSONRPCMessage"] {
        let method = method::NOTIFICATIONS_CANCELLED;
        samples.push(notification(name, method, &server::cancelled()));
    }
    for name in ["JSONRPCResultResponse", "JSONRPCResponse", "JSONRPCMessage"] {
        samples.push(response(name, &result));
    }
    for name in ["JSONRPCErrorResponse", "JSONRPCResponse", "JSONRPCMessage"] {
        let error = RpcError::new(code::INVALID_PARAMS, "no").with_data(RawJson::null());
        samples.push(error_response(name, &error));
    }
    samples
}

fn errors() -> Vec<Sample> {
    let mut samples: Vec<_> = [
        ("Error", -1),
        ("ParseError", code::PARSE_ERROR),
        ("InvalidRequestError", code::INVALID_REQUEST),
        ("MethodNotFoundError", code::METHOD_NOT_FOUND),
        ("InvalidParamsError", code::INVALID_PARAMS),
        ("InternalError", code::INTERNAL_ERROR),
    ]
    .into_iter()
    .map(|(name, code)| {
        let error = RpcError::new(code, "no").with_data(RawJson::string("why"));
        value(name, &error)
    })
    .collect();
    let missing = with(MissingRequiredClientCapabilityData::default(), |it| {
        it.required_capabilities = client::capabilities();
    });
    let unsupported = with(UnsupportedProtocolVersionData::default(), |it| {
        it.supported = vec!["2026-07-28".to_owned()];
        it.requested = "1900-01-01".to_owned();
    });
    samples.extend([
        error_response(
            "HeaderMismatchError",
            &RpcError::new(code::HEADER_MISMATCH, "Mcp-Name differs"),
        ),
        error_response("MissingRequiredClientCapabilityError", &missing.into()),
        error_response("UnsupportedProtocolVersionError", &unsupported.into()),
    ]);
    samples
}
