//! Tools and their calls.

use serde::{Deserialize, Serialize};

use crate::cache::{self, CacheScope};
use crate::content::Content;
use crate::implementation::Icon;
use crate::input::InputResponses;
use crate::meta_object::Meta;
use crate::peek;
use crate::raw::RawJson;
use crate::tag;

/// A tool that a server offers.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Tool {
    /// The name to call it by.
    pub name: String,
    /// The name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Description of its effect, for people and models.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Icons to show, any of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icons: Option<Vec<Icon>>,
    /// A JSON Schema of its arguments, with `"type": "object"`.
    pub input_schema: RawJson,
    /// A JSON Schema of its structured content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<RawJson>,
    /// Hints about its effects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<ToolAnnotations>,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// Hints about the effects of a tool; a server may lie.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolAnnotations {
    /// The name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Read-only: the tool does not modify its environment; false if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// Destructive: the tool may delete or overwrite data; true if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// Idempotent: another call with the same arguments changes nothing more; false if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// Open world: the tool reaches systems outside of the server; true if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_world_hint: Option<bool>,
}

/// Parameters of `tools/list`.
pub type ListToolsParams = crate::pagination::PaginatedParams;

/// Result of `tools/list`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListToolsResult {
    /// Always complete.
    #[serde(default)]
    pub result_type: tag::Complete,
    /// One page of tools.
    pub tools: Vec<Tool>,
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

/// Parameters of `tools/call`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CallToolParams {
    /// Metadata; required on the wire.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// The tool.
    pub name: String,
    /// Its arguments, an object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<RawJson>,
    /// Answers to the input requests of the result before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_responses: Option<InputResponses>,
    /// The state of the result before, as it came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_state: Option<String>,
}

/// Result of `tools/call`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CallToolResult {
    /// Always complete.
    #[serde(default)]
    pub result_type: tag::Complete,
    /// Content of the result.
    #[serde(default)]
    pub content: Vec<Content>,
    /// Structured content: any JSON value that fits the output schema of the tool.
    #[serde(
        default,
        deserialize_with = "peek::present",
        skip_serializing_if = "Option::is_none"
    )]
    pub structured_content: Option<RawJson>,
    /// The tool failed, and the content says why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ToolAnnotations {
    /// Annotations without any hint.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the name for people.
    #[must_use]
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets the hint that it changes nothing.
    #[must_use]
    pub fn with_read_only(mut self, hint: bool) -> Self {
        self.read_only_hint = Some(hint);
        self
    }

    /// Sets the hint that it may destroy.
    #[must_use]
    pub fn with_destructive(mut self, hint: bool) -> Self {
        self.destructive_hint = Some(hint);
        self
    }

    /// Sets the hint that calling it again with the same arguments changes nothing more.
    #[must_use]
    pub fn with_idempotent(mut self, hint: bool) -> Self {
        self.idempotent_hint = Some(hint);
        self
    }

    /// Sets the hint that it deals with the outside world.
    #[must_use]
    pub fn with_open_world(mut self, hint: bool) -> Self {
        self.open_world_hint = Some(hint);
        self
    }
}

impl Tool {
    /// A tool without hints.
    #[must_use]
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        input_schema: RawJson,
    ) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: Some(description.into()),
            icons: None,
            input_schema,
            output_schema: None,
            annotations: None,
            meta: None,
        }
    }
}

impl ListToolsResult {
    /// List in one page that is not cached.
    #[must_use]
    pub fn new(tools: Vec<Tool>) -> Self {
        Self {
            result_type: tag::Complete::Value,
            tools,
            next_cursor: None,
            ttl_ms: Some(0),
            cache_scope: Some(CacheScope::Private),
            meta: None,
        }
    }
}

impl CallToolParams {
    /// Calls a tool with `arguments`, an object.
    #[must_use]
    pub fn new(name: impl Into<String>, arguments: RawJson) -> Self {
        Self {
            meta: None,
            name: name.into(),
            arguments: Some(arguments),
            input_responses: None,
            request_state: None,
        }
    }
}

impl CallToolResult {
    /// A result with this content.
    #[must_use]
    pub fn new(content: Vec<Content>) -> Self {
        Self {
            content,
            ..Self::default()
        }
    }

    /// A result that says `text`.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(vec![Content::text(text)])
    }

    /// The tool failed, and `text` says why.
    #[must_use]
    pub fn error(text: impl Into<String>) -> Self {
        Self {
            is_error: Some(true),
            ..Self::text(text)
        }
    }

    /// A result with structured content, and the same as text for clients that cannot read it.
    #[must_use]
    pub fn structured(value: RawJson) -> Self {
        let text = Self::text(value.as_str());
        Self {
            structured_content: Some(value),
            ..text
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_written_with_their_type() {
        let check = |result: CallToolResult, expect: &str| {
            assert_eq!(serde_json::to_string(&result).unwrap(), expect);
        };
        check(
            CallToolResult::text("hi"),
            r#"{"resultType":"complete","content":[{"type":"text","text":"hi"}]}"#,
        );
        check(
            CallToolResult::error("no"),
            r#"{"resultType":"complete","content":[{"type":"text","text":"no"}],"isError":true}"#,
        );
        check(
            CallToolResult::structured(RawJson::null()),
            r#"{"resultType":"complete","content":[{"type":"text","text":"null"}],"structuredContent":null}"#,
        );
    }

    #[test]
    fn structured_content_may_be_null() {
        let read = |text: &str| serde_json::from_str::<CallToolResult>(text).unwrap();
        assert_eq!(
            read(r#"{"structuredContent":null}"#).structured_content,
            Some(RawJson::null())
        );
        assert_eq!(read("{}"), CallToolResult::default());
    }

    #[test]
    fn a_result_of_another_type_is_refused() {
        let read = |text: &str| serde_json::from_str::<CallToolResult>(text);
        for result_type in ["input_required", "task", "other"] {
            let text = format!(r#"{{"resultType":"{result_type}","content":[]}}"#);
            assert!(read(&text).is_err(), "{text}");
        }
    }
}
