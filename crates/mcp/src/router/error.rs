use super::uri_template::UriTemplateError;
use crate::header_param::HeaderParamError;
use crate::schema::SchemaError;

/// Refusal of a tool or resource template by a router.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RouteError {
    /// The name of a tool is empty, too long, or has characters that clients do not accept.
    #[error("tool name `{name}` must be 1 to 128 ASCII letters, digits, `_`, `-` and `.`")]
    ToolName {
        /// The name.
        name: String,
    },
    /// The input schema of a tool is invalid or exceeds a limit.
    #[error("the input schema of tool `{name}` was refused")]
    Schema {
        /// The name of the tool.
        name: String,
        /// Reason of the refusal.
        #[source]
        source: SchemaError,
    },
    /// The output schema of a tool is invalid or exceeds a limit.
    #[error("the output schema of tool `{name}` was refused")]
    OutputSchema {
        /// The name of the tool.
        name: String,
        /// Reason of the refusal.
        #[source]
        source: SchemaError,
    },
    /// The input schema of a tool maps arguments to HTTP headers in a way that is not allowed.
    #[error("a header annotation in the input schema of tool `{name}` was refused")]
    Header {
        /// The name of the tool.
        name: String,
        /// Reason of the refusal.
        #[source]
        source: HeaderParamError,
    },
    /// The URI template of a resource template is malformed or not supported.
    #[error("the URI template `{uri_template}` was refused")]
    Template {
        /// The URI template.
        uri_template: String,
        /// Reason of the refusal.
        #[source]
        source: UriTemplateError,
    },
}
