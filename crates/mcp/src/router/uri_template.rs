use crate::percent;

/// URI template that URIs are matched against.
///
/// It supports two expressions of RFC 6570: `{name}`, which matches text without `/`, and
/// `{+name}`, which matches any text. Matching takes linear time and never backtracks, because URIs
/// come from clients: an expression ends where the text after it first occurs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UriTemplate {
    parts: Vec<TemplatePart>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum TemplatePart {
    Literal(String),
    Variable { name: String, reserved: bool },
}

/// Refusal of a URI template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UriTemplateError {
    /// A brace is not closed, or not opened.
    #[error("URI template has an unbalanced brace")]
    Unbalanced,
    /// An expression is neither `{name}` nor `{+name}`.
    #[error("URI template expression `{{{expression}}}` is not supported")]
    Unsupported {
        /// Text between the braces.
        expression: String,
    },
    /// Two expressions have no text between them, so the end of the first one is not defined.
    #[error("URI template expression `{{{expression}}}` follows another without text between them")]
    Adjacent {
        /// Text between the braces of the second one.
        expression: String,
    },
}

impl UriTemplate {
    /// Parses a template.
    pub(crate) fn parse(template: &str) -> Result<Self, UriTemplateError> {
        let mut parts = Vec::new();
        let mut rest = template;
        while let Some(open) = rest.find(['{', '}']) {
            let (literal, expression) = rest.split_at(open);
            let expression = expression
                .strip_prefix('{')
                .ok_or(UriTemplateError::Unbalanced)?;
            let (expression, after) = expression
                .split_once('}')
                .ok_or(UriTemplateError::Unbalanced)?;
            if !literal.is_empty() {
                parts.push(TemplatePart::Literal(literal.to_owned()));
            } else if matches!(parts.last(), Some(TemplatePart::Variable { .. })) {
                return Err(UriTemplateError::Adjacent {
                    expression: expression.to_owned(),
                });
            }
            parts.push(variable(expression)?);
            rest = after;
        }
        if !rest.is_empty() {
            parts.push(TemplatePart::Literal(rest.to_owned()));
        }
        Ok(Self { parts })
    }

    /// Variables of a URI, in order and percent-decoded; `None` if it does not match.
    pub(crate) fn matches(&self, uri: &str) -> Option<Vec<(&str, String)>> {
        let mut variables = Vec::new();
        let mut rest = uri;
        let mut parts = self.parts.iter().peekable();
        while let Some(part) = parts.next() {
            match part {
                TemplatePart::Literal(literal) => rest = rest.strip_prefix(literal.as_str())?,
                TemplatePart::Variable { name, reserved } => {
                    let end = match parts.peek() {
                        Some(TemplatePart::Literal(literal)) => rest.find(literal.as_str())?,
                        _ => rest.len(),
                    };
                    let (text, after) = rest.split_at(end);
                    if text.is_empty() || (!reserved && text.contains('/')) {
                        return None;
                    }
                    variables.push((name.as_str(), percent::decode(text)?));
                    rest = after;
                }
            }
        }
        rest.is_empty().then_some(variables)
    }
}

fn variable(expression: &str) -> Result<TemplatePart, UriTemplateError> {
    let (name, reserved) = match expression.strip_prefix('+') {
        Some(name) => (name, true),
        None => (expression, false),
    };
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.');
    if name.is_empty() || !name.bytes().all(is_name) {
        return Err(UriTemplateError::Unsupported {
            expression: expression.to_owned(),
        });
    }
    Ok(TemplatePart::Variable {
        name: name.to_owned(),
        reserved,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(template: &str, uri: &str, expect: Option<&[(&str, &str)]>) {
        let template = UriTemplate::parse(template).unwrap();
        let expect = expect.map(|variables| {
            variables
                .iter()
                .map(|(name, value)| (*name, (*value).to_owned()))
                .collect::<Vec<_>>()
        });
        assert_eq!(template.matches(uri), expect, "{uri}");
    }

    #[test]
    fn a_uri_gives_its_variables() {
        let template = "test://template/{id}/data";
        check(template, "test://template/7/data", Some(&[("id", "7")]));
        check(
            template,
            "test://template/a%2Fb/data",
            Some(&[("id", "a/b")]),
        );
        check(template, "test://template//data", None);
        check(template, "test://template/a/b/data", None);
        check(template, "test://template/7/data/more", None);
        check(template, "test://template/%zz/data", None);
        check("a:{x}-{y}", "a:1-2-3", Some(&[("x", "1"), ("y", "2-3")]));
        check(
            "file:///{+path}",
            "file:///a/b.txt",
            Some(&[("path", "a/b.txt")]),
        );
        check("plain:", "plain:", Some(&[]));
        check("plain:", "plain:x", None);
    }

    #[test]
    fn templates_that_cannot_be_matched_are_refused() {
        let unsupported = |expression: &str| UriTemplateError::Unsupported {
            expression: expression.to_owned(),
        };
        for (template, expect) in [
            ("a:{x", UriTemplateError::Unbalanced),
            ("a:x}", UriTemplateError::Unbalanced),
            ("a:{}", unsupported("")),
            ("a:{?q}", unsupported("?q")),
            ("a:{x,y}", unsupported("x,y")),
            ("a:{x*}", unsupported("x*")),
            (
                "a:{x}{y}",
                UriTemplateError::Adjacent {
                    expression: "y".to_owned(),
                },
            ),
        ] {
            assert_eq!(UriTemplate::parse(template), Err(expect), "{template}");
        }
    }
}
