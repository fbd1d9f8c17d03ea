use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::content::Annotations;
use crate::meta_object::Meta;
use crate::tag;

/// Text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TextContent {
    /// Always text.
    #[serde(rename = "type")]
    pub tag: tag::Text,
    /// The text.
    pub text: String,
    /// Hints for its use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// An image.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ImageContent {
    /// Always an image.
    #[serde(rename = "type")]
    pub tag: tag::Image,
    /// The image in base64.
    pub data: String,
    /// The media type of the image.
    pub mime_type: String,
    /// Hints for its use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// Sound.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AudioContent {
    /// Always audio.
    #[serde(rename = "type")]
    pub tag: tag::Audio,
    /// The sound in base64.
    pub data: String,
    /// The media type of the sound.
    pub mime_type: String,
    /// Hints for its use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl TextContent {
    /// Text without annotations.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            tag: tag::Text::Value,
            text: text.into(),
            annotations: None,
            meta: None,
        }
    }
}

impl ImageContent {
    /// The image in these bytes.
    #[must_use]
    pub fn new(bytes: &[u8], mime_type: impl Into<String>) -> Self {
        Self {
            tag: tag::Image::Value,
            data: STANDARD.encode(bytes),
            mime_type: mime_type.into(),
            annotations: None,
            meta: None,
        }
    }
}

impl AudioContent {
    /// The sound in these bytes.
    #[must_use]
    pub fn new(bytes: &[u8], mime_type: impl Into<String>) -> Self {
        Self {
            tag: tag::Audio::Value,
            data: STANDARD.encode(bytes),
            mime_type: mime_type.into(),
            annotations: None,
            meta: None,
        }
    }
}
