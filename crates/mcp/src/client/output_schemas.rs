use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use callgate_wire::RawJson;
use callgate_wire::tool::{CallToolResult, Tool};

use crate::mutex::Mutex;
use crate::schema::{CompiledSchema, MAX_BYTES, SchemaError};

/// Output schemas of the tools that the client has listed.
#[derive(Debug)]
pub(super) struct OutputSchemas {
    limit: usize,
    /// True if the log says that there are more tools than the limit.
    over_limit: AtomicBool,
    by_tool: Mutex<HashMap<String, Arc<OutputSchema>>>,
}

/// Output schema of one tool, compiled when it is first needed.
#[derive(Debug)]
struct OutputSchema {
    /// The schema, unless it is too large to be stored.
    schema: Result<RawJson, SchemaError>,
    /// `None` if nothing can be checked against the schema.
    compiled: OnceLock<Option<CompiledSchema>>,
}

/// Tool result that does not match the output schema of the tool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum OutputMismatch {
    #[error("tool `{tool}` has an output schema but returned no structured content")]
    Missing { tool: String },
    #[error("tool `{tool}` returned structured content that violates its output schema: {problem}")]
    Invalid { tool: String, problem: String },
}

impl OutputSchemas {
    /// Stores the schemas of up to `limit` tools.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            over_limit: AtomicBool::new(false),
            by_tool: Mutex::default(),
        }
    }

    /// Replaces the stored schemas by those of `tools`, a complete list.
    pub(super) fn replace(&self, tools: &[Tool]) {
        let mut by_tool = self.by_tool.lock();
        let mut before = std::mem::take(&mut *by_tool);
        for tool in tools {
            // A schema that did not change stays compiled.
            let compiled = before.remove(&tool.name);
            self.store(&mut by_tool, tool, compiled);
        }
    }

    /// Adds the schemas of `tools`, one page of the list.
    pub(super) fn add(&self, tools: &[Tool]) {
        let mut by_tool = self.by_tool.lock();
        for tool in tools {
            let compiled = by_tool.remove(&tool.name);
            self.store(&mut by_tool, tool, compiled);
        }
    }

    fn store(
        &self,
        by_tool: &mut HashMap<String, Arc<OutputSchema>>,
        tool: &Tool,
        compiled: Option<Arc<OutputSchema>>,
    ) {
        let Some(schema) = &tool.output_schema else {
            return;
        };
        // Tools over the limit can be called too: their results are not checked.
        if by_tool.len() >= self.limit {
            self.report_over_limit(&tool.name);
            return;
        }
        let bytes = schema.as_bytes().len();
        let schema = match bytes > MAX_BYTES {
            true => Err(SchemaError::TooLarge { bytes }),
            false => Ok(schema.clone()),
        };
        let schema = compiled
            .filter(|compiled| compiled.schema == schema)
            .unwrap_or_else(|| {
                Arc::new(OutputSchema {
                    schema,
                    compiled: OnceLock::new(),
                })
            });
        by_tool.insert(tool.name.clone(), schema);
    }

    fn report_over_limit(&self, tool: &str) {
        // A limit of zero is a choice.
        if self.limit > 0 && !self.over_limit.swap(true, Ordering::Relaxed) {
            let limit = self.limit;
            tracing::warn!(
                tool,
                limit,
                "the results of this tool and of others are not checked: \
                 more tools than the limit have output schemas"
            );
        }
    }

    /// Checks a result against the output schema of its tool, if that is stored.
    pub(super) fn check(&self, tool: &str, result: &CallToolResult) -> Result<(), OutputMismatch> {
        let Some(schema) = self.by_tool.lock().get(tool).cloned() else {
            return Ok(());
        };
        // A failed call has no structured content, or some other.
        if result.is_error == Some(true) {
            return Ok(());
        }
        match &result.structured_content {
            None => Err(OutputMismatch::Missing {
                tool: tool.to_owned(),
            }),
            Some(content) => {
                schema
                    .check(tool, content)
                    .map_err(|problem| OutputMismatch::Invalid {
                        tool: tool.to_owned(),
                        problem,
                    })
            }
        }
    }
}

impl OutputSchema {
    /// Returns the first violation in `content`. A schema that cannot be compiled has none.
    fn check(&self, tool: &str, content: &RawJson) -> Result<(), String> {
        let compiled = self.compiled.get_or_init(|| {
            compile(&self.schema)
                .inspect_err(|reason| {
                    tracing::warn!(tool, %reason, "the results of this tool are not checked against its output schema");
                })
                .ok()
        });
        compiled
            .as_ref()
            .map_or(Ok(()), |schema| schema.check(content))
    }
}

fn compile(schema: &Result<RawJson, SchemaError>) -> Result<CompiledSchema, SchemaError> {
    let compiled = CompiledSchema::new(schema.as_ref().map_err(Clone::clone)?)?;
    if cfg!(feature = "schema") {
        return Ok(compiled);
    }
    let reason = "this program was built without the feature `schema`";
    Err(SchemaError::Invalid(reason.to_owned()))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek};

    use super::*;
    use serde_json::{Value, json};

    fn raw(value: &Value) -> RawJson {
        RawJson::encode(value).unwrap()
    }

    fn tool(name: &str, schema: Option<&Value>) -> Tool {
        let mut tool = Tool::new(name, "", raw(&json!({"type": "object"})));
        tool.output_schema = schema.map(raw);
        tool
    }

    fn known(schemas: &OutputSchemas) -> Vec<String> {
        let mut names: Vec<String> = schemas.by_tool.lock().keys().cloned().collect();
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

    #[cfg(feature = "schema")]
    #[test]
    fn structured_content_of_any_type_is_checked() {
        let number = json!({"type": "integer", "maximum": 3});
        assert_eq!(check(&number, &json!(3)), Ok(()));
        assert_eq!(
            check(&number, &json!(4)),
            Err(
                "tool `t` returned structured content that violates its output schema: \
                 value is greater than the maximum of 3"
                    .to_owned()
            )
        );
        let object = json!({"properties": {"a": {"items": {"type": "string"}}}});
        assert_eq!(
            check(&object, &json!({"a": ["x", 7]})),
            Err(
                "tool `t` returned structured content that violates its output schema: \
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
        let missing = OutputMismatch::Missing {
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
        let compiled = schemas.by_tool.lock().get("t").cloned().unwrap();
        schemas.replace(&tools[..1]);
        assert_eq!(known(&schemas), ["t"]);
        assert!(Arc::ptr_eq(
            &compiled,
            schemas.by_tool.lock().get("t").unwrap()
        ));
        schemas.add(&[tool("t", Some(&json!({"type": "null"})))]);
        assert!(!Arc::ptr_eq(
            &compiled,
            schemas.by_tool.lock().get("t").unwrap()
        ));
        schemas.add(&[tool("t", None)]);
        assert_eq!(known(&schemas), [""; 0]);
    }

    #[test]
    fn only_so_many_and_only_so_long_schemas_are_remembered() {
        let schemas = OutputSchemas::new(3);
        let long = json!({"description": "x".repeat(MAX_BYTES)});
        let tools = ["a", "b", "c"].map(|name| tool(name, Some(&json!({}))));
        schemas.add(&[tool("long", Some(&long))]);
        schemas.add(&tools);
        assert_eq!(known(&schemas), ["a", "b", "long"]);
        let kept = schemas.by_tool.lock().get("long").cloned().unwrap();
        let bytes = raw(&long).as_bytes().len();
        assert_eq!(kept.schema, Err(SchemaError::TooLarge { bytes }));
    }

    #[test]
    fn a_tool_whose_results_are_not_checked_is_named_in_the_log_once() {
        let long = json!({"description": "x".repeat(MAX_BYTES)});
        let tools = [
            tool("outside", Some(&json!({"$ref": "https://a.example/"}))),
            tool("long", Some(&long)),
            tool("plain", Some(&json!({"type": "string"}))),
            tool("more", Some(&json!({}))),
            tool("most", Some(&json!({}))),
        ];
        let schemas = OutputSchemas::new(3);
        let content = CallToolResult::structured(raw(&json!("x")));
        let log = logged(|| {
            for _ in 0..3 {
                schemas.replace(&tools);
                for tool in &tools {
                    schemas.check(&tool.name, &content).unwrap();
                }
            }
        });
        let named: Vec<&str> = log
            .lines()
            .filter_map(|line| line.split_once("tool=\"")?.1.split('"').next())
            .collect();
        let expect: &[&str] = if cfg!(feature = "schema") {
            &["more", "outside", "long"]
        } else {
            &["more", "outside", "long", "plain"]
        };
        assert_eq!(named, expect, "{log}");
    }

    /// The log of `work`.
    fn logged(work: impl FnOnce()) -> String {
        let mut log = tempfile::tempfile().unwrap();
        let subscriber = tracing_subscriber::fmt()
            .with_ansi(false)
            .with_writer(std::sync::Mutex::new(log.try_clone().unwrap()));
        tracing::subscriber::with_default(subscriber.finish(), work);
        let mut text = String::new();
        log.rewind().unwrap();
        log.read_to_string(&mut text).unwrap();
        text
    }
}
