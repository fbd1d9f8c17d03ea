use std::borrow::Cow;

use callgate_wire::{Kind, Method, RawJson};
use sha2::{Digest as _, Sha256};

use crate::service::Caller;

/// Members of the params that differ from one round of a request to the next.
const PER_ROUND: [&str; 3] = ["_meta", "inputResponses", "requestState"];

/// Digest of a request: equal for all rounds of the same request of the same caller.
///
/// It covers the caller, the method and the params, but not the members that differ from one round
/// to the next. The order of members does not count, as a client may write them anew for each round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestDigest(pub(super) [u8; 32]);

impl RequestDigest {
    /// The digest of a request.
    #[must_use]
    pub fn new(caller: &Caller, method: &Method, params: &RawJson) -> Self {
        let mut hasher = Sha256::new();
        let (kind, name) = match caller {
            Caller::Local => ("local", ""),
            Caller::Anonymous => ("anonymous", ""),
            Caller::Principal(principal) => ("principal", principal.name()),
        };
        for part in [kind, name, method.as_str()] {
            hash_part(&mut hasher, part.as_bytes());
        }
        hash_object(&mut hasher, params, &PER_ROUND);
        Self(hasher.finalize().into())
    }

    /// The bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// Recursion is bounded by the depth limit of messages.
fn hash_value(hasher: &mut Sha256, value: &RawJson) {
    match value.kind() {
        Kind::Object => hash_object(hasher, value, &[]),
        Kind::Array => {
            let elements = value.elements();
            hash_opening(hasher, b'[', elements.len());
            for element in elements {
                hash_value(hasher, &element);
            }
        }
        Kind::String => hash_text(hasher, &value.text().ok_or(value.as_bytes())),
        Kind::Number | Kind::Bool | Kind::Null => {
            hasher.update(b"=");
            hash_part(hasher, value.as_bytes());
        }
    }
}

fn hash_object(hasher: &mut Sha256, object: &RawJson, except: &[&str]) {
    let mut members: Vec<_> = object
        .members()
        .map(|member| {
            let written = object.as_bytes().get(member.key_span.clone());
            let key: Text<'_> = member.key().map_err(|_| written.unwrap_or_default());
            (key, object.value_of(&member))
        })
        .filter(|(key, _)| !key.as_ref().is_ok_and(|key| except.contains(&key.as_ref())))
        .collect();
    members.sort_by(|a, b| a.0.cmp(&b.0));
    hash_opening(hasher, b'{', members.len());
    for (key, value) in members {
        hash_text(hasher, &key);
        hash_value(hasher, &value);
    }
}

/// A key or a string; as it is written, quotes included, if half of a surrogate pair leaves it without text.
type Text<'a> = Result<Cow<'a, str>, &'a [u8]>;

/// The two kinds have tags of their own: a text may have the same bytes as what is written for another one.
fn hash_text(hasher: &mut Sha256, text: &Text<'_>) {
    let (tag, bytes) = match text {
        Ok(text) => (b"\"", text.as_bytes()),
        Err(written) => (b"\\", *written),
    };
    hasher.update(tag);
    hash_part(hasher, bytes);
}

fn hash_opening(hasher: &mut Sha256, kind: u8, length: usize) {
    hasher.update([kind]);
    hasher.update((length as u64).to_be_bytes());
}

/// The length goes first, so that no two sequences of parts are the same bytes.
fn hash_part(hasher: &mut Sha256, part: &[u8]) {
    hasher.update((part.len() as u64).to_be_bytes());
    hasher.update(part);
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_wire::Limits;

    fn digest(caller: &Caller, method: &str, params: &str) -> RequestDigest {
        let params = RawJson::parse(params.to_owned().into(), &Limits::default()).unwrap();
        RequestDigest::new(caller, &Method::new(method), &params)
    }

    #[test]
    fn rounds_of_one_request_have_the_same_digest() {
        let first = r#"{"_meta":{"a":1},"name":"t","arguments":{"a":1,"b":["x",{"c":null}]}}"#;
        let second = r#"{"arguments":{"b":["\u0078",{"c":null}], "a":1},"inputResponses":{"k":{}},
            "name":"t","requestState":"s"}"#;
        assert_eq!(
            digest(&Caller::Local, "tools/call", first),
            digest(&Caller::Local, "tools/call", second)
        );
    }

    #[test]
    fn other_requests_have_other_digests() {
        let alice = Caller::named("alice");
        let digests = [
            digest(&alice, "tools/call", r#"{"a":1}"#),
            digest(&Caller::named("bob"), "tools/call", r#"{"a":1}"#),
            digest(&Caller::Anonymous, "tools/call", r#"{"a":1}"#),
            digest(&Caller::Local, "tools/call", r#"{"a":1}"#),
            digest(&alice, "prompts/get", r#"{"a":1}"#),
            digest(&alice, "tools/call", r#"{"a":2}"#),
            digest(&alice, "tools/call", r#"{"a":"1"}"#),
            digest(&alice, "tools/call", r#"{"a":[1]}"#),
            digest(&alice, "tools/call", r#"{"a":{"_meta":1}}"#),
            digest(&alice, "tools/call", r#"{"a":{}}"#),
            digest(&alice, "tools/call", r#"{"a":1,"b":1}"#),
            // Keys and strings with half a surrogate pair, and text that is written like one of them.
            digest(&alice, "tools/call", r#"{"\ud800":1}"#),
            digest(&alice, "tools/call", r#"{"\ud801":1}"#),
            digest(&alice, "tools/call", r#"{"\ufffd":1}"#),
            digest(&alice, "tools/call", r#"{"\\ud800":1}"#),
            digest(&alice, "tools/call", r#"{"a":"\ud800"}"#),
            digest(&alice, "tools/call", r#"{"a":"\ud801"}"#),
            digest(&alice, "tools/call", r#"{"a":"\\ud800"}"#),
            digest(&alice, "tools/call", r#"{"a":"\"\\ud800\""}"#),
            digest(&alice, "tools/call", "{}"),
        ];
        for (at, digest) in digests.iter().enumerate() {
            assert!(!digests[..at].contains(digest), "{at}");
        }
    }
}
