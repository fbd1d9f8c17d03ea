use callgate_wire::input::InputRequest;
use callgate_wire::{Id, RawJson, Request, RpcError, Splice, Version, code, meta, method};
use serde::Serialize;
use serde_json::json;

use crate::service::PeerInfo;

/// Request of an old server to its client; a server of today asks the same by its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Question {
    /// Id of the request, which the answer carries.
    pub(super) id: Id,
    /// The same question as an `InputRequest`.
    pub(super) request: RawJson,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Form,
    Url,
    Message,
    MessageWithTools,
    Roots,
}

/// Error code of a client whose user rejected the sampling request.
const REJECTED: i64 = -1;

impl Question {
    /// True if a client of today can be asked for `method` too.
    pub(super) fn is_asked_by(method: &str) -> bool {
        matches!(
            method,
            method::ELICITATION_CREATE | method::SAMPLING_CREATE_MESSAGE | method::ROOTS_LIST
        )
    }

    /// Reads a question.
    ///
    /// # Errors
    /// The answer to a question that is malformed.
    pub(super) fn read(request: &Request) -> Result<Self, RpcError> {
        #[derive(Serialize)]
        struct Asked<'a> {
            method: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            params: Option<RawJson>,
        }
        let malformed = || RpcError::new(code::INVALID_PARAMS, "the question is malformed");
        let params = &request.params;
        let kind = match request.method.as_str() {
            method::ELICITATION_CREATE => match params.get("mode") {
                Some(mode) if mode.text().as_deref() == Some("url") => Kind::Url,
                _ => Kind::Form,
            },
            method::SAMPLING_CREATE_MESSAGE if params.get("tools").is_some() => {
                Kind::MessageWithTools
            }
            method::SAMPLING_CREATE_MESSAGE => Kind::Message,
            _ => Kind::Roots,
        };
        let asked = Asked {
            method: request.method.as_str(),
            params: match kind {
                Kind::Roots => None,
                _ => Some(modern(params).ok_or_else(malformed)?),
            },
        };
        let asked = RawJson::encode(&asked).map_err(|_| malformed())?;
        // Decoded only as a check: the client would fail at a malformed question.
        asked.decode::<InputRequest>().map_err(|_| malformed())?;
        Ok(Self {
            id: request.id.clone(),
            request: asked,
            kind,
        })
    }

    /// Checks that a client with these capabilities can be asked.
    pub(super) fn suits(&self, peer: &PeerInfo) -> Result<(), RpcError> {
        let declares = |path: &[&str]| peer.declares(path);
        // The codes are those that a client of an old revision answers with.
        let (offered, code) = match self.kind {
            Kind::Form if !declares(&["elicitation"]) => (false, code::METHOD_NOT_FOUND),
            // A client that declares no mode supports forms.
            Kind::Form => (
                declares(&["elicitation", "form"]) || !declares(&["elicitation", "url"]),
                code::INVALID_PARAMS,
            ),
            Kind::Url => (declares(&["elicitation", "url"]), code::INVALID_PARAMS),
            Kind::Message => (declares(&["sampling"]), code::METHOD_NOT_FOUND),
            Kind::MessageWithTools => (declares(&["sampling", "tools"]), code::INVALID_PARAMS),
            Kind::Roots => (declares(&["roots"]), code::METHOD_NOT_FOUND),
        };
        match offered {
            true => Ok(()),
            false => Err(RpcError::new(
                code,
                "the client of this call did not declare that it can be asked this",
            )),
        }
    }

    /// The answer of a client in the form that an old server expects.
    pub(super) fn answer(&self, answer: &RawJson, version: Version) -> RawJson {
        let is_message = matches!(self.kind, Kind::Message | Kind::MessageWithTools);
        if !is_message || version >= Version::V2025_11_25 {
            return answer.clone();
        }
        // Older revisions have one block where newer ones may have a list.
        let blocks = answer.get("content").map(|content| content.elements());
        let Some(block) = blocks.as_ref().and_then(|blocks| blocks.first()) else {
            return answer.clone();
        };
        let single = Splice::new(answer).set(&["content"], block).finish();
        single.unwrap_or_else(|_| answer.clone())
    }

    /// The answer to the server if no client answers.
    pub(super) fn unanswered(&self) -> Result<RawJson, RpcError> {
        match self.kind {
            // To a server a canceled elicitation is an ordinary answer; the other kinds have none of that
            // sort.
            Kind::Form | Kind::Url => {
                Ok(RawJson::encode(&json!({ "action": "cancel" }))
                    .expect("an action is always JSON"))
            }
            Kind::Message | Kind::MessageWithTools => {
                Err(RpcError::new(REJECTED, "no client answered the question"))
            }
            Kind::Roots => Err(RpcError::new(
                code::INTERNAL_ERROR,
                "no client answered the question",
            )),
        }
    }
}

/// A client with those capabilities alone that [`Question::suits`] looks at: a small copy, which
/// shares no buffer with the request.
pub(super) fn asked_capabilities(peer: &PeerInfo) -> PeerInfo {
    let mut declared = serde_json::Map::new();
    let kinds: [(&str, &[&str]); 3] = [
        ("elicitation", &["form", "url"]),
        ("sampling", &["tools"]),
        ("roots", &[]),
    ];
    for (kind, parts) in kinds {
        if peer.declares(&[kind]) {
            let parts = parts.iter().filter(|part| peer.declares(&[kind, part]));
            let parts = parts.map(|part| ((*part).to_owned(), json!({})));
            declared.insert(kind.to_owned(), parts.collect());
        }
    }
    let meta = RawJson::encode(&json!({ (meta::CLIENT_CAPABILITIES): declared }));
    PeerInfo::new(peer.version(), meta.expect("a value is always JSON"))
}

/// Params without the members that only sessions have.
fn modern(params: &RawJson) -> Option<RawJson> {
    Splice::new(params)
        .remove(&["_meta"])
        .remove(&["task"])
        .remove(&["elicitationId"])
        .finish()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_wire::Method;

    fn json(text: &str) -> RawJson {
        serde_json::from_str(text).unwrap()
    }

    fn read(method: &str, params: &str) -> Result<Question, RpcError> {
        Question::read(&Request {
            id: Id::number(5),
            method: Method::new(method),
            params: json(params).into(),
        })
    }

    #[test]
    fn a_question_loses_the_members_of_sessions() {
        let url = r#"{"mode":"url","elicitationId":"e","message":"m","url":"https://a.example","task":{},"_meta":{"progressToken":1}}"#;
        let question = read("elicitation/create", url).unwrap();
        assert_eq!(
            question.request.as_str(),
            r#"{"method":"elicitation/create","params":{"mode":"url","message":"m","url":"https://a.example"}}"#
        );
        let roots = read("roots/list", r#"{"_meta":{}}"#).unwrap();
        assert_eq!(roots.request.as_str(), r#"{"method":"roots/list"}"#);
        for (method, params) in [
            ("elicitation/create", r#"{"mode":"voice","message":"m"}"#),
            ("sampling/createMessage", "{}"),
        ] {
            assert_eq!(read(method, params).unwrap_err().code, -32602, "{method}");
        }
    }

    #[test]
    fn a_client_is_asked_only_by_its_declared_capabilities() {
        let form = r#"{"message":"m","requestedSchema":{"type":"object","properties":{}}}"#;
        let url = r#"{"mode":"url","message":"m","url":"https://a.example"}"#;
        let message = r#"{"messages":[],"maxTokens":1}"#;
        let tools = r#"{"messages":[],"maxTokens":1,"tools":[]}"#;
        for (method, params, capabilities, expect) in [
            ("elicitation/create", form, r#"{"elicitation":{}}"#, Ok(())),
            (
                "elicitation/create",
                form,
                r#"{"elicitation":{"form":{},"url":{}}}"#,
                Ok(()),
            ),
            (
                "elicitation/create",
                form,
                r#"{"elicitation":{"url":{}}}"#,
                Err(-32602),
            ),
            ("elicitation/create", form, "{}", Err(-32601)),
            (
                "elicitation/create",
                url,
                r#"{"elicitation":{}}"#,
                Err(-32602),
            ),
            (
                "elicitation/create",
                url,
                r#"{"elicitation":{"url":{}}}"#,
                Ok(()),
            ),
            (
                "sampling/createMessage",
                message,
                r#"{"sampling":{}}"#,
                Ok(()),
            ),
            ("sampling/createMessage", message, "{}", Err(-32601)),
            (
                "sampling/createMessage",
                tools,
                r#"{"sampling":{}}"#,
                Err(-32602),
            ),
            (
                "sampling/createMessage",
                tools,
                r#"{"sampling":{"tools":{}}}"#,
                Ok(()),
            ),
            ("roots/list", "{}", r#"{"roots":{}}"#, Ok(())),
            ("roots/list", "{}", "{}", Err(-32601)),
        ] {
            let meta = format!(r#"{{"{}":{capabilities}}}"#, meta::CLIENT_CAPABILITIES);
            let peer = PeerInfo::new(Version::LATEST, json(&meta));
            for peer in [&peer, &asked_capabilities(&peer)] {
                let suits = read(method, params).unwrap().suits(peer);
                assert_eq!(
                    suits.map_err(|error| error.code),
                    expect,
                    "{method} {capabilities}"
                );
            }
        }
    }

    #[test]
    fn what_is_kept_of_a_client_is_small() {
        let long = "x".repeat(1_000);
        let peer = json(&format!(
            r#"{{"{}":{{"elicitation":{{"form":{{"x":"{long}"}}}},"x":"{long}"}},"{}":"{long}","x":"{long}"}}"#,
            meta::CLIENT_CAPABILITIES,
            meta::PROGRESS_TOKEN,
        ));
        let kept = asked_capabilities(&PeerInfo::new(Version::LATEST, peer));
        let expect = format!(
            r#"{{"{}":{{"elicitation":{{"form":{{}}}}}}}}"#,
            meta::CLIENT_CAPABILITIES
        );
        assert_eq!(kept.meta().as_str(), expect);
        assert_eq!(kept.progress_token(), None);
    }

    #[test]
    fn a_field_that_a_form_should_not_have_is_passed_on_as_it_is() {
        let form = r#"{"message":"m","requestedSchema":{"type":"object","properties":{"nick":{"anyOf":[{"type":"string"},{"type":"null"}],"default":null,"title":"Nick"},"key":{"type":"string","format":"uuid"}}}}"#;
        let question = read("elicitation/create", form).unwrap();
        let expect = format!(r#"{{"method":"elicitation/create","params":{form}}}"#);
        assert_eq!(question.request.as_str(), expect);
        // The question of a task is decoded for its client.
        let decoded: InputRequest = question.request.decode().unwrap();
        assert_eq!(RawJson::encode(&decoded).unwrap(), question.request);
    }

    #[test]
    fn an_older_server_gets_one_block_of_content() {
        let message = read("sampling/createMessage", r#"{"messages":[],"maxTokens":1}"#).unwrap();
        let answer =
            json(r#"{"role":"assistant","content":[{"type":"text","text":"a"}],"model":"m"}"#);
        assert_eq!(message.answer(&answer, Version::V2025_11_25), answer);
        assert_eq!(
            message.answer(&answer, Version::V2025_06_18).as_str(),
            r#"{"role":"assistant","content":{"type":"text","text":"a"},"model":"m"}"#
        );
    }
}
