use serde::{Deserialize, Serialize};

use crate::content::Annotations;
use crate::implementation::Icon;
use crate::meta_object::Meta;
use crate::resource::{Resource, ResourceContents};
use crate::tag;

/// A resource with its contents.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EmbeddedResource {
    /// Always a resource.
    #[serde(rename = "type")]
    pub tag: tag::EmbeddedResource,
    /// Contents of the resource.
    pub resource: ResourceContents,
    /// Hints for its use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// A resource that can be read; it need not be in the list of resources.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ResourceLink {
    /// Always a resource link.
    #[serde(rename = "type")]
    pub tag: tag::ResourceLink,
    /// The URI to read it by.
    pub uri: String,
    /// The name for programs.
    pub name: String,
    /// The name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Description of the contents, for people and models.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The media type of its contents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The size of its contents in bytes, before any encoding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Icons to show, any of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icons: Option<Vec<Icon>>,
    /// Hints for its use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl EmbeddedResource {
    /// A resource without annotations.
    #[must_use]
    pub const fn new(resource: ResourceContents) -> Self {
        Self {
            tag: tag::EmbeddedResource::Value,
            resource,
            annotations: None,
            meta: None,
        }
    }
}

impl From<Resource> for ResourceLink {
    fn from(resource: Resource) -> Self {
        Self {
            tag: tag::ResourceLink::Value,
            uri: resource.uri,
            name: resource.name,
            title: resource.title,
            description: resource.description,
            mime_type: resource.mime_type,
            size: resource.size,
            icons: resource.icons,
            annotations: resource.annotations,
            meta: resource.meta,
        }
    }
}
