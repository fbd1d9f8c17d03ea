use callgate_mcp::wire::elicitation::{
    ChoiceOption, NumberSchema, NumberType, PrimitiveSchema, RequestedSchema, StringFormat,
    StringSchema,
};
use callgate_mcp::wire::{Kind, Limits, RawJson};
use serde_json::{Map, Value};
use url::Url;

use super::date::{is_date, is_date_time};

/// One field of a form.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: String,
    title: Option<String>,
    pub(super) description: Option<String>,
    pub(super) is_required: bool,
    pub(super) default: Option<RawJson>,
    kind: FieldKind,
}

/// Values that a field takes.
#[derive(Debug)]
enum FieldKind {
    Text(StringSchema),
    Number(NumberSchema),
    YesOrNo,
    One(Vec<ChoiceOption>),
    Several {
        choices: Vec<ChoiceOption>,
        least: u64,
        most: u64,
    },
    /// A kind that the specification does not define.
    Json,
}

impl Field {
    /// The fields of a form in their order.
    pub(super) fn all(form: &RequestedSchema) -> Vec<Self> {
        let required = form.required.as_deref().unwrap_or_default();
        let fields = form.properties.iter();
        fields
            .map(|(name, schema)| Self::new(name, schema, required.iter().any(|it| it == name)))
            .collect()
    }

    fn new(name: &str, schema: &PrimitiveSchema, is_required: bool) -> Self {
        let raw = RawJson::encode(schema).unwrap_or_else(|_| RawJson::empty_object());
        let text = |key| Some(raw.get(key)?.text()?.into_owned());
        Self {
            name: name.to_owned(),
            title: text("title"),
            description: text("description"),
            is_required,
            // An answer that is left out means null already, and the specification allows none that is null.
            default: raw.get("default").filter(|it| it.kind() != Kind::Null),
            kind: FieldKind::of(schema),
        }
    }

    /// Name, kind of value and whether it is needed, in one line.
    pub(super) fn heading(&self) -> String {
        let name = match &self.title {
            Some(title) if *title != self.name => format!("{title} ({})", self.name),
            _ => self.name.clone(),
        };
        let needed = match self.is_required {
            true => "required",
            false => "optional",
        };
        format!("{name}: {}, {needed}", self.kind.name())
    }

    /// The choices of the field, none if any value is allowed.
    pub(super) fn choices(&self) -> &[ChoiceOption] {
        match &self.kind {
            FieldKind::One(choices) | FieldKind::Several { choices, .. } => choices,
            _ => &[],
        }
    }

    /// The value that an answer means.
    ///
    /// # Errors
    /// A sentence for the user if the answer does not fit.
    pub(super) fn parse(&self, answer: &str) -> Result<RawJson, String> {
        match &self.kind {
            FieldKind::Text(schema) => text(schema, answer),
            FieldKind::Number(schema) => number(schema, answer),
            FieldKind::YesOrNo => yes_or_no(answer),
            FieldKind::One(choices) => choose(choices, answer).map(RawJson::string),
            FieldKind::Several {
                choices,
                least,
                most,
            } => several(choices, *least, *most, answer),
            FieldKind::Json => json(answer).ok_or_else(|| "write a JSON value".to_owned()),
        }
    }
}

impl FieldKind {
    fn of(schema: &PrimitiveSchema) -> Self {
        let untitled = |options: &[String]| -> Vec<ChoiceOption> {
            options
                .iter()
                .map(|value| ChoiceOption::new(value, value))
                .collect()
        };
        match schema {
            PrimitiveSchema::String(schema) => Self::Text(schema.clone()),
            PrimitiveSchema::Number(schema) => Self::Number(schema.clone()),
            PrimitiveSchema::Boolean(_) => Self::YesOrNo,
            PrimitiveSchema::UntitledSingleSelect(schema) => Self::One(untitled(&schema.options)),
            PrimitiveSchema::TitledSingleSelect(schema) => Self::One(schema.options.clone()),
            PrimitiveSchema::LegacyTitledEnum(schema) => {
                let titles = schema.enum_names.as_deref().unwrap_or_default();
                let options = schema.options.iter().enumerate();
                let titled = options.map(|(index, value)| {
                    ChoiceOption::new(value, titles.get(index).unwrap_or(value))
                });
                Self::One(titled.collect())
            }
            PrimitiveSchema::UntitledMultiSelect(schema) => Self::Several {
                choices: untitled(&schema.items.options),
                least: schema.min_items.unwrap_or(0),
                most: schema.max_items.unwrap_or(u64::MAX),
            },
            PrimitiveSchema::TitledMultiSelect(schema) => Self::Several {
                choices: schema.items.options.clone(),
                least: schema.min_items.unwrap_or(0),
                most: schema.max_items.unwrap_or(u64::MAX),
            },
            PrimitiveSchema::Other(raw) => match defined(raw) {
                Some(schema) => Self::of(&schema),
                None => Self::Json,
            },
            _ => Self::Json,
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Text(schema) => match schema.format {
                Some(StringFormat::Email) => "an email address",
                Some(StringFormat::Uri) => "a URI",
                Some(StringFormat::Date) => "a date as YYYY-MM-DD",
                Some(StringFormat::DateTime) => "a time as YYYY-MM-DDThh:mm:ssZ",
                _ => "text",
            },
            Self::Number(schema) => match schema.tag {
                NumberType::Integer => "a whole number",
                NumberType::Number => "a number",
            },
            Self::YesOrNo => "yes or no",
            Self::One(_) => "one of these",
            Self::Several { .. } => "some of these, by numbers with commas",
            Self::Json => "a JSON value",
        }
    }
}

/// The field that the specification defines for one that it does not, if only null or an unknown format
/// makes the difference: SDKs write optional fields so.
fn defined(raw: &RawJson) -> Option<PrimitiveSchema> {
    let mut field: Map<String, Value> = raw.decode().ok()?;
    if let Some(Value::Array(options)) = field.get("anyOf").or_else(|| field.get("oneOf")) {
        let is_null = |option: &&Value| option["type"] == "null";
        let mut options = options.iter().filter(|option| !is_null(option));
        let (only, None) = (options.next()?.clone(), options.next()) else {
            return None;
        };
        field = only.as_object()?.clone();
    }
    if let Some(Value::Array(types)) = field.get_mut("type") {
        types.retain(|name| name != "null");
        let [only] = types.as_slice() else {
            return None;
        };
        let only = only.clone();
        field.insert("type".to_owned(), only);
    }
    if let Some(Value::Array(choices)) = field.get_mut("enum") {
        choices.retain(|choice| !choice.is_null());
    }
    known(&field).or_else(|| {
        field.remove("format")?;
        known(&field)
    })
}

fn known(field: &Map<String, Value>) -> Option<PrimitiveSchema> {
    let schema = serde_json::to_string(field).ok()?;
    let schema = serde_json::from_str(&schema).ok()?;
    (!matches!(schema, PrimitiveSchema::Other(_))).then_some(schema)
}

fn text(schema: &StringSchema, answer: &str) -> Result<RawJson, String> {
    let length = u64::try_from(answer.chars().count()).unwrap_or(u64::MAX);
    if let Some(least) = schema.min_length.filter(|least| length < *least) {
        return Err(format!("write at least {least} characters"));
    }
    if let Some(most) = schema.max_length.filter(|most| length > *most) {
        return Err(format!("write at most {most} characters"));
    }
    let problem = match schema.format {
        Some(StringFormat::Email) if !is_email(answer) => "write an email address, as a@b.example",
        Some(StringFormat::Uri) if Url::parse(answer).is_err() => {
            "write a URI, as https://a.example"
        }
        Some(StringFormat::Date) if !is_date(answer) => "write a date, as 2026-07-28",
        Some(StringFormat::DateTime) if !is_date_time(answer) => {
            "write a date and a time with its zone, as 2026-07-28T12:00:00Z"
        }
        _ => return Ok(RawJson::string(answer)),
    };
    Err(problem.to_owned())
}

fn is_email(text: &str) -> bool {
    let parts = text.rsplit_once('@');
    parts.is_some_and(|(user, host)| !user.is_empty() && !host.is_empty())
        && !text.contains(char::is_whitespace)
}

fn number(schema: &NumberSchema, answer: &str) -> Result<RawJson, String> {
    let value = json(answer).filter(|value| value.kind() == Kind::Number);
    let number: Option<f64> = value.as_ref().and_then(|value| value.decode().ok());
    let (Some(value), Some(number)) = (value, number) else {
        return Err("write a number".to_owned());
    };
    if schema.tag == NumberType::Integer && number.fract() != 0.0 {
        return Err("write a whole number".to_owned());
    }
    if let Some(least) = &schema.minimum
        && number < least.as_f64()
    {
        return Err(format!(
            "write a number of at least {}",
            raw(least).as_str()
        ));
    }
    if let Some(most) = &schema.maximum
        && number > most.as_f64()
    {
        return Err(format!("write a number of at most {}", raw(most).as_str()));
    }
    Ok(value)
}

fn yes_or_no(answer: &str) -> Result<RawJson, String> {
    let value = match answer.to_lowercase().as_str() {
        "y" | "yes" | "true" => true,
        "n" | "no" | "false" => false,
        _ => return Err("answer yes or no".to_owned()),
    };
    Ok(raw(&value))
}

/// The choice that is meant by its number, its value or its title.
fn choose<'a>(choices: &'a [ChoiceOption], answer: &str) -> Result<&'a str, String> {
    let answer = answer.trim();
    let by_name = choices
        .iter()
        .find(|choice| choice.value == answer || choice.title == answer);
    let by_number = || choices.get(answer.parse::<usize>().ok()?.checked_sub(1)?);
    match by_name.or_else(by_number) {
        Some(choice) => Ok(&choice.value),
        None => Err(format!(
            "choose by a number from 1 to {}, or write a choice",
            choices.len()
        )),
    }
}

fn several(
    choices: &[ChoiceOption],
    least: u64,
    most: u64,
    answer: &str,
) -> Result<RawJson, String> {
    let mut chosen: Vec<&str> = Vec::new();
    for word in answer.split(',').filter(|word| !word.trim().is_empty()) {
        let value = choose(choices, word)?;
        if !chosen.contains(&value) {
            chosen.push(value);
        }
    }
    let count = u64::try_from(chosen.len()).unwrap_or(u64::MAX);
    if count < least {
        return Err(format!("choose at least {least}"));
    }
    if count > most {
        return Err(format!("choose at most {most}"));
    }
    Ok(raw(&chosen))
}

fn json(text: &str) -> Option<RawJson> {
    RawJson::parse_strict(text.to_owned().into(), &Limits::default()).ok()
}

fn raw(value: &impl serde::Serialize) -> RawJson {
    RawJson::encode(value).expect("a plain value is JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(schema: &str, answers: &[(&str, Result<&str, &str>)]) {
        let schema = serde_json::from_str(schema).unwrap();
        let field = Field::new("f", &schema, true);
        for (answer, expect) in answers {
            let seen = field.parse(answer).map(|value| value.as_str().to_owned());
            let expect = expect.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(seen, expect, "{answer}");
        }
    }

    #[test]
    fn text_has_a_length_and_a_format() {
        check(
            r#"{"type":"string","minLength":2,"maxLength":3}"#,
            &[
                ("ä", Err("write at least 2 characters")),
                ("äö", Ok(r#""äö""#)),
                ("abcd", Err("write at most 3 characters")),
            ],
        );
        let email = Err("write an email address, as a@b.example");
        check(
            r#"{"type":"string","format":"email"}"#,
            &[
                ("a@b", Ok(r#""a@b""#)),
                ("@b", email),
                ("a@", email),
                ("a b@c", email),
            ],
        );
        check(
            r#"{"type":"string","format":"uri"}"#,
            &[
                ("https://a.example", Ok(r#""https://a.example""#)),
                ("a.example", Err("write a URI, as https://a.example")),
            ],
        );
        check(
            r#"{"type":"string","format":"date"}"#,
            &[("2026-02-29", Err("write a date, as 2026-07-28"))],
        );
    }

    #[test]
    fn numbers_have_limits_and_stay_as_they_are_typed() {
        check(
            r#"{"type":"integer","minimum":1,"maximum":5.5}"#,
            &[
                ("5", Ok("5")),
                ("5.0", Ok("5.0")),
                ("1.5", Err("write a whole number")),
                ("0", Err("write a number of at least 1")),
                ("6", Err("write a number of at most 5.5")),
                ("five", Err("write a number")),
                ("\"5\"", Err("write a number")),
            ],
        );
        check(r#"{"type":"number"}"#, &[("-2.50e3", Ok("-2.50e3"))]);
    }

    #[test]
    fn a_choice_is_meant_by_number_value_or_title() {
        let wrong = Err("choose by a number from 1 to 2, or write a choice");
        check(
            r#"{"type":"string","oneOf":[{"const":"r","title":"Red"},{"const":"2","title":"Two"}]}"#,
            &[
                ("1", Ok(r#""r""#)),
                ("Red", Ok(r#""r""#)),
                ("2", Ok(r#""2""#)),
                ("0", wrong),
                ("3", wrong),
                ("blue", wrong),
            ],
        );
        check(
            r#"{"type":"string","enum":["a","b"],"enumNames":["Alpha"]}"#,
            &[("Alpha", Ok(r#""a""#)), ("b", Ok(r#""b""#))],
        );
        check(
            r#"{"type":"array","minItems":1,"maxItems":2,"items":{"type":"string","enum":["a","b","c"]}}"#,
            &[
                ("1, c,a", Ok(r#"["a","c"]"#)),
                (",", Err("choose at least 1")),
                ("1,2,3", Err("choose at most 2")),
            ],
        );
    }

    #[test]
    fn yes_or_no_and_unknown_kinds() {
        check(
            r#"{"type":"boolean"}"#,
            &[
                ("Y", Ok("true")),
                ("false", Ok("false")),
                ("maybe", Err("answer yes or no")),
            ],
        );
        check(
            r#"{"type":"null"}"#,
            &[("null", Ok("null")), ("{", Err("write a JSON value"))],
        );
    }

    #[test]
    fn a_field_that_may_be_null_is_asked_for_as_its_other_type() {
        let optional = |schema: &str| format!(r#"{{"anyOf":[{schema},{{"type":"null"}}]}}"#);
        check(
            &optional(r#"{"type":"string","maxLength":2}"#),
            &[
                ("7", Ok(r#""7""#)),
                ("abc", Err("write at most 2 characters")),
            ],
        );
        check(
            &optional(r#"{"type":"integer"}"#),
            &[("7", Ok("7")), ("x", Err("write a number"))],
        );
        check(
            &optional(r#"{"type":"string","format":"uuid"}"#),
            &[("7", Ok(r#""7""#))],
        );
        check(
            r#"{"type":["string","null"],"enum":["a","b",null]}"#,
            &[("2", Ok(r#""b""#))],
        );
        // Which of two types is meant cannot be seen.
        check(
            r#"{"anyOf":[{"type":"string"},{"type":"integer"}]}"#,
            &[("7", Ok("7")), ("a", Err("write a JSON value"))],
        );
        check(
            r##"{"$ref":"#/$defs/Color"}"##,
            &[(r#""red""#, Ok(r#""red""#))],
        );
        let nick = r#"{"anyOf":[{"type":"string"},{"type":"null"}],"default":null,"title":"Nick"}"#;
        let field = Field::new("nick", &serde_json::from_str(nick).unwrap(), false);
        assert_eq!(field.heading(), "Nick (nick): text, optional");
        assert_eq!(field.default, None);
    }
}
