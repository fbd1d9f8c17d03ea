use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use callgate_wire::RawJson;
use callgate_wire::tool::{CallToolResult, Tool};

use crate::router::schema::{CompiledSchema, MAX_BYTES};

/// The output schemas of the tools that lists have shown.
#[derive(Debug)]
pub(super) struct OutputSchemas {
    limit: usize,
    known: Mutex<HashMap<String, Arc<OutputSchema>>>,
}

/// The output schema of one tool, compiled when it is first needed.
struct OutputSchema {
    schema: RawJson,
    /// `None` if the schema cannot be checked.
    compiled: OnceLock<Option<CompiledSchema>>,
}

/// How the result of a tool breaks the tool's own promise.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Mismatch {
    #[error("tool `{tool}` promises structured content and gave none")]
    Missing { tool: String },
    #[error("tool `{tool}` gave structured content that breaks its output schema: {problem}")]
    Invalid { tool: String, problem: String },
}

impl OutputSchemas {
    /// Remembers the schemas of up to `limit` tools.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            known: Mutex::default(),
        }
    }

    /// Remembers the schemas of `tools`, which are all there are.
    pub(super) fn replace(&self, tools: &[Tool]) {
        let mut known = self.known();
        let mut before = std::mem::take(&mut *known);
        for tool in tools {
            let compiled = before.remove(&tool.name);
            self.remember(&mut known, tool, compiled);
        }
    }

    /// Remembers the schemas of `tools`, which are some of all.
    pub(super) fn add(&self, tools: &[Tool]) {
        let mut known = self.known();
        for tool in tools {
            let compiled = known.remove(&tool.name);
            self.remember(&mut known, tool, compiled);
        }
    }

    fn remember(
        &self,
        known: &mut HashMap<String, Arc<OutputSchema>>,
        tool: &Tool,
        compiled: Option<Arc<OutputSchema>>,
    ) {
        let Some(schema) = &tool.output_schema else {
            return;
        };
        if known.len() >= self.limit || schema.as_bytes().len() > MAX_BYTES {
            return;
        }
        let schema = compiled
            .filter(|compiled| compiled.schema == *schema)
            .unwrap_or_else(|| Arc::new(OutputSchema::new(schema)));
        known.insert(tool.name.clone(), schema);
    }

    /// Checks that a result keeps what its tool promised, as far as that is known.
    pub(super) fn check(&self, tool: &str, result: &CallToolResult) -> Result<(), Mismatch> {
        let Some(schema) = self.known().get(tool).cloned() else {
            return Ok(());
        };
        if result.is_error == Some(true) {
            return Ok(());
        }
        let tool = tool.to_owned();
        match &result.structured_content {
            None => Err(Mismatch::Missing { tool }),
            Some(content) => schema
                .check(content)
                .map_err(|problem| Mismatch::Invalid { tool, problem }),
        }
    }

    fn known(&self) -> MutexGuard<'_, HashMap<String, Arc<OutputSchema>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OutputSchema {
    fn new(schema: &RawJson) -> Self {
        Self {
            schema: schema.clone(),
            compiled: OnceLock::new(),
        }
    }

    /// Says what is wrong with `content`. A schema that cannot be checked finds nothing wrong.
    fn check(&self, content: &RawJson) -> Result<(), String> {
        let Some(schema) = self.compiled.get_or_init(|| compile(&self.schema)) else {
            return Ok(());
        };
        schema.check(content)
    }
}

impl fmt::Debug for OutputSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OutputSchema").field(&self.schema).finish()
    }
}

fn compile(schema: &RawJson) -> Option<CompiledSchema> {
    CompiledSchema::new(schema)
        .inspect_err(|error| {
            tracing::warn!(%error, "the output of a tool goes unchecked: its schema is unusable");
        })
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn raw(value: &Value) -> RawJson {
        RawJson::encode(value).unwrap()
    }

    fn tool(name: &str, schema: Option<&Value>) -> Tool {
        Tool {
            output_schema: schema.map(raw),
            ..Tool::new(name, "", raw(&json!({"type": "object"})))
        }
    }

    fn known(schemas: &OutputSchemas) -> Vec<String> {
        let mut names: Vec<String> = schemas.known().keys().cloned().collect();
        names.sort();
        names
    }

    fn check(schema: &Value, content: &Value) -> Result<(), String> {
        let schemas = OutputSchemas::new(1);
        schemas.add(&[tool("t", Some(schema))]);
        let result = CallToolResult::structured(raw(content));
        schemas
            .check("t", &result)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn structured_content_is_checked_whatever_its_type() {
        let number = json!({"type": "integer", "maximum": 3});
        assert_eq!(check(&number, &json!(3)), Ok(()));
        assert_eq!(
            check(&number, &json!(4)),
            Err(
                "tool `t` gave structured content that breaks its output schema: \
                 value is greater than the maximum of 3"
                    .to_owned()
            )
        );
        let object = json!({"properties": {"a": {"items": {"type": "string"}}}});
        assert_eq!(
            check(&object, &json!({"a": ["x", 7]})),
            Err(
                "tool `t` gave structured content that breaks its output schema: \
                 `/a/1`: value is not of type \"string\""
                    .to_owned()
            )
        );
    }

    #[test]
    fn content_is_promised_unless_the_tool_failed() {
        let schemas = OutputSchemas::new(9);
        schemas.add(&[tool("t", Some(&json!({}))), tool("free", None)]);
        let nothing = CallToolResult::text("x");
        let missing = Mismatch::Missing {
            tool: "t".to_owned(),
        };
        assert_eq!(schemas.check("t", &nothing), Err(missing));
        assert_eq!(schemas.check("t", &CallToolResult::error("x")), Ok(()));
        assert_eq!(schemas.check("free", &nothing), Ok(()));
        assert_eq!(schemas.check("unknown", &nothing), Ok(()));
    }

    #[test]
    fn a_schema_that_cannot_be_checked_finds_nothing_wrong() {
        for schema in [
            json!({"$ref": "https://a.example/schema.json"}),
            json!({"$ref": "file:///etc/passwd"}),
            json!({"type": 7}),
            json!({"pattern": "("}),
            json!({"pattern": "(((a{1000}){1000}){1000})"}),
        ] {
            assert_eq!(check(&schema, &json!("x")), Ok(()), "{schema}");
        }
    }

    #[test]
    fn a_schema_that_did_not_change_stays_compiled() {
        let schemas = OutputSchemas::new(9);
        let tools = [tool("t", Some(&json!({}))), tool("u", Some(&json!({})))];
        schemas.add(&tools);
        let compiled = schemas.known().get("t").cloned().unwrap();
        schemas.replace(&tools[..1]);
        assert_eq!(known(&schemas), ["t"]);
        assert!(Arc::ptr_eq(&compiled, schemas.known().get("t").unwrap()));
        schemas.add(&[tool("t", Some(&json!({"type": "null"})))]);
        assert!(!Arc::ptr_eq(&compiled, schemas.known().get("t").unwrap()));
        schemas.add(&[tool("t", None)]);
        assert_eq!(known(&schemas), [""; 0]);
    }

    #[test]
    fn only_so_many_and_only_so_long_schemas_are_remembered() {
        let schemas = OutputSchemas::new(2);
        let long = json!({"description": "x".repeat(MAX_BYTES)});
        let tools = ["a", "b", "c"].map(|name| tool(name, Some(&json!({}))));
        schemas.add(&[tool("long", Some(&long))]);
        schemas.add(&tools);
        assert_eq!(known(&schemas), ["a", "b"]);
    }
}
