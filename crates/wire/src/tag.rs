//! Members that always have the same value, so that decoding one checks it.
//!
//! Each of these types is complete: it has one value by definition.

use serde::{Deserialize, Serialize};

macro_rules! tags {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[expect(clippy::exhaustive_enums, reason = "it has one value by definition")]
        pub enum $name {
            /// The only value.
            #[default]
            #[serde(rename = $text)]
            Value,
        }
    )*};
}

tags! {
    /// `"complete"`, the `resultType` of a final result.
    Complete = "complete";
    /// `"input_required"`, the `resultType` of a result that asks for input.
    InputRequired = "input_required";
    /// `"text"`, a content type.
    Text = "text";
    /// `"image"`, a content type.
    Image = "image";
    /// `"audio"`, a content type.
    Audio = "audio";
    /// `"resource"`, a content type.
    EmbeddedResource = "resource";
    /// `"resource_link"`, a content type.
    ResourceLink = "resource_link";
    /// `"tool_use"`, a content type.
    ToolUse = "tool_use";
    /// `"tool_result"`, a content type.
    ToolResult = "tool_result";
    /// `"ref/prompt"`, a completion reference.
    PromptReference = "ref/prompt";
    /// `"ref/resource"`, a completion reference.
    ResourceReference = "ref/resource";
    /// `"form"`, an elicitation mode.
    Form = "form";
    /// `"url"`, an elicitation mode.
    Url = "url";
    /// `"elicitation/create"`, an input request.
    ElicitationCreate = "elicitation/create";
    /// `"sampling/createMessage"`, an input request.
    SamplingCreateMessage = "sampling/createMessage";
    /// `"roots/list"`, an input request.
    RootsList = "roots/list";
    /// `"object"`, a JSON Schema type.
    Object = "object";
    /// `"string"`, a JSON Schema type.
    String = "string";
    /// `"boolean"`, a JSON Schema type.
    Boolean = "boolean";
    /// `"array"`, a JSON Schema type.
    Array = "array";
}
