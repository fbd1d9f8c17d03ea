use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use callgate_wire::capabilities::{ClientCapabilities, ElicitationCapability};
use callgate_wire::{Map, RawJson, Splice, Version, method};
use serde_json::Value;

use super::content::messages;
use crate::error::{self, Error};
use crate::seal::random;

/// Question of a server, as a request to an old client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Question {
    pub(crate) kind: QuestionKind,
    pub(crate) params: RawJson,
}

/// Kind of question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum QuestionKind {
    /// A form for the user to fill in.
    Form,
    /// A URL for the user to open, with the id that only 2025-11-25 has.
    Url(String),
    /// A message from a model.
    Message,
    /// The roots.
    Roots,
}

impl QuestionKind {
    pub(crate) fn method(&self) -> &'static str {
        match self {
            Self::Form | Self::Url(_) => method::ELICITATION_CREATE,
            Self::Message => method::SAMPLING_CREATE_MESSAGE,
            Self::Roots => method::ROOTS_LIST,
        }
    }
}

/// Turns an input request of a server into a request to a client of `version`.
///
/// # Errors
/// It is not a known input request, or the client did not declare the capability for it.
pub(crate) fn question(
    version: Version,
    can: &ClientCapabilities,
    request: &RawJson,
) -> Result<Question, Error> {
    let [name, params] = request.pick(["method", "params"]);
    let name = name.as_ref().and_then(RawJson::text).unwrap_or_default();
    let params = params.unwrap_or_else(RawJson::empty_object);
    if !params.is_object() {
        return Err(protocol_error(
            "asks a question without an object as params",
        ));
    }
    let kind = kind(&name, &params)?;
    if !can_answer(can, &kind, &params) {
        let what = format!("asks for `{name}` in a way that the client did not say it can answer");
        return Err(protocol_error(&what));
    }
    let params = match &kind {
        QuestionKind::Form if version < Version::V2025_11_25 => plain_form(&params),
        QuestionKind::Url(id) => set(&params, "elicitationId", &RawJson::string(id)),
        QuestionKind::Message => match params
            .get("messages")
            .and_then(|old| messages(version, &old))
        {
            Some(known) => set(&params, "messages", &known),
            None => params,
        },
        _ => params,
    };
    Ok(Question { kind, params })
}

fn kind(name: &str, params: &RawJson) -> Result<QuestionKind, Error> {
    let mode = params.get("mode");
    let mode = mode.as_ref().and_then(RawJson::text);
    match (name, mode.as_deref()) {
        (method::ELICITATION_CREATE, None | Some("form")) => Ok(QuestionKind::Form),
        (method::ELICITATION_CREATE, Some("url")) => {
            // A new id: the newest revision has none, and the client is told later which URL is done.
            Ok(QuestionKind::Url(URL_SAFE_NO_PAD.encode(random::<16>())))
        }
        (method::SAMPLING_CREATE_MESSAGE, _) => Ok(QuestionKind::Message),
        (method::ROOTS_LIST, _) => Ok(QuestionKind::Roots),
        _ => Err(protocol_error(&format!(
            "asks for `{name}`, which is no question"
        ))),
    }
}

fn can_answer(can: &ClientCapabilities, kind: &QuestionKind, params: &RawJson) -> bool {
    let elicitation = can.elicitation.as_ref();
    match kind {
        QuestionKind::Form => elicitation.is_some_and(ElicitationCapability::has_form),
        QuestionKind::Url(_) => elicitation.is_some_and(ElicitationCapability::has_url),
        QuestionKind::Message => can.sampling.as_ref().is_some_and(|sampling| {
            sampling.tools.is_some()
                || params.get("tools").is_none() && params.get("toolChoice").is_none()
        }),
        QuestionKind::Roots => can.roots.is_some(),
    }
}

/// A form of 2025-06-18: it has one mode, and the titles of choices are in `enumNames`.
///
/// That revision has no fields for several choices; they pass unchanged, and a client that cannot
/// show them refuses.
fn plain_form(params: &RawJson) -> RawJson {
    let params = Splice::new(params)
        .remove(&["mode"])
        .finish()
        .expect("a member of an object can be removed");
    let Some(Ok(fields)) = params
        .at(&["requestedSchema", "properties"])
        .map(|fields| fields.decode::<Map<RawJson>>())
    else {
        return params;
    };
    let fields: Map<RawJson> = fields
        .into_iter()
        .map(|(name, field)| (name, plain_choice(&field).unwrap_or(field)))
        .collect();
    let fields = RawJson::encode(&fields).expect("an object of JSON is JSON");
    Splice::new(&params)
        .set(&["requestedSchema", "properties"], &fields)
        .finish()
        .expect("the member is there")
}

fn plain_choice(field: &RawJson) -> Option<RawJson> {
    let options: Vec<Value> = field.get("oneOf")?.decode().ok()?;
    let all = |key: &str| -> Option<Vec<Value>> {
        options
            .iter()
            .map(|option| option.get(key).cloned())
            .collect()
    };
    let values = RawJson::encode(&all("const")?).ok()?;
    let titles = RawJson::encode(&all("title")?).ok()?;
    Splice::new(field)
        .remove(&["oneOf"])
        .set(&["enum"], &values)
        .set(&["enumNames"], &titles)
        .finish()
        .ok()
}

fn set(params: &RawJson, key: &str, value: &RawJson) -> RawJson {
    Splice::new(params)
        .set(&[key], value)
        .finish()
        .expect("a member of an object can be set")
}

fn protocol_error(what: &str) -> Error {
    Error::new(error::Kind::Protocol, format!("the server {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_wire::Limits;

    fn raw(text: &str) -> RawJson {
        RawJson::parse(text.to_owned().into(), &Limits::default()).unwrap()
    }

    fn ask(version: Version, can: &str, request: &str) -> Result<Question, String> {
        let can = raw(can).decode().unwrap();
        question(version, &can, &raw(request)).map_err(|error| error.to_string())
    }

    #[test]
    fn titles_of_choices_stand_where_a_client_of_2025_06_18_looks_for_them() {
        let form = r#"{"method":"elicitation/create","params":{"mode":"form","message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"string","oneOf":[{"const":"x","title":"X"}],"title":"A"},"b":{"type":"boolean"}}}}}"#;
        let can = r#"{"elicitation":{"form":{}}}"#;
        let seen = ask(Version::V2025_06_18, can, form).unwrap();
        assert_eq!(
            seen.params.as_str(),
            r#"{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"string","title":"A","enum":["x"],"enumNames":["X"]},"b":{"type":"boolean"}}}}"#
        );
        let seen = ask(Version::V2025_11_25, can, form).unwrap();
        assert_eq!(Some(seen.params), raw(form).get("params"));
    }

    #[test]
    fn hc_21_a_url_gets_an_id_of_its_own() {
        let url = r#"{"method":"elicitation/create","params":{"mode":"url","message":"m","url":"https://a.example"}}"#;
        let can = r#"{"elicitation":{"url":{}}}"#;
        let ids: Vec<String> = (0..2)
            .map(|_| {
                let seen = ask(Version::V2025_11_25, can, url).unwrap();
                let QuestionKind::Url(id) = seen.kind else {
                    unreachable!("a URL was asked for")
                };
                assert_eq!(
                    seen.params.as_str(),
                    format!(
                        r#"{{"mode":"url","message":"m","url":"https://a.example","elicitationId":"{id}"}}"#
                    )
                );
                id
            })
            .collect();
        assert_ne!(ids.first(), ids.last());
    }

    #[test]
    fn nothing_is_asked_that_the_client_cannot_answer() {
        let cannot = |name: &str| {
            Err(format!(
                "the server asks for `{name}` in a way that the client did not say it can answer"
            ))
        };
        for (can, request, name) in [
            (
                r#"{"elicitation":{"form":{}}}"#,
                r#"{"method":"elicitation/create","params":{"mode":"url"}}"#,
                "elicitation/create",
            ),
            (
                r#"{"elicitation":{"url":{}}}"#,
                r#"{"method":"elicitation/create","params":{}}"#,
                "elicitation/create",
            ),
            (
                r#"{"sampling":{}}"#,
                r#"{"method":"sampling/createMessage","params":{"tools":[]}}"#,
                "sampling/createMessage",
            ),
            ("{}", r#"{"method":"roots/list"}"#, "roots/list"),
        ] {
            assert_eq!(ask(Version::V2025_11_25, can, request), cannot(name));
        }
        assert_eq!(
            ask(Version::V2025_11_25, "{}", r#"{"method":"tools/list"}"#),
            Err("the server asks for `tools/list`, which is no question".to_owned())
        );
    }
}
