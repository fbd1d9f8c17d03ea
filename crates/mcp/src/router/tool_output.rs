use std::fmt::Display;

use callgate_wire::RawJson;
use callgate_wire::content::Content;
use callgate_wire::input::InputRequiredResult;
use callgate_wire::result::Outcome;
use callgate_wire::tool::CallToolResult;
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::Error;
use crate::schema;

/// Result of a tool handler.
pub trait ToolOutput {
    /// Output schema; `None` if there may be no structured content.
    #[must_use]
    fn output_schema() -> Option<RawJson> {
        None
    }

    /// Converts to the result of the protocol, or to input requests.
    ///
    /// # Errors
    /// The tool failed, or the request did.
    fn into_outcome(self) -> Result<Outcome<CallToolResult>, ToolError>;
}

/// Structured content, and the same as text for clients that do not read structured content.
///
/// The output schema of the tool is derived from the type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "it wraps one value")]
pub struct Json<T>(pub T);

/// Failure of a tool.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    /// The tool failed: a result with `isError`, whose message the model reads and may act on.
    #[error("{0}")]
    Failed(String),
    /// The request failed: a JSON-RPC error, which the model may never see.
    #[error(transparent)]
    Protocol(#[from] Error),
}

impl ToolError {
    /// Failure with a message for the model.
    #[must_use]
    pub fn failed(message: impl Display) -> Self {
        Self::Failed(message.to_string())
    }
}

impl ToolOutput for CallToolResult {
    fn into_outcome(self) -> Result<Outcome<CallToolResult>, ToolError> {
        Ok(Outcome::Complete(self))
    }
}

impl ToolOutput for () {
    fn into_outcome(self) -> Result<Outcome<CallToolResult>, ToolError> {
        CallToolResult::default().into_outcome()
    }
}

impl ToolOutput for String {
    fn into_outcome(self) -> Result<Outcome<CallToolResult>, ToolError> {
        CallToolResult::text(self).into_outcome()
    }
}

impl ToolOutput for &'static str {
    fn into_outcome(self) -> Result<Outcome<CallToolResult>, ToolError> {
        CallToolResult::text(self).into_outcome()
    }
}

impl ToolOutput for Content {
    fn into_outcome(self) -> Result<Outcome<CallToolResult>, ToolError> {
        vec![self].into_outcome()
    }
}

impl ToolOutput for Vec<Content> {
    fn into_outcome(self) -> Result<Outcome<CallToolResult>, ToolError> {
        CallToolResult::new(self).into_outcome()
    }
}

impl<T: Serialize + JsonSchema> ToolOutput for Json<T> {
    fn output_schema() -> Option<RawJson> {
        Some(schema::output_schema::<T>())
    }

    fn into_outcome(self) -> Result<Outcome<CallToolResult>, ToolError> {
        let value = RawJson::encode(&self.0).map_err(|error| {
            Error::internal("the result of the tool cannot be encoded as JSON").with_source(error)
        })?;
        CallToolResult::structured(value).into_outcome()
    }
}

impl ToolOutput for InputRequiredResult {
    fn into_outcome(self) -> Result<Outcome<CallToolResult>, ToolError> {
        Ok(Outcome::InputRequired(self))
    }
}

impl<O: ToolOutput> ToolOutput for Outcome<O> {
    fn output_schema() -> Option<RawJson> {
        O::output_schema()
    }

    fn into_outcome(self) -> Result<Outcome<CallToolResult>, ToolError> {
        self.and_then(O::into_outcome)
    }
}

impl<O: ToolOutput, E: Into<ToolError>> ToolOutput for Result<O, E> {
    fn output_schema() -> Option<RawJson> {
        O::output_schema()
    }

    fn into_outcome(self) -> Result<Outcome<CallToolResult>, ToolError> {
        self.map_err(Into::into)?.into_outcome()
    }
}
