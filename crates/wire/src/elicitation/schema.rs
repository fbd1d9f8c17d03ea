use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::elicitation::{
    BooleanSchema, LegacyTitledEnumSchema, NumberSchema, StringSchema, TitledMultiSelectEnumSchema,
    TitledSingleSelectEnumSchema, UntitledMultiSelectEnumSchema, UntitledSingleSelectEnumSchema,
};
use crate::map::Map;
use crate::peek;
use crate::raw::RawJson;
use crate::tag;

/// The fields of a form: a JSON Schema of an object without nesting.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RequestedSchema {
    /// The dialect of the schema.
    #[serde(rename = "$schema", skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// Always an object.
    #[serde(rename = "type")]
    pub tag: tag::Object,
    /// The fields by name, in the order to show them.
    pub properties: Map<PrimitiveSchema>,
    /// The fields that must be filled in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required: Option<Vec<String>>,
}

/// One field of a form; the spec calls it `PrimitiveSchemaDefinition`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PrimitiveSchema {
    /// Text.
    String(StringSchema),
    /// A number.
    Number(NumberSchema),
    /// Yes or no.
    Boolean(BooleanSchema),
    /// One of some texts.
    UntitledSingleSelect(UntitledSingleSelectEnumSchema),
    /// One of some texts, shown by title.
    TitledSingleSelect(TitledSingleSelectEnumSchema),
    /// Some of some texts.
    UntitledMultiSelect(UntitledMultiSelectEnumSchema),
    /// Some of some texts, shown by title.
    TitledMultiSelect(TitledMultiSelectEnumSchema),
    /// One of some texts, shown by title, in a form that is no longer standard.
    LegacyTitledEnum(LegacyTitledEnumSchema),
    /// A field that the specification does not define, as it came: it has no type or another one, or
    /// members that do not fit. Some SDKs write optional fields as a choice between a type and null.
    Other(RawJson),
}

impl RequestedSchema {
    /// A form without fields.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The same form with a field that may be left empty.
    #[must_use]
    pub fn with_optional(mut self, name: &str, field: impl Into<PrimitiveSchema>) -> Self {
        self.properties.insert(name, field.into());
        self
    }

    /// The same form with a field that must be filled in.
    #[must_use]
    pub fn with_required(mut self, name: &str, field: impl Into<PrimitiveSchema>) -> Self {
        self.required.get_or_insert_default().push(name.to_owned());
        self.with_optional(name, field)
    }
}

impl Serialize for PrimitiveSchema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::String(field) => field.serialize(serializer),
            Self::Number(field) => field.serialize(serializer),
            Self::Boolean(field) => field.serialize(serializer),
            Self::UntitledSingleSelect(field) => field.serialize(serializer),
            Self::TitledSingleSelect(field) => field.serialize(serializer),
            Self::UntitledMultiSelect(field) => field.serialize(serializer),
            Self::TitledMultiSelect(field) => field.serialize(serializer),
            Self::LegacyTitledEnum(field) => field.serialize(serializer),
            Self::Other(raw) => raw.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for PrimitiveSchema {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawJson::deserialize(deserializer)?;
        // One field that cannot be read must not make the whole form unreadable.
        let known: Result<Self, D::Error> = Self::known(&raw);
        Ok(known.unwrap_or(Self::Other(raw)))
    }
}

impl PrimitiveSchema {
    /// Reads a field that the specification defines.
    fn known<E: Error>(raw: &RawJson) -> Result<Self, E> {
        let has = |path: &[&str]| raw.at(path).is_some();
        match peek::tag::<E>(raw, "type")?.as_str() {
            "string" if has(&["oneOf"]) => peek::decode(raw).map(Self::TitledSingleSelect),
            "string" if has(&["enumNames"]) => peek::decode(raw).map(Self::LegacyTitledEnum),
            "string" if has(&["enum"]) => peek::decode(raw).map(Self::UntitledSingleSelect),
            "string" => peek::decode(raw).map(Self::String),
            "number" | "integer" => peek::decode(raw).map(Self::Number),
            "boolean" => peek::decode(raw).map(Self::Boolean),
            "array" if has(&["items", "anyOf"]) => peek::decode(raw).map(Self::TitledMultiSelect),
            "array" => peek::decode(raw).map(Self::UntitledMultiSelect),
            _ => Err(E::custom("unknown type")),
        }
    }
}

impl From<StringSchema> for PrimitiveSchema {
    fn from(field: StringSchema) -> Self {
        Self::String(field)
    }
}

impl From<NumberSchema> for PrimitiveSchema {
    fn from(field: NumberSchema) -> Self {
        Self::Number(field)
    }
}

impl From<BooleanSchema> for PrimitiveSchema {
    fn from(field: BooleanSchema) -> Self {
        Self::Boolean(field)
    }
}

impl From<UntitledSingleSelectEnumSchema> for PrimitiveSchema {
    fn from(field: UntitledSingleSelectEnumSchema) -> Self {
        Self::UntitledSingleSelect(field)
    }
}

impl From<TitledSingleSelectEnumSchema> for PrimitiveSchema {
    fn from(field: TitledSingleSelectEnumSchema) -> Self {
        Self::TitledSingleSelect(field)
    }
}

impl From<UntitledMultiSelectEnumSchema> for PrimitiveSchema {
    fn from(field: UntitledMultiSelectEnumSchema) -> Self {
        Self::UntitledMultiSelect(field)
    }
}

impl From<TitledMultiSelectEnumSchema> for PrimitiveSchema {
    fn from(field: TitledMultiSelectEnumSchema) -> Self {
        Self::TitledMultiSelect(field)
    }
}

impl From<LegacyTitledEnumSchema> for PrimitiveSchema {
    fn from(field: LegacyTitledEnumSchema) -> Self {
        Self::LegacyTitledEnum(field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_that_the_specification_does_not_define_is_kept_as_it_came() {
        for text in [
            r#"{"anyOf":[{"type":"string"},{"type":"null"}],"default":null,"title":"Nick"}"#,
            r#"{"type":"string","format":"uuid"}"#,
            r#"{"type":["integer","null"]}"#,
            r#"{"type":"string","enum":["a",null]}"#,
            r#"{"type":"null"}"#,
            "true",
        ] {
            let field: PrimitiveSchema = serde_json::from_str(text).unwrap();
            let PrimitiveSchema::Other(raw) = field else {
                panic!("{field:?}");
            };
            assert_eq!(raw.as_str(), text);
        }
    }
}
