use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::content::{Content, Role};
use crate::meta_object::Meta;
use crate::peek;
use crate::raw::{Kind, RawJson};

/// A message to or from a model.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SamplingMessage {
    /// Role of the speaker.
    pub role: Role,
    /// Content of the message.
    pub content: SamplingContent,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// One block of content, or a list of them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SamplingContent {
    /// One block.
    One(Box<Content>),
    /// A list.
    Many(Vec<Content>),
}

impl SamplingMessage {
    /// The user says `content`.
    #[must_use]
    pub fn user(content: impl Into<SamplingContent>) -> Self {
        Self {
            role: Role::User,
            content: content.into(),
            meta: None,
        }
    }

    /// The model says `content`.
    #[must_use]
    pub fn assistant(content: impl Into<SamplingContent>) -> Self {
        Self {
            role: Role::Assistant,
            content: content.into(),
            meta: None,
        }
    }
}

impl SamplingContent {
    /// The blocks, one or many.
    #[must_use]
    pub fn blocks(&self) -> &[Content] {
        match self {
            Self::One(block) => std::slice::from_ref(block),
            Self::Many(blocks) => blocks,
        }
    }
}

impl From<Content> for SamplingContent {
    fn from(block: Content) -> Self {
        Self::One(Box::new(block))
    }
}

impl From<Vec<Content>> for SamplingContent {
    fn from(blocks: Vec<Content>) -> Self {
        Self::Many(blocks)
    }
}

impl Serialize for SamplingContent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::One(block) => block.serialize(serializer),
            Self::Many(blocks) => blocks.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for SamplingContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawJson::deserialize(deserializer)?;
        match raw.kind() {
            Kind::Array => peek::decode(&raw).map(Self::Many),
            _ => peek::decode(&raw).map(Self::One),
        }
    }
}
