use std::fmt;
use std::io::Read;

use anyhow::{Context, Result, bail};
use callgate_mcp::wire::{Kind, Limits, RawJson, Splice};

use crate::visible::cut;

/// The arguments of a call as typed: a JSON object, `-`, or a list of `key=value`.
///
/// `schema` is the input schema of the tool: it decides if `n=5` is a number or a text.
pub(crate) fn parse(words: &[String], schema: Option<&RawJson>) -> Result<RawJson> {
    match words {
        [] => Ok(RawJson::empty_object()),
        [word] if word == "-" => {
            let mut text = String::new();
            std::io::stdin()
                .read_to_string(&mut text)
                .context("cannot read standard input")?;
            object(&text)
        }
        [word] if word.trim_start().starts_with('{') => object(word),
        words => pairs(words, schema),
    }
}

fn object(text: &str) -> Result<RawJson> {
    let value = json(text).context("the arguments are not JSON")?;
    if !value.is_object() {
        bail!("the arguments must be a JSON object");
    }
    Ok(value)
}

fn pairs(words: &[String], schema: Option<&RawJson>) -> Result<RawJson> {
    let mut arguments = RawJson::empty_object();
    for word in words {
        let Some((key, value)) = word.split_once('=') else {
            bail!("`{word}` is not an argument; write key=value, key:=json or key=@file");
        };
        let (key, value) = if let Some(key) = key.strip_suffix(':') {
            (
                key,
                json(value).with_context(|| format!("the value of `{key}` is not JSON"))?,
            )
        } else if let Some(path) = value.strip_prefix('@') {
            let text =
                std::fs::read_to_string(path).with_context(|| format!("cannot read {path}"))?;
            (key, typed(key, &text, schema)?)
        } else {
            (key, typed(key, value, schema)?)
        };
        if key.is_empty() {
            bail!("`{word}` has no key");
        }
        if arguments.get(key).is_some() {
            bail!("the argument `{key}` is given twice");
        }
        arguments = Splice::new(&arguments).set(&[key], &value).finish()?;
    }
    Ok(arguments)
}

/// A value as the schema types it; a text where the schema does not say.
fn typed(key: &str, value: &str, schema: Option<&RawJson>) -> Result<RawJson> {
    let expected = schema.and_then(|schema| schema.at(&["properties", key, "type"]));
    let types: Vec<String> = match &expected {
        Some(one) if one.kind() == Kind::String => one.decode().into_iter().collect(),
        Some(many) => many.decode().unwrap_or_default(),
        None => Vec::new(),
    };
    if types.is_empty() || types.iter().any(|name| name == "string") {
        return Ok(RawJson::string(value));
    }
    let fits = |value: &RawJson| types.iter().any(|name| has_type(value, name));
    match json(value).ok().filter(fits) {
        Some(value) => Ok(value),
        None => Err(WrongType {
            key: key.to_owned(),
            expected: types.join(" or "),
            value: cut(value, MAX_VALUE),
        }
        .into()),
    }
}

/// A value that does not have the type that the schema of the tool wants.
#[derive(Debug)]
pub(crate) struct WrongType {
    key: String,
    expected: String,
    value: String,
}

/// Maximum characters of a value in an error.
const MAX_VALUE: usize = 100;

impl fmt::Display for WrongType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            key,
            expected,
            value,
        } = self;
        write!(
            f,
            "the argument `{key}` must be of type {expected}; it is `{value}`"
        )
    }
}

impl std::error::Error for WrongType {}

fn has_type(value: &RawJson, name: &str) -> bool {
    match value.kind() {
        Kind::Object => name == "object",
        Kind::Array => name == "array",
        Kind::String => name == "string",
        Kind::Number => matches!(name, "number" | "integer"),
        Kind::Bool => name == "boolean",
        Kind::Null => name == "null",
    }
}

fn json(text: &str) -> Result<RawJson> {
    Ok(RawJson::parse_strict(
        text.to_owned().into(),
        &Limits::default(),
    )?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(words: &[&str], expect: Result<&str, &str>) {
        let schema = json(
            r#"{"properties":{"n":{"type":"integer"},"on":{"type":["boolean","null"]},"s":{"type":"string"}}}"#,
        )
        .unwrap();
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let seen = parse(&words, Some(&schema))
            .map(|arguments| arguments.as_str().to_owned())
            .map_err(|error| error.to_string());
        assert_eq!(
            seen,
            expect.map(str::to_owned).map_err(str::to_owned),
            "{words:?}"
        );
    }

    #[test]
    fn arguments_are_typed_by_the_schema() {
        check(&[], Ok("{}"));
        check(
            &["n=5", "s=5", "other=5"],
            Ok(r#"{"n":5,"s":"5","other":"5"}"#),
        );
        check(&["on=true"], Ok(r#"{"on":true}"#));
        check(&["on=null", "s=a=b"], Ok(r#"{"on":null,"s":"a=b"}"#));
        check(&["list:=[1,2e3]"], Ok(r#"{"list":[1,2e3]}"#));
        check(
            &[r#"{"a":12345678901234567890123}"#],
            Ok(r#"{"a":12345678901234567890123}"#),
        );
    }

    #[test]
    fn the_text_of_a_file_is_typed_as_a_typed_word() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("seven");
        std::fs::write(&path, "7\n").unwrap();
        let (number, text) = (
            format!("n=@{}", path.display()),
            format!("s=@{}", path.display()),
        );
        check(&[&number, &text], Ok(r#"{"n":7,"s":"7\n"}"#));
    }

    #[test]
    fn mistakes_are_named() {
        check(
            &["n=five"],
            Err("the argument `n` must be of type integer; it is `five`"),
        );
        check(
            &["n"],
            Err("`n` is not an argument; write key=value, key:=json or key=@file"),
        );
        check(&["=5"], Err("`=5` has no key"));
        check(&["s=1", "s=2"], Err("the argument `s` is given twice"));
        check(&["x:={"], Err("the value of `x` is not JSON"));
        check(&["x=@no/such/file"], Err("cannot read no/such/file"));
        check(&["{1}"], Err("the arguments are not JSON"));
    }
}
