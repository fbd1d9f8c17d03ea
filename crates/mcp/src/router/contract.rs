use callgate_wire::RawJson;
use callgate_wire::tool::{CallToolResult, Tool};

use super::error::RouteError;
use super::schema::CompiledSchema;

/// What a tool takes and what it promises to give, compiled once.
#[derive(Debug)]
pub(crate) struct Contract {
    name: String,
    input: CompiledSchema,
    output: Option<CompiledSchema>,
}

impl Contract {
    /// The contract that the description of a tool makes.
    pub(crate) fn of(tool: &Tool) -> Result<Self, RouteError> {
        let name = tool.name.clone();
        let input = match CompiledSchema::of_arguments(&tool.input_schema) {
            Ok(schema) => schema,
            Err(source) => return Err(RouteError::Schema { name, source }),
        };
        let output = match tool.output_schema.as_ref().map(CompiledSchema::new) {
            None => None,
            Some(Ok(schema)) => Some(schema),
            Some(Err(source)) => return Err(RouteError::OutputSchema { name, source }),
        };
        Ok(Self {
            name,
            input,
            output,
        })
    }

    /// Checks that arguments fit the schema, or says what to tell the model.
    pub(crate) fn check_arguments(&self, arguments: &RawJson) -> Result<(), String> {
        self.input
            .check(arguments)
            .map_err(|problem| format!("Invalid arguments for tool `{}`: {problem}", self.name))
    }

    /// Checks that a result fits the schema, or says what to tell the model instead.
    ///
    /// A result that says that the tool failed fits any.
    pub(crate) fn check_result(&self, result: &CallToolResult) -> Result<(), String> {
        let Some(schema) = &self.output else {
            return Ok(());
        };
        if result.is_error == Some(true) {
            return Ok(());
        }
        let checked = match &result.structured_content {
            None => Err("there is no structured content".to_owned()),
            Some(content) => schema.check(content),
        };
        checked.map_err(|problem| {
            let name = &self.name;
            format!("Tool `{name}` gave a result that breaks its output schema: {problem}")
        })
    }
}
