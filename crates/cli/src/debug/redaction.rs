use callgate_mcp::wire::{ArrayWriter, Kind, ObjectWriter, RawJson};

use super::secrets::Secrets;

/// Sign in place of a secret.
pub(super) const MASK: &str = "***";

/// The text without secrets, and without the tokens that follow the word `Bearer`.
///
/// Best-effort: a value that a server has changed in any way is not found.
pub(crate) fn redact_text(text: &str, secrets: &Secrets) -> String {
    hide_bearer_tokens(&secrets.hide(text, MASK))
}

/// A URL, or the path and query of one, without its user and password, and with masks for the values of its query.
pub(super) fn redact_url(text: &str) -> String {
    let (start, query) = match text.split_once('?') {
        Some((start, query)) => (start, Some(query)),
        None => (text, None),
    };
    let mut masked = start.to_owned();
    if let Some((scheme, rest)) = start.split_once("://") {
        let host = rest.split('/').next().unwrap_or_default();
        if let Some((user, _)) = host.rsplit_once('@') {
            let rest = rest.get(user.len()..).unwrap_or_default();
            masked = format!("{scheme}://{MASK}{rest}");
        }
    }
    if let Some(query) = query {
        let pairs = query.split('&').map(|pair| match pair.split_once('=') {
            Some((name, _)) => format!("{name}={MASK}"),
            None => pair.to_owned(),
        });
        masked.push('?');
        masked.push_str(&pairs.collect::<Vec<_>>().join("&"));
    }
    masked
}

/// The value without secrets in its texts, and with masks for the members whose names are those of secrets.
pub(super) fn redact_json(value: &RawJson, secrets: &Secrets) -> RawJson {
    redact(value, secrets, Visibility::Shown)
}

/// Treatment of a plain value, by the name of the member that it is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Visibility {
    Shown,
    Masked,
}

fn redact(value: &RawJson, secrets: &Secrets, visibility: Visibility) -> RawJson {
    match value.kind() {
        Kind::Object => {
            let members = value.members().map(|member| {
                let value = value.value_of(&member);
                let key = member.key().unwrap_or_default();
                let visibility = match is_secret_name(&key) {
                    true => Visibility::Masked,
                    false => Visibility::Shown,
                };
                (
                    redact_text(&key, secrets),
                    redact(&value, secrets, visibility),
                )
            });
            let members: Vec<_> = members.collect();
            let object = members.iter();
            object
                .fold(ObjectWriter::new(), |object, (key, value)| {
                    object.member(key, value)
                })
                .finish()
        }
        Kind::Array => {
            let mut array = ArrayWriter::new();
            for element in value.elements() {
                array.push(&redact(&element, secrets, visibility));
            }
            array.finish()
        }
        Kind::String => {
            let text = value.text().unwrap_or_default();
            match visibility {
                Visibility::Masked if !text.is_empty() => RawJson::string(MASK),
                _ => {
                    let redacted = redact_text(&text, secrets);
                    match redacted == text {
                        true => value.clone(),
                        false => RawJson::string(&redacted),
                    }
                }
            }
        }
        Kind::Number => {
            let is_secret = secrets.hide(value.as_str(), MASK) != value.as_str();
            match is_secret || visibility == Visibility::Masked {
                true => RawJson::string(MASK),
                false => value.clone(),
            }
        }
        _ => value.clone(),
    }
}

/// True for the name of a member, header or parameter that usually holds a secret.
pub(super) fn is_secret_name(name: &str) -> bool {
    const PARTS: [&str; 10] = [
        "password",
        "passwd",
        "passphrase",
        "secret",
        "authorization",
        "credential",
        "cookie",
        "apikey",
        "privatekey",
        "accesskey",
    ];
    // Marks of the protocol, which are no secrets.
    const PLAIN: [&str; 2] = ["progresstoken", "cancellationtoken"];
    let letters = name.chars().filter(char::is_ascii_alphanumeric);
    let name = letters.collect::<String>().to_ascii_lowercase();
    PARTS.iter().any(|part| name.contains(part))
        || (name.ends_with("token") && !PLAIN.contains(&name.as_str()))
}

/// Replaces each word after `Bearer` that is long enough to be a token.
fn hide_bearer_tokens(text: &str) -> String {
    const SCHEME: &str = "bearer ";
    const SHORTEST: usize = 8;
    let lower = text.to_ascii_lowercase();
    let mut hidden = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(found) = lower.get(at..).and_then(|rest| rest.find(SCHEME)) {
        let start = at + found + SCHEME.len();
        let rest = text.get(start..).unwrap_or_default();
        let is_part = |c: char| c.is_ascii_alphanumeric() || "-._~+/=".contains(c);
        let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        hidden.push_str(text.get(at..start).unwrap_or_default());
        let token = rest.get(..length).unwrap_or_default();
        hidden.push_str(if length >= SHORTEST { MASK } else { token });
        at = start + length;
    }
    hidden.push_str(text.get(at..).unwrap_or_default());
    hidden
}

#[cfg(test)]
mod tests {
    use callgate_mcp::wire::Limits;

    use super::*;

    fn check(json: &str, expect: &str) {
        let secrets = Secrets::default();
        secrets.add("canary-1");
        secrets.add("123456");
        let value = RawJson::parse(json.to_owned().into(), &Limits::default()).unwrap();
        assert_eq!(redact_json(&value, &secrets).as_str(), expect, "{json}");
    }

    #[test]
    fn secrets_are_taken_out_wherever_they_stand() {
        check(
            r#"{"a":"x canary-1 y","n":123456}"#,
            r#"{"a":"x *** y","n":"***"}"#,
        );
        check(r#"{"a":"\u0063anary-1"}"#, r#"{"a":"***"}"#);
        check(r#"{"canary-1":[1,"canary-1"]}"#, r#"{"***":[1,"***"]}"#);
        check(
            r#"{"accessToken":"a","API_KEY":"b","client_secret":["c"],"password":4711,"Authorization":"d"}"#,
            r#"{"accessToken":"***","API_KEY":"***","client_secret":["***"],"password":"***","Authorization":"***"}"#,
        );
        check(
            r#"{"text":"authorization: bearer abcdefgh.ij, or Bearer of news"}"#,
            r#"{"text":"authorization: bearer ***, or Bearer of news"}"#,
        );
    }

    #[test]
    fn urls_have_no_user_and_no_values_of_their_query() {
        for (url, expect) in [
            ("/mcp?key=abc&x", "/mcp?key=***&x"),
            (
                "https://me:pw@a.example/mcp?a=b?c",
                "https://***@a.example/mcp?a=***",
            ),
            ("https://a.example/@me", "https://a.example/@me"),
        ] {
            assert_eq!(redact_url(url), expect);
        }
    }

    #[test]
    fn all_else_stays_as_it_is() {
        for json in [
            r#"{"progressToken":1,"maxTokens":5,"z":98765432109876543210987}"#,
            r#"{"properties":{"token":{"type":"string"},"password":{"description":"your password"}}}"#,
            r#"{"token":"","secret":null,"key":"a","nextCursor":"abc"}"#,
        ] {
            check(json, json);
        }
    }
}
