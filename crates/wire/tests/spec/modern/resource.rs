use callgate_wire::cache::CacheScope;
use callgate_wire::input::InputResponses;
use callgate_wire::method;
use callgate_wire::pagination::PaginatedParams;
use callgate_wire::resource::{
    BlobResourceContents, ListResourceTemplatesResult, ListResourcesResult, ReadResourceParams,
    ReadResourceResult, Resource, ResourceContents, ResourceTemplate, ResourceUpdatedParams,
    TextResourceContents,
};

use super::content::annotations;
use super::{client, icon, notification_meta, plain_meta, request_meta, result_meta};
use crate::sample::{Sample, notification, request, response, value};

pub(super) fn samples() -> Vec<Sample> {
    let page = PaginatedParams {
        meta: Some(request_meta()),
        cursor: Some(String::new()),
    };
    let contents = [
        ResourceContents::Text(text()),
        ResourceContents::Blob(blob()),
    ];
    vec![
        value("Resource", &resource()),
        value("Resource", &Resource::new("file:///a", "a")),
        value("ResourceTemplate", &template()),
        value("TextResourceContents", &text()),
        value("BlobResourceContents", &blob()),
        value("ResourceContents", &contents[0]),
        value("ResourceContents", &contents[1]),
        request("ListResourcesRequest", method::RESOURCES_LIST, &page),
        value("ListResourcesResult", &resources()),
        value("ListResourcesResult", &ListResourcesResult::new(vec![])),
        response("ListResourcesResultResponse", &resources()),
        request(
            "ListResourceTemplatesRequest",
            method::RESOURCES_TEMPLATES_LIST,
            &page,
        ),
        value("ListResourceTemplatesResult", &templates()),
        response("ListResourceTemplatesResultResponse", &templates()),
        value("ReadResourceRequestParams", &read_params()),
        value("ResourceRequestParams", &read_params()),
        request(
            "ReadResourceRequest",
            method::RESOURCES_READ,
            &read_params(),
        ),
        value("ReadResourceResult", &read_result()),
        response("ReadResourceResultResponse", &read_result()),
        response("ReadResourceResultResponse", &client::input_required()),
        value("ResourceUpdatedNotificationParams", &updated()),
        notification(
            "ResourceUpdatedNotification",
            method::NOTIFICATIONS_RESOURCES_UPDATED,
            &updated(),
        ),
    ]
}

pub(super) fn resource() -> Resource {
    Resource {
        title: Some("A".to_owned()),
        description: Some("The letter".to_owned()),
        mime_type: Some("text/plain".to_owned()),
        size: Some(1),
        icons: Some(vec![icon()]),
        annotations: Some(annotations()),
        meta: Some(plain_meta()),
        ..Resource::new("file:///a", "a")
    }
}

pub(super) fn resources() -> ListResourcesResult {
    ListResourcesResult {
        next_cursor: Some("next".to_owned()),
        ttl_ms: Some(60_000),
        cache_scope: Some(CacheScope::Public),
        meta: Some(result_meta()),
        ..ListResourcesResult::new(vec![resource()])
    }
}

fn template() -> ResourceTemplate {
    ResourceTemplate {
        title: Some("Files".to_owned()),
        description: Some("All files".to_owned()),
        mime_type: Some("text/plain".to_owned()),
        icons: Some(vec![icon()]),
        annotations: Some(annotations()),
        meta: Some(plain_meta()),
        ..ResourceTemplate::new("file:///{path}", "files")
    }
}

fn templates() -> ListResourceTemplatesResult {
    ListResourceTemplatesResult {
        next_cursor: Some("next".to_owned()),
        meta: Some(result_meta()),
        ..ListResourceTemplatesResult::new(vec![template()])
    }
}

fn text() -> TextResourceContents {
    TextResourceContents {
        uri: "file:///a".to_owned(),
        mime_type: Some("text/plain".to_owned()),
        text: "a".to_owned(),
        meta: Some(plain_meta()),
    }
}

fn blob() -> BlobResourceContents {
    BlobResourceContents {
        uri: "file:///b".to_owned(),
        mime_type: Some("application/octet-stream".to_owned()),
        blob: "AQI=".to_owned(),
        meta: Some(plain_meta()),
    }
}

fn read_params() -> ReadResourceParams {
    ReadResourceParams {
        meta: Some(request_meta()),
        input_responses: Some(InputResponses::new()),
        request_state: Some("state".to_owned()),
        ..ReadResourceParams::new("file:///a")
    }
}

fn read_result() -> ReadResourceResult {
    ReadResourceResult {
        meta: Some(result_meta()),
        ..ReadResourceResult::new(vec![
            ResourceContents::Text(text()),
            ResourceContents::blob("file:///b", &[1]).with_mime_type("image/png"),
        ])
    }
}

fn updated() -> ResourceUpdatedParams {
    ResourceUpdatedParams {
        meta: Some(notification_meta()),
        ..ResourceUpdatedParams::new("file:///a")
    }
}
