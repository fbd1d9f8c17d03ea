use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::meta_object::Meta;
use crate::peek;
use crate::raw::RawJson;

/// Contents of a resource: text or bytes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ResourceContents {
    /// Text.
    Text(TextResourceContents),
    /// Bytes.
    Blob(BlobResourceContents),
}

/// Contents of a text resource.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TextResourceContents {
    /// The URI of the resource, or of a part of it.
    pub uri: String,
    /// The media type of the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The text.
    pub text: String,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// Contents of a binary resource.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct BlobResourceContents {
    /// The URI of the resource, or of a part of it.
    pub uri: String,
    /// The media type of the bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The bytes in base64.
    pub blob: String,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl TextResourceContents {
    /// Text without a media type.
    #[must_use]
    pub fn new(uri: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            mime_type: None,
            text: text.into(),
            meta: None,
        }
    }
}

impl BlobResourceContents {
    /// Bytes without a media type.
    #[must_use]
    pub fn new(uri: impl Into<String>, bytes: &[u8]) -> Self {
        Self {
            uri: uri.into(),
            mime_type: None,
            blob: STANDARD.encode(bytes),
            meta: None,
        }
    }
}

impl ResourceContents {
    /// Text without a media type.
    #[must_use]
    pub fn text(uri: impl Into<String>, text: impl Into<String>) -> Self {
        Self::Text(TextResourceContents::new(uri, text))
    }

    /// Bytes without a media type.
    #[must_use]
    pub fn blob(uri: impl Into<String>, bytes: &[u8]) -> Self {
        Self::Blob(BlobResourceContents::new(uri, bytes))
    }

    /// The same contents with a media type.
    #[must_use]
    pub fn with_mime_type(mut self, mime_type: impl Into<String>) -> Self {
        let slot = match &mut self {
            Self::Text(contents) => &mut contents.mime_type,
            Self::Blob(contents) => &mut contents.mime_type,
        };
        *slot = Some(mime_type.into());
        self
    }

    /// The URI of the resource, or of a part of it.
    #[must_use]
    pub fn uri(&self) -> &str {
        match self {
            Self::Text(contents) => &contents.uri,
            Self::Blob(contents) => &contents.uri,
        }
    }
}

impl Serialize for ResourceContents {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(contents) => contents.serialize(serializer),
            Self::Blob(contents) => contents.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ResourceContents {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawJson::deserialize(deserializer)?;
        if raw.get("text").is_some() {
            peek::decode(&raw).map(Self::Text)
        } else if raw.get("blob").is_some() {
            peek::decode(&raw).map(Self::Blob)
        } else {
            Err(D::Error::custom("contents must have `text` or `blob`"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_are_text_or_bytes() {
        let read = |text: &str| serde_json::from_str::<ResourceContents>(text);
        assert_eq!(
            read(r#"{"uri":"a:b","text":"t"}"#).unwrap(),
            ResourceContents::text("a:b", "t")
        );
        assert_eq!(
            read(r#"{"uri":"a:b","blob":"AQI=","mimeType":"m/n"}"#).unwrap(),
            ResourceContents::blob("a:b", &[1, 2]).with_mime_type("m/n")
        );
        assert!(read(r#"{"uri":"a:b"}"#).is_err());
    }
}
