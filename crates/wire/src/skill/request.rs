use serde::{Deserialize, Serialize};

use crate::cache::{self, CacheScope};
use crate::meta_object::Meta;
use crate::resource::Resource;
use crate::skill::Skill;
use crate::tag;

/// The identifier of the extension in the capabilities of a server.
pub const EXTENSION: &str = "io.modelcontextprotocol/skills";

/// The media type of a folder.
pub const DIRECTORY: &str = "inode/directory";

/// Settings of the extension in the capabilities of a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SkillsCapability {
    /// It lists folders (`resources/directory/read`).
    #[serde(default)]
    pub directory_read: bool,
}

/// Parameters of `skills/list`.
pub type ListSkillsParams = crate::pagination::PaginatedParams;

/// Result of `skills/list`. It need not have all skills of the server.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListSkillsResult {
    /// Always complete.
    #[serde(default)]
    pub result_type: tag::Complete,
    /// One page of skills.
    pub skills: Vec<Skill>,
    /// Asks for the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// Time for which the result may be cached, in milliseconds.
    #[serde(
        default,
        deserialize_with = "cache::ttl_ms",
        skip_serializing_if = "Option::is_none"
    )]
    pub ttl_ms: Option<u64>,
    /// Scope in which the cached result may be shared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_scope: Option<CacheScope>,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// Parameters of `skills/get`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct GetSkillParams {
    /// Metadata; required on the wire.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// The URI of the `SKILL.md`.
    pub uri: String,
}

/// Result of `skills/get`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct GetSkillResult {
    /// Always complete.
    #[serde(default)]
    pub result_type: tag::Complete,
    /// The skill.
    pub skill: Skill,
    /// Time for which the result may be cached, in milliseconds.
    #[serde(
        default,
        deserialize_with = "cache::ttl_ms",
        skip_serializing_if = "Option::is_none"
    )]
    pub ttl_ms: Option<u64>,
    /// Scope in which the cached result may be shared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_scope: Option<CacheScope>,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// Parameters of `resources/directory/read`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ReadResourceDirectoryParams {
    /// Metadata; required on the wire.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// The URI of the folder, without a slash at its end.
    pub uri: String,
    /// The `nextCursor` of the page before; absent for the first page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// Result of `resources/directory/read`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ReadResourceDirectoryResult {
    /// Always complete.
    #[serde(default)]
    pub result_type: tag::Complete,
    /// One page of the files and folders in the folder; a folder has the media type [`DIRECTORY`].
    pub resources: Vec<Resource>,
    /// Asks for the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl SkillsCapability {
    /// Skills whose folders can be listed.
    #[must_use]
    pub const fn with_directories() -> Self {
        Self {
            directory_read: true,
        }
    }
}

impl ListSkillsResult {
    /// List in one page that is not cached.
    #[must_use]
    pub fn new(skills: Vec<Skill>) -> Self {
        Self {
            result_type: tag::Complete::Value,
            skills,
            next_cursor: None,
            ttl_ms: Some(0),
            cache_scope: Some(CacheScope::Private),
            meta: None,
        }
    }
}

impl GetSkillParams {
    /// Asks for the skill with this `SKILL.md`.
    #[must_use]
    pub fn new(uri: impl Into<String>) -> Self {
        Self {
            meta: None,
            uri: uri.into(),
        }
    }
}

impl GetSkillResult {
    /// Result that is not cached.
    #[must_use]
    pub fn new(skill: Skill) -> Self {
        Self {
            result_type: tag::Complete::Value,
            skill,
            ttl_ms: Some(0),
            cache_scope: Some(CacheScope::Private),
            meta: None,
        }
    }
}

impl ReadResourceDirectoryParams {
    /// Asks for the first page of the folder with this URI, or for the one that `cursor` leads to.
    #[must_use]
    pub fn new(uri: impl Into<String>, cursor: Option<&str>) -> Self {
        Self {
            meta: None,
            uri: uri.into(),
            cursor: cursor.map(str::to_owned),
        }
    }
}

impl ReadResourceDirectoryResult {
    /// Folder in one page.
    #[must_use]
    pub fn new(resources: Vec<Resource>) -> Self {
        Self {
            result_type: tag::Complete::Value,
            resources,
            next_cursor: None,
            meta: None,
        }
    }
}
