//! Tools that answer with each kind of content.

use callgate_mcp::router::{RouteError, Router, ToolError, ToolRoute};
use callgate_mcp::wire::content::Content;
use callgate_mcp::wire::resource::ResourceContents;

/// A picture of one pixel.
pub(crate) const PNG: &[u8] = &[
    0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, b'I', b'H', b'D', b'R', 0, 0, 0,
    1, 0, 0, 0, 1, 8, 2, 0, 0, 0, 0x90, 0x77, 0x53, 0xde, 0, 0, 0, 12, b'I', b'D', b'A', b'T', 8,
    0xd7, 0x63, 0xf8, 0xcf, 0xc0, 0, 0, 3, 1, 1, 0, 0x18, 0xdd, 0x8d, 0xb0, 0, 0, 0, 0, b'I', b'E',
    b'N', b'D', 0xae, 0x42, 0x60, 0x82,
];

/// A sound of no samples.
const WAV: &[u8] = &[
    b'R', b'I', b'F', b'F', 36, 0, 0, 0, b'W', b'A', b'V', b'E', b'f', b'm', b't', b' ', 16, 0, 0,
    0, 1, 0, 1, 0, 0x40, 0x1f, 0, 0, 0x80, 0x3e, 0, 0, 2, 0, 16, 0, b'd', b'a', b't', b'a', 0, 0,
    0, 0,
];

pub(crate) fn add(router: &Router) -> Result<(), RouteError> {
    router.add_tool(ToolRoute::new(
        "test_simple_text",
        "Answers with text",
        simple_text,
    ))?;
    router.add_tool(ToolRoute::new(
        "test_image_content",
        "Answers with an image",
        image,
    ))?;
    router.add_tool(ToolRoute::new(
        "test_audio_content",
        "Answers with a sound",
        audio,
    ))?;
    router.add_tool(ToolRoute::new(
        "test_embedded_resource",
        "Answers with a resource",
        embedded,
    ))?;
    router.add_tool(ToolRoute::new(
        "test_multiple_content_types",
        "Answers with all kinds",
        mixed,
    ))?;
    router.add_tool(ToolRoute::new("test_error_handling", "Fails", fails))
}

async fn simple_text() -> &'static str {
    "This is a simple text response for testing."
}

async fn image() -> Content {
    Content::image(PNG, "image/png")
}

async fn audio() -> Content {
    Content::audio(WAV, "audio/wav")
}

async fn embedded() -> Content {
    let uri = "test://embedded-resource";
    let contents = ResourceContents::text(uri, "This is an embedded resource content.");
    Content::resource(contents.with_mime_type("text/plain"))
}

async fn mixed() -> Vec<Content> {
    let uri = "test://mixed-content-resource";
    let contents = ResourceContents::text(uri, r#"{"test":"data","value":123}"#);
    vec![
        Content::text("Multiple content types test:"),
        Content::image(PNG, "image/png"),
        Content::resource(contents.with_mime_type("application/json")),
    ]
}

async fn fails() -> Result<(), ToolError> {
    Err(ToolError::failed(
        "This tool intentionally returns an error for testing",
    ))
}
