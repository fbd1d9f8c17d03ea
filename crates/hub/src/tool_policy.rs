use std::collections::BTreeMap;

use callgate_mcp::wire::{ArrayWriter, ObjectEdit, Splice};
use callgate_mcp::{Error, RawJson};

use crate::tool_pattern::ToolPattern;

/// Filter and changes of the tools of one server.
///
/// Patterns and keys are the server's own names of its tools. The filter and the changes are applied
/// once, when the server sends its list; a tool that is not offered is unknown to callers.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ToolPolicy {
    /// Patterns of the tools that are offered; `None` offers all.
    pub allow: Option<Vec<ToolPattern>>,
    /// Patterns of the tools that are not offered, even if they are allowed.
    pub deny: Vec<ToolPattern>,
    /// Changes of single tools.
    pub changes: BTreeMap<String, ToolChange>,
}

/// Change of one tool.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ToolChange {
    /// Name in place of the server's own; the name of the server is still put in front of it.
    pub name: Option<String>,
    /// Description in place of the server's own.
    pub description: Option<String>,
    /// True if the tool is not offered.
    pub hidden: bool,
    /// Arguments with fixed values: callers do not see them, and cannot set them.
    pub fixed: BTreeMap<String, RawJson>,
    /// Arguments with default values: callers see the default and may set another value.
    pub defaults: BTreeMap<String, RawJson>,
}

impl ToolPolicy {
    /// A policy that offers every tool as it is.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// True if callers are offered the tool that the server calls `own`.
    #[must_use]
    pub fn offers(&self, own: &str) -> bool {
        let fits = |patterns: &[ToolPattern]| patterns.iter().any(|pattern| pattern.matches(own));
        let is_hidden = self.change(own).is_some_and(|change| change.hidden);
        !is_hidden && !fits(&self.deny) && self.allow.as_deref().is_none_or(fits)
    }

    /// The change of the tool that the server calls `own`.
    #[must_use]
    pub fn change(&self, own: &str) -> Option<&ToolChange> {
        self.changes.get(own)
    }
}

impl ToolChange {
    /// A change that changes nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The definition of the tool with these changes but the name.
    ///
    /// A part of the definition that has another shape than the specification says stays as it is.
    /// Only `properties` and `required` of the input schema are changed; a schema that names an
    /// argument elsewhere, as in `oneOf`, still does so.
    #[must_use]
    pub fn definition(&self, sent: &RawJson) -> RawJson {
        let mut edit = ObjectEdit::new(sent);
        if let Some(description) = &self.description {
            edit.set("description", RawJson::string(description));
        }
        if let Some(schema) = edit.get("inputSchema") {
            let changed = self.schema(&schema);
            if changed != schema {
                edit.set("inputSchema", changed);
            }
        }
        edit.finish()
    }

    /// The arguments that the server gets for those of a caller.
    ///
    /// # Errors
    /// The arguments are not an object.
    pub(crate) fn arguments(&self, sent: Option<RawJson>) -> Result<Option<RawJson>, Error> {
        if self.fixed.is_empty() && self.defaults.is_empty() {
            return Ok(sent);
        }
        let sent = sent.unwrap_or_else(RawJson::empty_object);
        if !sent.is_object() {
            return Err(Error::invalid_params("`arguments` must be an object"));
        }
        // A key that is there twice must not bring back a value in place of the fixed one.
        let mut arguments = sent;
        for key in self.fixed.keys() {
            arguments = without(arguments, key);
        }
        let mut edit = ObjectEdit::new(&arguments);
        for (key, value) in &self.fixed {
            edit.set(key, value.clone());
        }
        for (key, value) in &self.defaults {
            if edit.get(key).is_none() && !self.fixed.contains_key(key) {
                edit.set(key, value.clone());
            }
        }
        Ok(Some(edit.finish()))
    }

    fn schema(&self, sent: &RawJson) -> RawJson {
        let mut edit = ObjectEdit::new(sent);
        if let Some(properties) = edit.get("properties") {
            let changed = self.properties(properties.clone());
            if changed != properties {
                edit.set("properties", changed);
            }
        }
        if let Some(required) = edit.get("required") {
            let changed = self.required(&required);
            if changed.as_ref() != Some(&required) {
                edit.set_or_remove("required", changed);
            }
        }
        edit.finish()
    }

    fn properties(&self, sent: RawJson) -> RawJson {
        let mut properties = sent;
        for key in self.fixed.keys() {
            properties = without(properties, key);
        }
        for (key, value) in &self.defaults {
            if properties.get(key).is_some_and(|schema| schema.is_object()) {
                let path = &[key.as_str(), "default"];
                let edited = Splice::new(&properties).set(path, value).finish();
                properties = edited.unwrap_or(properties);
            }
        }
        properties
    }

    /// The required arguments that callers must still give; `None` if there are none, since older
    /// drafts of JSON Schema forbid an empty list.
    fn required(&self, sent: &RawJson) -> Option<RawJson> {
        let is_given = |name: &RawJson| {
            let name = name.text();
            name.is_some_and(|name| {
                self.fixed.contains_key(&*name) || self.defaults.contains_key(&*name)
            })
        };
        let names = sent.elements();
        if !names.iter().any(is_given) {
            return Some(sent.clone());
        }
        let mut required = ArrayWriter::new();
        let mut left = names.iter().filter(|name| !is_given(name)).peekable();
        left.peek()?;
        left.for_each(|name| required.push(name));
        Some(required.finish())
    }
}

/// The object without the member `key`, however often it is there.
fn without(object: RawJson, key: &str) -> RawJson {
    let mut object = object;
    while object.get(key).is_some() {
        match Splice::new(&object).remove(&[key]).finish() {
            Ok(edited) => object = edited,
            Err(_) => break,
        }
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> RawJson {
        serde_json::from_str(text).unwrap()
    }

    fn values(values: &[(&str, &str)]) -> BTreeMap<String, RawJson> {
        let value = |(key, value): &(&str, &str)| ((*key).to_owned(), raw(value));
        values.iter().map(value).collect()
    }

    fn change() -> ToolChange {
        ToolChange {
            description: Some("Reads \"one\" file".to_owned()),
            fixed: values(&[("root", "\"/srv\""), ("deep", "1e2")]),
            defaults: values(&[("lines", "10"), ("unknown", "1"), ("any", "[]")]),
            ..ToolChange::new()
        }
    }

    #[test]
    fn tools_are_offered_by_patterns_and_changes() {
        let hidden = ToolChange {
            hidden: true,
            ..ToolChange::new()
        };
        let policy = ToolPolicy {
            allow: Some(vec!["read_*".into(), "list".into()]),
            deny: vec!["*_secret".into()],
            changes: BTreeMap::from([("read_hidden".to_owned(), hidden)]),
        };
        let offered = |own: &&str| policy.offers(own);
        let tools = ["read_file", "list", "write", "read_secret", "read_hidden"];
        assert_eq!(
            tools.into_iter().filter(offered).collect::<Vec<_>>(),
            ["read_file", "list"]
        );
        assert!(ToolPolicy::new().offers("anything"));
        let mut none = ToolPolicy::new();
        none.allow = Some(Vec::new());
        assert!(!none.offers("anything"));
    }

    #[test]
    fn a_definition_keeps_every_byte_that_is_not_changed() {
        let sent = raw(
            r#"{ "x":1.00,"name":"read","description":"old","inputSchema":{"type":"object","properties":{"root":{"type":"string"},"lines":{"type":"integer", "z":1},"any":true,"p":{}},"required":["root","p","lines"],"$defs":{}},"_meta":{"k":[ ]}}"#,
        );
        assert_eq!(
            change().definition(&sent).as_str(),
            r#"{"x":1.00,"name":"read","description":"Reads \"one\" file","inputSchema":{"type":"object","properties":{"lines":{"type":"integer", "z":1,"default":10},"any":true,"p":{}},"required":["p"],"$defs":{}},"_meta":{"k":[ ]}}"#
        );
        assert_eq!(ToolChange::new().definition(&sent), sent);
    }

    #[test]
    fn a_schema_without_required_arguments_has_no_empty_list() {
        let definition = |schema: &str| {
            let sent = raw(&format!(r#"{{"inputSchema":{schema}}}"#));
            let mut change = change();
            change.description = None;
            change.definition(&sent).get("inputSchema").unwrap()
        };
        for (sent, expect) in [
            (r#"{"required":["root"],"a":1}"#, r#"{"a":1}"#),
            (r#"{"required":[]}"#, r#"{"required":[]}"#),
            (
                r#"{"properties":[],"required":"root"}"#,
                r#"{"properties":[],"required":"root"}"#,
            ),
            (
                r#"{"properties":{"root":1,"root":2}}"#,
                r#"{"properties":{}}"#,
            ),
            ("true", "true"),
        ] {
            assert_eq!(definition(sent), raw(expect), "{sent}");
        }
    }

    #[test]
    fn fixed_values_replace_arguments_and_defaults_fill_gaps() {
        let arguments = |sent: Option<&str>| {
            let arguments = change().arguments(sent.map(raw));
            arguments.unwrap().unwrap()
        };
        let all = r#"{"deep":1e2,"root":"/srv","any":[],"lines":10,"unknown":1}"#;
        assert_eq!(arguments(None).as_str(), all);
        assert_eq!(arguments(Some("{}")).as_str(), all);
        assert_eq!(
            arguments(Some(
                r#"{"root":"/etc","p":1.0,"lines":null,"r\u006fot":"/home"}"#
            ))
            .as_str(),
            r#"{"p":1.0,"lines":null,"deep":1e2,"root":"/srv","any":[],"unknown":1}"#
        );
        let error = change().arguments(Some(raw("[1]"))).unwrap_err();
        assert_eq!(error.to_string(), "`arguments` must be an object");
        let unchanged = ToolChange::new().arguments(Some(raw("[1]")));
        assert_eq!(unchanged.unwrap(), Some(raw("[1]")));
    }

    #[test]
    fn a_fixed_value_comes_before_a_default() {
        let mut change = ToolChange::new();
        change.fixed = values(&[("a", "1")]);
        change.defaults = values(&[("a", "2")]);
        let arguments = change.arguments(None).unwrap().unwrap();
        assert_eq!(arguments.as_str(), r#"{"a":1}"#);
    }
}
