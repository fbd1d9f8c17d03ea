use std::borrow::Cow;
use std::sync::Arc;

use callgate_wire::header::{PARAM_PREFIX, decode_value, encode_value};
use callgate_wire::{Kind, LoneSurrogate, RawJson};

/// Tool parameter that HTTP requests mirror in a header, as `x-mcp-header` in the tool's input schema
/// demands.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HeaderParam {
    /// Whole name of the header in lower case, for example `mcp-param-region`.
    pub header: String,
    /// Path of the value in the arguments.
    pub path: Vec<String>,
}

/// Lookup of the header parameters of a tool by its name; `None` for an unknown tool.
pub type HeaderParams = Arc<dyn Fn(&str) -> Option<Arc<[HeaderParam]>> + Send + Sync>;

/// Invalid `x-mcp-header` annotation, which makes its tool unusable over HTTP.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeaderParamError {
    /// The annotation is not a string that is allowed in a header name.
    #[error("`x-mcp-header` of `{path}` must be a header token, not {annotation}")]
    NotAToken {
        /// The annotated parameter.
        path: String,
        /// The annotation as JSON.
        annotation: String,
    },
    /// The parameter does not have a type that fits in a header.
    #[error("parameter `{path}` with `x-mcp-header` must be a string, an integer or a boolean")]
    WrongType {
        /// The annotated parameter.
        path: String,
    },
    /// Two annotations name the same header.
    #[error("`x-mcp-header` names `{header}` twice")]
    Repeated {
        /// The name of the header.
        header: String,
    },
    /// The annotation is not on a property, so that it belongs to no single argument.
    #[error("`x-mcp-header` is under `{keyword}`, not on a property")]
    Unreachable {
        /// Schema keyword that contains the annotation.
        keyword: String,
    },
    /// The name of a property has half a surrogate pair, so that it is no text.
    #[error(transparent)]
    Name(#[from] LoneSurrogate),
}

impl HeaderParam {
    /// Makes a parameter with the lower-case name of its header and its path in the arguments.
    pub fn new(
        header: impl Into<String>,
        path: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        Self {
            header: header.into(),
            path: path.into_iter().map(Into::into).collect(),
        }
    }

    /// Finds the annotated parameters in the input schema of a tool.
    ///
    /// # Errors
    /// An annotation is invalid; a single one makes the whole tool invalid.
    pub fn find_all(input_schema: &RawJson) -> Result<Vec<Self>, HeaderParamError> {
        let mut found = Vec::new();
        walk(
            input_schema,
            &SchemaLocation::Property(Vec::new()),
            &mut found,
        )?;
        Ok(found)
    }

    /// Returns the value to mirror: the argument at the path, unless it is `null`.
    #[must_use]
    pub fn value(&self, arguments: &RawJson) -> Option<RawJson> {
        self.path
            .iter()
            .try_fold(arguments.clone(), |value, key| value.get(key))
            .filter(|value| value.kind() != Kind::Null)
    }

    /// Encodes `value` for the header; `None` if its type or value cannot be in one.
    #[must_use]
    pub fn encode(value: &RawJson) -> Option<String> {
        plain_text(value).map(|text| encode_value(&text).into_owned())
    }

    /// Returns whether a header mirrors `value`. Numbers are compared as numbers: clients differ in
    /// how they write them.
    #[must_use]
    pub fn agrees(header: &str, value: &RawJson) -> bool {
        let Ok(header) = decode_value(header) else {
            return false;
        };
        match value.kind() {
            Kind::Number => {
                safe_integer(&header).is_some_and(|n| Some(n) == safe_integer(value.as_str()))
            }
            _ => plain_text(value).is_some_and(|text| text == header),
        }
    }
}

const ANNOTATION: &str = "x-mcp-header";

/// Largest integer that every JSON reader holds exactly: 2^53 - 1.
const MAX_SAFE: f64 = 9_007_199_254_740_991.0;

/// Location of a subschema in the input schema.
enum SchemaLocation {
    /// Below `properties` only, with these names.
    Property(Vec<String>),
    /// Below this other keyword, so that it may apply to no argument or to many.
    Keyword(String),
}

impl SchemaLocation {
    /// Returns the location of the property `name` of the schema here.
    fn property(&self, name: Cow<'_, str>) -> Self {
        match self {
            Self::Property(path) => {
                Self::Property(path.iter().cloned().chain([name.into_owned()]).collect())
            }
            Self::Keyword(keyword) => Self::Keyword(keyword.clone()),
        }
    }
}

/// Visits a schema and its subschemas. The recursion is as deep as the JSON, whose depth is limited
/// where it is parsed.
fn walk(
    schema: &RawJson,
    location: &SchemaLocation,
    found: &mut Vec<HeaderParam>,
) -> Result<(), HeaderParamError> {
    for member in schema.members() {
        let value = schema.value_of(&member);
        let keyword = member.key()?;
        match keyword.as_ref() {
            ANNOTATION => found.push(annotated(schema, location, &value, found)?),
            "properties" => {
                for property in value.members() {
                    let location = location.property(property.key()?);
                    walk(&value.value_of(&property), &location, found)?;
                }
            }
            "patternProperties" | "dependentSchemas" | "$defs" | "definitions" => {
                let location = SchemaLocation::Keyword(keyword.into_owned());
                for named in value.members() {
                    walk(&value.value_of(&named), &location, found)?;
                }
            }
            "items"
            | "prefixItems"
            | "contains"
            | "additionalProperties"
            | "additionalItems"
            | "unevaluatedProperties"
            | "unevaluatedItems"
            | "propertyNames"
            | "oneOf"
            | "anyOf"
            | "allOf"
            | "not"
            | "if"
            | "then"
            | "else" => {
                let location = SchemaLocation::Keyword(keyword.into_owned());
                walk(&value, &location, found)?;
                for element in value.elements() {
                    walk(&element, &location, found)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Checks the annotation of `schema` and returns its parameter.
fn annotated(
    schema: &RawJson,
    location: &SchemaLocation,
    annotation: &RawJson,
    found: &[HeaderParam],
) -> Result<HeaderParam, HeaderParamError> {
    let path = match location {
        SchemaLocation::Property(path) if !path.is_empty() => path,
        SchemaLocation::Property(_) => {
            return Err(HeaderParamError::Unreachable {
                keyword: "the root".to_owned(),
            });
        }
        SchemaLocation::Keyword(keyword) => {
            return Err(HeaderParamError::Unreachable {
                keyword: keyword.clone(),
            });
        }
    };
    let Some(name) = annotation.text().filter(|name| is_token(name)) else {
        return Err(HeaderParamError::NotAToken {
            path: path.join("."),
            annotation: annotation.as_str().to_owned(),
        });
    };
    let schema_type = schema.get("type");
    let schema_type = schema_type.as_ref().and_then(RawJson::text);
    if !matches!(
        schema_type.as_deref(),
        Some("string" | "integer" | "boolean")
    ) {
        return Err(HeaderParamError::WrongType {
            path: path.join("."),
        });
    }
    let header = format!("{PARAM_PREFIX}{}", name.to_ascii_lowercase());
    if found.iter().any(|other| other.header == header) {
        return Err(HeaderParamError::Repeated { header });
    }
    Ok(HeaderParam::new(header, path))
}

/// Returns whether `name` is a token of RFC 9110.
fn is_token(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

/// Returns the text of a string, a boolean or an integer.
fn plain_text(value: &RawJson) -> Option<Cow<'_, str>> {
    match value.kind() {
        Kind::String => value.text(),
        Kind::Bool => Some(Cow::Borrowed(value.as_str())),
        Kind::Number => safe_integer(value.as_str()).map(|n| Cow::Owned(n.to_string())),
        Kind::Null | Kind::Object | Kind::Array => None,
    }
}

/// Returns the value of a JSON number if it is an integer that every JSON reader holds exactly.
fn safe_integer(text: &str) -> Option<i64> {
    // Header text comes from the peer: no white space, sign or hexadecimal that a parser tolerates.
    let first = text.bytes().next()?;
    let last = text.bytes().next_back()?;
    if !(first == b'-' || first.is_ascii_digit()) || !last.is_ascii_digit() {
        return None;
    }
    let number: f64 = serde_json::from_str(text).ok()?;
    let exact = number.fract() == 0.0 && number.abs() <= MAX_SAFE;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "an integer of at most 53 bits"
    )]
    exact.then_some(number as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_wire::Limits;

    fn raw(text: &str) -> RawJson {
        RawJson::parse(text.to_owned().into(), &Limits::default()).unwrap()
    }

    fn found(schema: &str) -> Result<Vec<(String, String)>, String> {
        HeaderParam::find_all(&raw(schema))
            .map(|params| {
                params
                    .into_iter()
                    .map(|param| (param.header, param.path.join(".")))
                    .collect()
            })
            .map_err(|error| error.to_string())
    }

    #[test]
    fn annotated_properties_are_found_at_any_depth() {
        assert_eq!(
            found(
                r#"{"type":"object","properties":{
                    "region":{"type":"string","x-mcp-header":"Region"},
                    "x-mcp-header":{"type":"string","default":{"x-mcp-header":1}},
                    "options":{"type":"object","properties":{
                        "limit":{"x-mcp-header":"Method","type":"integer"},
                        "dry.run":{"type":"boolean","x-mcp-header":"d!#$%&'*+-.^_`|~9"}}},
                    "other":{"type":["string","null"]}},
                    "x-vendor":{"x-mcp-header":"ignored"}}"#
            ),
            Ok([
                ("mcp-param-region", "region"),
                ("mcp-param-method", "options.limit"),
                ("mcp-param-d!#$%&'*+-.^_`|~9", "options.dry.run"),
            ]
            .map(|(header, path)| (header.to_owned(), path.to_owned()))
            .to_vec())
        );
        assert_eq!(found("true"), Ok(vec![]));
        assert_eq!(found("{}"), Ok(vec![]));
    }

    #[test]
    fn an_annotation_must_be_a_token_on_a_plain_property() {
        let on = |annotation: &str, schema_type: &str| {
            found(&format!(
                r#"{{"properties":{{"a":{{"type":{schema_type},"x-mcp-header":{annotation}}}}}}}"#
            ))
        };
        for annotation in [
            r#""""#,
            r#""a b""#,
            r#""a:b""#,
            r#""a\r\nb""#,
            r#""é""#,
            r#""a\u0000""#,
            "1",
            "null",
            r#"["A"]"#,
        ] {
            assert_eq!(
                on(annotation, r#""string""#),
                Err(format!(
                    "`x-mcp-header` of `a` must be a header token, not {annotation}"
                ))
            );
        }
        for schema_type in [
            r#""number""#,
            r#""object""#,
            r#""array""#,
            r#""null""#,
            r#"["string","null"]"#,
        ] {
            assert_eq!(
                on(r#""A""#, schema_type),
                Err(
                    "parameter `a` with `x-mcp-header` must be a string, an integer or a boolean"
                        .to_owned()
                )
            );
        }
    }

    #[test]
    fn names_are_unique_in_any_case() {
        assert_eq!(
            found(
                r#"{"properties":{"a":{"type":"string","x-mcp-header":"Region"},
                    "b":{"properties":{"c":{"type":"string","x-mcp-header":"REGION"}}}}}"#
            ),
            Err("`x-mcp-header` names `mcp-param-region` twice".to_owned())
        );
    }

    #[test]
    fn an_annotation_off_the_properties_is_refused() {
        let annotated = r#"{"type":"string","x-mcp-header":"A"}"#;
        for (schema, keyword) in [
            (annotated.to_owned(), "the root"),
            (format!(r#"{{"items":{annotated}}}"#), "items"),
            (format!(r#"{{"prefixItems":[{annotated}]}}"#), "prefixItems"),
            (
                format!(r#"{{"oneOf":[{{"properties":{{"a":{annotated}}}}}]}}"#),
                "oneOf",
            ),
            (
                format!(r#"{{"properties":{{"a":{{"anyOf":[true,{annotated}]}}}}}}"#),
                "anyOf",
            ),
            (
                format!(r#"{{"if":{{"properties":{{"a":{annotated}}}}}}}"#),
                "if",
            ),
            (
                format!(
                    r##"{{"$defs":{{"d":{annotated}}},"properties":{{"a":{{"$ref":"#/$defs/d"}}}}}}"##
                ),
                "$defs",
            ),
            (
                format!(r#"{{"patternProperties":{{"^a":{annotated}}}}}"#),
                "patternProperties",
            ),
            (
                format!(r#"{{"additionalProperties":{annotated}}}"#),
                "additionalProperties",
            ),
        ] {
            assert_eq!(
                found(&schema),
                Err(format!(
                    "`x-mcp-header` is under `{keyword}`, not on a property"
                )),
                "{schema}"
            );
        }
    }

    #[test]
    fn only_a_value_that_is_there_is_mirrored() {
        let param = HeaderParam::new("mcp-param-limit", ["options", "limit"]);
        for (arguments, value) in [
            (r#"{"options":{"limit":5}}"#, Some("5")),
            (r#"{"options":{"limit":""}}"#, Some(r#""""#)),
            (r#"{"options":{"limit":null}}"#, None),
            (r#"{"options":{}}"#, None),
            (r#"{"options":[5]}"#, None),
            ("{}", None),
        ] {
            assert_eq!(param.value(&raw(arguments)), value.map(raw), "{arguments}");
        }
    }

    #[test]
    fn values_become_header_text() {
        for (value, text) in [
            (r#""us-west1""#, Some("us-west1")),
            (r#""""#, Some("")),
            (r#"" a""#, Some("=?base64?IGE=?=")),
            (r#""\u65e5""#, Some("=?base64?5pel?=")),
            (r#""\ud800""#, None),
            ("true", Some("true")),
            ("42", Some("42")),
            ("-7", Some("-7")),
            ("4.2e1", Some("42")),
            ("9007199254740991", Some("9007199254740991")),
            ("9007199254740993", None),
            ("1.5", None),
            ("null", None),
            ("{}", None),
        ] {
            assert_eq!(HeaderParam::encode(&raw(value)).as_deref(), text, "{value}");
        }
    }

    #[test]
    fn a_header_agrees_with_the_value_it_mirrors() {
        for (header, value, expect) in [
            ("a", r#""a""#, true),
            ("a", r#""A""#, false),
            ("", r#""""#, true),
            ("=?base64?YQ==?=", r#""a""#, true),
            ("=?base64?YQ?=", r#""a""#, false),
            ("=?BASE64?YQ==?=", r#""=?BASE64?YQ==?=""#, true),
            ("42", "42", true),
            ("42.0", "42", true),
            ("42", "4.2e1", true),
            ("+42", "42", false),
            ("042", "42", false),
            ("0x2a", "42", false),
            (" 42", "42", false),
            ("42", r#""42""#, true),
            ("true", "true", true),
            ("True", "true", false),
            ("1", "true", false),
            ("9007199254740993", "9007199254740993", false),
            ("{}", "{}", false),
        ] {
            assert_eq!(
                HeaderParam::agrees(header, &raw(value)),
                expect,
                "{header} {value}"
            );
        }
    }
}
