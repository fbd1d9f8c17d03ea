use std::fmt;
use std::io::Read;

use anyhow::{Context, Result, bail};
use callgate_mcp::wire::{Limits, RawJson, Splice};

use crate::argument_type::{ArgumentType, has_type};
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
///
/// A value that may be a text is one, as `5` for an integer or a text; only a list of allowed values that has no such
/// text decides for another type.
fn typed(key: &str, value: &str, schema: Option<&RawJson>) -> Result<RawJson> {
    let text = RawJson::string(value);
    let Some(expected) = schema.and_then(|schema| ArgumentType::of(key, schema)) else {
        return Ok(text);
    };
    if expected.takes(&text) {
        return Ok(text);
    }
    let parsed = json(value).ok();
    if let Some(parsed) = parsed.as_ref().filter(|it| expected.takes(it)) {
        return Ok(parsed.clone());
    }
    // A value of the right type that is not among the allowed ones: the server tells which are.
    let types = expected.types();
    if types.is_empty() || types.contains(&"string") {
        return Ok(text);
    }
    let fits = |value: &RawJson| types.iter().any(|name| has_type(value, name));
    match parsed.filter(fits) {
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
    fn types_are_found_behind_references_and_alternatives() {
        let schema = json(
            r##"{"properties":{
                "maybe":{"anyOf":[{"type":"integer"},{"type":"null"}]},
                "either":{"oneOf":[{"type":"integer"},{"type":"string"}]},
                "ref":{"$ref":"#/$defs/a~1b"},"all":{"allOf":[{"$ref":"#/$defs/a~1b"}],"description":"d"},
                "level":{"enum":[1,2,true]},"mixed":{"enum":[1,"one"]},"only":{"const":3},
                "words":{"enum":["a","b"]},"both":{"type":["string","integer"],"enum":[1]},
                "loop":{"$ref":"#/properties/loop"},"away":{"$ref":"https://a.example/schema"},
                "bomb":{"anyOf":[{"$ref":"#/properties/bomb"},{"$ref":"#/properties/bomb"}]},
                "any":true,"never":false},
                "$defs":{"a/b":{"$ref":"#/$defs/c"},"c":{"type":["number","null"]}}}"##,
        )
        .unwrap();
        for (word, expect) in [
            ("maybe=1", Ok(r#"{"maybe":1}"#)),
            ("maybe=null", Ok(r#"{"maybe":null}"#)),
            (
                "maybe=one",
                Err("the argument `maybe` must be of type integer or null; it is `one`"),
            ),
            ("either=1", Ok(r#"{"either":"1"}"#)),
            ("ref=1.5", Ok(r#"{"ref":1.5}"#)),
            ("all=1", Ok(r#"{"all":1}"#)),
            (
                "all=x",
                Err("the argument `all` must be of type number or null; it is `x`"),
            ),
            ("level=2", Ok(r#"{"level":2}"#)),
            ("level=true", Ok(r#"{"level":true}"#)),
            // Of the right type, but not allowed.
            ("level=3", Ok(r#"{"level":3}"#)),
            ("mixed=1", Ok(r#"{"mixed":1}"#)),
            ("mixed=one", Ok(r#"{"mixed":"one"}"#)),
            ("mixed=2", Ok(r#"{"mixed":"2"}"#)),
            ("only=3", Ok(r#"{"only":3}"#)),
            ("words=a", Ok(r#"{"words":"a"}"#)),
            ("words=1", Ok(r#"{"words":"1"}"#)),
            ("both=1", Ok(r#"{"both":1}"#)),
            ("loop=1", Ok(r#"{"loop":"1"}"#)),
            ("away=1", Ok(r#"{"away":"1"}"#)),
            ("bomb=1", Ok(r#"{"bomb":"1"}"#)),
            ("any=1", Ok(r#"{"any":"1"}"#)),
            ("never=1", Ok(r#"{"never":"1"}"#)),
        ] {
            let seen = parse(&[word.to_owned()], Some(&schema));
            let seen = seen.map(|arguments| arguments.as_str().to_owned());
            let seen = seen.map_err(|error| error.to_string());
            assert_eq!(seen, expect.map(str::to_owned).map_err(str::to_owned));
        }
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
