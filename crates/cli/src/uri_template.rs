use crate::error::CommandError;

/// Fills in the variables of a URI template from words `name=value`; a URI without variables stays as it is.
///
/// Of RFC 6570 it knows `{a,b}`, `{+a}`, `{#a}`, `{/a}`, `{?a,b}` and `{&a}`, without modifiers.
pub(crate) fn expand(template: &str, words: &[String]) -> Result<String, CommandError> {
    let mut values = Vec::new();
    for word in words {
        let pair = word.split_once('=').ok_or_else(|| {
            CommandError::usage(format!("`{word}` is not a variable of the URI"))
                .hint("write it as name=value")
        })?;
        values.push((pair, false));
    }
    let mut uri = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((expression, after)) = after.split_once('}') else {
            break;
        };
        // Without any word, braces are part of the URI.
        if words.is_empty() {
            let name = expression.trim_start_matches(OPERATORS);
            return Err(
                CommandError::usage(format!("the URI has the variable `{name}`"))
                    .hint(format!("give its value after the URI: {name}=VALUE")),
            );
        }
        uri.push_str(before);
        uri.push_str(&expression_text(expression, &mut values)?);
        rest = after;
    }
    uri.push_str(rest);
    match values.iter().find(|(_, used)| !used) {
        None => Ok(uri),
        Some(((name, _), _)) => Err(CommandError::usage(format!(
            "the URI has no variable `{name}`"
        ))
        .hint("write each variable as {name} in the URI, in quotes")),
    }
}

const OPERATORS: [char; 5] = ['+', '#', '/', '?', '&'];

/// Value of one variable, and a note that it was used.
type Value<'a> = ((&'a str, &'a str), bool);

fn expression_text(expression: &str, values: &mut [Value<'_>]) -> Result<String, CommandError> {
    let operator = expression.chars().next().filter(|c| OPERATORS.contains(c));
    let names = expression.trim_start_matches(OPERATORS);
    let (first, between, is_named) = match operator {
        Some('#') => ("#", ",", false),
        Some('/') => ("/", "/", false),
        Some('?') => ("?", "&", true),
        Some('&') => ("&", "&", true),
        _ => ("", ",", false),
    };
    let keeps_reserved = matches!(operator, Some('+' | '#'));
    let mut parts = Vec::new();
    for name in names.split(',') {
        let name = name.trim_end_matches('*');
        let found = values.iter_mut().find(|((key, _), _)| *key == name);
        let Some(((_, value), used)) = found else {
            // A query is made of the variables that there are.
            if is_named {
                continue;
            }
            return Err(CommandError::usage(format!(
                "the variable `{name}` of the URI has no value"
            ))
            .hint(format!("add {name}=VALUE to the command")));
        };
        *used = true;
        let value = encode(value, keeps_reserved);
        parts.push(match is_named {
            true => format!("{name}={value}"),
            false => value,
        });
    }
    Ok(match parts.is_empty() {
        true => String::new(),
        false => format!("{first}{}", parts.join(between)),
    })
}

fn encode(value: &str, keeps_reserved: bool) -> String {
    let mut encoded = String::new();
    for byte in value.bytes() {
        let is_kept = byte.is_ascii_alphanumeric()
            || b"-._~".contains(&byte)
            || keeps_reserved && b":/?#[]@!$&'()*+,;=%".contains(&byte);
        match is_kept {
            true => encoded.push(char::from(byte)),
            false => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(template: &str, words: &[&str], expect: Result<&str, &str>) {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let seen = expand(template, &words).map_err(|error| error.with_hints());
        assert_eq!(
            seen,
            expect.map(str::to_owned).map_err(str::to_owned),
            "{template}"
        );
    }

    #[test]
    fn variables_are_filled_in() {
        check("file:///a%20b", &[], Ok("file:///a%20b"));
        check("x://{id}/y", &["id=a/b ü"], Ok("x://a%2Fb%20%C3%BC/y"));
        check("x://{+path}", &["path=a/b c"], Ok("x://a/b%20c"));
        check("x://h{/a}{?q,r}", &["a=1", "q=2"], Ok("x://h/1?q=2"));
        check("x://{a,b}{#c}", &["b=2", "a=1", "c=3"], Ok("x://1,2#3"));
    }

    #[test]
    fn mistakes_are_named() {
        check(
            "x://{id}",
            &[],
            Err("the URI has the variable `id`\nhint: give its value after the URI: id=VALUE"),
        );
        check(
            "x://{id}/{b}",
            &["id=1"],
            Err("the variable `b` of the URI has no value\nhint: add b=VALUE to the command"),
        );
        check(
            "x://a",
            &["id=1"],
            Err(
                "the URI has no variable `id`\nhint: write each variable as {name} in the URI, in quotes",
            ),
        );
        check(
            "x://{a}",
            &["1"],
            Err("`1` is not a variable of the URI\nhint: write it as name=value"),
        );
        check("x://{a", &[], Ok("x://{a"));
    }
}
