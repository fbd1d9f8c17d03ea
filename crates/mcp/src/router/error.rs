use super::schema::SchemaError;
use super::uri_template::UriTemplateError;
use crate::header_param::HeaderParamError;

/// Why something could not be added to a router.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RouteError {
    /// The name of a tool has characters that clients stumble over.
    #[error("tool name `{name}` must be 1 to 128 ASCII letters, digits, `_`, `-` and `.`")]
    ToolName {
        /// The name.
        name: String,
    },
    /// The input schema of a tool cannot be used.
    #[error("tool `{name}` has an input schema that cannot be used")]
    Schema {
        /// The name of the tool.
        name: String,
        /// What is wrong with it.
        #[source]
        source: SchemaError,
    },
    /// The output schema of a tool cannot be used.
    #[error("tool `{name}` has an output schema that cannot be used")]
    OutputSchema {
        /// The name of the tool.
        name: String,
        /// What is wrong with it.
        #[source]
        source: SchemaError,
    },
    /// The input schema of a tool maps arguments to headers in a way that is not allowed.
    #[error("tool `{name}` has a header annotation that cannot be used")]
    Header {
        /// The name of the tool.
        name: String,
        /// What is wrong with it.
        #[source]
        source: HeaderParamError,
    },
    /// The URI template of resources cannot be used.
    #[error("resource template `{uri_template}` cannot be used")]
    Template {
        /// The URI template.
        uri_template: String,
        /// What is wrong with it.
        #[source]
        source: UriTemplateError,
    },
}
