use std::fmt;
use std::ops::{Deref, Range};

use bytes::Bytes;

use crate::member_table::{MemberTable, Parent, Unknown};
use crate::members::Members;
use crate::object_edit::ObjectEdit;
use crate::raw::RawJson;
use crate::text::{self, RawText};

/// Params of a request: an object with known positions of its members and of those of its `_meta`.
///
/// It reads as the [`RawJson`] that it is, but its members are found without another pass over the
/// values before them, which may be large.
///
/// ```
/// # use callgate_wire::{Limits, RawJson, RawParams};
/// let params = r#"{"name":"a","arguments":{"n":1e2},"_meta":{"progressToken":7}}"#;
/// let mut params = RawParams::from(RawJson::parse(params.into(), &Limits::default())?);
/// params.set("name", &RawJson::string("long name"));
/// assert_eq!(params.at(&["_meta", "progressToken"]).unwrap().as_str(), "7");
/// assert_eq!(
///     params.as_str(),
///     r#"{"name":"long name","arguments":{"n":1e2},"_meta":{"progressToken":7}}"#
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct RawParams {
    json: RawJson,
    members: MemberTable,
}

const META: &str = "_meta";

static NO_MEMBERS: RawJson = RawJson::empty_object();

impl RawParams {
    /// Params without members.
    #[must_use]
    pub fn empty() -> Self {
        Self::scanned(RawJson::empty_object(), MemberTable::default())
    }

    /// The object `json` with the positions that a scan of it has found.
    pub(crate) fn scanned(json: RawJson, members: MemberTable) -> Self {
        Self { json, members }
    }

    /// The params without the positions.
    #[must_use]
    pub fn into_json(self) -> RawJson {
        self.json
    }

    /// The member `key`, sharing the buffer.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<RawJson> {
        match self.members.find(self.as_bytes(), Parent::Params, key) {
            Ok(span) => Some(self.slice(span?)),
            Err(Unknown) => self.json.get(key),
        }
    }

    /// The value found by following `path` from object to object.
    #[must_use]
    pub fn at(&self, path: &[&str]) -> Option<RawJson> {
        match path {
            [] => Some(self.json.clone()),
            [META, key] => self.meta_member(key),
            [key, rest @ ..] => self.get(key)?.at(rest),
        }
    }

    /// The member `key` of `_meta`.
    #[must_use]
    pub fn meta_member(&self, key: &str) -> Option<RawJson> {
        match self.members.find(self.as_bytes(), Parent::Meta, key) {
            Ok(span) => Some(self.slice(span?)),
            Err(Unknown) => self.get(META)?.get(key),
        }
    }

    /// The members `keys`, sharing the buffer.
    #[must_use]
    pub fn pick<const N: usize>(&self, keys: [&str; N]) -> [Option<RawJson>; N] {
        let found = self.pick_members(Parent::Params, keys);
        found.unwrap_or_else(|Unknown| self.json.pick(keys))
    }

    /// The members `keys` of `_meta`, sharing the buffer.
    #[must_use]
    pub fn pick_meta<const N: usize>(&self, keys: [&str; N]) -> [Option<RawJson>; N] {
        let found = self.pick_members(Parent::Meta, keys);
        found.unwrap_or_else(|Unknown| match self.get(META) {
            Some(meta) => meta.pick(keys),
            None => [const { None }; N],
        })
    }

    /// Replaces the member `key`, or appends it, in one copy. Every other byte stays.
    pub fn set(&mut self, key: &str, value: &RawJson) {
        let Ok(span) = self.members.find(self.as_bytes(), Parent::Params, key) else {
            let members = [(key.to_owned(), value.clone())];
            *self = Self::from(self.json.with_members(&members));
            return;
        };
        if key == META {
            self.members.forget_meta();
        }
        let edited = match span {
            Some(span) => self.replace(span, value.as_bytes()),
            None => self.append(key, value.as_bytes()),
        };
        self.json = RawJson::trusted(Bytes::from(edited));
    }

    /// Starts editing the members, which are not searched again.
    #[must_use]
    pub fn edit(&self) -> ObjectEdit<'_> {
        match self.members.all(self.as_bytes(), Parent::Params) {
            Ok(members) => ObjectEdit::of_members(&self.json, 0..self.as_bytes().len(), members),
            Err(Unknown) => ObjectEdit::new(&self.json),
        }
    }

    /// Starts editing the members of `_meta`, which are not searched again. A missing one counts as
    /// one without members; `None` if it is not an object.
    #[must_use]
    pub fn edit_meta(&self) -> Option<ObjectEdit<'_>> {
        let text = self.as_bytes();
        let span = match self.members.find(text, Parent::Params, META) {
            Ok(span) => span,
            Err(Unknown) => {
                let mut members = self.json.members();
                let meta = members.find(|member| member.is(META));
                meta.map(|member| member.value_span)
            }
        };
        let Some(span) = span else {
            return Some(ObjectEdit::new(&NO_MEMBERS));
        };
        if text.get(span.start) != Some(&b'{') {
            return None;
        }
        Some(match self.members.all(text, Parent::Meta) {
            Ok(members) => ObjectEdit::of_members(&self.json, span, members),
            Err(Unknown) => {
                let members = Members::new(text, span.start);
                ObjectEdit::of_members(&self.json, span, members)
            }
        })
    }

    fn pick_members<const N: usize>(
        &self,
        parent: Parent,
        keys: [&str; N],
    ) -> Result<[Option<RawJson>; N], Unknown> {
        let mut picked = [const { None }; N];
        self.members
            .pick(self.as_bytes(), parent, &keys, |index, span| {
                // The first one counts, should a key occur twice.
                if let Some(slot @ None) = picked.get_mut(index) {
                    *slot = Some(self.slice(span));
                }
            })?;
        Ok(picked)
    }

    fn replace(&mut self, span: Range<usize>, value: &[u8]) -> Vec<u8> {
        let text = self.json.as_bytes();
        let mut out = Vec::with_capacity(text.len() - span.len() + value.len());
        out.extend_from_slice(text.get(..span.start).unwrap_or_default());
        out.extend_from_slice(value);
        out.extend_from_slice(text.get(span.end..).unwrap_or_default());
        self.members.shift(span.end, span.len(), value.len());
        out
    }

    fn append(&mut self, key: &str, value: &[u8]) -> Vec<u8> {
        let text = self.json.as_bytes();
        let before = text.strip_suffix(b"}").unwrap_or(text).trim_ascii_end();
        let mut out = Vec::with_capacity(before.len() + key.len() + value.len() + 5);
        out.extend_from_slice(before);
        if before != b"{" {
            out.push(b',');
        }
        let key_at = out.len();
        text::write_string(&mut out, key);
        let bytes = out.get(key_at + 1..out.len() - 1).unwrap_or_default();
        let escaped = bytes != key.as_bytes();
        let key = RawText { bytes, escaped };
        self.members.push_key(Parent::Params, key, key_at);
        out.push(b':');
        let value_at = out.len();
        out.extend_from_slice(value);
        self.members.set_value(Parent::Params, value_at..out.len());
        out.push(b'}');
        out
    }
}

impl From<RawJson> for RawParams {
    /// Finds the members of `json` in one pass; anything but an object has none.
    fn from(json: RawJson) -> Self {
        let mut members = MemberTable::default();
        let mut walk = json.members();
        while let Some((key, key_span)) = walk.next_key() {
            members.push_key(Parent::Params, key, key_span.start);
            let span = match key.is(META) {
                true => walk.walk_value(|member| {
                    members.push_key(Parent::Meta, member.raw_key, member.key_span.start);
                    members.set_value(Parent::Meta, member.value_span);
                }),
                false => walk.skip_value(),
            };
            members.set_value(Parent::Params, span);
        }
        Self::scanned(json, members)
    }
}

impl Deref for RawParams {
    type Target = RawJson;

    fn deref(&self) -> &RawJson {
        &self.json
    }
}

impl PartialEq for RawParams {
    fn eq(&self, other: &Self) -> bool {
        self.json == other.json
    }
}

impl Eq for RawParams {}

impl fmt::Debug for RawParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.json.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Frame, Limits};

    fn raw(text: &str) -> RawJson {
        RawJson::parse(text.to_owned().into(), &Limits::default()).unwrap()
    }

    /// The params as a scan of a message finds them.
    fn scanned(params: &str) -> RawParams {
        let message = format!(r#" {{"jsonrpc":"2.0","id":1,"params":{params} ,"method":"m"}}"#);
        match Frame::parse(&message.into(), &Limits::default()) {
            Ok(Frame::Request(request)) => request.params,
            other => panic!("not a request: {other:?}"),
        }
    }

    fn many(count: usize) -> String {
        let members: Vec<_> = (0..count).map(|n| format!(r#""k{n}":{n}"#)).collect();
        format!("{{{}}}", members.join(","))
    }

    const PARAMS: &str =
        r#"{ "\u0061" : [1, {"b":2}], "_meta": {"t" : 1e2,"\u0075":{"t":3}} ,"n":"x"}"#;

    #[test]
    fn members_are_found_where_a_walk_finds_them() {
        for text in ["{}", "{ }", PARAMS, &many(32), &many(33)] {
            for params in [scanned(text), raw(text).into()] {
                assert_eq!(*params, raw(text));
                for key in ["a", "b", "_meta", "n", "t", "k0", "k31", "k32"] {
                    assert_eq!(params.get(key), raw(text).get(key), "{key} of {text}");
                }
                let keys = ["n", "k32", "a", "_meta"];
                assert_eq!(params.pick(keys), raw(text).pick(keys), "{text}");
                let meta = raw(text).get("_meta").unwrap_or_else(|| raw("{}"));
                assert_eq!(
                    params.pick_meta(["u", "t"]),
                    meta.pick(["u", "t"]),
                    "{text}"
                );
                for path in [
                    &[][..],
                    &["_meta", "t"],
                    &["_meta", "u"],
                    &["_meta", "u", "t"],
                ] {
                    assert_eq!(params.at(path), raw(text).at(path), "{path:?} of {text}");
                }
            }
        }
    }

    #[test]
    fn an_edit_changes_the_members_that_a_walk_finds() {
        for text in ["{}", PARAMS, &many(32), &many(33)] {
            for params in [scanned(text), raw(text).into()] {
                let json = raw(text);
                let (mut edit, mut expect) = (params.edit(), ObjectEdit::new(&json));
                for edit in [&mut edit, &mut expect] {
                    edit.remove("a");
                    edit.set("n", RawJson::null());
                }
                assert_eq!(edit.finish(), expect.finish(), "{text}");
            }
        }
    }

    #[test]
    fn metadata_is_edited_where_it_stands() {
        let long = format!(r#"{{"x":{},"_meta":{{"t":1, "n":2}}}}"#, many(33));
        let many_keys = many(33).replace("\"k7\":7", r#""_meta":{"t":1, "n":2}"#);
        for text in [PARAMS, &long, &many_keys, r#"{"_meta":{}}"#] {
            for params in [scanned(text), raw(text).into()] {
                let meta = raw(text).get("_meta").unwrap();
                assert_eq!(params.edit_meta().unwrap().finish(), meta);
                let (mut edit, mut expect) = (params.edit_meta().unwrap(), ObjectEdit::new(&meta));
                for edit in [&mut edit, &mut expect] {
                    edit.remove("t");
                    edit.set("s", RawJson::null());
                }
                assert_eq!(edit.finish(), expect.finish(), "{text}");
            }
        }
        for text in ["{}", &many(33)] {
            for params in [scanned(text), raw(text).into()] {
                let meta = params.edit_meta().unwrap().finish();
                assert_eq!(meta, RawJson::empty_object(), "{text}");
            }
        }
        let broken = many(33).replace(r#""k7":7"#, r#""_meta":7"#);
        for text in [r#"{"_meta":[]}"#, &broken] {
            for params in [scanned(text), raw(text).into()] {
                assert!(params.edit_meta().is_none(), "{text}");
            }
        }
    }

    #[test]
    fn metadata_that_is_no_object_has_no_members() {
        for text in [
            r#"{"_meta":[{"t":1}]}"#,
            r#"{"_meta":1,"t":2}"#,
            r#"{"x":{"t":1}}"#,
        ] {
            for params in [scanned(text), raw(text).into()] {
                assert_eq!(params.meta_member("t"), None, "{text}");
            }
        }
    }

    #[test]
    fn positions_follow_an_edit() {
        let check = |text: &str, key: &str, value: &str, expect: &str| {
            for mut params in [scanned(text), raw(text).into()] {
                params.set(key, &raw(value));
                assert_eq!(params.as_str(), expect);
                let fresh = RawParams::from(raw(expect));
                for key in [key, "a", "_meta", "n", "k32"] {
                    assert_eq!(params.get(key), fresh.get(key), "{key} of {expect}");
                }
                assert_eq!(params.meta_member("t"), fresh.meta_member("t"));
                assert_eq!(params.meta_member("u"), fresh.meta_member("u"));
            }
        };
        check(
            PARAMS,
            "a",
            "null",
            r#"{ "\u0061" : null, "_meta": {"t" : 1e2,"\u0075":{"t":3}} ,"n":"x"}"#,
        );
        check(
            PARAMS,
            "_meta",
            r#"{"u":1}"#,
            r#"{ "\u0061" : [1, {"b":2}], "_meta": {"u":1} ,"n":"x"}"#,
        );
        check(
            r#"{"n":1 }"#,
            "_meta",
            r#"{"t":1}"#,
            r#"{"n":1,"_meta":{"t":1}}"#,
        );
        check("{ }", "\"", "{}", r#"{"\"":{}}"#);
        check("{}", "n", "7", r#"{"n":7}"#);
        let (before, after) = (many(33), many(33).replace("31,", "null,"));
        check(&before, "k31", "null", &after);
    }
}
