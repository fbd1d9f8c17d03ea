use callgate_wire::content::{
    Annotations, AudioContent, Content, EmbeddedResource, ImageContent, ResourceLink, Role,
    TextContent, ToolResultContent, ToolUseContent,
};
use callgate_wire::resource::ResourceContents;
use callgate_wire::{Number, RawJson};
use serde_json::json;

use super::{plain_meta, resource};
use crate::sample::{Sample, json, value, with};

pub(super) fn samples() -> Vec<Sample> {
    let mut samples = vec![
        value("Annotations", &annotations()),
        value("Role", &Role::User),
        value("Role", &Role::Assistant),
        value("TextContent", &text()),
        value("ImageContent", &image()),
        value("AudioContent", &audio()),
        value("EmbeddedResource", &embedded()),
        value(
            "EmbeddedResource",
            &EmbeddedResource::new(ResourceContents::blob("file:///a", &[1, 2, 3])),
        ),
        value("ResourceLink", &link()),
        value("ToolUseContent", &tool_use()),
        value("ToolResultContent", &tool_result()),
    ];
    let blocks = blocks();
    samples.extend(blocks.iter().map(|block| value("ContentBlock", block)));
    samples.extend(
        sampling_blocks()
            .iter()
            .map(|block| value("SamplingMessageContentBlock", block)),
    );
    samples
}

pub(super) fn annotations() -> Annotations {
    with(Annotations::default(), |it| {
        it.audience = Some(vec![Role::User, Role::Assistant]);
        it.priority = Number::from_f64(0.5);
        it.last_modified = Some("2026-07-28T12:00:00Z".to_owned());
    })
}

/// One block of each type that tools and prompts use.
pub(super) fn blocks() -> Vec<Content> {
    vec![
        Content::Text(text()),
        Content::Image(image()),
        Content::Audio(audio()),
        Content::Resource(embedded()),
        Content::ResourceLink(link()),
    ]
}

/// One block of each type that models use.
pub(super) fn sampling_blocks() -> Vec<Content> {
    vec![
        Content::Text(text()),
        Content::Image(image()),
        Content::Audio(audio()),
        Content::ToolUse(tool_use()),
        Content::ToolResult(tool_result()),
    ]
}

fn text() -> TextContent {
    with(TextContent::new("line\n\"two\""), |it| {
        it.annotations = Some(annotations());
        it.meta = Some(plain_meta());
    })
}

fn image() -> ImageContent {
    with(ImageContent::new(&[0xff; 5], "image/png"), |it| {
        it.annotations = Some(annotations());
        it.meta = Some(plain_meta());
    })
}

fn audio() -> AudioContent {
    with(AudioContent::new(&[0xff; 4], "audio/wav"), |it| {
        it.annotations = Some(annotations());
        it.meta = Some(plain_meta());
    })
}

fn embedded() -> EmbeddedResource {
    with(
        EmbeddedResource::new(ResourceContents::text("file:///a", "text")),
        |it| {
            it.annotations = Some(annotations());
            it.meta = Some(plain_meta());
        },
    )
}

fn link() -> ResourceLink {
    resource::resource().into()
}

fn tool_use() -> ToolUseContent {
    with(
        ToolUseContent::new("call-1", "get_weather", json(&json!({ "city": "Paris" }))),
        |it| {
            it.meta = Some(plain_meta());
        },
    )
}

fn tool_result() -> ToolResultContent {
    with(
        ToolResultContent::new("call-1", vec![Content::text("sunny")]),
        |it| {
            it.structured_content = Some(RawJson::null());
            it.is_error = Some(true);
            it.meta = Some(plain_meta());
        },
    )
}
