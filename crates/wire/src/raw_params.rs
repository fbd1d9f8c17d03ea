use std::fmt;
use std::ops::{Deref, Range};
use std::sync::OnceLock;

use bytes::Bytes;

use crate::member_table::{META, MemberTable, Parent, Unknown};
use crate::members::Members;
use crate::object_edit::ObjectEdit;
use crate::raw::RawJson;
use crate::splice::{Splice, SpliceError};
use crate::text::{self, RawText};

/// Params of a request: an object with known positions of its members and of those of its `_meta`.
///
/// It reads as the [`RawJson`] that it is, but its members are found without another pass over the
/// values before them, which may be large. A member that is replaced costs nothing until the params
/// are written, or read as a whole: then they are copied once.
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
    /// Source of the params, in which the positions are.
    source: RawJson,
    members: MemberTable,
    /// A member with another value than in the source, boxed to keep messages small.
    replaced: Option<Box<ReplacedMember>>,
}

/// New value of a member.
#[derive(Clone)]
struct ReplacedMember {
    /// Position of the old value in the source; of a new `_meta`, the space after the last member.
    span: Range<usize>,
    /// Text between the source and the value.
    key: NewKey,
    value: RawJson,
    /// The params with the new value, once they were read as a whole.
    whole: OnceLock<RawJson>,
}

/// Text before the new value of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NewKey {
    /// The source has the key.
    Known,
    /// The source has `_meta`, whose members have positions too.
    KnownMeta,
    /// `_meta` is the first member.
    FirstMeta,
    /// `_meta` comes after other members.
    LaterMeta,
}

static NO_MEMBERS: RawJson = RawJson::empty_object();

impl RawParams {
    /// Params without members.
    #[must_use]
    pub fn empty() -> Self {
        Self::scanned(RawJson::empty_object(), MemberTable::default())
    }

    /// The object `source` with the positions that a scan of it has found.
    pub(crate) fn scanned(source: RawJson, members: MemberTable) -> Self {
        Self {
            source,
            members,
            replaced: None,
        }
    }

    /// The params without the positions.
    #[must_use]
    pub fn into_json(self) -> RawJson {
        match self.replaced {
            Some(replaced) => replaced.whole(&self.source).clone(),
            None => self.source,
        }
    }

    /// The member `key`, sharing the buffer.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<RawJson> {
        if let (Some(meta), META) = (self.new_meta(), key) {
            return Some(meta.clone());
        }
        match self.find(Parent::Params, key) {
            Ok(span) => Some(self.value_at(span?)),
            Err(Unknown) => RawJson::get(self, key),
        }
    }

    /// The value found by following `path` from object to object.
    #[must_use]
    pub fn at(&self, path: &[&str]) -> Option<RawJson> {
        match path {
            [] => Some(RawJson::clone(self)),
            [META, key] => self.meta_member(key),
            [key] => self.get(key),
            [key, rest @ ..] => self.get(key)?.at(rest),
        }
    }

    /// The member `key` of `_meta`.
    #[must_use]
    pub fn meta_member(&self, key: &str) -> Option<RawJson> {
        if let Some(meta) = self.new_meta() {
            return meta.get(key);
        }
        match self.find(Parent::Meta, key) {
            Ok(span) => Some(self.source.slice(span?)),
            Err(Unknown) => self.get(META)?.get(key),
        }
    }

    /// The members `keys`, sharing the buffer.
    #[must_use]
    pub fn pick<const N: usize>(&self, keys: [&str; N]) -> [Option<RawJson>; N] {
        let Ok(mut found) = self.pick_members(Parent::Params, keys) else {
            return RawJson::pick(self, keys);
        };
        if let Some(meta) = self.new_meta()
            && let Some(index) = keys.iter().position(|key| *key == META)
            && let Some(slot) = found.get_mut(index)
        {
            *slot = Some(meta.clone());
        }
        found
    }

    /// True if there is a member with one of these keys.
    #[must_use]
    pub fn has_any(&self, keys: &[&str]) -> bool {
        if self.new_meta().is_some() && keys.contains(&META) {
            return true;
        }
        let mut found = false;
        let text = self.source.as_bytes();
        let see = |_, _| found = true;
        match self.members.pick(text, Parent::Params, keys, see) {
            Ok(()) => found,
            Err(Unknown) => keys.iter().any(|key| RawJson::get(self, key).is_some()),
        }
    }

    /// The members `keys` of `_meta`, sharing the buffer.
    #[must_use]
    pub fn pick_meta<const N: usize>(&self, keys: [&str; N]) -> [Option<RawJson>; N] {
        if let Some(meta) = self.new_meta() {
            return meta.pick(keys);
        }
        let found = self.pick_members(Parent::Meta, keys);
        found.unwrap_or_else(|Unknown| match self.get(META) {
            Some(meta) => meta.pick(keys),
            None => [const { None }; N],
        })
    }

    /// Replaces the member `key`, or appends it. Every other byte stays.
    ///
    /// One replaced member, or a new `_meta`, is copied with the params when they are written; any
    /// other edit copies them at once.
    pub fn set(&mut self, key: &str, value: &RawJson) {
        // Only one replaced member waits to be written, so the one before is written now.
        self.apply();
        let Ok(found) = self.find(Parent::Params, key) else {
            let members = [(key.to_owned(), value.clone())];
            *self = Self::from(self.with_members(&members));
            return;
        };
        let (span, new_key) = match (found, key) {
            (Some(span), META) => (span, NewKey::KnownMeta),
            (Some(span), _) => (span, NewKey::Known),
            (None, META) => {
                let before = self.without_end();
                let span = before.len()..self.source.as_bytes().len().saturating_sub(1);
                match before {
                    b"{" => (span, NewKey::FirstMeta),
                    _ => (span, NewKey::LaterMeta),
                }
            }
            (None, _) => {
                let edited = self.append(key, value.as_bytes());
                self.source = RawJson::trusted(Bytes::from(edited));
                return;
            }
        };
        self.replaced = Some(Box::new(ReplacedMember {
            span,
            key: new_key,
            value: value.clone(),
            whole: OnceLock::new(),
        }));
    }

    /// The params with this member of `_meta`, replaced or appended, in one copy.
    ///
    /// # Errors
    /// `_meta` is not an object.
    pub fn with_meta_member(&self, key: &str, value: &RawJson) -> Result<RawJson, SpliceError> {
        let text = self.source.as_bytes();
        if let (Some(replaced), Some(meta)) = (&self.replaced, self.new_meta()) {
            let meta = Splice::new(meta).set(&[key], value).finish();
            let meta = meta.map_err(|_| not_an_object())?;
            let edited = replaced.written(text, &meta, None);
            return Ok(RawJson::trusted(Bytes::from(edited)));
        }
        let (Ok(meta), true) = (self.find(Parent::Params, META), self.source.is_object()) else {
            return Splice::new(self).set(&[META, key], value).finish();
        };
        let member = match (self.find(Parent::Meta, key), &meta) {
            (Ok(member), _) => member,
            // Only `_meta` is searched, and not the arguments, which may be large.
            (Err(Unknown), Some(meta)) if text.get(meta.start) == Some(&b'{') => {
                let mut members = Members::new(text, meta.start);
                let member = members.find(|member| member.is(key));
                member.map(|member| member.value_span)
            }
            (Err(Unknown), _) => None,
        };
        let mut with = Vec::with_capacity(key.len() + value.as_bytes().len() + META.len() + 9);
        let span = match (member, meta) {
            (Some(span), _) => {
                with.extend_from_slice(value.as_bytes());
                span
            }
            (None, Some(meta)) => {
                if text.get(meta.start) != Some(&b'{') {
                    return Err(not_an_object());
                }
                let end = meta.end - 1;
                write_comma(&mut with, text.get(meta.start + 1..end));
                write_member(&mut with, key, value);
                end..end
            }
            (None, None) => {
                let end = text.len() - 1;
                write_comma(&mut with, text.get(1..end));
                text::write_string(&mut with, META);
                with.extend_from_slice(b":{");
                write_member(&mut with, key, value);
                with.push(b'}');
                end..end
            }
        };
        let edit = (span, &*with);
        let edited = match &self.replaced {
            Some(replaced) => replaced.written(text, &replaced.value, Some(edit)),
            None => patched(text, &mut [edit]),
        };
        Ok(RawJson::trusted(Bytes::from(edited)))
    }

    /// Starts editing the members, which are not searched again.
    #[must_use]
    pub fn edit(&self) -> ObjectEdit<'_> {
        if self.new_meta().is_some() {
            return ObjectEdit::new(self);
        }
        let text = self.source.as_bytes();
        let edit = match self.members.all(text, Parent::Params) {
            Ok(members) => ObjectEdit::of_members(&self.source, 0..text.len(), members),
            Err(Unknown) => ObjectEdit::new(&self.source),
        };
        match &self.replaced {
            Some(replaced) => edit.of_replaced(&replaced.span, &replaced.value),
            None => edit,
        }
    }

    /// Starts editing the members of `_meta`, which are not searched again. A missing one counts as
    /// one without members; `None` if it is not an object.
    #[must_use]
    pub fn edit_meta(&self) -> Option<ObjectEdit<'_>> {
        if let Some(meta) = self.new_meta() {
            return meta.is_object().then(|| ObjectEdit::new(meta));
        }
        let text = self.source.as_bytes();
        let span = match self.find(Parent::Params, META) {
            Ok(span) => span,
            Err(Unknown) => {
                let mut members = self.source.members();
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
            Ok(members) => ObjectEdit::of_members(&self.source, span, members),
            Err(Unknown) => {
                let members = Members::new(text, span.start);
                ObjectEdit::of_members(&self.source, span, members)
            }
        })
    }

    fn pick_members<const N: usize>(
        &self,
        parent: Parent,
        keys: [&str; N],
    ) -> Result<[Option<RawJson>; N], Unknown> {
        let mut picked = [const { None }; N];
        let text = self.source.as_bytes();
        self.members.pick(text, parent, &keys, |index, span| {
            // The first one counts, should a key occur twice.
            if let Some(slot @ None) = picked.get_mut(index) {
                *slot = Some(self.value_at(span));
            }
        })?;
        Ok(picked)
    }

    /// Position of a value in the source.
    fn find(&self, parent: Parent, key: &str) -> Result<Option<Range<usize>>, Unknown> {
        self.members.find(self.source.as_bytes(), parent, key)
    }

    /// Value at `span` of the source, or the one that has replaced it.
    fn value_at(&self, span: Range<usize>) -> RawJson {
        match &self.replaced {
            Some(replaced) if replaced.span == span => replaced.value.clone(),
            _ => self.source.slice(span),
        }
    }

    /// The `_meta` that is not in the source.
    fn new_meta(&self) -> Option<&RawJson> {
        let replaced = self.replaced.as_ref()?;
        (replaced.key != NewKey::Known).then_some(&replaced.value)
    }

    /// Makes the params with the replaced member the source.
    fn apply(&mut self) {
        let Some(replaced) = self.replaced.take() else {
            return;
        };
        let (span, new) = (&replaced.span, replaced.value.as_bytes().len());
        match replaced.key {
            NewKey::Known | NewKey::KnownMeta => {
                self.members.shift(span.end, span.len(), new);
                self.source = replaced.whole(&self.source).clone();
            }
            NewKey::FirstMeta | NewKey::LaterMeta => {
                let edited = self.append(META, replaced.value.as_bytes());
                self.source = RawJson::trusted(Bytes::from(edited));
            }
        }
        if replaced.key != NewKey::Known {
            self.members.remove_meta(self.source.as_bytes());
        }
    }

    /// The source up to the end of its last member.
    fn without_end(&self) -> &[u8] {
        let text = self.source.as_bytes();
        text.strip_suffix(b"}").unwrap_or(text).trim_ascii_end()
    }

    fn append(&mut self, key: &str, value: &[u8]) -> Vec<u8> {
        let before = self.without_end();
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

impl ReplacedMember {
    /// The params with the new value.
    fn whole(&self, source: &RawJson) -> &RawJson {
        self.whole.get_or_init(|| {
            let edited = self.written(source.as_bytes(), &self.value, None);
            RawJson::trusted(Bytes::from(edited))
        })
    }

    /// The params `text` with `value` as the new value, and with `edit`.
    fn written(
        &self,
        text: &[u8],
        value: &RawJson,
        edit: Option<(Range<usize>, &[u8])>,
    ) -> Vec<u8> {
        let key: &[u8] = match self.key {
            NewKey::Known | NewKey::KnownMeta => b"",
            NewKey::FirstMeta => b"\"_meta\":",
            NewKey::LaterMeta => b",\"_meta\":",
        };
        let at = self.span.start;
        let key = (at..at, key);
        let value = (self.span.clone(), value.as_bytes());
        match edit {
            Some(edit) => patched(text, &mut [key, value, edit]),
            None => patched(text, &mut [key, value]),
        }
    }
}

/// The text with other bytes at these spans, which do not overlap.
fn patched(text: &[u8], patches: &mut [(Range<usize>, &[u8])]) -> Vec<u8> {
    // Stable, so that a key stays before its value.
    patches.sort_by_key(|(span, _)| span.start);
    let added: usize = patches.iter().map(|(_, with)| with.len()).sum();
    let mut out = Vec::with_capacity(text.len() + added);
    let mut at = 0;
    for (span, with) in patches {
        out.extend_from_slice(text.get(at..span.start).unwrap_or_default());
        out.extend_from_slice(with);
        at = span.end;
    }
    out.extend_from_slice(text.get(at..).unwrap_or_default());
    out
}

fn not_an_object() -> SpliceError {
    let path = META.to_owned();
    SpliceError::NotAnObject { path }
}

/// Appends the comma that follows these members, if there are any.
fn write_comma(out: &mut Vec<u8>, members: Option<&[u8]>) {
    if members.is_some_and(|members| !members.trim_ascii().is_empty()) {
        out.push(b',');
    }
}

fn write_member(out: &mut Vec<u8>, key: &str, value: &RawJson) {
    text::write_string(out, key);
    out.push(b':');
    out.extend_from_slice(value.as_bytes());
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
        match &self.replaced {
            Some(replaced) => replaced.whole(&self.source),
            None => &self.source,
        }
    }
}

impl PartialEq for RawParams {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for RawParams {}

impl fmt::Debug for RawParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        RawJson::fmt(self, f)
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
    fn new_metadata_is_read_and_edited_before_and_after_other_edits() {
        for text in [
            "{}",
            r#"{"n":1}"#,
            r#"{"n":1, "_meta":{"t":0} }"#,
            &many(33),
        ] {
            for mut params in [scanned(text), raw(text).into()] {
                let meta = raw(r#"{"t":1,"u":2}"#);
                params.set("_meta", &meta);
                for next in [None, Some("n"), Some("o"), Some("_meta")] {
                    if let Some(key) = next {
                        params.set(key, &meta);
                    }
                    let expect = RawParams::from(RawJson::clone(&params));
                    assert_eq!(params.pick(["n", "_meta"]), expect.pick(["n", "_meta"]));
                    assert_eq!(params.pick_meta(["u", "x"]), expect.pick_meta(["u", "x"]));
                    assert_eq!(params.at(&["_meta", "t"]), Some(raw("1")));
                    let edited = params.edit_meta().unwrap();
                    assert_eq!(edited.finish(), meta, "{params:?}");
                    let mut edited = params.edit();
                    edited.remove("n");
                    assert_eq!(edited.get("_meta"), Some(meta.clone()), "{params:?}");
                    assert_eq!(RawParams::from(edited.finish()).get("n"), None);
                }
            }
        }
    }

    #[test]
    fn an_edit_sees_a_member_that_was_replaced() {
        for text in [PARAMS, r#"{"n":1}"#] {
            for mut params in [scanned(text), raw(text).into()] {
                params.set("n", &raw("[1]"));
                let json = RawJson::clone(&params);
                let (mut edit, mut expect) = (params.edit(), ObjectEdit::new(&json));
                for edit in [&mut edit, &mut expect] {
                    edit.remove("a");
                    assert_eq!(edit.get("n"), Some(raw("[1]")));
                }
                assert_eq!(edit.clone().finish(), expect.clone().finish());
                for edit in [&mut edit, &mut expect] {
                    edit.set("n", raw("2"));
                }
                assert_eq!(edit.finish(), expect.finish());
            }
        }
    }

    #[test]
    fn a_member_of_the_metadata_is_added_to_all_other_edits() {
        let (many_keys, token) = (many(33), raw("7"));
        for text in [
            "{}",
            "{ }",
            r#"{"n":1 }"#,
            r#"{"_meta":{} ,"n":1}"#,
            r#"{"n":1,"_meta":{ "x":1 }}"#,
            r#"{"_meta":{"progressToken":"long","x":1},"n":1}"#,
            r#"{"_meta":[],"n":1}"#,
            PARAMS,
            &many_keys,
        ] {
            for params in [scanned(text), raw(text).into()] {
                for (key, value) in [
                    ("n", "null"),
                    ("n", "[2, 3]"),
                    ("o", "1"),
                    ("_meta", r#"{"x":2,"progressToken":"other"}"#),
                    ("_meta", "{}"),
                    ("_meta", "[]"),
                ] {
                    let mut edited = params.clone();
                    edited.set(key, &raw(value));
                    for params in [&params, &edited] {
                        let path = ["_meta", "progressToken"];
                        let expect = Splice::new(params).set(&path, &token).finish();
                        let seen = params.with_meta_member("progressToken", &token);
                        let without_spaces = |json: RawJson| json.as_str().replace(' ', "");
                        assert_eq!(
                            seen.map(without_spaces),
                            expect.map(without_spaces),
                            "{params:?}"
                        );
                    }
                }
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
        let mut twice = scanned(r#"{"n":1,"m":2,"_meta":{"t":3}}"#);
        for (key, value) in [("n", "[1]"), ("m", "[2]"), ("n", "null"), ("_meta", "{}")] {
            twice.set(key, &raw(value));
            assert_eq!(twice.get(key), Some(raw(value)));
        }
        check("{ }", "_meta", r#"{"t":1}"#, r#"{"_meta":{"t":1}}"#);
        assert_eq!(
            twice.clone().into_json(),
            raw(r#"{"n":null,"m":[2],"_meta":{}}"#)
        );
        assert_eq!(twice.meta_member("t"), None);
        let (before, after) = (many(33), many(33).replace("31,", "null,"));
        check(&before, "k31", "null", &after);
    }
}
