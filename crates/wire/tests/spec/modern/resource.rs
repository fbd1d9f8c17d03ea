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
use crate::sample::{Sample, notification, request, response, value, with};

pub(super) fn samples() -> Vec<Sample> {
    let page = with(PaginatedParams::default(), |it| {
        it.meta = Some(request_meta());
        it.cursor = Some(String::new());
    });
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
    with(Resource::new("file:///a", "a"), |it| {
        it.title = Some("A".to_owned());
        it.description = Some("The letter".to_owned());
        it.mime_type = Some("text/plain".to_owned());
        it.size = Some(1);
        it.icons = Some(vec![icon()]);
        it.annotations = Some(annotations());
        it.meta = Some(plain_meta());
    })
}

pub(super) fn resources() -> ListResourcesResult {
    with(ListResourcesResult::new(vec![resource()]), |it| {
        it.next_cursor = Some("next".to_owned());
        it.ttl_ms = Some(60_000);
        it.cache_scope = Some(CacheScope::Public);
        it.meta = Some(result_meta());
    })
}

fn template() -> ResourceTemplate {
    with(ResourceTemplate::new("file:///{path}", "files"), |it| {
        it.title = Some("Files".to_owned());
        it.description = Some("All files".to_owned());
        it.mime_type = Some("text/plain".to_owned());
        it.icons = Some(vec![icon()]);
        it.annotations = Some(annotations());
        it.meta = Some(plain_meta());
    })
}

fn templates() -> ListResourceTemplatesResult {
    with(ListResourceTemplatesResult::new(vec![template()]), |it| {
        it.next_cursor = Some("next".to_owned());
        it.meta = Some(result_meta());
    })
}

fn text() -> TextResourceContents {
    with(TextResourceContents::new("file:///a", "a"), |it| {
        it.mime_type = Some("text/plain".to_owned());
        it.meta = Some(plain_meta());
    })
}

fn blob() -> BlobResourceContents {
    with(BlobResourceContents::new("file:///b", &[1, 2]), |it| {
        it.mime_type = Some("application/octet-stream".to_owned());
        it.meta = Some(plain_meta());
    })
}

fn read_params() -> ReadResourceParams {
    with(ReadResourceParams::new("file:///a"), |it| {
        it.meta = Some(request_meta());
        it.input_responses = Some(InputResponses::new());
        it.request_state = Some("state".to_owned());
    })
}

fn read_result() -> ReadResourceResult {
    with(
        ReadResourceResult::new(vec![
            ResourceContents::Text(text()),
            ResourceContents::blob("file:///b", &[1]).with_mime_type("image/png"),
        ]),
        |it| {
            it.meta = Some(result_meta());
        },
    )
}

fn updated() -> ResourceUpdatedParams {
    with(ResourceUpdatedParams::new("file:///a"), |it| {
        it.meta = Some(notification_meta());
    })
}
