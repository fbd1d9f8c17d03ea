use callgate_wire::elicitation::{
    BooleanSchema, ChoiceOption, ElicitParams, ElicitRequest, LegacyTitledEnumSchema, NumberSchema,
    NumberType, PrimitiveSchema, RequestedSchema, StringFormat, StringSchema, TitledItems,
    TitledMultiSelectEnumSchema, TitledSingleSelectEnumSchema, UntitledItems,
    UntitledMultiSelectEnumSchema, UntitledSingleSelectEnumSchema,
};
use callgate_wire::{Number, tag};

use crate::sample::{Sample, value};

pub(super) fn samples() -> Vec<Sample> {
    let mut samples: Vec<_> = fields()
        .iter()
        .map(|(name, field)| value(name, field))
        .collect();
    samples.extend(
        fields()
            .iter()
            .map(|(_, field)| value("PrimitiveSchemaDefinition", field)),
    );
    for format in [
        StringFormat::Email,
        StringFormat::Uri,
        StringFormat::Date,
        StringFormat::DateTime,
    ] {
        let field = StringSchema {
            format: Some(format),
            ..StringSchema::default()
        };
        samples.push(value("StringSchema", &field));
    }
    for (union, index) in [
        ("EnumSchema", 3),
        ("SingleSelectEnumSchema", 3),
        ("SingleSelectEnumSchema", 4),
        ("MultiSelectEnumSchema", 5),
        ("MultiSelectEnumSchema", 6),
        ("EnumSchema", 7),
    ] {
        samples.push(value(union, &fields()[index].1));
    }
    samples.extend([
        value("ElicitRequestFormParams", &form()),
        value("ElicitRequestParams", &form()),
        value("ElicitRequestURLParams", &url()),
        value("ElicitRequestParams", &url()),
        value("ElicitRequest", &request(form())),
        value("ElicitRequest", &request(url())),
    ]);
    samples
}

/// A form with a field of each type.
pub(super) fn form() -> ElicitParams {
    let [first, rest @ ..] = fields();
    let schema = rest.into_iter().fold(
        RequestedSchema::new().with_required(first.0, first.1),
        |schema, (name, field)| schema.with_optional(name, field),
    );
    let schema = RequestedSchema {
        schema: Some("https://json-schema.org/draft/2020-12/schema".to_owned()),
        ..schema
    };
    ElicitParams::form("Who are you?", schema)
}

pub(super) fn url() -> ElicitParams {
    ElicitParams::url("Please sign in", "https://example.com/login")
}

pub(super) fn request(params: ElicitParams) -> ElicitRequest {
    ElicitRequest {
        method: tag::ElicitationCreate::Value,
        params,
    }
}

/// A field of each type, with all its members.
fn fields() -> [(&'static str, PrimitiveSchema); 8] {
    [
        ("StringSchema", string().into()),
        ("NumberSchema", number().into()),
        ("BooleanSchema", boolean().into()),
        ("UntitledSingleSelectEnumSchema", untitled().into()),
        ("TitledSingleSelectEnumSchema", titled().into()),
        ("UntitledMultiSelectEnumSchema", untitled_multi().into()),
        ("TitledMultiSelectEnumSchema", titled_multi().into()),
        ("LegacyTitledEnumSchema", legacy().into()),
    ]
}

fn string() -> StringSchema {
    StringSchema {
        title: text("Email"),
        description: text("Where to write"),
        min_length: Some(3),
        max_length: Some(50),
        format: Some(StringFormat::Email),
        default: text("a@example.com"),
        ..StringSchema::default()
    }
}

fn number() -> NumberSchema {
    NumberSchema {
        tag: NumberType::Integer,
        title: text("Age"),
        description: text("In years"),
        minimum: Some(0.into()),
        maximum: Number::from_f64(150.5),
        default: Some(30.into()),
    }
}

fn boolean() -> BooleanSchema {
    BooleanSchema {
        title: text("Sure"),
        description: text("Really"),
        default: Some(false),
        ..BooleanSchema::default()
    }
}

fn untitled() -> UntitledSingleSelectEnumSchema {
    UntitledSingleSelectEnumSchema {
        title: text("Color"),
        description: text("The best"),
        options: texts(),
        default: text("red"),
        ..UntitledSingleSelectEnumSchema::default()
    }
}

fn titled() -> TitledSingleSelectEnumSchema {
    TitledSingleSelectEnumSchema {
        title: text("Color"),
        description: text("The best"),
        options: options(),
        default: text("red"),
        ..TitledSingleSelectEnumSchema::default()
    }
}

fn untitled_multi() -> UntitledMultiSelectEnumSchema {
    UntitledMultiSelectEnumSchema {
        title: text("Colors"),
        description: text("The best"),
        min_items: Some(1),
        max_items: Some(2),
        items: UntitledItems {
            options: texts(),
            ..UntitledItems::default()
        },
        default: Some(texts()),
        ..UntitledMultiSelectEnumSchema::default()
    }
}

fn titled_multi() -> TitledMultiSelectEnumSchema {
    TitledMultiSelectEnumSchema {
        title: text("Colors"),
        description: text("The best"),
        min_items: Some(1),
        max_items: Some(2),
        items: TitledItems { options: options() },
        default: Some(texts()),
        ..TitledMultiSelectEnumSchema::default()
    }
}

fn legacy() -> LegacyTitledEnumSchema {
    LegacyTitledEnumSchema {
        title: text("Color"),
        description: text("The best"),
        options: texts(),
        enum_names: Some(texts()),
        default: text("red"),
        ..LegacyTitledEnumSchema::default()
    }
}

fn options() -> Vec<ChoiceOption> {
    vec![ChoiceOption {
        value: "red".to_owned(),
        title: "Red".to_owned(),
    }]
}

fn texts() -> Vec<String> {
    vec!["red".to_owned(), "blue".to_owned()]
}

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}
