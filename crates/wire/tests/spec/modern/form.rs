use callgate_wire::Number;
use callgate_wire::elicitation::{
    BooleanSchema, ChoiceOption, ElicitParams, ElicitRequest, LegacyTitledEnumSchema, NumberSchema,
    PrimitiveSchema, RequestedSchema, StringFormat, StringSchema, TitledMultiSelectEnumSchema,
    TitledSingleSelectEnumSchema, UntitledMultiSelectEnumSchema, UntitledSingleSelectEnumSchema,
};

use crate::sample::{Sample, value, with};

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
        samples.push(value(
            "StringSchema",
            &StringSchema::new().with_format(format),
        ));
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
    let schema = with(schema, |it| {
        it.schema = Some("https://json-schema.org/draft/2020-12/schema".to_owned());
    });
    ElicitParams::form("Who are you?", schema)
}

pub(super) fn url() -> ElicitParams {
    ElicitParams::url("Please sign in", "https://example.com/login")
}

pub(super) fn request(params: ElicitParams) -> ElicitRequest {
    ElicitRequest::new(params)
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
    let field = StringSchema::new()
        .with_title("Email")
        .with_description("Where to write")
        .with_format(StringFormat::Email)
        .with_default("a@example.com");
    with(field, |it| {
        it.min_length = Some(3);
        it.max_length = Some(50);
    })
}

fn number() -> NumberSchema {
    let field = NumberSchema::integer()
        .with_title("Age")
        .with_description("In years")
        .with_default(30);
    with(field, |it| {
        it.minimum = Some(0.into());
        it.maximum = Number::from_f64(150.5);
    })
}

fn boolean() -> BooleanSchema {
    BooleanSchema::new()
        .with_title("Sure")
        .with_description("Really")
        .with_default(false)
}

fn untitled() -> UntitledSingleSelectEnumSchema {
    UntitledSingleSelectEnumSchema::new(TEXTS)
        .with_title("Color")
        .with_description("The best")
        .with_default("red")
}

fn titled() -> TitledSingleSelectEnumSchema {
    TitledSingleSelectEnumSchema::new([ChoiceOption::new("red", "Red")])
        .with_title("Color")
        .with_description("The best")
        .with_default("red")
}

fn untitled_multi() -> UntitledMultiSelectEnumSchema {
    let field = UntitledMultiSelectEnumSchema::new(TEXTS)
        .with_title("Colors")
        .with_description("The best")
        .with_default(TEXTS);
    with(field, |it| {
        it.min_items = Some(1);
        it.max_items = Some(2);
    })
}

fn titled_multi() -> TitledMultiSelectEnumSchema {
    let field = TitledMultiSelectEnumSchema::new([ChoiceOption::new("red", "Red")])
        .with_title("Colors")
        .with_description("The best")
        .with_default(TEXTS);
    with(field, |it| {
        it.min_items = Some(1);
        it.max_items = Some(2);
    })
}

fn legacy() -> LegacyTitledEnumSchema {
    LegacyTitledEnumSchema::new(TEXTS, TEXTS)
        .with_title("Color")
        .with_description("The best")
        .with_default("red")
}

const TEXTS: [&str; 2] = ["red", "blue"];
