use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::content::{
    AudioContent, EmbeddedResource, ImageContent, ResourceLink, TextContent, ToolResultContent,
    ToolUseContent,
};
use crate::peek;
use crate::raw::RawJson;
use crate::resource::{Resource, ResourceContents};

/// One block of content; the spec calls it `ContentBlock`, and in messages of a model
/// `SamplingMessageContentBlock`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Content {
    /// Text.
    Text(TextContent),
    /// An image.
    Image(ImageContent),
    /// Sound.
    Audio(AudioContent),
    /// A resource with its contents.
    Resource(EmbeddedResource),
    /// A resource that can be read.
    ResourceLink(ResourceLink),
    /// A model calls a tool; only in messages of a model.
    ToolUse(ToolUseContent),
    /// The tool's answer to the model; only in messages to a model.
    ToolResult(ToolResultContent),
    /// Content of a type that this crate does not know, as it came.
    Other(RawJson),
}

impl Content {
    /// Text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextContent::new(text))
    }

    /// The image in these bytes.
    #[must_use]
    pub fn image(bytes: &[u8], mime_type: impl Into<String>) -> Self {
        Self::Image(ImageContent::new(bytes, mime_type))
    }

    /// The sound in these bytes.
    #[must_use]
    pub fn audio(bytes: &[u8], mime_type: impl Into<String>) -> Self {
        Self::Audio(AudioContent::new(bytes, mime_type))
    }

    /// A resource with its contents.
    #[must_use]
    pub fn resource(contents: ResourceContents) -> Self {
        Self::Resource(EmbeddedResource::new(contents))
    }

    /// A resource that can be read.
    #[must_use]
    pub fn resource_link(resource: Resource) -> Self {
        Self::ResourceLink(resource.into())
    }

    /// The text, if this is text.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(content) => Some(&content.text),
            _ => None,
        }
    }
}

impl Serialize for Content {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(content) => content.serialize(serializer),
            Self::Image(content) => content.serialize(serializer),
            Self::Audio(content) => content.serialize(serializer),
            Self::Resource(content) => content.serialize(serializer),
            Self::ResourceLink(content) => content.serialize(serializer),
            Self::ToolUse(content) => content.serialize(serializer),
            Self::ToolResult(content) => content.serialize(serializer),
            Self::Other(raw) => raw.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawJson::deserialize(deserializer)?;
        match peek::tag::<D::Error>(&raw, "type")?.as_str() {
            "text" => peek::decode(&raw).map(Self::Text),
            "image" => peek::decode(&raw).map(Self::Image),
            "audio" => peek::decode(&raw).map(Self::Audio),
            "resource" => peek::decode(&raw).map(Self::Resource),
            "resource_link" => peek::decode(&raw).map(Self::ResourceLink),
            "tool_use" => peek::decode(&raw).map(Self::ToolUse),
            "tool_result" => peek::decode(&raw).map(Self::ToolResult),
            _ => Ok(Self::Other(raw)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Content, serde_json::Error> {
        serde_json::from_str(text)
    }

    #[test]
    fn content_of_an_unknown_type_stays_as_it_came() {
        let text = r#"{"n":1.0,"type":"hologram","b":{"a":[]}}"#;
        let content = read(text).unwrap();
        assert!(matches!(content, Content::Other(_)), "{content:?}");
        assert_eq!(serde_json::to_string(&content).unwrap(), text);
    }

    #[test]
    fn content_is_read_by_its_type_wherever_that_stands() {
        assert_eq!(
            read(r#"{"text":"a","\u0074ype":"text"}"#).unwrap(),
            Content::text("a")
        );
        for text in [
            r#"{"type":"text"}"#,
            r#"{"text":"a"}"#,
            r#"{"type":7,"text":"a"}"#,
            r#"["text","a"]"#,
            "7",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
